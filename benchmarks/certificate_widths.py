"""The certificate of all methods: how often it holds, and how wide its intervals are.

Thirteen draws of five real matrices (500 items; the default has embeddings) and of
seven kinds of made ones, by seven methods from 5 % of the pairs: 1,092 runs. Goal: the
true error lies in the 95 % interval in at least 93 % of them. Widths are compared by
running it beside another checkout.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.certificate import KINDS
from benchmarks.certificates.parallel import in_parallel
from benchmarks.certificates.populations import DATA, whole
from fewpairs.evaluation import quality

__all__ = ["run"]

_METHODS = ("auto", "nystrom", "sms", "skeleton", "sicur", "stacur", "regularized")
_RUNS, _ITEMS, _SHARE = 13, 500, 0.05
_MADE = tuple(name for name in KINDS if "10,000" not in name)


def _matrix(name: str, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng([seed, 11])
    if name in KINDS:
        return KINDS[name].make(KINDS[name].n, rng), np.empty((0, 0))
    K, embeddings = whole(name)
    some = np.sort(rng.permutation(len(K))[:_ITEMS])
    return K[np.ix_(some, some)].astype(np.float64), embeddings[some]


def _one(task: tuple[str, str, int]) -> tuple[bool, float]:
    """Return whether the interval holds, and its width as a part of the error."""
    name, method, seed = task
    K, embeddings = _matrix(name, seed)
    known = {"prior": embeddings} if method == "auto" and len(embeddings) else {}
    approx = fp.approximate(None, K, method=method, budget=_SHARE, seed=seed, **known)
    truth, made = quality(approx, K).relative_error, approx.certificate
    low, high = made.interval
    width = (high - low) / truth if made.tells and truth else np.nan
    return low <= truth <= high, width


def _rows(done: NDArray[np.float64], cells: list[tuple[str, str]]) -> Iterator[str]:
    for (name, method), part in zip(cells, done, strict=True):
        told = part[np.isfinite(part[:, 1]), 1]
        width = f"{np.median(told):.2g}" if len(told) else "–"
        yield f"| {name} | {method} | {part[:, 0].mean():.2f} | {len(told)} | {width} |"


def run() -> None:
    """Print coverage and widths of every cell, and of all together."""
    cells = list(product((*DATA, *_MADE), _METHODS))
    tasks = [(*cell, seed) for cell in cells for seed in range(_RUNS)]
    done = np.array(list(in_parallel(_one, tasks)), dtype=float)
    done = done.reshape(len(cells), _RUNS, 2)
    print(f"\n| matrix | method | holds, of {_RUNS} | told | median width / error |")
    print("|---|---|---|---|---|")
    print("\n".join(_rows(done, cells)))
    widths = done[..., 1][np.isfinite(done[..., 1]) & (done[..., 1] > 0)]
    middle = float(np.exp(np.log(widths).mean()))
    share = float(done[..., 0].mean())
    good = "reached" if share >= 0.93 else "MISSED"
    print(f"\nall: {len(tasks):,} runs, holds in {share:.1%} (goal 93 %, {good}); ")
    print(f"geometric mean of width / error {middle:.3f}")
