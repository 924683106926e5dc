"""Searching new items: 300 held out of the fit, everything counted.

Cells: share of the true ten most similar fitted items that were found. The prior's own
candidates are re-ranked by the same number of evaluations.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.default import _data
from benchmarks.matrices import MATRICES, Known

HELD_OUT, K, SHARE = 300, 10, 0.06
EVALUATIONS = (50, 100, 200)
ROWS = [("stsb", True), ("stsb", False), ("tweets, exp(−6·WMD)", True)]


def run() -> None:
    """Print the table."""
    data = _data()
    if data is None:
        return
    print(f"\n| matrix, {HELD_OUT} new items | prior | fit |", end=" ")
    print(" | ".join(f"{e} evaluations each" for e in EVALUATIONS), "|")
    print("|" + "---|" * (3 + len(EVALUATIONS)))
    students = [False] + [True] * ("student" in os.environ.get("FEWPAIRS_ROWS", ""))
    for name, prior in ROWS:
        for student in students if name == "stsb" and prior else [False]:
            _rows(name, data, prior=prior, student=student)


def _rows(name: str, data: Path, *, prior: bool, student: bool) -> None:
    known = MATRICES[name](data)
    order = np.random.default_rng(0).permutation(len(known.K))
    new, fitted = order[:HELD_OUT], np.sort(order[HELD_OUT:])
    truth = known.K[np.ix_(new, fitted)]
    best = np.argpartition(-truth, K, axis=1)[:, :K]
    approx = _fit(known, fitted, prior=prior, student=student)
    embeddings = np.asarray(known.embeddings, dtype=np.float64)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    cells, seconds = [], 0.0
    for evaluations in EVALUATIONS:
        start = time.perf_counter()
        found = approx.search(
            new,
            K,
            evaluations=evaluations,
            prior=embeddings[new] if prior else None,
            new=True,
        )
        seconds = time.perf_counter() - start
        if found.evaluations > HELD_OUT * evaluations:
            raise AssertionError(found)
        cells.append(f"{_shared(best, found.indices):.3f}")
    kind = "with a student" if student else "default"
    shown = f"{name} | {'yes' if prior else 'no'}"
    print(f"| {shown} | {kind} | {' | '.join(cells)} |", flush=True)
    print(f"|  |  | seconds of the last | | | {seconds:.2f} |")
    if not student:
        cosine = embeddings[new] @ embeddings[fitted].T
        top = [np.argpartition(-cosine, e, axis=1)[:, :e] for e in EVALUATIONS]
        bare = [f"{_shared(best, some):.3f}" for some in top]
        print(f"| {name} | its top alone | none | {' | '.join(bare)} |", flush=True)


def _fit(known: Known, fitted: Any, *, prior: bool, student: bool) -> fp.Approximation:
    similarity = fp.from_function(
        lambda a, b: known.K[a, b], batched=True, symmetric=True
    )
    return fp.approximate(
        fitted,
        similarity,
        method=fp.Auto(student=student),
        budget=SHARE,
        prior=np.asarray(known.embeddings)[fitted] if prior else None,
    )


def _shared(best: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    return float((best[:, :, None] == found[:, None, :]).any(axis=2).mean())
