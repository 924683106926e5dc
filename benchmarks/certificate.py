"""The certificate: how often its interval holds the true error, and how often it tells.

A hundred matrices of each kind, each approximated from 5 % of its pairs by three
methods. Goal: the true error lies in the 95 % interval, or the certificate says that it
cannot tell, in at least 93 runs of 100; and it tells in at least 90 where values are
neither sparse nor heavy-tailed.
"""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import fewpairs as fp
from fewpairs.evaluation import quality

RUNS = 100
COVERED, TOLD = 0.93, 0.90
METHODS = ("auto", "nystrom", "sicur")
_SEED = 20_000  # of the first run
Matrix = NDArray[np.float64]


class Kind(NamedTuple):
    """A kind of matrix: its size, how to make one, whether it must be told of."""

    n: int
    make: Callable[[int, np.random.Generator], Matrix]
    must_tell: bool


def _mirrored(upper: Matrix, diagonal: float = 1.0) -> Matrix:
    K = np.triu(upper, 1)
    K = K + K.T
    np.fill_diagonal(K, diagonal)
    return K


def _ones(share: float) -> Callable[[int, np.random.Generator], Matrix]:
    def make(n: int, rng: np.random.Generator) -> Matrix:
        return _mirrored((rng.random((n, n)) < share).astype(np.float64))

    return make


def _huge_diagonal(n: int, rng: np.random.Generator) -> Matrix:
    X = rng.standard_normal((n, 6))
    return _mirrored(X @ X.T / 6 + 0.2 * rng.standard_normal((n, n)), 1e12)


def _near_duplicates(n: int, rng: np.random.Generator) -> Matrix:
    """Make a smooth background, and one near-duplicate of every item."""
    background = rng.random((n, 6)) @ rng.random((6, n)) / 6
    K = (background + background.T) / 2
    i, j = rng.permutation(n).reshape(-1, 2).T
    K[i, j] += 1.5
    K[j, i] += 1.5
    return K


def _few_spikes(n: int, rng: np.random.Generator) -> Matrix:
    """Make a low rank that is recovered exactly, but for five pairs."""
    X = rng.random((n, 6))
    K = X @ X.T / 6
    i, j = rng.permutation(n)[:10].reshape(-1, 2).T
    K[i, j] = K[j, i] = 1.5
    return K


KINDS = {
    "ones, 1 in 10,000": Kind(500, _ones(1e-4), must_tell=False),
    "ones, 1 in 10,000, larger": Kind(1500, _ones(1e-4), must_tell=False),
    "ones, 1 in 1,000": Kind(500, _ones(1e-3), must_tell=False),
    "Cauchy": Kind(
        500, lambda n, rng: _mirrored(rng.standard_cauchy((n, n))), must_tell=False
    ),
    "Pareto 1.5": Kind(
        500, lambda n, rng: _mirrored(1 + rng.pareto(1.5, (n, n))), must_tell=False
    ),
    "Gauss": Kind(
        500, lambda n, rng: _mirrored(rng.standard_normal((n, n))), must_tell=True
    ),
    "diagonal of 1e12": Kind(500, _huge_diagonal, must_tell=True),
    "near-duplicates": Kind(500, _near_duplicates, must_tell=True),
    "low rank, five spikes": Kind(500, _few_spikes, must_tell=True),
}


class Outcome(NamedTuple):
    """Whether a certificate told, whether it lied, and how wide its interval was."""

    told: bool
    lied: bool
    width: float


def outcome(kind: str, method: str, seed: int) -> Outcome:
    """Make a matrix, approximate it, and compare the certificate with the truth."""
    n, make, _ = KINDS[kind]
    K = make(n, np.random.default_rng(seed))
    approx = fp.approximate(None, K, method=method, budget=0.05, seed=seed)
    truth = quality(approx, K).relative_error
    found = approx.certificate
    low, high = found.interval
    width = (high - low) / truth if truth else np.nan
    return Outcome(found.tells, not low <= truth <= high, width)


def _outcomes(task: tuple[str, str]) -> list[Outcome]:
    with threadpool_limits(1):  # a core a process: the matrices are small
        return [outcome(*task, _SEED + run) for run in range(RUNS)]


def run() -> None:
    """Print how often the certificate is right, by kind of matrix and method."""
    tasks = [(kind, method) for kind in KINDS for method in METHODS]
    print(f"\n| matrix | method | right or cannot tell, of {RUNS} | told |", end=" ")
    print("median width / error | |")
    print("|---|---|---|---|---|---|")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for task, found in zip(tasks, pool.map(_outcomes, tasks), strict=True):
            print(_row(*task, found), flush=True)


def _row(kind: str, method: str, found: list[Outcome]) -> str:
    right = sum(not o.lied for o in found)
    told = [o for o in found if o.told]
    widths: list[Any] = [o.width for o in told]
    width = f"{np.median(widths):.2g}" if told else "–"
    enough = len(told) >= TOLD * len(found) or not KINDS[kind].must_tell
    good = "reached" if right >= COVERED * len(found) and enough else "MISSED"
    return f"| {kind} | {method} | {right} | {len(told)} | {width} | {good} |"
