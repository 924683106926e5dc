"""The default beside the methods of the paper, at equal evaluations.

`default` runs the default without a student and every method of the paper; `student`
runs the default with one. Cells: R² / recall@10 / correlation with human labels.
R² and recall are those of what is returned, with the entries that were read exact;
everything is counted: pilot, guard, refinement and certificate.
"""

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fewpairs as fp
from benchmarks.matrices import MATRICES, Known
from fewpairs.evaluation import quality

SEEDS = 3
RIVALS = ("nystrom", "sms", "sicur", "stacur", "regularized")


class Row(NamedTuple):
    """A matrix, whether embeddings are given, a share, and what is to be reached."""

    matrix: str
    prior: bool
    share: float
    fast: str
    student: str
    goal: str


ROWS = [
    Row("stsb", True, 0.02, ".84/.62/.85", ".90/.80/.865", ".93/.87/.868"),
    Row("stsb", True, 0.06, ".90/.85/.86", ".94/.94/.867", ".96/.97/.868"),
    Row("stsb", True, 0.15, ".945/.94/.865", ".96/.97/.868", ".98/.99/.869"),
    Row("mrpc", True, 0.10, ".80/.43/.54", ".94/.72/.544", ".97/.80/.545"),
    Row("mrpc", True, 0.20, ".93/.70/.544", ".97/.86/.545", ".985/.92/.545"),
    Row("rte", True, 0.20, ".86/.80/.21", ".89/.86/.23", ".92/.91/.25"),
    Row("tweets, exp(−WMD)", True, 0.06, ".89/.80", ".96/.88", ".98/.94"),
    Row("tweets, exp(−6·WMD)", True, 0.15, ".98/.82", ".985/.85", ".99/.93"),
    Row("stsb", False, 0.06, ".85/.50/.20", ".90/.75/.60", ".93/.85/.75"),
    Row("mrpc", False, 0.10, "above the paper", ".50/.50/.30", ".70/.60/.40"),
    Row("docstrings, Levenshtein", False, 0.05, "none", "none", "none"),
    Row("stsb sentences, token set ratio", False, 0.05, "none", "none", "none"),
]


def run() -> None:
    """Print the table of the default without a student, and of the paper's methods."""
    data = _data()
    if data is None:
        return
    print("\n| matrix | prior | share | default | floor | seconds |", end=" ")
    print(" | ".join(RIVALS), "|")
    print("|" + "---|" * (6 + len(RIVALS)))
    for row, known in _rows(data):
        cell, seconds = _measured(known, row, fp.Auto(student=False))
        rivals = [
            _measured(known, row._replace(prior=False), name)[0] for name in RIVALS
        ]
        print(f"| {_named(row)} | {cell} | {row.fast} | {seconds:.1f} |", end=" ")
        print(" | ".join(rivals), "|", flush=True)


def run_student() -> None:
    """Print the table of the default with a student."""
    data = _data()
    if data is None:
        return
    print("\n| matrix | prior | share | student | floor | goal | seconds |")
    print("|" + "---|" * 7)
    for row, known in _rows(data):
        if row.student != "none":
            cell, seconds = _measured(known, row, fp.Auto(student=True))
            print(f"| {_named(row)} | {cell} |", end=" ")
            print(f"{row.student} | {row.goal} | {seconds:.0f} |", flush=True)


def _data() -> Path | None:
    folder = os.environ.get("FEWPAIRS_DATA")
    if not folder:
        print("\ndefault: skipped, FEWPAIRS_DATA does not name the folder of data sets")
        return None
    return Path(folder)


def _rows(data: Path) -> Any:
    wanted = os.environ.get("FEWPAIRS_ROWS")  # such as "0,3": for one at a time
    chosen = range(len(ROWS)) if wanted is None else map(int, wanted.split(","))
    for t in chosen:
        yield ROWS[t], MATRICES[ROWS[t].matrix](data)


def _named(row: Row) -> str:
    return f"{row.matrix} | {'yes' if row.prior else 'no'} | {row.share:.0%}"


def _measured(known: Known, row: Row, method: Any) -> tuple[str, float]:
    """Return the cell and the mean seconds outside evaluating."""
    figures, seconds = [], []
    similarity = fp.from_matrix(known.K, symmetric=True)
    n = len(known.K)
    for seed in range(SEEDS):
        start = time.perf_counter()
        approx = fp.approximate(
            None,
            similarity,
            method=method,
            budget=row.share,
            prior=known.embeddings if row.prior else None,
            seed=seed,
        )
        seconds.append(time.perf_counter() - start)
        if approx.evaluations > row.share * n * (n - 1) / 2:
            msg = f"{approx.evaluations:,} evaluations exceed the budget"
            raise AssertionError(msg)
        found = quality(approx, known.K)
        figures.append([found.r2, found.recall])
        if known.labels is not None:
            i, j, gold = known.labels
            figures[-1].append(float(np.corrcoef(approx.pairs(i, j), gold)[0, 1]))
    mean = np.mean(figures, axis=0)
    return "/".join(f"{figure:.3f}" for figure in mean), float(np.mean(seconds))
