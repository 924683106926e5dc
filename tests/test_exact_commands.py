"""Commands that read a file in full where that is quicker."""

import csv
import json

import numpy as np
import pytest
from rapidfuzz import fuzz

from tests.commands import run_here

TEXTS = [
    f"{a} {b} {c}" for a in ("red", "green") for b in ("cat", "dog") for c in "xyz"
]
TRUTH = np.array([[fuzz.token_sort_ratio(a, b) / 100 for b in TEXTS] for a in TEXTS])


@pytest.fixture
def fewpairs(tmp_path, capfd, monkeypatch):
    lines = "".join(f"{text}\n" for text in TEXTS)
    (tmp_path / "texts.txt").write_text(lines, encoding="utf-8")

    def run(*arguments):
        return run_here([*arguments], tmp_path, capfd, monkeypatch)

    return run


def neighbors(*more):
    return "neighbors", "texts.txt", "-s", "token-sort-ratio", *more


def duplicates(*more):
    return "duplicates", "texts.txt", "-s", "token-sort-ratio", *more


def test_neighbors_of_a_file_are_exact_and_the_way_is_told(fewpairs, tmp_path):
    done = fewpairs(*neighbors("-k", "3", "--out", "near.csv"))
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stderr.split())
    assert "all pairs: 66 evaluations take about" in words
    assert "less than a minute" in words
    with (tmp_path / "near.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * len(TEXTS)
    np.fill_diagonal(TRUTH, -1)
    best = np.sort(TRUTH, axis=1)[:, ::-1]
    for row in rows:
        expected = best[int(row["item"]), int(row["rank"]) - 1]
        assert float(row["similarity"]) == pytest.approx(expected)


def test_neighbors_of_one_text_are_shown(fewpairs):
    done = fewpairs(*neighbors("--item", "red cat x", "-k", "2"))
    assert done.returncode == 0, done.stderr
    assert "0: red cat x" in done.stdout
    assert "red cat y" in done.stdout


def test_all_duplicates_of_a_file_are_found_and_the_way_is_told(fewpairs):
    done = fewpairs(*duplicates("-t", "0.85", "--json"))
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["way"]["exact"]
    assert facts["missed"] is None
    assert facts["evaluations"]["checking"] == 66
    found = {(row["row"] - 1, row["other_row"] - 1) for row in facts["pairs"]}
    assert found == {*zip(*np.nonzero(np.triu(TRUTH, 1) >= 0.85))}
    told = fewpairs(*duplicates("-t", "0.85"))
    assert "missed: none, all pairs were read" in told.stdout


def test_a_store_makes_the_second_run_free(fewpairs, tmp_path):
    first = json.loads(
        fewpairs(*duplicates("-t", "0.9", "--json", "--store", "paid")).stdout
    )
    again = json.loads(
        fewpairs(*duplicates("-t", "0.9", "--json", "--store", "paid")).stdout
    )
    assert first["pairs"] == again["pairs"]
    assert first["evaluations"]["checking"] == 66
    assert again["evaluations"]["checking"] == 0
    assert list((tmp_path / "paid" / "passes").glob("*.npz"))


def test_a_plan_advises_to_read_all_pairs(fewpairs):
    arguments = ("plan", "texts.txt", "-s", "token-sort-ratio", "-b", "50%")
    assert "advice: all pairs: 66 evaluations" in fewpairs(*arguments).stdout
    facts = json.loads(fewpairs(*arguments, "--json").stdout)
    assert facts["way"]["exact"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("neighbors", "texts.txt", "-k", "2"),
            "texts.txt is a file. Pass --similarity",
        ),
        (neighbors("-k", "12"), "-k is 12, and there are 12 texts"),
        (neighbors("-k", "3"), "this would list 36 neighbors. Pass --item"),
        (neighbors("--item", "99", "-k", "2"), "items are numbered from 0 to 11"),
        (
            neighbors("-b", "soon", "--json"),
            "--budget is 'soon', which is not a number",
        ),
        (duplicates("-t", "nan"), "--threshold is nan; pass a number such as 0.8"),
        (duplicates("-t", "85"), "--threshold is 85"),
        (duplicates("-t", "0.9", "-b", "-1"), "nothing can be read for that"),
    ],
)
def test_mistakes_are_named_before_anything_is_compared(fewpairs, arguments, words):
    done = fewpairs(*arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert "take about" not in done.stderr


def test_a_recall_of_all_pairs_is_certain(fewpairs):
    done = fewpairs(*duplicates("-t", "0.8", "--recall", "95%", "--json"))
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)["certificate"]
    assert (made["guaranteed"], made["certified"]) == (1.0, True)


def test_a_recall_within_a_budget_says_what_is_claimed(tmp_path, capfd, monkeypatch):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 12)) for _ in range(150)]
    lines = "".join(f"{word}\n{word}x\n" for word in words)
    (tmp_path / "texts.txt").write_text(lines, encoding="utf-8")
    wanted = ("-t", "0.9", "--budget", "20%", "--recall", "90%", "--guarantee")
    sure = ("--confidence", "90%", "--json")
    done = run_here([*duplicates(*wanted, *sure)], tmp_path, capfd, monkeypatch)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["certificate"]["confidence"] == pytest.approx(0.9)
    assert facts["certificate"]["guaranteed"] >= 0.9
    assert len(facts["pairs"]) >= 0.9 * 150
    done = run_here([*duplicates(*wanted)], tmp_path, capfd, monkeypatch)
    assert "whatever the model does (each with 95 % confidence)" in " ".join(
        done.stdout.split()
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--recall", "much"), "pass a share such as 95% or 0.95"),
        (("--recall", "120%"), "--recall is '120%'"),
        (("--recall", "90%", "--confidence", "100%"), "--confidence is '100%'"),
        (("--guarantee",), "--guarantee without --recall"),
        (("--recall", "90%", "--most", "5"), "without --margin, --most and --method"),
    ],
)
def test_a_recall_that_cannot_be_is_told(fewpairs, given, told):
    done = fewpairs(*duplicates("-t", "0.8", *given))
    assert done.returncode != 0
    assert told in " ".join(done.stderr.split())
