"""Bounds on what a sample has not seen: they hold as often as they say."""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from fewpairs.kernels.statistics.hypergeometric import draws_needed, matches_at_most
from fewpairs.kernels.statistics.ordered import (
    Reads,
    counted_from,
    missing_at_any_time,
    missing_at_most,
)
from fewpairs.kernels.statistics.ratios import ratio_at_least
from fewpairs.kernels.statistics.regression import adjusted
from fewpairs.kernels.statistics.sequential import Strata, total_at_most

DELTAS = (0.05, 0.2)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("size", "drawn"), [(1, 1), (9, 0), (40, 12), (60, 59)])
def test_the_exact_bound_fails_at_most_as_often_as_said_and_is_the_smallest(
    size, drawn, delta
):
    bounds = np.array(
        [matches_at_most(size, drawn, x, delta) for x in range(drawn + 1)]
    )
    for matches in range(size + 1):
        law = stats.hypergeom(size, matches, drawn)
        fails = law.pmf(np.arange(drawn + 1))[bounds < matches].sum()
        assert fails <= delta * (1 + 1e-9)
    for hits in range(drawn + 1):
        bound = bounds[hits]
        if bound < size - (drawn - hits):  # one more would be refused
            assert stats.hypergeom(size, bound + 1, drawn).cdf(hits) <= delta + 1e-9


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("size", [1, 2, 17])
def test_looking_after_every_draw_fails_at_most_as_often_as_said(size, delta):
    """By enumeration: the probability that the bound is ever too small."""
    bound = np.array(
        [
            [
                total_at_most(Strata.of([size], [t], [x]), delta) if x <= t else size
                for x in range(size + 1)
            ]
            for t in range(size + 1)
        ]
    )
    for matches in range(size + 1):
        alive = {0: 1.0}
        for t in range(size):
            after: dict[int, float] = {}
            for x, p in alive.items():
                hit = (matches - x) / (size - t)
                after[x + 1] = after.get(x + 1, 0.0) + p * hit
                after[x] = after.get(x, 0.0) + p * (1 - hit)
            alive = {x: p for x, p in after.items() if bound[t + 1, x] >= matches}
        assert 1 - sum(alive.values()) <= delta + 1e-9


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("sizes", [(2, 5), (4, 4)])
def test_no_choice_of_the_next_stratum_makes_it_fail_more_often(sizes, delta):
    """Against the worst way of drawing, found by dynamic programming."""
    limit = lru_cache(None)(
        lambda drawn, hits: total_at_most(Strata.of(sizes, drawn, hits), delta)
    )
    for matches in [(0, 0), (1, 0), (0, 1), (1, 4), (2, 3)]:

        @lru_cache(None)
        def worst(drawn, hits, matches=matches):
            if limit(drawn, hits) < sum(matches):
                return 1.0
            ways = [0.0]
            for s in range(2):
                left = sizes[s] - drawn[s]
                if left:
                    hit = (matches[s] - hits[s]) / left
                    next_drawn = tuple(d + (s == u) for u, d in enumerate(drawn))
                    next_hits = tuple(h + (s == u) for u, h in enumerate(hits))
                    way = (1 - hit) * worst(next_drawn, hits) if hit < 1 else 0.0
                    ways.append(
                        way + (hit * worst(next_drawn, next_hits) if hit else 0)
                    )
            return max(ways)

        assert worst((0, 0), (0, 0)) <= delta + 1e-9


def largest_total(strata, delta):
    """The bound by trying every M: the definition."""
    grids = [np.arange(h, n - d + h + 1) for n, d, h in zip(*strata)]
    from fewpairs.kernels.statistics.sequential import _against, _log_mean

    best = 0
    for matches in np.stack(np.meshgrid(*grids), axis=-1).reshape(-1, len(grids)):
        if _against(strata, matches.astype(float)).sum() < math.log(
            1 / delta
        ) - _log_mean(strata):
            best = max(best, int(matches.sum()))
    return best


def test_the_bound_over_strata_is_that_of_its_definition():
    rng = np.random.default_rng(0)
    for _ in range(15):
        size = rng.integers(1, 20, 3)
        drawn = rng.integers(0, size + 1)
        hits = rng.integers(0, drawn // 3 + 1)
        strata = Strata.of(size, drawn, hits)
        exact = largest_total(strata, 0.05)
        # The search is over real numbers: between whole ones there is a little room.
        assert exact <= total_at_most(strata, 0.05) <= exact + 2


def test_strata_drawn_from_alike_are_as_good_as_one():
    together = total_at_most(Strata.of([100_000], [10_000], [0]), 0.05)
    apart = total_at_most(Strata.of(10 * [10_000], 10 * [1_000], 10 * [0]), 0.05)
    assert together <= apart <= 1.1 * together


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(
    ("size", "found", "recall"),
    [(10**4, 200, 0.9), (10**6, 500, 0.95), (10**9, 5_000, 0.9), (10**12, 10**6, 0.9)],
)
def test_a_guarantee_takes_at_most_three_tenths_more_than_the_formula(
    size, found, recall, delta
):
    drawn = min(size, math.ceil(1.3 * draws_needed(size, found, recall, delta)))
    missing = total_at_most(Strata.of([size], [drawn], [0]), delta)
    assert found / (found + missing) >= recall
    # And the formula is what the exact bound of a sample of fixed size comes to.
    drawn = draws_needed(size, found, recall, delta)
    missing = matches_at_most(size, drawn, 0, delta)
    assert found / (found + missing) >= recall * (1 - 1e-2)


def test_what_was_drawn_in_full_is_known():
    assert total_at_most(Strata.of([5, 9], [5, 9], [2, 0]), 0.05) == 2
    assert total_at_most(Strata.of([5, 9], [0, 0], [0, 0]), 0.05) == 14
    assert matches_at_most(7, 7, 3, 0.05) == 3
    assert draws_needed(0, 5, 0.9, 0.05) == 0
    assert draws_needed(100, 0, 0.9, 0.05) is None
    assert draws_needed(100, 3, 1.0, 0.05) == 100


@pytest.mark.parametrize("delta", DELTAS)
def test_bounds_looked_at_by_the_way_cover_in_a_thousand_runs(delta):
    """A million pairs, few matches; the run stops when the bound looks best."""
    rng = np.random.default_rng(1)
    size, runs = 10**6, 1_000
    looks = np.array([2_000, 8_000, 30_000])
    failed = 0
    bounds = lru_cache(None)(
        lambda t, x: total_at_most(Strata.of([size], [t], [x]), delta)
    )
    for _ in range(runs):
        matches = int(rng.choice([1, 20, 100, 400]))
        steps = np.diff(looks, prepend=0)
        x = left = 0
        for t, step in zip(looks, steps):
            left = size - (t - step)
            x += rng.hypergeometric(matches - x, left - (matches - x), step)
            if bounds(int(t), int(x)) < matches:
                failed += 1
                break
    assert failed / runs <= delta + 2 * math.sqrt(delta * (1 - delta) / runs)


FALLING = {
    "level": np.full(12, 0.3),
    "falling": np.linspace(0.9, 0.02, 12),
    "a step": np.array([*6 * [0.5], *6 * [0.1]]),
    "rare": np.full(12, 0.03),
}


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("chances", FALLING.values(), ids=FALLING)
def test_pairs_read_in_order_count_like_pairs_drawn_where_chances_fall(chances, delta):
    """By enumeration of all ways in which 12 pairs may match, and all samples."""
    front, drawn = 4, 3
    matches = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    weight = np.prod(np.where(matches, chances, 1 - chances), axis=1)
    ahead, behind = matches[:, :front].sum(axis=1), matches[:, front:].sum(axis=1)
    fails = 0.0
    for hits in range(drawn + 1):
        chance = stats.hypergeom(12 - front, behind, drawn).pmf(hits)
        bound = [
            missing_at_most(Reads(front, x, 12 - front, drawn, hits), delta)
            for x in range(front + 1)
        ]
        fails += float((weight * chance)[behind - hits > np.array(bound)[ahead]].sum())
    assert fails <= delta + 1e-9


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rate", [3e-5, 1e-3])
def test_looking_while_sampling_fails_at_most_as_often_as_said(rate, delta):
    """Chances fall tenfold; the run stops when the bound looks best."""
    rng = np.random.default_rng(3)
    front, rest, runs, failed = 20_000, 400_000, 200, 0
    looks = np.array([0, 500, 2_000, 6_000])
    bound = lru_cache(None)(
        lambda x, t, y: missing_at_any_time(
            Reads(front, x, rest, t, y), delta, front + 6_000
        )
    )
    for _ in range(runs):
        ahead = int(rng.binomial(front, rate * 3))
        left, hits, before = int(rng.binomial(rest, rate)), 0, 0
        for t in looks.tolist():
            y = rng.hypergeometric(left, rest - before - left, t - before)
            left, hits, before = left - y, hits + int(y), t
            if bound(ahead, t, hits) < left:
                failed += 1
                break
    assert failed / runs <= delta + 2 * math.sqrt(delta * (1 - delta) / runs)


def test_counting_begins_behind_what_is_rich_and_looks_at_nothing_it_counts():
    rng = np.random.default_rng(4)
    for _ in range(200):
        hit = rng.random(3_200) < rng.choice([0.001, 0.01, 0.1])
        start = counted_from(hit, 3_200)
        other = hit.copy()
        other[start:] = rng.random(len(hit) - start) < 0.5
        assert counted_from(other, 3_200) == start
    assert counted_from(np.ones(3_200, dtype=bool), 3_200) == 3_200
    assert counted_from(np.zeros(0, dtype=bool), 0) == 0


def test_a_rest_that_is_richer_than_the_front_is_bounded_by_its_own_sample():
    doubtful = Reads(20_000, 0, 400_000, 2_000, 8)
    alone = Reads(0, 0, 400_000, 2_000, 8)
    assert missing_at_most(doubtful, 0.05) == missing_at_most(alone, 0.05)
    usual = Reads(20_000, 40, 400_000, 2_000, 2)
    assert missing_at_most(usual, 0.05) < missing_at_most(
        Reads(0, 0, 400_000, 2_000, 2), 0.05
    )


def test_what_was_read_in_full_leaves_nothing_missing():
    assert missing_at_most(Reads(50, 3, 40, 40, 1), 0.05) == 0
    assert missing_at_any_time(Reads(50, 3, 40, 40, 1), 0.05, 90) == 0


def test_what_is_missed_row_by_row_is_bounded_by_rows():
    """Of 200 rows, some lack everything; a sample of 40 of them."""
    rng = np.random.default_rng(6)
    failed, runs = 0, 400
    for _ in range(runs):
        wholes = rng.poisson(6, 200)
        parts = np.where(rng.random(200) < 0.15, 0, wholes)
        some = rng.permutation(200)[:40]
        bound = ratio_at_least(parts[some], wholes[some])
        failed += bound > parts.sum() / wholes.sum()
    assert failed / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)
    assert ratio_at_least([5, 5], [5, 5]) < ratio_at_least([1] * 10, [1] * 10) < 1
    assert ratio_at_least([0, 0], [3, 1]) == ratio_at_least([], []) == 0


def test_a_mean_beside_features_is_nearer_and_knows_how_near():
    """Values that go with a feature: what is left to chance is what it leaves."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(20_000)
    y = 3 * x + x**2 + rng.standard_normal(20_000)
    features = np.column_stack([x, x**2])
    plain, better, held = [], [], []
    for _ in range(400):
        some = rng.integers(len(x), size=200)
        found = adjusted(y[some], features[some], features.mean(axis=0))
        mean = y[some].mean() + found.shift
        plain.append(y[some].mean() - y.mean())
        better.append(mean - y.mean())
        half = 1.96 * found.residuals.std() / math.sqrt(len(some))
        held.append(abs(mean - y.mean()) <= half)
    assert np.std(better) < 0.4 * np.std(plain)
    assert abs(np.mean(better)) < 0.02
    assert np.mean(held) >= 0.92


def test_strata_are_features_and_a_lone_value_explains_nothing():
    inside = np.arange(100) < 10
    y = np.where(inside, 5.0, 1.0)
    found = adjusted(y, inside[:, None].astype(float), np.array([0.5]))
    assert y.mean() + found.shift == pytest.approx(3.0, rel=0.01)
    alone = np.zeros(100)
    alone[0] = 1.0
    y = np.ones(100)
    y[0] = 50.0
    found = adjusted(y, alone[:, None], np.array([0.01]))
    assert np.abs(found.residuals).max() > 0.9  # far more than what the line leaves
    assert found.shift == pytest.approx(0.0)


def test_features_without_enough_values_and_constant_ones_are_left_out():
    rng = np.random.default_rng(0)
    y = rng.random(30)
    few = adjusted(y, rng.random((30, 2)), np.ones(2))
    constant = adjusted(y, np.ones((30, 1)), np.zeros(1))
    for found in (few, constant):
        assert found.shift == 0
        assert np.allclose(found.residuals, y - y.mean())
