"""The prior's curve: random and chosen pairs together tell what a prior says."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.methods.auto.prior_curve import prior_curve
from fewpairs.model.curve import Curve


def _cheap(rng, size):
    """Return values of a prior of which few are large."""
    return rng.beta(2, 12, size=size)


def _steep(cheap):
    """Return what rises where random pairs hardly ever are."""
    return 20 * np.maximum(cheap - 0.45, 0)


def test_chosen_pairs_tell_what_random_ones_never_meet():
    missed = np.array([_missed(np.random.default_rng(seed)) for seed in range(6)])
    assert missed[:, 0].max() < 0.6  # of the variance
    assert missed[:, 0].mean() < 0.7 * missed[:, 1].mean()


def _missed(rng):
    """Return what the curve leaves of the variance, and what random pairs alone do."""
    population = _cheap(rng, 100_000)
    random = _cheap(rng, 300)
    tops = np.sort(_cheap(rng, 60_000))[-300:]
    cheap = np.concatenate([random, tops])
    values = _steep(cheap) + 0.3 * rng.standard_normal(len(cheap))
    curve = prior_curve(cheap, values, population).curve
    truth = _steep(population) - _steep(population).mean()
    alone = Curve.through(random, values[:300])(population)
    said = curve(population), alone - alone.mean()
    return [np.mean((one - truth) ** 2) / np.var(truth) for one in said]


def test_counts_undo_that_large_values_were_chosen():
    # A line is found as it is, however pairs were chosen by their prior.
    rng = np.random.default_rng(5)
    population = _cheap(rng, 100_000)
    cheap = np.concatenate([population[:200], np.sort(population)[-400:]])
    curve = prior_curve(cheap, 3 * cheap + 7, population).curve
    assert np.ptp(curve(population) - 3 * population) < 0.01
    assert abs(curve(population).mean()) < 0.05  # above the mean of all, not of these


def test_a_prior_that_says_nothing_moves_nothing():
    rng = np.random.default_rng(6)
    population = _cheap(rng, 100_000)
    moved = []
    for _ in range(20):
        cheap = np.concatenate([_cheap(rng, 200), 0.5 + 0.2 * rng.random(200)])
        values = rng.standard_normal(400)
        found = prior_curve(cheap, values, population)
        moved.append(0.0 if found is None else np.var(found.curve(population)))
    assert np.mean(moved) < 0.01


def test_it_rises_where_the_largest_lie_or_is_none():
    rng = np.random.default_rng(7)
    population = _cheap(rng, 100_000)
    for _ in range(20):
        cheap = np.concatenate([_cheap(rng, 150), 0.4 + 0.4 * rng.random(50)])
        values = np.sin(9 * cheap) + rng.standard_normal(200)
        found = prior_curve(cheap, values, population)
        if found is not None:
            top = np.quantile(cheap, np.linspace(0.5, 1, 20))
            assert np.all(np.diff(found.curve(top)) >= -1e-9)


@pytest.mark.parametrize("cheap", [np.zeros(0), np.full(100, 0.5)])
def test_too_little_to_tell(cheap):
    assert prior_curve(cheap, np.arange(len(cheap)), np.full(1_000, 0.5)) is None


def _rare(seed, n=600):
    """Return a matrix of small groups of similar items, and embeddings that know them.

    One pair in a hundred lies in a group, and they are nearly all the variance.
    """
    rng = np.random.default_rng(seed)
    group = np.arange(n) // 6
    spread = 0.3 + 0.4 * rng.random((n, 1))
    X = rng.standard_normal((n // 6, 24))[group]
    X = X + spread * rng.standard_normal(X.shape)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    noise = np.triu(rng.standard_normal((n, n)), 1)
    K = 8 / (1 + np.exp(-14 * (X @ X.T - 0.75))) - 3 + 0.3 * (noise + noise.T)
    return K, X.astype(np.float32)


def test_few_evaluations_know_the_rare_and_large():
    # Their mean would explain nothing: most of what is large is never read.
    explained = []
    for seed in range(4):
        K, X = _rare(seed)
        off = np.triu_indices(len(K), 1)
        approx = fp.approximate(
            None,
            fp.from_matrix(K),
            prior=X,
            budget=len(K) // 2,
            seed=seed,
            method=fp.Auto(student=False),
        )
        missed = np.mean((approx.dense()[off] - K[off]) ** 2)
        explained.append(1 - missed / np.var(K[off]))
    assert np.mean(explained) > 0.4
