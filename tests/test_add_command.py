"""`fewpairs add`: a run and a file of new rows become a larger run."""

import csv
import json

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.cli.folder import open_run
from tests.commands import run_here

WORDS = ("red", "green", "blue")
TITLES = [f"{a} {b} no. {t}" for a in WORDS for b in WORDS for t in range(10)]


def write(path, titles, first=0):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title"])
        writer.writerows([f"k{first + t}", title] for t, title in enumerate(titles))


@pytest.fixture
def fewpairs(tmp_path, capfd, monkeypatch):
    """Run commands in a folder with a run of 80 titles, and 10 new ones."""
    write(tmp_path / "titles.csv", TITLES[:80])
    write(tmp_path / "new.csv", TITLES[80:], first=80)

    def command(line):
        return run_here(line.split(), tmp_path, capfd, monkeypatch)

    done = command(
        "approximate titles.csv -c title -s levenshtein -b 20/item --out run"
    )
    assert done.returncode == 0, done.stderr
    return command


def test_new_rows_join_a_run_and_old_values_are_kept(fewpairs, tmp_path):
    before = open_run(tmp_path / "run").approx
    done = fewpairs("add run new.csv --id id --json")
    assert done.returncode == 0, done.stderr
    run = open_run(tmp_path / "run")
    assert run.texts == TITLES
    assert [row[0] for row in run.given.table.rows][-1] == "k89"
    assert run.approx.shape == (90, 90)
    assert json.loads(done.stdout)["items"] == 90
    i, j = before.known.ends(before.known.scattered()[0])
    assert np.array_equal(run.approx.pairs(i, j), before.pairs(i, j))
    similarity = fp.StringSimilarity("levenshtein")
    here = fp.approximate(TITLES[:80], similarity, budget="20/item").add(TITLES[80:])
    assert np.array_equal(run.approx.dense(), here.dense())


def test_lines_and_json_lines_join_a_run_of_another_format(fewpairs, tmp_path):
    lines = [json.dumps({"title": t, "more": 1}) for t in TITLES[80:]]
    (tmp_path / "new.jsonl").write_text("\n".join(lines), "utf-8")
    done = fewpairs("add run new.jsonl --out larger --budget 200 --store paid")
    assert done.returncode == 0, done.stderr
    larger = open_run(tmp_path / "larger")
    assert larger.texts == TITLES
    assert (
        larger.approx.evaluations - open_run(tmp_path / "run").approx.evaluations <= 200
    )
    (tmp_path / "old.txt").write_text("\n".join(TITLES[:80]), "utf-8")
    (tmp_path / "new.txt").write_text("\n".join(TITLES[80:]), "utf-8")
    assert fewpairs("approximate old.txt -s levenshtein -b 20/item").returncode == 0
    done = fewpairs("add old.fewpairs new.txt")
    assert done.returncode == 0, done.stderr
    assert open_run(tmp_path / "old.fewpairs").texts == TITLES
    assert fewpairs("neighbors old.fewpairs -k 3 --json").returncode == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("add run missing.csv", "there is no file missing.csv"),
        ("add nowhere new.csv", "nowhere does not exist"),
        ("add run titles.csv --id id", "80 of its rows have a 'id' that comes twice"),
        ("add run new.csv --id key", "has no column 'key'"),
        ("add run other.csv", "has no column 'title'"),
        ("add run empty.csv", "has no text"),
        ("add run new.csv --budget much", "is not a number"),
    ],
)
def test_what_cannot_be_added_is_refused_and_the_run_stays(
    fewpairs, tmp_path, line, message
):
    (tmp_path / "other.csv").write_text("id,name\n1,a\n", "utf-8")
    (tmp_path / "empty.csv").write_text("id,title\n", "utf-8")
    before = open_run(tmp_path / "run").approx.dense()
    done = fewpairs(line)
    assert done.returncode == 2
    assert message in done.stderr
    assert np.array_equal(open_run(tmp_path / "run").approx.dense(), before)
