"""Matches: one type for one set and two, with the input's own names and columns."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import fewpairs as fp
from fewpairs.answers.assignment import assign
from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.matches import Matches
from fewpairs.answers.near_misses import NearMisses
from fewpairs.answers.sides import Side
from tests.conftest import random_matrix

RATIO = fp.StringSimilarity("ratio")
K = random_matrix(120, symmetric=True)


def two_sided(left, right, similarity, **options):
    sides = (Side(5), Side(4))
    arrays = map(np.array, (left, right, similarity))
    given = {"threshold": None, "sides": sides}
    return Matches(*arrays, **given | options)


# --- one to one -------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), most=st.booleans())
def test_an_assignment_is_as_good_as_the_best_of_the_whole_matrix(seed, most):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 9, size=2)
    similarity = rng.random((m, n)) - 0.4 * rng.integers(2)
    i, j = np.nonzero(rng.random((m, n)) < 0.6)
    values = similarity[i, j]
    found = assign(Pairs(i, j, values), most=most).chosen
    assert len(set(i[found])) == len(set(j[found])) == found.sum()
    low = min(0.0, values.min(initial=0.0))
    worth = np.zeros((m, n))
    worth[i, j] = values - low + (100 if most else 0)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    assert worth[i, j][found].sum() == pytest.approx(worth[rows, columns].sum())


def test_ties_of_an_assignment_are_counted():
    left, right = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 2])
    same = Pairs(left, right, np.array([0.5, 0.5, 0.5, 0.5, 0.9]))
    found = assign(same, most=True)
    assert (found.chosen.sum(), found.ties) == (3, 2)
    assert assign(Pairs.none(), most=True).ties == 0


def test_raising_the_threshold_of_one_to_one_assigns_anew():
    # At 0.5 both rows get a partner; at 0.86 the best of all is alone.
    candidates = Pairs(
        np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.9, 0.85, 0.85])
    )
    found = two_sided([], [], [], threshold=0.5).assigned(candidates, Pairs.none())
    assert list(zip(found.left, found.right)) == [(0, 1), (1, 0)]
    higher = found.rethreshold(0.86)
    assert list(zip(higher.left, higher.right)) == [(0, 0)]
    assert higher.others.number == 2
    assert "the best assignment among 3 candidates" in str(found)
    assert "among 1 candidates" in str(higher)


# --- thresholds -------------------------------------------------------------------


def test_a_higher_threshold_is_what_a_new_search_finds():
    low, high = fp.duplicates(None, K, 0.2), fp.duplicates(None, K, 0.6)
    again = low.rethreshold(0.6)
    for name in ("left", "right", "similarity", "rank"):
        assert np.array_equal(getattr(again, name), getattr(high, name)), name
    assert np.array_equal(again.unmatched.left, high.unmatched.left)
    assert again.threshold == 0.6
    assert again.missed == high.missed


def test_a_lower_threshold_is_refused_with_the_cure():
    found = fp.duplicates(None, K, 0.5)
    with pytest.raises(fp.InputError, match=r"below is not known.*threshold=0\.4"):
        found.rethreshold(0.4)
    with pytest.raises(fp.InputError, match=r"rethreshold: threshold is 'x'"):
        found.rethreshold("x")


def test_borderline_pairs_are_the_nearest_on_both_sides():
    found = fp.duplicates(None, K, 0.5)
    near = found.borderline(20)
    values = np.sort(K[np.triu_indices(120, 1)])
    above, below = values[values >= 0.5][:10], values[values < 0.5][-10:]
    assert near.similarity == pytest.approx(np.concatenate([below, above])[::-1])
    assert near.threshold is None
    assert "some of the evaluated pairs" in str(near)
    assert np.array_equal(near.similarity, K[near.left, near.right])
    everything = found.borderline(10_000)
    assert len(everything) == len(found) + 1_000
    with pytest.raises(fp.InputError, match="borderline: k is 0"):
        found.borderline(0)


def test_borderline_pairs_of_strings_that_stop_early_are_exact():
    texts = [f"{a} {b} {c}" for a in ("red", "reds") for b in "abcd" for c in range(9)]
    found = fp.duplicates(texts, RATIO, 0.9)
    near = found.borderline(30)
    exact = RATIO.bind(texts).pairs(near.left, near.right)
    assert near.similarity == pytest.approx(exact, abs=1e-6)
    below = near.similarity < 0.9
    assert below.sum() == 15
    assert (near.similarity >= 0.9 - 0.05 - 1e-6).all()


def test_without_a_threshold_the_least_ahead_are_borderline():
    found = two_sided([0, 1, 2], [0, 1, 2], [0.9, 0.8, 0.7], k=1)
    others = Pairs(np.array([0, 1]), np.array([3, 3]), np.array([0.5, 0.79]))
    found = found.with_pairs(found.pairs, others)
    assert found.borderline(2).left.tolist() == [0, 1]
    assert found.borderline(1).left.tolist() == [1]


@given(
    values=st.lists(st.integers(0, 30), max_size=4_000),
    parts=st.lists(st.integers(1, 500), min_size=1, max_size=5),
)
def test_near_misses_do_not_depend_on_the_parts_they_come_in(values, parts):
    scores = np.array(values, dtype=float) / 30
    i = np.arange(len(scores))
    near, start = NearMisses(0.1), 0
    while start < len(scores):
        stop = start + parts[start % len(parts)]
        near.add(i[start:stop], i[start:stop] + 1, scores[start:stop])
        start = stop
    good = np.flatnonzero(scores >= 0.1)
    best = good[np.lexsort((good, -scores[good]))][:1_000]
    assert np.array_equal(near.pairs().left, best)


# --- ranks and margins ------------------------------------------------------------


def test_rank_and_margin_count_all_evaluated_pairs_of_a_left_row():
    found = two_sided([0, 1, 0], [2, 2, 1], [0.9, 0.8, 0.6], k=2)
    others = Pairs(np.array([0, 1]), np.array([3, 3]), np.array([0.7, 0.75]))
    found = found.with_pairs(found.pairs, others)
    assert found.rank.tolist() == [1, 1, 3]
    assert found.margin == pytest.approx([0.2, 0.05, np.nan], nan_ok=True)


def test_in_one_set_an_item_has_rivals_on_both_sides():
    found = fp.duplicates(
        None, np.array([[1, 0.9, 0.2], [0.9, 1, 0.8], [0.2, 0.8, 1]]), 0.5
    )
    assert list(zip(found.left, found.right)) == [(0, 1), (1, 2)]
    assert found.rank.tolist() == [1, 2]
    assert found.margin == pytest.approx([0.7, np.nan], nan_ok=True)


def test_rows_without_a_match_are_kept_on_both_sides():
    found = two_sided([0, 3], [1, 1], [0.9, 0.8], threshold=0.5)
    assert found.unmatched.left.tolist() == [1, 2, 4]
    assert found.unmatched.right.tolist() == [0, 2, 3]
    assert "3 left, 3 right" in str(found)


# --- tables -----------------------------------------------------------------------

NAMES = ["Ann Lee", "Bob Ray", "Anne Lee", "Zoe"]
WHERE = pd.DataFrame(
    {
        "name": NAMES,
        "city": ["A", "B", "C", None],
        "born": pd.to_datetime(["2001"] * 4),
    },
    index=[30, 10, 20, 40],
)


def test_a_shuffled_pandas_index_names_the_rows():
    found = fp.duplicates(WHERE, RATIO, 0.8, column="name")
    table = found.to_pandas()
    assert list(table.columns[:5]) == ["left", "right", "similarity", "rank", "margin"]
    assert (table["left"].tolist(), table["right"].tolist()) == ([30], [20])
    assert WHERE.loc[table["left"], "city"].tolist() == table["left_city"].tolist()
    assert table["right_name"].tolist() == ["Anne Lee"]
    assert table["left_born"].dtype == WHERE["born"].dtype
    assert fp.duplicates(WHERE["name"], RATIO, 0.8).to_pandas()["left"].tolist() == [30]


def test_unmatched_rows_come_last_and_numbers_stay_whole():
    found = fp.duplicates(WHERE, RATIO, 0.8, column="name")
    table = found.to_pandas(unmatched=True)
    assert table["left"].tolist() == [30, 10, 40]
    assert table["right"].tolist()[0] == 20
    assert table["right"].isna().tolist() == [False, True, True]
    assert pd.api.types.is_integer_dtype(table["right"].dtype)
    assert table["left_name"].tolist() == ["Ann Lee", "Bob Ray", "Zoe"]
    assert table["similarity"].notna().tolist() == [True, False, False]
    two = two_sided([0], [1], [0.9], threshold=0.5).to_pandas(unmatched=True)
    assert len(two) == 1 + 4 + 3


@pytest.mark.parametrize("kind", ["polars", "arrow", "dicts", "list", "polars column"])
def test_every_kind_of_input_keeps_its_columns(kind):
    columns = {"name": NAMES, "city": ["A", "B", "C", None]}
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    given, column = {
        "polars": (pl.DataFrame(columns), "name"),
        "arrow": (pa.table(columns), "name"),
        "dicts": (rows, "name"),
        "list": (NAMES, None),
        "polars column": (pl.Series("name", NAMES), None),
    }[kind]
    found = fp.duplicates(given, RATIO, 0.8, column=column)
    for table in (found.to_polars(), pl.from_pandas(found.to_pandas())):
        assert table["left"].to_list() == [0]
        assert table["right"].to_list() == [2]
        name = "item" if kind == "list" else "name"
        assert table[f"right_{name}"].to_list() == ["Anne Lee"]
        assert ("left_city" in table.columns) == (column is not None)
    whole = found.to_polars(unmatched=True)
    assert whole["left"].to_list() == [0, 1, 3]
    assert whole["right"].to_list() == [2, None, None]


def test_what_pandas_has_not_is_nothing_elsewhere(tmp_path):
    frame = pd.DataFrame(
        {
            "name": NAMES,
            "when": pd.to_datetime(["2001", None, "2002", None]),
            "number": pd.array([1, None, 3, None], dtype="Int64"),
            "thing": [None, {"x": 1}, [1], "a"],
            "mixed": [1, 2.5, 3, 4],
        }
    )
    found = fp.duplicates(frame, RATIO, 0.8, column="name")
    whole = found.to_polars(unmatched=True)
    assert whole["left_when"].is_null().to_list() == [False, True, True]
    assert whole["left_number"].to_list() == [1, None, None]
    assert whole["left_thing"].to_list() == [None, {"x": 1}, "a"]
    found.to_csv(tmp_path / "out.csv", unmatched=True)
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert "NaT" not in text
    assert "NA>" not in text


def test_records_are_shown_by_their_fields():
    rows = [{"name": n, "city": c} for n, c in zip(NAMES, ["A", "B", "C", None])]
    same = fp.from_function(lambda a, b: float(a["name"][:2] == b["name"][:2]))
    found = fp.duplicates(rows, same, 0.5)
    assert found.to_pandas()["left_city"].tolist() == ["A"]
    assert found.sides[0].texts(np.array([0, 3])) == ["Ann Lee A", "Zoe"]


def test_vectors_are_named_by_position_alone():
    found = fp.duplicates(np.eye(3) + 0.1, fp.Cosine(), 0.1)
    assert list(found.to_pandas().columns)[-1] == "margin"
    assert found.sides[0].texts(np.array([1])) == ["1"]


def test_a_csv_file_reads_back(tmp_path):
    found = fp.duplicates(WHERE, RATIO, 0.8, column="name")
    found.to_csv(tmp_path / "out.csv", unmatched=True)
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["left"] for row in rows] == ["30", "10", "40"]
    assert rows[0]["right_name"] == "Anne Lee"
    assert rows[1]["similarity"] == rows[1]["right"] == ""
    with pytest.raises(fp.InputError, match="to_csv: path is 3"):
        found.to_csv(3)


def test_without_pandas_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(fp.MissingExtraError, match="pip install pandas"):
        fp.duplicates(NAMES, RATIO, 0.8).to_pandas()


def test_rows_of_a_generator_keep_what_was_compared():
    found = fp.duplicates(({"name": n} for n in NAMES), RATIO, 0.8, column="name")
    assert found.to_pandas()["left_name"].tolist() == ["Ann Lee"]


def test_an_approximation_has_the_same_type_with_its_texts():
    approx = fp.approximate(NAMES, RATIO, budget=1.0)
    found = approx.duplicates(0.8)
    assert type(found) is Matches
    assert found.to_pandas()["right_item"].tolist() == ["Anne Lee"]
    assert found.unmatched.left.tolist() == [1, 3]


def test_a_receipt_says_what_was_asked_found_and_paid():
    found = fp.duplicates(NAMES, RATIO, 0.8)
    text = str(found)
    assert text.startswith("fewpairs: matches of 4 items\n")
    for words in (
        "pairs at least 0.8 similar",
        "1 pair, similarities 0.9333 to 0.9333, each evaluated",
        "2 items",
        "6 evaluations of 6 pairs (100.00%)",
        "none, all pairs were read",
    ):
        assert words in text
    assert repr(found).startswith("<Matches: 1 pairs at least 0.8; all pairs:")
    assert "no pairs" in str(found.rethreshold(0.99))
