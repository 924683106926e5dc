"""`fewpairs approximate LEFT --others RIGHT`: two sets, and what asks the folder."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import fewpairs as fp
from tests.commands import run_here

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()


def texts(number, seed):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 3)) + f" {t}" for t in range(number)]


LEFT, RIGHT = texts(40, 0), texts(60, 1)


@pytest.fixture
def fewpairs(tmp_path, capfd, monkeypatch):
    with (tmp_path / "left.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "who"), *enumerate(LEFT)])
    lines = [json.dumps({"name": name, "key": t}) for t, name in enumerate(RIGHT)]
    (tmp_path / "right.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def run(*words):
        return run_here(list(words), tmp_path, capfd, monkeypatch)

    return run


FILES = "left.csv", "--others", "right.jsonl", "--left-column", "who"


def approximated(fewpairs, *more, column="--right-column"):
    done = fewpairs(
        "approximate", *FILES, column, "name", "-s", "ratio", "-b", "20/item",
        "-o", "run", *more,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_it_is_what_python_gives(fewpairs, tmp_path):
    for column in ("--right-column", "--others-column"):
        approximated(fewpairs, "--force", column=column)
    similarity = fp.StringSimilarity("ratio")
    same = fp.approximate(LEFT, similarity, others=RIGHT, budget="20/item")
    kept = fp.load(tmp_path / "run" / "approximation")
    assert kept.shape == (40, 60)
    assert kept.evaluations == same.evaluations <= 800
    assert np.array_equal(kept.known.scattered()[0], same.known.scattered()[0])


def test_the_receipt_names_both_files(fewpairs):
    facts = json.loads(approximated(fewpairs, "--json").stdout)
    assert (facts["items"], facts["others"]) == (40, 60)
    shown = fewpairs("show", "run").stdout
    assert "left.csv, 40 texts" in shown
    assert "right.jsonl, 60 texts" in shown


def test_neighbors_are_of_the_second_file(fewpairs):
    approximated(fewpairs)
    done = fewpairs("neighbors", "run", "-k", "60", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert len(rows) == 40 * 60
    assert all(row["text"] == LEFT[row["item"]] for row in rows)
    assert all(row["neighbor_text"] == RIGHT[row["neighbor"]] for row in rows)
    score = fp.StringSimilarity("ratio").bind([*LEFT, *RIGHT])
    exact = [row for row in rows if row["exact"]]
    assert len(exact) > 700
    i = np.array([row["item"] for row in exact])
    j = np.array([40 + row["neighbor"] for row in exact])
    said = [row["similarity"] for row in exact]
    assert np.allclose(score.pairs(i, j), said, atol=1e-6)
    one = json.loads(
        fewpairs("neighbors", "run", "-i", "3", "-k", "5", "--json").stdout
    )
    of_all = [row["neighbor"] for row in rows if row["item"] == 3][:5]
    assert [row["neighbor"] for row in one] == of_all
    assert "each has 60 others" in fewpairs("neighbors", "run", "-k", "61").stderr


def test_all_of_it_is_exported(fewpairs, tmp_path):
    approximated(fewpairs)
    kept = fp.load(tmp_path / "run" / "approximation")
    for to in ("npy", "embedding", "parquet", "graph"):
        done = fewpairs("export", "run", "--to", to, "-k", "60")
        assert done.returncode == 0, done.stderr
    whole = np.load(tmp_path / "run" / "similarities.npy")
    assert np.allclose(whole, kept.dense(), atol=1e-6)
    assert len(np.load(tmp_path / "run" / "embedding.npy")) == 100
    table = pq.read_table(tmp_path / "run" / "neighbors.parquet")
    assert max(table["target"].to_pylist()) == 59
    graph = (tmp_path / "run" / "neighbors.graphml").read_text("utf-8")
    assert graph.count("<node") == 100
    assert graph.count("<edge") == 2_400


def test_the_report_has_both_sides(fewpairs, tmp_path):
    approximated(fewpairs)
    done = fewpairs("report", "run")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert LEFT[0] in page
    assert RIGHT[0] in page


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (("cluster", "run", "-t", "0.5"), "Approximate one file alone"),
        (("duplicates", "run", "-t", "0.5"), "Use `fewpairs match LEFT RIGHT`"),
        (("add", "run", "left.csv"), "fewpairs.load"),
    ],
)
def test_commands_for_one_set_say_what_to_use(fewpairs, words, cure):
    approximated(fewpairs)
    done = fewpairs(*words)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "is a run of two sets" in said
    assert cure in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("left.csv", "-c", "who", "--left-column", "who"), "--left-column is given"),
        (("left.csv", "--right-column", "who"), "--others-column is given without"),
        ((*FILES, "--others-column", "nme"), "Did you mean 'name'?"),
        ((*FILES,), "has several columns"),
        (("-", "--others", "-"), "one standard input"),
        (("left.csv", "-c", "who", "--others", "no.csv"), "there is no file no.csv"),
        ((*FILES, "--right-column", "name", "--method", "nystrom"), "two sets"),
    ],
)
def test_mistakes_end_before_anything_is_paid(fewpairs, tmp_path, words, message):
    done = fewpairs("approximate", *words, "-s", "ratio", "-o", "run")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "run").exists()
