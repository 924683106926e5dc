"""Two lists or tables: which rows belong together."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import fewpairs as fp
from fewpairs.answers.matches import Matches
from fewpairs.answers.way import Way
from tests import children

RATIO = fp.StringSimilarity("ratio")
MESSY = ["Jon Smiht", "A. Lovelace", "Nobody At All"]
CLEAN = ["Ada Lovelace", "John Smith", "Grace Hopper", "Alan Turing"]


def table(m, n, seed=0):
    return np.random.default_rng(seed).random((m, n))


class Scored:
    """A function of a left and a right position that notes its calls."""

    def __init__(self, K):
        self.K, self.calls = K, []

    def __call__(self, a, b):
        assert a[0] == "left"
        assert b[0] == "right"
        self.calls.append((a[1], b[1]))
        return float(self.K[a[1], b[1]])


def sides(m, n):
    return [("left", t) for t in range(m)], [("right", t) for t in range(n)]


# --- all pairs --------------------------------------------------------------------


@given(
    m=st.integers(1, 40),
    n=st.integers(1, 40),
    seed=st.integers(0, 1_000),
    threshold=st.sampled_from([0.0, 0.5, 0.9, 2.0]),
)
def test_all_pairs_at_or_above_the_threshold_are_found(m, n, seed, threshold):
    K = table(m, n, seed)
    found = fp.match(None, None, K, threshold=threshold, budget=1.0)
    i, j = np.nonzero(threshold <= K)
    assert {*zip(found.left.tolist(), found.right.tolist())} == {*zip(i, j)}
    assert np.array_equal(found.similarity, K[found.left, found.right])
    assert (np.diff(found.similarity) <= 0).all()
    assert found.evaluations == m * n
    assert found.way.exact
    assert found.unmatched.left.tolist() == sorted({*range(m)} - {*i})
    assert found.unmatched.right.tolist() == sorted({*range(n)} - {*j})


@given(m=st.integers(1, 30), n=st.integers(1, 30), seed=st.integers(0, 1_000))
def test_the_k_best_of_every_left_row_are_found_with_rank_and_margin(m, n, seed):
    K, k = table(m, n, seed), min(n, 3)
    found = fp.match(None, None, K, k=k, budget=1.0)
    order = np.argsort(-K, axis=1, kind="stable")
    assert len(found) == m * k
    for left, right, rank, margin in zip(
        found.left, found.right, found.rank, found.margin
    ):
        assert order[left, rank - 1] == right
        if rank < n:
            following = K[left, order[left, rank]]
            assert margin == pytest.approx(K[left, right] - following)
        else:
            assert np.isnan(margin)
    assert len(found.unmatched.left) == 0


@given(m=st.integers(1, 9), extra=st.integers(0, 9), seed=st.integers(0, 1_000))
def test_one_to_one_is_the_best_assignment_of_the_whole_matrix(m, extra, seed):
    K = table(m, m + extra, seed)
    found = fp.match(None, None, K, one_to_one=True, budget=1.0)
    i, j = linear_sum_assignment(K, maximize=True)
    assert {*zip(found.left.tolist(), found.right.tolist())} == {*zip(i, j)}
    assert len(found.unmatched.left) == 0
    assert len(found.unmatched.right) == extra


def test_one_to_one_above_a_threshold_leaves_the_others_unmatched():
    K = np.array([[0.9, 0.8], [0.85, 0.1], [0.2, 0.3]])
    found = fp.match(None, None, K, threshold=0.7, one_to_one=True)
    assert {*zip(found.left.tolist(), found.right.tolist())} == {(0, 1), (1, 0)}
    assert found.unmatched.left.tolist() == [2]
    assert found.rethreshold(0.88).left.tolist() == [0]


def test_only_a_left_and_a_right_row_are_compared_each_pair_once():
    K = table(20, 30)
    scored = Scored(K)
    found = fp.match(*sides(20, 30), fp.from_function(scored), k=2)
    assert found.evaluations == len(scored.calls) == len(set(scored.calls)) == 600
    assert np.array_equal(found.similarity, np.sort(np.sort(K)[:, -2:].ravel())[::-1])


def test_a_permutation_of_either_side_permutes_the_matches():
    K, rng = table(25, 35), np.random.default_rng(1)
    p, q = rng.permutation(25), rng.permutation(35)
    plain = fp.match(None, None, K, threshold=0.9)
    other = fp.match(None, None, K[p][:, q], threshold=0.9)
    back = {*zip(p[other.left].tolist(), q[other.right].tolist())}
    assert back == {*zip(plain.left.tolist(), plain.right.tolist())}


@pytest.mark.parametrize("executor", ["threads:2", "processes:2"])
def test_the_answer_is_the_same_whoever_evaluates(executor):
    left, right = list(range(60)), list(range(100, 190))
    options = {"threshold": 0.2, "budget": 1.0}
    plain = fp.match(left, right, children.Touchy(), **options)
    other = fp.match(left, right, children.Touchy(), executor=executor, **options)
    assert len(plain) > 0
    for name in ("left", "right", "similarity"):
        assert np.array_equal(getattr(plain, name), getattr(other, name))


CALLS = []


def noted(a, b):
    CALLS.append((a, b))
    return float(np.cos(a - b))


def test_what_a_store_has_is_not_paid_for_again(tmp_path):
    options = {"k": 1, "budget": 1.0, "store": tmp_path / "paid"}
    sets = range(30), range(100, 140)
    first = fp.match(*sets, noted, **options)
    assert len(CALLS) == 1_200
    again = fp.match(*sets, noted, **options)
    assert np.array_equal(first.right, again.right)
    assert len(CALLS) <= 1_200 + 8  # a few are checked again


# --- what comes in and goes out ---------------------------------------------------


def test_names_and_columns_of_both_tables_come_back():
    left = pd.DataFrame({"who": MESSY, "age": [1, 2, 3]}, index=["c", "a", "b"])
    right = pl.DataFrame({"name": CLEAN, "key": [9, 8, 7, 6]})
    found = fp.match(
        left, right, RATIO, threshold=0.6,
        left_column="who", right_column="name", right_id="key",
    )  # fmt: skip
    assert type(found) is Matches
    rows = found.to_pandas()
    assert rows["left"].tolist() == ["a", "c"]
    assert rows["right"].tolist() == [9, 8]
    assert rows["left_age"].tolist() == [2, 1]
    assert rows["right_name"].tolist() == ["Ada Lovelace", "John Smith"]
    whole = found.to_polars(unmatched=True)
    assert whole["left"].to_list() == ["a", "c", "b", None, None]
    assert whole["right"].to_list() == [9, 8, None, 7, 6]
    assert found.unmatched.left.tolist() == [2]


def test_one_column_name_does_for_both():
    left, right = ({"name": name} for name in MESSY), pd.DataFrame({"name": CLEAN})
    found = fp.match(left, right, RATIO, k=1, column="name")
    assert len(found) == 3


def test_two_kinds_of_items_are_compared_by_a_function_of_both():
    found = fp.match([3, 5], ["aaa", "b"], lambda a, b: -abs(a - len(b)), k=1)
    assert sorted(zip(found.left.tolist(), found.right.tolist())) == [(0, 0), (1, 0)]


# --- refused before anything is paid for ------------------------------------------

FRAME = pd.DataFrame({"name": CLEAN, "key": [1, 2, 2, 3]})
REFUSED = {
    "neither": ({}, "got neither threshold nor k"),
    "both": ({"threshold": 0.5, "k": 1}, "got threshold=0.5 and k=1"),
    "an empty left side": ({"left": [], "k": 1}, "left is empty"),
    "an empty right side": ({"right": [], "k": 1}, "right is empty"),
    "k of too many": ({"k": 5}, "k is 5"),
    "a threshold in per cent": ({"threshold": 80}, "Did you mean 0.8"),
    "one to one of fewer": (
        {"left": [*CLEAN, "more"], "one_to_one": True},
        "5 left rows and 4 right ones: at least 1 would stay",
    ),
    "a table without a column": ({"right": FRAME, "k": 1}, "right is a DataFrame"),
    "a column that is missing": (
        {"right": FRAME, "right_column": "title", "k": 1},
        "column is 'title'; right is a DataFrame with the columns 'name', 'key'",
    ),
    "ids that are missing": (
        {"right": FRAME, "right_column": "name", "right_id": "id", "k": 1},
        "ids is 'id'",
    ),
    "ids that repeat": (
        {"right": FRAME, "right_column": "name", "right_id": "key", "k": 1},
        r"the column 'key' of right repeats: 2 stands at positions 1 and 2",
    ),
    "an index that repeats": (
        {"left": pd.Series(MESSY, index=[0, 1, 1]), "k": 1},
        r"the index of left repeats.*left\.reset_index",
    ),
    "ids that are lists, and repeat": (
        {"right": [{"n": c, "k": [1]} for c in CLEAN], "k": 1}
        | {"right_column": "n", "right_id": "k"},
        r"the column 'k' of right repeats: '\[1\]'",
    ),
    "ids of a list": ({"right_id": "key", "k": 1}, "ids is 'key', and right"),
    "a string for a list": ({"left": "Jon", "k": 1}, "left is 'Jon'"),
    "a name for a similarity": ({"similarity": "ratio", "k": 1}, "StringSimilarity"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_before_anything_is_paid_for(case):
    calls = []
    options, words = REFUSED[case]
    similarity = fp.from_function(
        lambda a, b: calls.append(1) or 0.5, bounds=(0.0, 1.0)
    )
    given = {"left": MESSY, "right": CLEAN, "similarity": similarity} | options
    with pytest.raises(fp.InputError, match=words):
        fp.match(**given)
    assert calls == []


def test_a_square_matrix_is_two_sets_within_a_budget_too():
    K = np.random.default_rng(0).random((60, 60))
    found = fp.match(None, None, K, threshold=0.9, budget=0.4)
    assert found.evaluations <= 0.4 * 60 * 60
    np.testing.assert_array_equal(found.similarity, K[found.left, found.right])
    own = found.left == found.right  # the diagonal is pairs as any other
    assert K[np.arange(60), np.arange(60)].max() >= 0.9
    assert own.sum() <= (np.diagonal(K) >= 0.9).sum()


def test_a_matrix_of_another_shape_is_refused():
    with pytest.raises(fp.InputError, match="3 × 5"):
        fp.match(MESSY, CLEAN, table(3, 5), k=1)


def test_one_to_one_with_a_threshold_takes_a_smaller_right_side():
    found = fp.match([*CLEAN, "more"], CLEAN, RATIO, threshold=0.9, one_to_one=True)
    assert found.unmatched.left.tolist() == [4]


# --- some of the pairs ------------------------------------------------------------


def linked(m=120, n=160, seed=0):
    """Left row t belongs to right row PARTNER[t]: a spike on a low-rank matrix."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((m, 4)), rng.standard_normal((n, 4))
    partner = rng.permutation(n)[:m]
    Y[partner] = X + 0.05 * rng.standard_normal((m, 4))
    K = np.exp(-np.linalg.norm(X[:, None] - Y[None], axis=2))
    return K, partner, (X, Y)


@pytest.mark.parametrize(
    "asked",
    [{"k": 1}, {"k": 3}, {"threshold": 0.6}, {"one_to_one": True}],
    ids=lambda asked: next(iter(asked)),
)
def test_a_budget_below_all_pairs_is_kept_and_every_match_is_exact(asked):
    K, partner, prior = linked()
    scored = Scored(K)
    found = fp.match(
        *sides(*K.shape), fp.from_function(scored), budget=0.2, prior=prior, **asked
    )
    assert found.evaluations == len(scored.calls) == len(set(scored.calls))
    assert found.evaluations <= 0.2 * K.size
    assert not found.way.exact
    assert np.array_equal(found.similarity, K[found.left, found.right])
    assert (np.diff(found.similarity) <= 0).all()
    right = partner[found.left] == found.right
    assert right.sum() >= 0.9 * len(partner)
    if "one_to_one" in asked:
        assert len({*found.left}) == len({*found.right}) == len(found)


def test_what_the_timed_sample_has_read_is_not_paid_for_again(monkeypatch):
    monkeypatch.setattr(
        "fewpairs.run.job.choose_way", lambda *_: Way(exact=False, why="told so")
    )
    K, partner, prior = linked()
    scored = Scored(K)
    found = fp.match(*sides(*K.shape), fp.from_function(scored), k=1, prior=prior)
    assert found.way.why == "told so"
    assert found.evaluations == len(scored.calls) == len(set(scored.calls)) < K.size
    assert (partner[found.left] == found.right).mean() > 0.9


def test_an_approximation_of_two_sets_is_matched_and_asked_again_pays_nothing():
    K, partner, prior = linked()
    scored = Scored(K)
    left, right = sides(*K.shape)
    approx = fp.approximate(
        left, fp.from_function(scored), others=right, budget=0.2, prior=prior
    )
    before = len(scored.calls)
    found = approx.match(k=1)
    assert found.evaluations == len(scored.calls) - before
    assert (partner[found.left] == found.right).mean() > 0.9
    assert approx.match(k=1).evaluations == 0
    assert approx.match(threshold=0.3).evaluations > 0
    assert approx.match(threshold=0.3).evaluations == 0
    approx = fp.approximate(None, K, budget=0.2, prior=prior)
    few = approx.match(threshold=0.3, evaluations=5)
    assert few.evaluations <= 5
    assert np.array_equal(few.similarity, K[few.left, few.right])
    every = approx.match(one_to_one=True)
    assert len(every) == len(partner)
    assert every.evaluations <= 10 * len(partner)
    assert len(approx.match(k=1, evaluations=0).unmatched.left) < len(partner)
    assert found.to_pandas()["left_item"].tolist()[0][0] == "left"


def test_equal_texts_are_found_whatever_is_predicted():
    rng = np.random.default_rng(0)
    words = [f"{rng.integers(1e9)}" for _ in range(400)]
    left, right = words[:150], [*words[150:], words[7], words[60]]
    found = fp.match(
        left, right, lambda a, b: float(a == b), threshold=0.9, budget=0.05, prior=None
    )
    assert sorted(found.left.tolist()) == [7, 60]
    assert found.evaluations <= 0.05 * 150 * 252


def test_an_approximation_of_one_set_says_what_to_use():
    approx = fp.approximate(MESSY * 3, RATIO, budget=1.0)
    with pytest.raises(fp.InputError, match=r"one set of 9 items.*duplicates"):
        approx.match(k=1)
    with pytest.raises(fp.InputError, match="match: got neither threshold nor k"):
        approx.match()


def test_a_prior_for_one_side_is_refused_whichever_way_is_taken():
    with pytest.raises(fp.InputError, match=r"fewpairs\.match: prior is an array"):
        fp.match(MESSY, CLEAN, RATIO, k=1, prior=np.ones((3, 2)))


def test_rows_whose_candidates_are_all_taken_stay_unmatched_and_the_receipt_says_so():
    K = np.tile([1.0, 2.0, 3.0], (3, 1))  # every row likes the last column best
    found = fp.match(None, None, K, one_to_one=True, k=1, budget=1.0)
    assert len(found) == len({*found.right}) == 2
    assert len(found.unmatched.left) == 1
    assert "nothing is left for 1 left row," in str(found)
    assert "a larger k gives more" in str(found)
    assert len(fp.match(None, None, K, one_to_one=True, k=3, budget=1.0)) == 3


def test_many_pairs_are_found_by_their_candidates(monkeypatch):
    K, _, prior = linked()
    approx = fp.approximate(None, K, prior=prior, budget=0.3)
    few = approx.match(threshold=0.5)
    monkeypatch.setattr("fewpairs.answers.above._ALL", 0)
    monkeypatch.setattr("fewpairs.answers.above._FIRST", 4)
    many = approx.match(threshold=0.5)
    assert np.array_equal(few.left, many.left)
    assert np.array_equal(few.right, many.right)


def test_a_budgeted_run_that_goes_on_pays_nothing_and_answers_the_same(tmp_path):
    texts = [f"{a} {b}" for a in ("red", "green", "blue", "black") for b in range(30)]
    left, right = texts[::2], texts[1::2]
    similarity, store = fp.StringSimilarity("levenshtein"), tmp_path
    for asked in ({"k": 2}, {"threshold": 0.8}, {"one_to_one": True}):
        options = {"budget": 0.4, "store": store / next(iter(asked)), **asked}
        first = fp.match(left, right, similarity, **options)
        again = fp.match(left, right, similarity, **options)
        assert 0 < first.evaluations <= 0.4 * len(left) * len(right)
        assert again.evaluations <= 8  # a few are checked again
        for name in ("left", "right", "similarity", "margin"):
            one, other = getattr(first, name), getattr(again, name)
            assert np.array_equal(one, other, equal_nan=True)


def test_rows_that_a_similarity_drops_keep_their_places():
    words = {"red": 0, "green": 1, "blue": 2}
    vectors = (list(words), np.eye(3))
    similarity = fp.WMD(vectors, empty="drop")
    found = fp.match(
        ["zzz", "red red", "blue"], ["green", "zz", "red"], similarity, k=1
    )
    rows = found.to_pandas(unmatched=True)
    pairs = list(zip(rows["left_item"], rows["right_item"]))
    assert ("red red", "red") in pairs
    assert rows["left"].tolist()[0] == 1
    assert rows["right"].tolist()[0] == 2
