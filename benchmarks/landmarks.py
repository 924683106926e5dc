"""A million items × 200 landmarks, on disk: memory, and time against the bare work.

The bare work is what nobody can leave out: the products, and writing and reading as
many bytes as the columns and the factors have. Each side runs in a process of its own,
in turns; memory is the largest that the process ever had, mapped files included.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import linalg

import fewpairs as fp
from benchmarks.measure import table

N, S, D = 1_000_000, 200, 64
RUNS = 3
ROWS = 1 << 14


def vectors() -> np.ndarray:
    """Return the items: unit vectors."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X


def ours(folder: Path) -> None:
    """Approximate, with everything in a store on disk; ask for the certificate."""
    X = vectors()
    started = time.perf_counter()
    approx = fp.approximate(
        X, fp.Cosine(), method=fp.Nystrom(S), budget=None, store=folder / "store"
    )
    error = approx.certificate.relative_error
    seconds = time.perf_counter() - started
    assert approx.evaluations > 199 * 10**6
    assert error < 1e-3, error
    _report(seconds)


def bare(folder: Path) -> None:
    """Do the products, write columns and factors and read them, nothing else."""
    X = vectors()
    started = time.perf_counter()
    chosen = np.random.default_rng(1).permutation(N)[:S]
    landmarks = X[chosen].T.copy()
    core = (X[chosen] @ landmarks).astype(np.float64)
    values, V = linalg.eigh(core, driver="evd", check_finite=False)
    top = np.abs(values) > 1e-10 * np.abs(values).max()  # as Nystrom does by default
    root = (V[:, top] / np.sqrt(np.abs(values[top]))).astype(np.float32)
    with (folder / "columns").open("wb", buffering=0) as columns:
        for start in range(0, N, ROWS):
            columns.write((X[start : start + ROWS] @ landmarks).data)
    factors = (folder / "factors").open("w+b", buffering=0)
    part = np.empty((ROWS, S), dtype=np.float32)
    with (folder / "columns").open("rb", buffering=0) as columns, factors:
        while size := columns.readinto(part.data):
            rows = part[: size // (4 * S)]
            factors.write(np.ascontiguousarray(rows @ root).data)
        factors.seek(0)
        while factors.readinto(part.data):
            pass
    _report(time.perf_counter() - started)


def _report(seconds: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(seconds, peak * 1024)


def run() -> None:
    """Print the ratios."""
    best = {"ours": float("inf"), "bare": float("inf")}
    memory = 0.0
    for _ in range(RUNS):
        for side in ("bare", "ours"):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-m", "benchmarks.landmarks", side, folder]
                done = subprocess.run(  # noqa: S603
                    command, check=True, capture_output=True, text=True
                )
            seconds, peak = map(float, done.stdout.split())
            best[side] = min(best[side], seconds)
            memory = max(memory, peak) if side == "ours" else memory
    ratio = best["ours"] / best["bare"]
    table(
        f"{N:,} items × {S} landmarks, {D}-d cosine, store on disk, best of {RUNS}",
        [
            ("peak memory, GB", memory / 1e9, "< 2"),
            ("seconds / bare products, writing and reading", ratio, "≤ 2"),
            ("    seconds", best["ours"], "none"),
            ("    bare seconds", best["bare"], "none"),
        ],
    )


if __name__ == "__main__":
    {"ours": ours, "bare": bare}[sys.argv[1]](Path(sys.argv[2]))
