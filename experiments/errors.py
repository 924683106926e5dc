"""Figure 3: relative error against s/n and against evaluations, every method."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from experiments.cells import Cell, Value
from experiments.matrices import Known, known

__all__ = ["METHODS", "cells", "default", "errors_of", "price", "printed", "run_method"]

TRIALS = 10
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)

# By the s of the paper's figures; `landmarks` counts lines that are read.
METHODS: dict[str, Callable[[int], Any]] = {
    "nystrom": lambda s: fp.Nystrom(landmarks=s),
    "sms": lambda s: fp.SMSNystrom(landmarks=s),
    "sms, core shifted": lambda s: fp.SMSNystrom(landmarks=s, variant="code"),
    "sms, rescaled": lambda s: fp.SMSNystrom(landmarks=s, rescale=True),
    "sms, unshifted": lambda s: fp.SMSNystrom(landmarks=s, unshift=True),
    "skeleton": lambda s: fp.Skeleton(landmarks=2 * s),
    "sicur": lambda s: fp.SiCUR(landmarks=s),
    "stacur(s)": lambda s: fp.StaCUR(landmarks=s),
    "stacur(d)": lambda s: fp.StaCUR(landmarks=2 * s, independent=True),
}


def cells(data: Path, *, toy: bool) -> Iterator[Cell]:
    """Yield a cell a matrix, size and method, small matrices and sizes first."""
    trials, shares = (2, (0.1, 0.3)) if toy else (TRIALS, SHARES)
    small = [(name, share) for name in ("mrpc", "psd") for share in shares]
    large = [(name, share) for share in shares for name in ("stsb", "tweets")]
    for name, share in small + large:
        n = len(known(data, name).K)
        s = round(share * n)
        for method, make in METHODS.items():

            def paper(name: str = name, s: int = s, make: Any = make) -> Value:
                return _measure(known(data, name), make(s), s, trials)

            yield Cell({"matrix": name, "method": method, "s": s}, paper)
        for prior in (False, True):
            if prior and known(data, name).embeddings is None:
                continue

            def ours(name: str = name, s: int = s, prior: bool = prior) -> Value:
                return _measure(known(data, name), None, s, trials, prior=prior)

            label = "default, prior" if prior else "default"
            yield Cell({"matrix": name, "method": label, "s": s}, ours)


def price(n: int, s: int) -> int:
    """Return the distinct entries of s columns of a symmetric matrix."""
    return n * s - s * (s - 1) // 2


def run_method(K: NDArray[Any], method: Any, *, seed: int) -> fp.Approximation:
    """Run a method of the paper on a symmetric matrix, whatever it costs."""
    known = fp.from_matrix(K, symmetric=True)
    return fp.approximate(None, known, method=method, budget=None, seed=seed)


def default(
    K: NDArray[Any], budget: int, *, prior: Any, seed: int, student: bool = False
) -> fp.Approximation:
    """Run the default on a symmetric matrix."""
    return fp.approximate(
        None,
        fp.from_matrix(K, symmetric=True),
        method=fp.Auto(student=student),
        budget=budget,
        prior=prior,
        seed=seed,
    )


def _measure(
    matrix: Known, method: Any, s: int, trials: int, *, prior: bool = False
) -> Value:
    K, n = matrix.K, len(matrix.K)
    kept: dict[str, list[float]] = {"error": [], "pairs": [], "returned": []}
    evaluations = []
    for seed in range(trials):
        if method is None:
            embeddings = matrix.embeddings if prior else None
            approx = default(K, price(n, s), prior=embeddings, seed=seed)
            found = errors_of(K, approx.dense())
            evaluations.append(approx.evaluations)
        else:
            approx = run_method(K, method, seed=seed)
            found = errors_of(K, printed(approx), read=approx.landmarks)
            evaluations.append(approx.bill.for_fit)
        for name, value in zip(kept, found, strict=True):
            kept[name].append(value)
    spent = round(float(np.mean(evaluations)))
    return {"n": n, "runs": trials, "evaluations": spent, **kept}


def printed(approx: fp.Approximation) -> NDArray[np.float32]:
    """Return a method's formula as printed, without what was read in its place."""
    left, right = (side.astype(np.float32) for side in (approx.left, approx.right))
    return np.asarray(left @ right.T)


def errors_of(
    K: NDArray[Any], guess: NDArray[Any], *, read: NDArray[np.int64] | None = None
) -> tuple[float, float, float]:
    """Return ‖K − K̃‖/‖K‖ of all entries, of pairs, and of pairs with ``read`` exact.

    The diagonal is in the first, as in the paper, and in neither of the others.
    """
    D = K - guess
    whole, own = float(np.linalg.norm(K)), float(np.linalg.norm(np.diagonal(K)))
    pairs = float(np.sqrt(max(whole**2 - own**2, 0.0)))
    first = float(np.linalg.norm(D)) / whole
    np.fill_diagonal(D, 0)
    second = float(np.linalg.norm(D)) / pairs
    if read is not None:
        D[read] = 0
        D[:, read] = 0
    return first, second, float(np.linalg.norm(D)) / pairs
