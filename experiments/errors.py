"""Figure 3: relative error against s/n and against evaluations, every method."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from experiments.cells import Cell, Value
from experiments.matrices import Known, known

__all__ = ["METHODS", "cells", "default", "errors_of", "price", "relative_error"]

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
    for share in shares:
        for name in ("mrpc", "psd", "stsb", "tweets"):
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
    errors, returned, evaluations = [], [], []
    for seed in range(trials):
        if method is None:
            embeddings = matrix.embeddings if prior else None
            approx = default(K, price(n, s), prior=embeddings, seed=seed)
            errors.append(relative_error(K, approx))
            returned.append(errors[-1])
            evaluations.append(approx.evaluations)
        else:
            approx = fp.approximate(
                None,
                fp.from_matrix(K, symmetric=True),
                method=method,
                budget=None,
                seed=seed,
            )
            bare, exact = errors_of(K, approx)
            errors.append(bare)
            returned.append(exact)
            evaluations.append(approx.bill.for_fit)
    return {
        "n": n,
        "runs": trials,
        "evaluations": round(float(np.mean(evaluations))),
        "error": errors,
        "returned": returned,
    }


def errors_of(K: NDArray[Any], approx: fp.Approximation) -> tuple[float, float]:
    """Return ‖K − K̃‖/‖K‖ of the formula as printed, and with read lines exact."""
    D = K - approx.left.astype(K.dtype) @ approx.right.astype(K.dtype).T
    whole, bare = float(np.linalg.norm(K)), float(np.linalg.norm(D))
    D[approx.landmarks] = 0
    D[:, approx.landmarks] = 0
    return bare / whole, float(np.linalg.norm(D)) / whole


def relative_error(K: NDArray[Any], approx: fp.Approximation) -> float:
    """Return ‖K − K̃‖/‖K‖ of what an approximation answers."""
    squares, step = 0.0, 512
    for start in range(0, len(K), step):
        rows = np.arange(start, min(len(K), start + step))
        gap = approx.block(rows, slice(None)) - K[rows]
        squares += float(np.sum(np.square(gap, dtype=np.float64)))
    return float(np.sqrt(squares) / np.linalg.norm(K.astype(np.float64)))
