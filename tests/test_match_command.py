"""`fewpairs match`: two files in, a table and a page out."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.commands import run_here

LEFT = [("7", "Jon Smiht", "x"), ("8", "A. Lovelace", "y"), ("9", "=cmd()", "z")]
RIGHT = ["Ada Lovelace", "John Smith", "Grace Hopper"]


@pytest.fixture
def fewpairs(tmp_path, capfd, monkeypatch):
    with (tmp_path / "left.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "who", "more"), *LEFT])
    lines = [json.dumps({"name": name, "key": t}) for t, name in enumerate(RIGHT)]
    (tmp_path / "right.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def run(*more, left="left.csv", right="right.jsonl"):
        words = ["match", left, right, "--left-column", "who", "--right-column", "name"]
        words += ["-s", "ratio", *more]
        return run_here(words, tmp_path, capfd, monkeypatch)

    return run


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_links_are_written_with_the_columns_of_both_files(fewpairs, tmp_path):
    done = fewpairs("-t", "0.6", "--left-id", "id", "-o", "out.csv", "--unmatched")
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "out.csv")
    assert [row["left"] for row in rows] == ["8", "7", "9", ""]
    assert [row["right"] for row in rows] == ["1", "2", "", "3"]
    assert rows[0]["right_name"] == "Ada Lovelace"
    assert rows[2]["left_who"] == "'=cmd()"  # no formula
    assert rows[0]["left_more"] == "y"
    assert "found: 2 pairs" in done.stdout
    assert "unmatched: 1 left, 1 right" in done.stdout
    assert "all pairs: 9 evaluations" in " ".join(done.stderr.split())


def test_the_best_of_every_row_go_to_parquet_and_jsonl(fewpairs, tmp_path):
    done = fewpairs("--top", "2", "-o", "out.parquet")
    assert done.returncode == 0, done.stderr
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.num_rows == 6
    assert table["rank"].to_pylist().count(1) == 3
    assert fewpairs("--top", "1", "-o", "out.jsonl").returncode == 0
    parquet = {"right": "right.parquet"}
    columns = {"name": RIGHT, "key": [4, 5, 6]}
    pq.write_table(pa.table(columns), tmp_path / "right.parquet")
    done = fewpairs("--top", "1", "--right-id", "key", "--json", **parquet)
    assert {pair["right"] for pair in json.loads(done.stdout)["pairs"]} <= {4, 5, 6}
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["right_key"] for line in lines} <= {0, 1, 2}


def test_one_to_one_as_json(fewpairs):
    done = fewpairs("--one-to-one", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["one_to_one"] is True
    assert sorted(pair["right"] for pair in facts["pairs"]) == [1, 2, 3]
    assert facts["evaluations"] == facts["all_pairs"] == 9
    assert facts["unmatched"] == {"left": [], "right": []}


def test_a_page_is_written_and_not_overwritten(fewpairs, tmp_path):
    done = fewpairs("-t", "0.6", "--report", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "left.csv × right.jsonl" in page
    again = fewpairs("-t", "0.6", "--report", "page.html")
    assert again.returncode == 2
    assert "page.html exists" in again.stderr


WRONG = {
    "nothing asked": ([], {}, "what is a match?"),
    "two things asked": (["-t", "0.5", "--top", "1"], {}, "Pass one of them"),
    "a column that the second file lacks": (
        ["-t", "0.5", "--right-column", "nam"],
        {},
        "right.jsonl has no column 'nam'. Did you mean 'name'?",
    ),
    "an id column that is missing": (
        ["-t", "0.5", "--right-id", "ke"],
        {},
        "right.jsonl has no column 'ke'",
    ),
    "both from standard input": (
        ["-t", "0.5"],
        {"left": "-", "right": "-"},
        "there is one standard input",
    ),
    "a file that is not there": (
        ["-t", "0.5"],
        {"right": "rigth.jsonl"},
        "right.jsonl",
    ),
    "per cent": (["-t", "80"], {}, "Did you mean 0.8?"),
    "another kind of output": (["-t", "0.5", "-o", "a.xlsx"], {}, "end its name in"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_end_in_one_line_that_says_the_cure(fewpairs, case):
    options, files, words = WRONG[case]
    done = fewpairs(*options, **files)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert done.stderr.count("error:") == 1


def test_one_to_one_with_too_few_partners_is_refused(fewpairs, tmp_path):
    (tmp_path / "few.jsonl").write_text('{"name": "Jon"}\n{"name": "Ada"}\n', "utf-8")
    done = fewpairs("--one-to-one", right="few.jsonl")
    assert done.returncode == 2
    assert "3 left rows and 2 right ones" in " ".join(done.stderr.split())
    assert fewpairs("--one-to-one", "-t", "0.5", right="few.jsonl").returncode == 0


def test_ids_that_repeat_and_empty_files_are_refused(fewpairs, tmp_path):
    (tmp_path / "twice.csv").write_text("id,who\n1,a\n1,b\n", encoding="utf-8")
    done = fewpairs("-t", "0.5", "--left-id", "id", left="twice.csv")
    assert "the column 'id' of twice.csv repeats: '1'" in " ".join(done.stderr.split())
    (tmp_path / "none.csv").write_text("id,who\n", encoding="utf-8")
    done = fewpairs("-t", "0.5", left="none.csv")
    assert done.returncode == 2
    assert "none.csv has no text" in done.stderr
    (tmp_path / "one.csv").write_text("id,who\n1,Jon Smith\n", encoding="utf-8")
    assert fewpairs("-t", "0.5", left="one.csv").returncode == 0


def test_a_recall_is_certified_and_in_the_document(fewpairs):
    done = fewpairs("-t", "0.6", "--recall", "95%", "--confidence", "90%", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)["certificate"]
    assert (made["certified"], made["guaranteed"], made["sampled"]) == (True, 1.0, 0)


@pytest.mark.parametrize("more", [("-k", "1"), ("-t", "0.6", "--one-to-one")])
def test_a_recall_goes_with_a_threshold_alone(fewpairs, more):
    done = fewpairs(*more, "--recall", "95%")
    assert done.returncode != 0
    assert "--recall and --guarantee go with --threshold" in done.stderr


def test_plan_says_what_two_files_cost(tmp_path, capfd, monkeypatch):
    (tmp_path / "left.txt").write_text("\n".join(f"left {t}" for t in range(40)))
    rows = [json.dumps({"name": f"right {t}"}) for t in range(60)]
    (tmp_path / "right.jsonl").write_text("\n".join(rows))
    line = "plan left.txt -s ratio --others right.jsonl --others-column name -b 5/item"

    def plan(words):
        return run_here(words.split(), tmp_path, capfd, monkeypatch)

    facts = json.loads(plan(f"{line} --json").stdout)
    assert (facts["texts"], facts["others"]) == (40, 60)
    assert facts["budgets"][0]["evaluations"] == 5 * 40
    assert facts["all_pairs"]["evaluations"] == 40 * 60
    assert "40 texts of left.txt, 60 of right.jsonl" in plan(line).stdout
    done = plan("plan left.txt -s ratio --others-column name")
    assert done.returncode == 2
    assert "--others-column is given without --others" in done.stderr
    missing = plan("plan left.txt -s ratio --others right.jsonl --others-column nome")
    assert missing.returncode == 2
    assert "has no column 'nome'" in missing.stderr
