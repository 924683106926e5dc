"""Tables 4 and 5: labeled pairs scored by approximated cross-encoder matrices."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.cells import Cell, Value
from experiments.errors import METHODS, default, errors_of, price, printed, run_method
from experiments.matrices import Glue, glue
from fewpairs.evaluation import accuracy, f1, pearson, spearman

__all__ = ["RANKS", "RUNS", "cells", "scores"]

RUNS = 50
STUDENT_RUNS = 3  # a student takes a minute or two
RANKS = {"stsb": (250, 350, 700), "mrpc": (100, 250, 500), "rte": (100, 250, 450)}
OF_PAPER = ("sms", "sms, core shifted", "sms, rescaled", "stacur(s)", "sicur")
METRICS = {"stsb": ("pearson", "spearman"), "mrpc": ("f1",), "rte": ("accuracy",)}


def cells(data: Path, *, toy: bool) -> Iterator[Cell]:
    """Yield the exact rows, then a cell a task, method and rank."""
    runs = 2 if toy else RUNS
    ranks = dict.fromkeys(RANKS, (12, 20)) if toy else RANKS
    for task in RANKS:
        for kind in ("exact", "symmetrized"):

            def known(task: str = task, kind: str = kind) -> Value:
                return _exact(glue(data, task), task, kind)

            yield Cell({"task": task, "method": kind}, known)
    for place in range(3):  # the smallest rank of all tasks first
        for task in RANKS:
            for method in ("default, prior", *OF_PAPER, "default"):
                if place < len(ranks[task]):
                    s = ranks[task][place]
                    yield _cell(data, task, method, s, runs)
    yield from _optimal_cells(data, ranks)
    for task in RANKS:  # at the smallest rank it matters most
        times = 1 if toy else STUDENT_RUNS
        yield _cell(data, task, "default, student", ranks[task][0], times)


def _optimal_cells(data: Path, ranks: Mapping[str, tuple[int, ...]]) -> Iterator[Cell]:
    for task in RANKS:
        for s in ranks[task]:

            def best(task: str = task, s: int = s) -> Value:
                return _optimal(glue(data, task), task, s)

            yield Cell({"task": task, "method": "optimal", "s": s}, best)


def _cell(data: Path, task: str, method: str, s: int, runs: int) -> Cell:
    def compute() -> Value:
        return _approximated(glue(data, task), task, method, s, runs)

    return Cell({"task": task, "method": method, "s": s}, compute)


def scores(task: str, gold: NDArray[Any], found: NDArray[Any]) -> dict[str, float]:
    """Return the metrics of a task; logits above 0 mean yes."""
    if task == "stsb":
        return {"pearson": pearson(gold, found), "spearman": spearman(gold, found)}
    said = found > 0
    return {"f1": f1(gold > 0.5, said), "accuracy": accuracy(gold > 0.5, said)}


def _exact(truth: Glue, task: str, kind: str) -> Value:
    K = truth.raw if kind == "exact" else truth.K
    found = scores(task, truth.gold, K[truth.first, truth.second])
    n = len(K)
    return {**found, **_errors(truth, K), "n": n, "evaluations": n * n}


def _approximated(truth: Glue, task: str, method: str, s: int, runs: int) -> Value:
    K, n = truth.K, len(truth.K)
    kept: dict[str, list[float]] = {}
    for seed in range(runs):
        if method.startswith("default"):
            approx = default(
                K,
                price(n, s),
                prior=None if method == "default" else truth.embeddings,
                seed=seed,
                student=method.endswith("student"),
            )
            bare, guess, spent = approx, approx.dense(), approx.evaluations
        else:
            approx = run_method(K, METHODS[method](s), seed=seed)
            bare, guess, spent = approx.factored, printed(approx), approx.bill.for_fit
        # The method's formula as printed; and with what was read put in its place.
        run = scores(task, truth.gold, bare.pairs(truth.first, truth.second))
        answers = scores(task, truth.gold, approx.pairs(truth.first, truth.second))
        run |= {f"{name} returned": value for name, value in answers.items()}
        run |= _errors(truth, guess)
        run["evaluations"] = spent
        for name, value in run.items():
            kept.setdefault(name, []).append(value)
    evaluations = round(float(np.mean(kept.pop("evaluations"))))
    return {**kept, "evaluations": evaluations, "runs": runs, "n": n}


def _optimal(truth: Glue, task: str, s: int) -> Value:
    """Return what the best symmetric matrix of rank s reaches; it needs all of K."""
    values, vectors = np.linalg.eigh(truth.K.astype(np.float64))
    kept = np.argsort(-np.abs(values))[:s]
    guess = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    found = scores(task, truth.gold, guess[truth.first, truth.second])
    found |= _errors(truth, guess)
    n = len(truth.K)
    once = {name: [value] for name, value in found.items()}
    return {**once, "n": n, "evaluations": n * (n + 1) // 2}


def _errors(truth: Glue, guess: NDArray[Any]) -> dict[str, float]:
    """Return the error against the scores as they came, and that of pairs alone."""
    error, pairs, _ = errors_of(truth.raw, guess)
    return {
        "error": error,
        "error of pairs": pairs,
        "error of pairs, symmetrized": errors_of(truth.K, guess)[1],
    }
