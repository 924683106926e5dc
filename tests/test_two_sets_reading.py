"""Two sets, read through an oracle: only a left and a right item make a pair."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import BudgetError, InputError
from fewpairs.ledger.ledger import Ledger
from fewpairs.matrix.budget import Budget
from fewpairs.matrix.cost import Cost
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.moments import far_line_entries
from fewpairs.matrix.tiles import TileGrid
from fewpairs.reading.opening import open_oracle
from fewpairs.similarity.binding import bind
from fewpairs.similarity.two_sets import of_two_sets, two_sets

M, N = 7, 12
K = np.random.default_rng(0).standard_normal((M, N))


class Calls:
    """A function of a left and a right kind of item, which counts what it is asked."""

    def __init__(self):
        self.pairs = []

    def __call__(self, a, b):
        assert a[0] == "left", "the first of a pair is a left item"
        assert b[0] == "right", "the second of a pair is a right item"
        self.pairs.append((a[1], b[1]))
        return float(K[a[1], b[1]])


LEFT = [("left", t) for t in range(M)]
RIGHT = [("right", t) for t in range(N)]


def oracle_of(function=None, **options):
    recipe, items = of_two_sets(
        LEFT, RIGHT, fp.from_function(function or Calls()), "test"
    )
    return open_oracle(bind(items, recipe, "test"), recipe, **options)


def test_whole_lines_of_both_sides_cost_what_lies_across_and_no_pair_twice():
    calls = Calls()
    oracle = oracle_of(calls)
    rows = oracle.rows(np.array([1, 4]))
    np.testing.assert_allclose(rows[:, M:], K[[1, 4]])
    assert oracle.evaluations == oracle.charged == 2 * N
    columns = oracle.columns(M + np.array([0, 5, 6]))
    np.testing.assert_allclose(columns[:M], K[:, [0, 5, 6]])
    assert oracle.evaluations == oracle.charged == 2 * N + 3 * (M - 2)
    assert oracle.evaluations == oracle.cost.cross(3, 2)
    assert len(set(calls.pairs)) == len(calls.pairs) == oracle.evaluations


def test_lines_of_both_sides_may_be_asked_for_at_once():
    oracle = oracle_of()
    lines = oracle.rows(np.array([M + 3, 2]))
    np.testing.assert_allclose(lines[0, :M], K[:, 3])
    np.testing.assert_allclose(lines[1, M:], K[2])
    assert not lines[0, M:].any()
    assert not lines[1, :M].any()
    assert oracle.evaluations == oracle.charged == M + N - 1


def test_pairs_are_scored_left_first_whatever_order_they_are_named_in():
    oracle = oracle_of()
    values = oracle.pairs(np.array([M + 2, 3]), np.array([0, M]))
    np.testing.assert_allclose(values, [K[0, 2], K[3, 0]])
    assert oracle.evaluations == 2


def test_a_block_may_have_right_items_as_rows():
    oracle = oracle_of()
    block = oracle.block(M + np.arange(3), np.arange(2))
    np.testing.assert_allclose(block, K[:2, :3].T)


def test_a_scorer_of_two_sets_refuses_pairs_within_a_side():
    recipe, items = of_two_sets(None, None, fp.from_matrix(K), "test")
    scorer = bind(items, recipe, "test")
    for ends in ((0, 1), (M, M + 1)):
        i, j = (np.array([t]) for t in ends)
        with pytest.raises(AssertionError, match="within a side"):
            scorer.pairs(i, j)
        with pytest.raises(AssertionError, match="within a side"):
            scorer.block(i, j)


def test_random_pairs_lie_across_and_all_of_them_come_in_the_end():
    oracle = oracle_of()
    rng = np.random.default_rng(0)
    i, j = oracle.read.sample_unknown(20, rng)
    assert ((i < M) & (j >= M)).all()
    oracle.pairs(i, j)
    i, j = oracle.read.sample_unknown(10**6, rng)
    assert len(i) == M * N - 20
    oracle.pairs(i, j)
    assert oracle.evaluations == M * N == oracle.cost.everything()
    assert oracle.read.moments().number == M * N
    assert oracle.read.moments().total == pytest.approx(K.sum())


def test_moments_and_far_entries_leave_out_what_is_within_a_side():
    oracle = oracle_of()
    oracle.rows(np.array([0, 3]))
    oracle.columns(M + np.array([1, 2, 8]))
    read = np.zeros(K.shape, dtype=bool)
    read[[0, 3]] = True
    read[:, [1, 2, 8]] = True
    moments = oracle.read.moments()
    assert moments.number == read.sum()
    assert moments.total == pytest.approx(K[read].sum())
    assert moments.squares == pytest.approx((K[read] ** 2).sum())
    far = far_line_entries(oracle.read, 5.0, 1.0)
    assert far.looked_at == 2 * N + 3 * M
    assert not oracle.read.sides.within(far.i, far.j).any()


def test_the_budget_is_kept_before_a_line_is_read():
    oracle = oracle_of(budget=Budget.of(N, "budget"))
    oracle.rows(np.array([0]))
    with pytest.raises(BudgetError):
        oracle.columns(np.array([M]))
    assert oracle.evaluations == N


def test_pairs_per_item_are_those_per_left_item_and_all_of_them_are_everything():
    cost = Cost(M + N, symmetric=True, calls=1, free_diagonal=False, split=M)
    limits = {"3/item": 3 * M, "12/item": M * N, 0.5: M * N // 2, 10: 10}
    for given, limit in limits.items():
        assert Budget.of(given, "budget").limit(cost) == limit
    assert cost.shape == (M, N)
    assert cost.per_item(3 * M) == 3
    assert cost.lines(4) == cost.cross(2, 2) == 2 * M + 2 * N - 4


def test_a_folder_knows_both_sides_and_a_second_run_pays_for_what_is_missing(tmp_path):
    first = Ledger(tmp_path / "run")
    with first.session():
        oracle = oracle_of(ledger=first)
        oracle.rows(np.array([2]))
        oracle.pairs(np.array([0, 1]), np.array([M, M + 1]))
    second = Ledger(tmp_path / "run")
    with second.session():
        again = oracle_of(ledger=second)
        np.testing.assert_allclose(again.rows(np.array([2]))[0, M:], K[2])
        again.columns(np.array([M]))
    assert again.evaluations == M - 2
    assert again.charged == N + M - 1
    assert "7 items and 12 others" in str(second._subject)


def test_a_folder_of_two_sets_refuses_the_same_items_parted_elsewhere(tmp_path):
    ledger = Ledger(tmp_path / "run")
    with ledger.session():
        oracle_of(ledger=ledger).rows(np.array([2]))
        other = two_sets(fp.from_function(Calls()), M - 1)
        with pytest.raises(InputError, match="items and 12 others"):
            open_oracle(bind([*LEFT, *RIGHT], other, "test"), other, ledger=ledger)


def test_tiles_of_two_sets_hold_every_pair_once():
    grid = TileGrid(M + N, 9, split=M)
    seen = np.zeros((M, N), dtype=int)
    for tile in grid:
        assert not tile.triangle
        seen[tile.top : tile.bottom, tile.left - M : tile.right - M] += 1
    assert (seen == 1).all()
    assert sum(tile.pairs for tile in grid) == M * N


def test_all_tiles_of_two_sets_are_streamed_and_paid_for_once():
    oracle = oracle_of()
    oracle.rows(np.array([1]))
    out = np.full(K.shape, np.nan)

    def take(tile, values):
        out[tile.top : tile.bottom, tile.left - M : tile.right - M] = values

    oracle.stream(oracle.tiles, take)
    np.testing.assert_allclose(out, K)
    assert oracle.evaluations == M * N


def test_items_that_a_similarity_drops_move_the_sides():
    wmd = fp.WMD((list("abcd"), np.eye(4)), empty="drop")
    recipe, items = of_two_sets(["a b", "xyz"], ["c", "xyz", "a"], wmd, "test")
    scorer = bind(items, recipe, "test")
    assert recipe.bound_by(scorer).split == 1
    both = scorer.block(np.array([0]), np.array([1, 2]))
    assert both[0, 1] > both[0, 0]


@pytest.mark.parametrize(
    ("left", "right", "similarity", "match"),
    [
        ([], [1], min, "items is empty"),
        ([1], [], min, "others is empty"),
        (None, [1], min, "items is None"),
        ([1], None, min, "others is None"),
        (range(3), range(N), K, "3 items and 12 others, and the matrix is 7 × 12"),
    ],
)
def test_two_sets_that_cannot_be_are_refused(left, right, similarity, match):
    recipe = fp.from_matrix(K) if similarity is K else fp.from_function(similarity)
    with pytest.raises(InputError, match=match):
        of_two_sets(left, right, recipe, "test")


def test_what_says_that_it_is_symmetric_cannot_have_two_sets():
    with pytest.raises(InputError, match="are of square ones"):
        fp.from_matrix(K, symmetric=True)
    with pytest.raises(InputError, match="this takes the square one of one set"):
        fp.from_matrix(K).bind(range(M))
    with pytest.raises(InputError, match="7 items and 3 others"):
        fp.from_matrix(K).bind_two(range(M), range(3))


def test_entries_of_one_set_are_as_they_were():
    entries = Entries(5, symmetric=True)
    assert entries.sides is None
    assert entries.like().sides is None


_rng = np.random.default_rng(3)
_LEFT, _RIGHT = _rng.random((6, 4)), _rng.random((9, 4))
_TEXTS = [f"{a} {b}" for a in "abc" for b in "vwxyz"]
_LAYERS = [(_rng.random((5, 12)), np.zeros(5)), (_rng.random((1, 5)), np.zeros(1))]
SIMILARITIES = {
    "cosine": (fp.Cosine(), _LEFT, _RIGHT),
    "embeddings": (fp.Cosine(np.vstack([_LEFT, _RIGHT])), range(6), range(9)),
    "network": (fp.PairMLP(_LAYERS), _LEFT, _RIGHT),
    "strings": (fp.StringSimilarity("jaro"), _TEXTS[:6], _TEXTS[6:]),
    "tokens": (fp.TokenOverlap("jaccard"), _TEXTS[:6], _TEXTS[6:]),
    "movers": (fp.WMD((list("abcvwxyz"), np.eye(8))), _TEXTS[:6], _TEXTS[6:]),
}


@pytest.mark.parametrize(
    ("similarity", "left", "right"), SIMILARITIES.values(), ids=SIMILARITIES
)
def test_every_similarity_has_two_sets_as_it_has_one(similarity, left, right):
    approx = fp.approximate(left, similarity, others=right, budget=1.0, prior=None)
    together = [*left, *right]
    if isinstance(left, np.ndarray):
        together = np.concatenate([left, right])
    one = similarity.bind(together).block(np.arange(6), 6 + np.arange(9))
    np.testing.assert_allclose(approx.dense(), one, rtol=1e-5)
    assert approx.evaluations == 6 * 9


def test_each_item_of_both_sides_is_looked_at_once_when_bound():
    seen = []

    def processor(text):
        seen.append(text)
        return text

    similarity = fp.StringSimilarity("jaro", processor=processor)
    fp.approximate(_TEXTS[:6], similarity, others=_TEXTS[6:], budget=1.0, prior=None)
    assert seen == _TEXTS
