"""Lists find the largest inner products."""

import numpy as np
import pytest

from fewpairs.kernels.linalg.lists import Lists


def exact(rows, queries, count):
    return np.argsort(-(queries @ rows.T), axis=1, kind="stable")[:, :count]


def made(n, rng, spread=0.2):
    groups = rng.standard_normal((max(1, n // 20), 12))
    own = spread * rng.standard_normal((n, 12))
    return (groups[rng.integers(len(groups), size=n)] + own).astype(np.float32)


@pytest.mark.parametrize("n", [1, 2, 30, 2_000])
def test_all_lists_give_everything(n):
    rng = np.random.default_rng(n)
    rows = made(n, rng)
    count = min(7, n)
    found, _ = Lists(rows, rng).search(rows, count, 1.1, rng)  # more than can be had
    best = np.sort(np.take_along_axis(rows @ rows.T, found, axis=1))
    truth = np.take_along_axis(rows @ rows.T, exact(rows, rows, count), axis=1)
    np.testing.assert_allclose(best, np.sort(truth), rtol=1e-5)


def test_few_lists_find_what_is_asked_for():
    rng = np.random.default_rng(0)
    rows = made(5_000, rng)
    queries = rows * np.where(np.arange(12) % 4 == 3, -1, 1).astype(np.float32)
    found, probes = Lists(rows, rng).search(queries, 10, 0.97, rng)
    hits = exact(rows, queries, 10)[:, :, None] == found[:, None, :]
    assert hits.any(axis=2).mean() > 0.95
    assert probes <= 64, "too many lists were looked into"


def test_equal_rows_and_zeros_make_no_trouble():
    rng = np.random.default_rng(0)
    rows = np.zeros((500, 5), dtype=np.float32)
    rows[:250] = 1.0
    found, _ = Lists(rows, rng).search(rows, 3, 0.9, rng)
    assert (found >= -1).all()
    assert (found[:250] < 250).all()
