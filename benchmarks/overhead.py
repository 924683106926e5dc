"""What fewpairs adds to reading entries and to the products that a method needs.

A precomputed 20,000 × 20,000 float32 matrix and 300 landmarks. Reading entries is
everything inside the oracle's calls; the bare products are the same linear algebra
written out by hand on columns that are already there.
"""

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

import fewpairs as fp
from benchmarks.measure import peak_memory, table
from fewpairs.reading.oracle import Oracle

N, S = 20_000, 300
RUNS = 30


def matrix() -> NDArray[np.float32]:
    """Return a symmetric, indefinite, full-rank similarity matrix."""
    X = np.random.default_rng(0).standard_normal((N, 64)).astype(np.float32)
    K = np.empty((N, N), dtype=np.float32)
    for start in range(0, N, 1_000):
        K[start : start + 1_000] = np.tanh(X[start : start + 1_000] @ X.T / 8)
    return K


def bare_nystrom(C: NDArray[Any], chosen: NDArray[Any], _: Any = None) -> None:
    """Compute C·V|λ|^(−½), nothing else."""
    values, V = linalg.eigh(C[chosen].astype(float), driver="evd", check_finite=False)
    C @ (V / np.sqrt(np.abs(values))).astype(np.float32)


def bare_sms(C: NDArray[Any], chosen: NDArray[Any], K: NDArray[Any]) -> None:
    """λmin of the block, then C·V|λ|^(−½)."""
    block = np.resize(chosen, 2 * S)
    linalg.eigh(
        K[np.ix_(block, block)].astype(float), eigvals_only=True, subset_by_index=[0, 0]
    )
    bare_nystrom(C, chosen)


def bare_sicur(C: NDArray[Any], chosen: NDArray[Any], _: Any) -> None:
    """SVD of the crossing, and two products with its factors."""
    half = S // 2
    U, s, Vt = linalg.svd(C[chosen][:, :half].astype(float), full_matrices=False)
    C[:, :half] @ (Vt.T / np.sqrt(s)).astype(np.float32)
    C @ (U / np.sqrt(s)).astype(np.float32)


def bare_stacur(C: NDArray[Any], chosen: NDArray[Any], _: Any) -> None:
    """Gram matrix in float64, its pseudo-inverse, and two products."""
    wide = C.astype(float)
    U, s, Vt = linalg.svd(wide.T @ wide)
    core = (Vt.T / s) @ (U.T @ C[chosen].T.astype(float))
    P, sigma, Qt = np.linalg.svd(core)
    C @ (P * np.sqrt(sigma)).astype(np.float32)
    C @ (Qt.T * np.sqrt(sigma)).astype(np.float32)


METHODS: dict[str, tuple[Any, Callable[..., None]]] = {
    "Nyström": (fp.Nystrom(S), bare_nystrom),
    "SMS-Nyström": (fp.SMSNystrom(S), bare_sms),
    "SiCUR": (fp.SiCUR(S), bare_sicur),
    "StaCUR": (fp.StaCUR(S), bare_stacur),
}


def run() -> None:
    """Print the ratios."""
    _fresh_memory()
    K = matrix()
    similarity = fp.from_matrix(K, symmetric=True)
    reading = [0.0]
    for name in ("columns", "rows", "principal", "pairs"):
        _timed(name, reading)
    rows = []
    for name, (method, bare) in METHODS.items():
        ours = certified = theirs = float("inf")
        for _ in range(RUNS):  # interleaved
            reading[0] = 0.0
            start = time.perf_counter()
            approx = fp.approximate(None, similarity, method=method, budget=None)
            ours = min(ours, time.perf_counter() - start - reading[0])
            _ = approx.certificate
            certified = min(certified, time.perf_counter() - start - reading[0])
            C = approx.known.lines(approx.landmarks).T
            chosen = approx.landmarks
            del approx
            start = time.perf_counter()
            bare(C, chosen, K)
            theirs = min(theirs, time.perf_counter() - start)
        what = f"{name}: time outside reading / bare products"
        rows.append((what, ours / theirs, "≤ 1.5"))
        rows.append(("    the certificate asked for", certified / theirs, "none"))
    title = f"overhead, {N:,} × {N:,} float32, {S} landmarks, best of {RUNS}"
    table(title, rows)
    memory = []
    for name, (method, _) in METHODS.items():
        extra = peak_memory(
            lambda method=method: fp.approximate(
                None, similarity, method=method, budget=None
            )
        )
        what = f"{name}: peak extra memory / n×s column block"
        memory.append((what, extra / (N * S * 4), "≤ 4"))
    table("memory of the same calls, float32 blocks", memory)


def _fresh_memory() -> None:
    """Give both sides memory that the system has to provide anew (glibc only).

    Otherwise the bare products would get the warm memory that fewpairs' result has
    just freed, and fewpairs itself none.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(-3, 1 << 16)  # M_MMAP_THRESHOLD


def _timed(name: str, seconds: list[float]) -> None:
    """Add up the time that the oracle's public calls take."""
    original = getattr(Oracle, name)

    def wrapper(self: Oracle, *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return original(self, *arguments)
        finally:
            seconds[0] += time.perf_counter() - start

    setattr(Oracle, name, wrapper)


if __name__ == "__main__":
    run()
