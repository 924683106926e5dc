"""The real command on real files: every answer is checked against the library."""

import csv
import inspect
import json
import re
import shlex
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from benchmarks.titles import titles_with_copies, write_titles

import fewpairs as fp
from fewpairs.cli.folder import open_run
from fewpairs.cli.inputs import Reading, read_input
from fewpairs.evaluation import exact_matrix
from tests.commands import HERE, environment, run_here, run_in_terminal
from tests.commands import run as run_apart

NUMBER = 400
# Ledgers on disk.
DURABLE = bool(inspect.signature(fp.Ledger).parameters)


@pytest.fixture
def run(capfd, monkeypatch):
    """Run the command in this process; `run_apart` where its own process matters."""
    return lambda *words, cwd: run_here(words, cwd, capfd, monkeypatch)


@pytest.fixture(scope="module")
def titles():
    return titles_with_copies(NUMBER, seed=1)


@pytest.fixture(scope="module")
def truth(titles):
    return exact_matrix(titles[0], fp.StringSimilarity("levenshtein"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, titles):
    """A working folder with inputs, and a finished run in `run`."""
    path = tmp_path_factory.mktemp("work")
    write_titles(path / "titles.csv", titles[0])
    (path / "notes.txt").write_text("\n".join(titles[0][:200]) + "\n", "utf-8")
    (path / "scoring.py").write_text(
        "def shared_words(a, b):\n"
        "    a, b = set(a.split()), set(b.split())\n"
        "    return len(a & b) / len(a | b)\n"
    )
    done = run_apart(
        *"approximate titles.csv -c title -s levenshtein -b 20% --out run".split(),
        cwd=path,
    )
    assert done.returncode == 0, done.stderr
    assert "held-out pairs" in done.stdout
    return path


def test_the_saved_run_answers_as_the_library_does(folder, titles):
    approx = fp.approximate(titles[0], fp.StringSimilarity("levenshtein"), budget=0.2)
    again = fp.load(folder / "run" / "approximation")
    assert (again.dense() == approx.dense()).all()
    assert again.certificate == approx.certificate
    # Held-out pairs come back too, in the same order.
    assert (again.evidence.i == approx.evidence.i).all()
    assert (again.evidence.truth == approx.evidence.truth).all()
    facts = json.loads((folder / "run" / "run.json").read_text("utf-8"))
    assert facts["similarity"]["name"] == "levenshtein"
    assert facts["input"]["columns"] == ["title"]


def test_show_prints_the_receipt_and_json_says_the_same(folder, run):
    done = run("show", "run", cwd=folder)
    assert 'StringSimilarity("levenshtein"), symmetric, diagonal known' in done.stdout
    facts = json.loads(run("show", "run", "--json", cwd=folder).stdout)
    assert facts["items"] == NUMBER
    assert f"{facts['bill']['evaluations']:,} of" in done.stdout
    low, high = facts["certificate"]["interval"]
    assert low <= facts["certificate"]["relative_error"] <= high


def test_plan_foresees_every_budget_and_its_price(folder, run):
    budgets = "-b 10% -b 20000".split()
    base = ["plan", "titles.csv", "-c", "title", "-s", "levenshtein", *budgets]
    facts = json.loads(run(*base, "--price", "0.01", "--json", cwd=folder).stdout)
    evaluations = [row["evaluations"] for row in facts["budgets"]]
    assert evaluations == [NUMBER * (NUMBER - 1) // 20, 20_000]
    assert [row["money"] for row in facts["budgets"]] == [
        pytest.approx(0.01 * number) for number in evaluations
    ]
    assert facts["all_pairs"]["evaluations"] == NUMBER * (NUMBER - 1) // 2
    shown = run(*base, "--price", "0.01", "--currency", "€", cwd=folder).stdout
    assert "€200.00" in shown
    assert "10 most similar found" in shown
    per_item = [row["per_item"] for row in facts["budgets"]]
    assert per_item == [pytest.approx(2 * e / NUMBER) for e in evaluations]
    for row in facts["budgets"]:
        low, high = row["expected"]["recall"]
        assert 0 <= low <= high <= 1
    assert "MiB" in shown


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "txt", "csv.gz"])
def test_every_format_gives_the_same_texts(tmp_path, titles, kind, run):
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [*titles[0][:30], 'a "quoted" text, with\ttab', "ünï — 漢字"]
    texts = [text.replace("\t", " ") for text in texts] if kind == "txt" else texts
    path = tmp_path / f"texts.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"id": range(32), "text": texts}), path)
    elif kind == "jsonl":
        lines = [json.dumps({"id": t, "text": text}) for t, text in enumerate(texts)]
        path.write_text("\n".join(lines), "utf-8")
    elif kind == "txt":
        path.write_text("\n".join(texts), "utf-8")
    else:
        opener = gzip.open if kind == "csv.gz" else open
        with opener(path, "wt", encoding="utf-8", newline="") as file:
            separator = "\t" if kind == "tsv" else ","
            writer = csv.writer(file, delimiter=separator)
            writer.writerows([("id", "text"), *enumerate(texts)])
    columns = () if kind == "txt" else ("text",)
    given = read_input(str(path), Reading(columns))
    assert given.texts == texts
    assert given.positions == list(range(32))
    if kind == "csv.gz":  # what is copied into the run is read again
        out, column = tmp_path / "out", ["-c", "text"]
        options = ["-s", "ratio", "-b", "100%", "--out", out]
        made = run("approximate", path, *column, *options, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        assert open_run(out).texts == texts


def test_neighbors_of_one_item_are_the_highest_of_its_row(folder, titles, run):
    approx = fp.load(folder / "run" / "approximation")
    row = approx.row(7)
    row[7] = -1
    best = np.argsort(-row, kind="stable")[:3]
    words = ("neighbors", "run", "-k", "3", "--json", "--item")
    for name in ("7", titles[0][7]):
        found = json.loads(run(*words, name, cwd=folder).stdout)
        assert [entry["neighbor"] for entry in found] == best.tolist()
        assert [entry["similarity"] for entry in found] == row[best].tolist()
        assert {entry["item"] for entry in found} == {7}
    shown = run("neighbors", "run", "-i", "7", "-k", "3", cwd=folder).stdout
    assert titles[0][best[0]][:60] in shown


def test_all_neighbors_go_into_a_table(folder, run):
    done = run("neighbors", "run", "-k", "2", "-o", "all.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    with (folder / "all.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * NUMBER
    approx = fp.load(folder / "run" / "approximation")
    i = [int(row["item"]) for row in rows]
    j = [int(row["neighbor"]) for row in rows]
    values = [float(row["similarity"]) for row in rows]
    assert values == pytest.approx(approx.pairs(i, j))


def test_clusters_are_those_of_the_library_beside_the_input(folder, titles, run):
    # Some titles begin with a hyphen, which is an apostrophe more in a spreadsheet.
    done = run("cluster", "run", "-t", "0.7", "--json", "--raw", cwd=folder)
    facts = json.loads(done.stdout)
    labels = fp.load(folder / "run" / "approximation").cluster(
        threshold=0.7, of="answers"
    )
    ours = np.array(facts["labels"])
    same = labels[:, None] == labels[None, :]
    assert ((ours[:, None] == ours[None, :]) == same).all()
    assert (np.bincount(ours)[:-1] >= np.bincount(ours)[1:]).all()  # largest first
    with (folder / "run" / "clusters.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["title"] for row in rows] == titles[0]
    assert [int(row["cluster"]) for row in rows] == ours.tolist()


def test_rows_without_text_stay_in_the_file_and_get_no_cluster(tmp_path, run):
    path = tmp_path / "few.csv"
    path.write_text("name,text\na,red cat\nb,\nc,red cats\nd,a green dog\n")
    out = tmp_path / "out"
    options = ("-c", "text", "-s", "ratio", "-b", "100%", "--empty", "skip")
    made = run("approximate", path, *options, "--out", out, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert run("cluster", out, "-t", "0.6", cwd=tmp_path).returncode == 0
    lines = (out / "clusters.csv").read_text().splitlines()
    assert lines == [
        "name,text,cluster",
        "a,red cat,0",
        "b,,",
        "c,red cats,0",
        "d,a green dog,1",
    ]


def test_duplicates_are_exact_and_miss_little(folder, titles, truth, run):
    facts = json.loads(
        run("duplicates", "run", "-t", "0.8", "--json", cwd=folder).stdout
    )
    found = {
        (row["row"] - 1, row["other_row"] - 1): row["similarity"]
        for row in facts["pairs"]
    }
    for (i, j), value in found.items():
        assert i < j
        assert value == truth[i, j] >= 0.8
        assert (titles[0][i], titles[0][j]) in {
            (row["text"], row["other_text"]) for row in facts["pairs"]
        }
    above = np.argwhere(np.triu(truth, 1) >= 0.8)
    assert len(found) >= 0.9 * len(above)
    missed = facts["missed"]
    assert missed["held_out"] > 0
    assert missed["estimate"] <= missed["at_most"]


def test_duplicates_of_a_file_in_one_command(folder, titles, truth):
    known = [pair for pair in titles[1] if truth[pair] >= 0.8]
    done = run_apart(
        *"duplicates titles.csv -c title -s levenshtein -t 0.8 -b 20%".split(),
        *("-o", "pairs.csv"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    with (folder / "pairs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(int(row["row"]) - 1, int(row["other_row"]) - 1) for row in rows}
    assert len(found & set(known)) >= 0.9 * len(known)
    assert "all of them exact" in done.stdout
    assert "missed:" in done.stdout


def test_a_weak_method_evaluates_its_candidates_and_counts_them(folder, truth, run):
    facts = json.loads(
        run(
            *"duplicates titles.csv -c title -s levenshtein -t 0.4 -b 3000".split(),
            *("--method", "nystrom", "--margin", "0.1", "--json"),
            cwd=folder,
        ).stdout
    )
    assert facts["evaluations"]["checking"] > 0
    for row in facts["pairs"]:
        assert row["similarity"] == truth[row["row"] - 1, row["other_row"] - 1] >= 0.4
    refused = run(
        *"duplicates titles.csv -c title -s levenshtein -t 0.4 -b 3000".split(),
        *("--method", "nystrom", "--margin", "0.1", "--most", "1"),
        cwd=folder,
    )
    assert refused.returncode == 2
    assert "1 may be evaluated" in refused.stderr


def test_a_budget_of_everything_misses_nothing(folder, truth, run):
    done = run(
        *"duplicates titles.csv -c title -s levenshtein -t 0.6 -b 100% --json".split(),
        cwd=folder,
    )
    facts = json.loads(done.stdout)
    assert len(facts["pairs"]) == int((np.triu(truth, 1) >= 0.6).sum())
    assert facts["missed"] is None


def test_exports_are_what_the_library_says(folder, run):
    approx = fp.load(folder / "run" / "approximation")
    for kind in ("npy", "embedding", "parquet", "graph"):
        done = run("export", "run", "--to", kind, "-k", "3", cwd=folder)
        assert done.returncode == 0, done.stderr
    matrix = np.load(folder / "run" / "similarities.npy")
    assert matrix == pytest.approx(approx.dense(), abs=1e-6)
    features = np.load(folder / "run" / "embedding.npy")
    assert (features == approx.embedding()).all()

    import pyarrow.parquet as pq

    table = pq.read_table(folder / "run" / "neighbors.parquet").to_pydict()
    assert table["similarity"] == pytest.approx(
        approx.pairs(table["source"], table["target"])
    )
    space = "{http://graphml.graphdrawing.org/xmlns}"
    graph = ET.parse(folder / "run" / "neighbors.graphml").getroot()  # noqa: S314
    assert len(graph.findall(f".//{space}node")) == NUMBER
    pairs = {frozenset(p) for p in zip(table["source"], table["target"])}
    assert len(graph.findall(f".//{space}edge")) == len(pairs)


def test_functions_of_the_working_folder_and_standard_input(folder, titles):
    done = run_apart(
        *"approximate - -s scoring:shared_words -b 100% -o words".split(),
        cwd=folder,
        text="\n".join(titles[0][:50]),
    )
    assert done.returncode == 0, done.stderr
    K = fp.load(folder / "words" / "approximation").dense()
    words = [set(text.split()) for text in titles[0][:50]]
    for i, j in ((0, 1), (7, 30)):
        assert K[i, j] == len(words[i] & words[j]) / len(words[i] | words[j])


def test_priors_from_a_file_a_column_and_a_name(tmp_path, capfd, monkeypatch):
    rng = np.random.default_rng(0)
    words = np.array("alpha beta gamma delta epsilon zeta eta theta".split())
    chosen = rng.integers(8, size=(150, 5))
    vectors = np.array([np.bincount(row, minlength=8) for row in chosen]) + 0.01
    records = [
        {"text": f"{' '.join(words[row])} {t}", "vector": vector.tolist()}
        for t, (row, vector) in enumerate(zip(chosen, vectors))
    ]
    lines = "\n".join(json.dumps(record) for record in records)
    (tmp_path / "texts.jsonl").write_text(lines, "utf-8")
    np.save(tmp_path / "vectors.npy", vectors.astype(np.float32))  # as a column is read
    errors = {}
    for name in ("vector", "vectors.npy", "jaccard", "lexical jaccard", "none"):
        prior = [word for part in name.split() for word in ("--prior", part)]
        line = ["approximate", "texts.jsonl", "-s", "ratio", "-b", "20%", *prior]
        out = tmp_path / f"with-{name}"
        done = run_here([*line, "-o", out, "--json"], tmp_path, capfd, monkeypatch)
        assert done.returncode == 0, done.stderr
        errors[name] = json.loads(done.stdout)["certificate"]["relative_error"]
        # A prior that is a recipe is made again when the run is opened.
        done = run_here(["show", out, "--json"], tmp_path, capfd, monkeypatch)
        again = json.loads(done.stdout)["certificate"]["relative_error"]
        assert again == errors[name]
    assert errors["vector"] == errors["vectors.npy"]
    # They order what is read; single pairs tell less of all entries than columns do.
    assert max(errors["vector"], errors["jaccard"]) < 1.1 * errors["none"]
    assert errors["lexical jaccard"] < errors["jaccard"]


def test_a_terminal_shows_bars_and_stays_clean(folder):
    code, text = run_in_terminal(
        *"approximate titles.csv -c title -s levenshtein -o bars".split(), cwd=folder
    )
    assert code == 0, text
    assert "evaluations" in text
    assert "\x1b[2K" in text  # a line is drawn again: the bar moves
    code, text = run_in_terminal("report", "bars", cwd=folder)
    assert code == 0, text
    assert "neighbors and map" in text


def examples(capfd, monkeypatch, cwd):
    """Every example of every command's help, in the order of the commands."""
    names = "plan approximate show neighbors cluster duplicates export report demo"
    for name in names.split():
        text = run_here([name, "--help"], cwd, capfd, monkeypatch).stdout
        found = re.findall(r"^ *((?:cat \S+ \| )?fewpairs .*\S) *$", text, re.M)
        assert found, f"{name} has no example"
        yield from found


def test_every_example_of_the_help_runs(folder, tmp_path, titles, capfd, monkeypatch):
    for name in ("titles.csv", "notes.txt", "scoring.py"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "queries.txt").write_bytes((folder / "notes.txt").read_bytes())
    rows = [f'"{text}"' for text in titles[0][:40] if '"' not in text]
    (tmp_path / "documents.csv").write_text("\n".join(["text", *rows]), "utf-8")
    lines = list(examples(capfd, monkeypatch, tmp_path))
    assert len(lines) >= 18
    for line in lines:
        if "--store" in line and not DURABLE:
            continue
        line = line.replace('"the first words of a text"', f'"{titles[0][3]}"')
        if "|" in line:
            done = subprocess.run(  # noqa: S602 - as a user types it
                line,
                shell=True,
                cwd=tmp_path,
                env=environment(),
                capture_output=True,
                text=True,
            )
        else:
            words = shlex.split(line)[1:]
            done = run_here(words, tmp_path, capfd, monkeypatch)
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_completion_knows_the_commands_and_the_similarities():
    words = {"_FEWPAIRS_COMPLETE": "complete_bash"}
    asked = "fewpairs approximate x.csv --similarity leven"
    done = run_apart(COMP_WORDS=asked, COMP_CWORD="4", **words)
    assert "levenshtein" in done.stdout.split()
    done = run_apart(COMP_WORDS="fewpairs dupl", COMP_CWORD="1", **words)
    assert "duplicates" in done.stdout.split()


def test_the_package_holds_the_page(tmp_path):
    names = {path.name for path in (HERE / "src/fewpairs/report/assets").iterdir()}
    assert {"report.html", "report.css", "report.js"} <= names
