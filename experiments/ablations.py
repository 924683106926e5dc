"""The appendix and more: α and z, what is shifted, rescaling, symmetrization."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fewpairs as fp
from experiments.cells import Cell, Value
from experiments.errors import errors_of, price, printed, run_method
from experiments.glue import scores
from experiments.matrices import Glue, glue, known

__all__ = ["ALPHAS", "MULTIPLIERS", "SHIFTS", "cells"]

TRIALS = 5
SHARES = (0.1, 0.2, 0.4)
ALPHAS = (0.5, 1.0, 1.5, 2.0)
MULTIPLIERS = (1.0, 2.0, 3.0)
SHIFTS: dict[str, dict[str, Any]] = {
    "both shifted (text)": {"shift": "both"},
    "both shifted, unshifted after": {"shift": "both", "unshift": True},
    "both shifted, rescaled": {"shift": "both", "rescale": True},
    "core shifted (program)": {"shift": "core"},
    "core shifted, rescaled": {"shift": "core", "rescale": True},
}


def cells(data: Path, *, toy: bool) -> Iterator[Cell]:
    """Yield α and z (figure 8), then shifts, then symmetrization."""
    trials, shares = (1, (0.2,)) if toy else (TRIALS, SHARES)
    for name in ("mrpc", "stsb"):
        for share in shares:
            for alpha in ALPHAS:
                for z in MULTIPLIERS:
                    options = {"alpha": alpha, "multiplier": z, "shift": "core"}
                    key = {"what": "alpha", "matrix": name, "share": share}
                    key |= {"alpha": alpha, "z": z}
                    yield Cell(key, _sms(data, name, share, options, trials))
            for label, options in SHIFTS.items():
                key = {"what": "shift", "matrix": name, "share": share}
                key |= {"variant": label}
                yield Cell(key, _sms(data, name, share, options, trials))
    for task in ("stsb", "mrpc", "rte"):
        for method in ("sicur", "stacur", "skeleton"):
            for symmetrize in (True, False):
                key = {"what": "symmetrization", "task": task, "method": method}

                def compute(
                    task: str = task, method: str = method, both: bool = symmetrize
                ) -> Value:
                    truth = glue(data, task)
                    return _symmetrized(truth, task, method, trials, both=both)

                yield Cell({**key, "symmetrized": symmetrize}, compute)


def _sms(
    data: Path, name: str, share: float, options: dict[str, Any], trials: int
) -> Any:
    def compute() -> Value:
        K = known(data, name).K
        method = fp.SMSNystrom(landmarks=round(share * len(K)), **options)
        found = []
        for seed in range(trials):
            approx = run_method(K, method, seed=seed)
            found.append(errors_of(K, printed(approx)))
        names = ("error", "pairs")
        columns = zip(*found, strict=True)
        return {**dict(zip(names, columns, strict=False)), "runs": trials}

    return compute


def _symmetrized(
    truth: Glue, task: str, method: str, trials: int, *, both: bool
) -> Value:
    """Approximate the scores as they came, or averaged, at the same evaluations."""
    n = len(truth.raw)
    budget = 2 * price(n, round(0.2 * n))
    kept: dict[str, list[float]] = {}
    for seed in range(trials):
        approx = fp.approximate(
            None,
            fp.from_matrix(truth.raw, symmetric=False),
            method=method,
            budget=budget,
            symmetrize=both,
            seed=seed,
        )
        guess = approx.factored.pairs(truth.first, truth.second)
        run = scores(task, truth.gold, guess)
        run["error"] = errors_of(truth.raw, printed(approx))[0]
        run["evaluations"] = approx.evaluations
        for name, value in run.items():
            kept.setdefault(name, []).append(value)
    evaluations = round(float(np.mean(kept.pop("evaluations"))))
    return {**kept, "evaluations": evaluations, "runs": trials}
