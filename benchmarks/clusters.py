"""Average linkage on factors: time per item, and peak memory, as n grows.

Indefinite factors of rank 100 in loose groups, 100 landmark columns read exactly, the
whole tree. Each size runs in a process of its own, so that its peak memory is its own.
"""

import multiprocessing
import resource
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from fewpairs.matrix.entries import Entries
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model

SIZES = (5_000, 10_000, 20_000, 50_000)
RANK = LANDMARKS = 100


def approximation(n: int) -> fp.Approximation:
    """Return an approximation of n items: indefinite factors and exact columns."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((n // 20, RANK))
    left = centers[rng.integers(len(centers), size=n)]
    left = (left + 0.7 * rng.standard_normal((n, RANK))) / np.sqrt(RANK)
    signs = np.where(np.arange(RANK) % 4 == 3, -1.0, 1.0)
    landmarks = np.sort(rng.choice(n, LANDMARKS, replace=False))
    known = Entries(n, symmetric=True)
    lines = (left[landmarks] * signs) @ left.T
    known.add_lines(landmarks, lines + 0.05 * _symmetric(lines, landmarks, rng))
    nothing = fp.Certificate(np.nan, (0.0, np.inf), np.nan, 0, 1.0)
    return fp.Approximation(
        Model(LowRank(left, signs), landmarks, "given"), known, nothing
    )


def _symmetric(
    like: NDArray[Any], landmarks: NDArray[Any], rng: np.random.Generator
) -> NDArray[Any]:
    noise = rng.standard_normal(like.shape)
    W = noise[:, landmarks]
    noise[:, landmarks] = (W + W.T) / 2
    return noise


def measure(n: int, threshold: float | None, out: Any) -> None:
    """Link, and report seconds, processor seconds and peak memory."""
    approx = approximation(n)
    start, worked = time.perf_counter(), time.process_time()
    if threshold is None:
        approx.linkage(progress=sys.stdout.isatty())
    else:
        approx.cluster(threshold, progress=sys.stdout.isatty())
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    out.put((seconds, worked, peak * 1024 / 1e9))


def run() -> None:
    """Print a table of sizes."""
    context = multiprocessing.get_context("spawn")
    print(f"\nclusters, rank {RANK}, {LANDMARKS} exact columns; goal for 50,000:")
    print("under 600 s and 3 GB. Memory is the whole process at its peak.\n")
    print("| items | tree, s | CPU s | CPU ms per item | GB | at 0.5, s | CPU s | GB |")
    print("|---|---|---|---|---|---|---|---|")
    for n in SIZES:
        cells = []
        for threshold in (None, 0.5):
            out = context.Queue()
            process = context.Process(target=measure, args=(n, threshold, out))
            process.start()
            cells.append(out.get())
            process.join()
        (whole, worked, peak), (cut, cut_worked, cut_peak) = cells
        print(
            f"| {n:,} | {whole:.1f} | {worked:.1f} | {worked / n * 1e3:.2f} | "
            f"{peak:.2f} | {cut:.1f} | {cut_worked:.1f} | {cut_peak:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    run()
