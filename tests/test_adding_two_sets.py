"""Two sets grow on either side: what was paid for is kept, nothing within a side read.

Truth by construction: places on a line, of queries and of documents, whose function
fails on two of a kind and counts its calls.
"""

from collections import Counter
from functools import cache

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import BudgetError, InputError

_PLACES = np.random.default_rng(5).permutation(400)
QUERIES = [("query", int(t)) for t in _PLACES[:150]]
DOCUMENTS = [("document", int(t)) for t in _PLACES[150:]]
OLD, OLD_OTHERS = QUERIES[:110], DOCUMENTS[:180]
NEW, NEW_OTHERS = QUERIES[110:140], DOCUMENTS[180:230]
SIDES = {
    "left": (NEW, None),
    "right": (None, NEW_OTHERS),
    "both": (NEW, NEW_OTHERS),
}


class Across:
    """A smooth similarity of a query and a document; counts its calls."""

    def __init__(self, after=10**9):
        self.calls, self.after = Counter(), after

    def __call__(self, a, b):
        assert (a[0], b[0]) == ("query", "document"), f"{a} and {b} are no pair"
        if self.calls.total() >= self.after:
            raise KeyboardInterrupt
        self.calls[a[1], b[1]] += 1
        return value(a[1], b[1])


def value(a, b):
    return float(np.exp(-abs(a - b) / 40) + 0.1 * np.cos(a / 7) * np.cos(b / 7))


def matrix(left, right):
    return np.array([[value(a, b) for _, b in right] for _, a in left])


def features(items):
    """Embeddings whose cosine falls with the distance of two places."""
    at = np.arange(0, 400, 10)
    return np.exp(-(((np.array([t for _, t in items])[:, None] - at) / 25.0) ** 2))


def base(function, *, prior=True, store=None, budget="20/item", **options):
    similarity = fp.from_function(function, name="near")
    given = (features(OLD), features(OLD_OTHERS)) if prior else None
    return fp.approximate(
        OLD, similarity, others=OLD_OTHERS, budget=budget, prior=given, store=store,
        **options,
    )  # fmt: skip


def priors(items, others):
    """Return what `add` is given for new items of either side."""
    if items is None or others is None:
        return features(items or others)
    return features(items), features(others)


def grow(approx, side, budget=None, *, prior=True):
    items, others = SIDES[side]
    given = {"prior": priors(items, others)} if prior else {}
    return approx.add(items, others=others, budget=budget, **given)


@cache
def grown(side, prior=True, budget=None):
    """Return an approximation, it with new items, and the calls before and after."""
    function = Across()
    approx = base(function, prior=prior, budget="20/item" if prior else "60/item")
    before = Counter(function.calls)
    return approx, grow(approx, side, budget, prior=prior), before, function.calls


def shape_of(side):
    items, others = SIDES[side]
    return 110 + len(items or ()), 180 + len(others or ())


def all_of(side):
    items, others = SIDES[side]
    return OLD + (items or []), OLD_OTHERS + (others or [])


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize("side", SIDES)
def test_no_pair_is_paid_twice_and_only_pairs_with_new_items_are_read(side, prior):
    approx, larger, before, calls = grown(side, prior)
    assert larger.shape == shape_of(side)
    assert max(calls.values()) == 1
    assert larger.evaluations == calls.total() > before.total()
    assert approx.evaluations == before.total()
    items, others = SIDES[side]
    new = {t for _, t in items or ()}, {t for _, t in others or ()}
    assert all(a in new[0] or b in new[1] for a, b in calls - before)


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize("side", SIDES)
def test_what_was_read_before_is_exact_at_its_place_in_the_larger_one(side, prior):
    _, larger, _, calls = grown(side, prior)
    left, right = all_of(side)
    at = (
        {t: k for k, (_, t) in enumerate(left)},
        {t: k for k, (_, t) in enumerate(right)},
    )
    i, j = (np.array(x) for x in zip(*((at[0][a], at[1][b]) for a, b in calls)))
    K = matrix(left, right)
    assert np.array_equal(larger.pairs(i, j), K[i, j])
    known = larger.known.lookup(i, j + len(left))[0]
    assert known.all()
    assert larger.known.moments().number == calls.total()
    assert larger.certificate.r2 > 0.5


@pytest.mark.parametrize("side", SIDES)
def test_neighbors_among_old_and_new_ones_are_found(side):
    _, larger, _, _ = grown(side)
    left, right = all_of(side)
    K = matrix(left, right)
    truth = np.argsort(-K, axis=1)[:, :5]
    found = larger.neighbors(5).indices
    recall = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(truth, found)])
    assert recall > 0.9


@pytest.mark.parametrize("side", SIDES)
def test_the_certificate_is_of_the_larger_matrix(side):
    _, larger, _, _ = grown(side)
    K = matrix(*all_of(side))
    error = np.linalg.norm(larger.dense() - K) / np.linalg.norm(K)
    low, high = larger.certificate.interval
    assert low <= error <= high


@pytest.mark.parametrize(
    ("side", "budget", "most"),
    [
        ("left", "4/item", 120),
        ("right", "4/item", 200),
        ("both", "4/item", 320),
        ("left", 0.01, 54),  # of 30 · 180 pairs
        ("right", 0.01, 55),  # of 110 · 50
        ("both", 500, 500),
        ("both", 40, 40),
    ],
)
def test_the_budget_is_for_pairs_with_new_items_and_is_kept(side, budget, most):
    approx, larger, _, _ = grown(side, budget=budget)
    assert 0 < larger.evaluations - approx.evaluations <= most


def test_by_default_a_new_item_gets_what_one_of_its_side_had():
    approx, left, _, _ = grown("left")
    _, right, _, _ = grown("right")
    assert left.evaluations - approx.evaluations <= 20 * 30
    assert right.evaluations - approx.evaluations <= np.ceil(20 * 110 / 180 * 50)
    last = left.add(QUERIES[140:], prior=features(QUERIES[140:]))
    assert last.evaluations - left.evaluations <= 20 * 10


def test_one_side_after_the_other_and_again():
    function = Across()
    approx = base(function)
    for items, others in ((NEW, None), (None, NEW_OTHERS), (QUERIES[140:], None)):
        approx = approx.add(items, others=others, prior=priors(items, others))
    assert approx.shape == (150, 230)
    assert max(function.calls.values()) == 1
    assert approx.evaluations == function.calls.total()
    i, j = np.divmod(np.arange(150 * 230), 230)
    known, values = approx.known.lookup(i, 150 + j)
    K = matrix(QUERIES, DOCUMENTS[:230])
    assert known.sum() == function.calls.total()
    assert np.array_equal(values[known], K[i[known], j[known]])
    more = approx.grow("60/item")
    assert more.evaluations > approx.evaluations
    assert max(function.calls.values()) == 1


@pytest.mark.parametrize(
    "method", [fp.Skeleton(12), "sicur", fp.SiCUR(8), fp.StaCUR(6), "stacur"]
)
@pytest.mark.parametrize("side", SIDES)
def test_landmark_methods_go_on_with_their_landmarks(method, side):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 3)), rng.standard_normal((90, 3))
    seen = Counter()

    def product(a, b):
        seen[a, b] += 1
        return float(A[a] @ B[b])

    rows, columns = range(50), range(80)
    approx = fp.approximate(
        rows, product, others=columns, method=method, budget=0.5, prior=None
    )
    before = Counter(seen)
    items = range(50, 60) if side != "right" else None
    others = range(80, 90) if side != "left" else None
    larger = approx.add(items, others=others)
    assert max(seen.values()) == 1
    assert all(a >= 50 or b >= 80 for a, b in seen - before)
    if "stacur" not in repr(method).lower():  # never exact
        m, n = larger.shape
        assert np.allclose(larger.dense(), A[:m] @ B[:n].T, atol=1e-8)


def test_two_sets_that_were_read_as_a_whole_stay_whole():
    function = Across()
    approx = base(function, budget=1.0, prior=False)
    larger = grow(approx, "both", prior=False)
    assert larger.certificate.unread == 0
    assert max(function.calls.values()) == 1
    assert np.array_equal(larger.dense(), matrix(*all_of("both")))


def test_texts_get_their_prior_again():
    words = ["alpha", "beta", "gamma", "delta", "omega", "sigma"]
    texts = [f"{a} {b} {t}" for t in range(9) for a in words for b in words]
    approx = fp.approximate(
        texts[:100], fp.StringSimilarity(), others=texts[100:250], budget="15/item"
    )
    larger = approx.add(texts[250:280], others=texts[280:])
    assert larger.shape == (130, 194)
    assert "lexical" in larger.method


def test_a_prior_of_a_cheap_similarity_is_bound_to_new_items_too():
    function = Across()
    cheap = fp.from_function(lambda a, b: -abs(a[1] - b[1]), name="near")
    approx = fp.approximate(
        OLD, function, others=OLD_OTHERS, budget="20/item", prior=cheap
    )
    assert grow(approx, "both", prior=False).certificate.r2 > 0.5


def test_what_a_search_paid_for_is_not_paid_again_when_the_query_is_added(tmp_path):
    function = Across()
    approx = base(function, store=tmp_path / "paid")
    found = approx.search(NEW[:3], k=5, evaluations=40, prior=features(NEW[:3]))
    assert found.evaluations == 3 * 40
    larger = grow(approx, "both")
    assert max(function.calls.values()) == 1
    again = larger.search(110, k=5, evaluations=40, new=False)
    assert max(function.calls.values()) == 1
    exact = matrix(NEW[:1], OLD_OTHERS + NEW_OTHERS)[0]
    assert np.allclose(again.similarities, exact[again.indices])


def test_queries_are_remembered_where_left_items_have_moved_the_others(tmp_path):
    function = Across()
    approx = base(function, store=tmp_path / "paid")
    query, embedded = QUERIES[145:146], features(QUERIES[145:146])
    first = approx.search(query, k=5, evaluations=60, prior=embedded)
    larger = grow(approx, "left")
    again = larger.search(query, k=5, evaluations=60, prior=embedded)
    assert again.evaluations < first.evaluations
    assert max(function.calls.values()) == 1
    exact = matrix(query, OLD_OTHERS)[0]
    assert np.allclose(again.similarities[0], exact[again.indices[0]])


def test_the_receipt_says_what_joined_what():
    approx, larger, _, _ = grown("both")
    assert "30 items joined 110, 50 others joined 180" in str(larger)
    assert "50 others joined 180: " in str(grown("right")[1])
    assert "items joined" not in str(grown("right")[1])
    assert larger.bill.kept == approx.evaluations


@pytest.mark.parametrize("side", SIDES)
def test_the_same_twice_is_the_same_to_the_bit(side):
    again = grow(base(Across()), side)
    assert np.array_equal(again.dense(), grown(side)[1].dense())


# --- stores, saved and loaded ----------------------------------------------------


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("after", [60, 400])
def test_a_run_that_adds_goes_on_after_a_kill_to_the_same_bits(tmp_path, side, after):
    whole = grow(base(Across(), store=tmp_path / "whole"), side)
    paid = base(Across()).evaluations
    with pytest.raises(KeyboardInterrupt):
        grow(base(Across(paid + after), store=tmp_path / "killed"), side)
    again = Across()
    first = base(again, store=tmp_path / "killed")
    assert first.evaluations <= 8  # stored pairs, evaluated again
    checks = again.calls.total()
    result = grow(first, side)
    assert np.array_equal(result.dense(), whole.dense())
    assert result.certificate == whole.certificate
    made = whole.evaluations - paid
    assert again.calls.total() - checks <= made - after + 1
    assert result.bill.charged == whole.bill.charged


@pytest.mark.parametrize("side", SIDES)
def test_what_was_saved_and_loaded_is_added_to(tmp_path, side):
    here = grown(side)[1]
    base(Across()).save(tmp_path / "run")
    function = Across()
    loaded = fp.load(
        tmp_path / "run",
        items=OLD,
        others=OLD_OTHERS,
        similarity=fp.from_function(function, name="near"),
    )
    there = grow(loaded, side)
    assert np.array_equal(there.dense(), here.dense())
    assert there.evaluations == here.evaluations
    there.save(tmp_path / "larger")
    assert str(fp.load(tmp_path / "larger")) == str(there)


def test_a_loaded_one_goes_on_with_its_store(tmp_path):
    function = Across()
    approx = base(function, store=tmp_path / "paid")
    larger = grow(approx, "left")
    larger.save(tmp_path / "run")
    first = larger.add(others=NEW_OTHERS, prior=features(NEW_OTHERS))
    before = function.calls.total()
    loaded = fp.load(
        tmp_path / "run",
        items=OLD + NEW,
        others=OLD_OTHERS,
        similarity=fp.from_function(function, name="near"),
        store=tmp_path / "paid",
    )
    again = loaded.add(others=NEW_OTHERS, prior=features(NEW_OTHERS))
    assert function.calls.total() == before
    assert np.array_equal(again.dense(), first.dense())


# --- bad input, each before anything is paid for ---------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing to add. Pass new_items, others or both"),
        ({"new_items": []}, "new_items is empty"),
        ({"others": []}, "others is empty"),
        ({"others": [3.5]}, r"others\[0\] is 3.5, of type float"),
        ({"others": NEW_OTHERS}, r"Pass prior=, an \(50, 40\) array"),
        ({"others": NEW_OTHERS, "prior": np.ones((50, 3))}, "3 dimensions"),
        ({"others": NEW_OTHERS, "prior": np.ones((49, 40))}, "49 embeddings for 50"),
        (
            {"new_items": NEW, "others": NEW_OTHERS, "prior": np.ones((80, 40))},
            "both sets have new items. Pass a pair",
        ),
        (
            {"new_items": NEW, "others": NEW_OTHERS, "prior": (features(NEW), None)},
            "no embeddings of the new others",
        ),
        (
            {"new_items": NEW, "prior": (np.ones((29, 40)), None)},
            "29 embeddings of 30 new items",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_added_is_refused(options, message):
    function = Across()
    approx = base(function)
    before = function.calls.total()
    with pytest.raises(InputError, match=message):
        approx.add(**options)
    assert function.calls.total() == before


def test_others_of_one_set_are_refused():
    one = fp.approximate([t for _, t in OLD], lambda a, b: -abs(a - b), budget=0.3)
    with pytest.raises(InputError, match=r"others is given, and this .* is of one set"):
        one.add(others=[1])


def test_a_matrix_of_two_sets_knows_no_new_items():
    approx = fp.approximate(None, matrix(OLD, OLD_OTHERS), budget=0.2)
    with pytest.raises(InputError, match=r"Approximation\.add: .* knows no others"):
        approx.add(others=[1])


def test_a_budget_below_one_evaluation_is_refused():
    approx = base(Across())
    with pytest.raises(BudgetError, match="less than one evaluation for 1 new item"):
        approx.add(others=NEW_OTHERS[:1], budget=1e-4, prior=features(NEW_OTHERS[:1]))
