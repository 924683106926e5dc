"""The demo: the standard library's docstrings, at 5 % of the pairs."""

import time

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from fewpairs.datasets import Texts, stdlib_docstrings
from fewpairs.evaluation import exact_matrix, quality
from fewpairs.methods import BY_NAME, Optimal
from fewpairs.progress import RichProgress
from fewpairs.result.approximation import Approximation
from fewpairs.run.approximate import approximate
from fewpairs.similarity import StringSimilarity, from_matrix

__all__ = ["run"]

_BUDGET = 0.05
_SHOWN = ("shutil.copy", "json.dumps", "statistics.mean")


def run(console: Console, *, limit: int | None = None) -> None:
    """Approximate, compare with the truth, and show both."""
    with console.status("reading the docstrings of the standard library"):
        corpus = stdlib_docstrings(limit)
    similarity = StringSimilarity("token_sort_ratio")
    n = len(corpus.texts)
    console.rule(f"{n:,} docstrings, {_BUDGET:.0%} of their {n * (n - 1) // 2:,} pairs")
    approx = approximate(
        corpus.texts, similarity, budget=_BUDGET, progress=RichProgress(console)
    )
    console.print(str(approx), highlight=False, soft_wrap=True)

    console.rule("the truth, which only a demo can afford")
    K = exact_matrix(corpus.texts, similarity, progress=RichProgress(console))
    truth = quality(approx, K)
    low, high = approx.certificate.interval
    console.print(
        f"  certified error {approx.certificate.relative_error:.4f} "
        f"(95 % interval {low:.4f} to {high:.4f}), "
        f"true error {truth.relative_error:.4f}; "
        f"certified R² {approx.certificate.r2:.3f}, true R² {truth.r2:.3f}",
        highlight=False,
        soft_wrap=True,
    )
    console.print(_neighbor_table(approx, K, corpus))
    with console.status("all methods at the same price"):
        table = _method_table(K)
    console.print(table)


def _neighbor_table(
    approx: Approximation, K: NDArray[np.float64], corpus: Texts
) -> Table:
    """Show the highest entries of three rows, approximated and true."""
    table = Table(title="nearest neighbors of three functions")
    for name in ("of", "approximated", "true"):
        table.add_column(name)
    shown = [name for name in _SHOWN if name in corpus.names] or corpus.names[:3]
    everything = np.arange(len(corpus.names))
    for name in shown:
        i = corpus.names.index(name)
        read, _ = approx.known.lookup(np.full(len(everything), i), everything)
        columns = []
        for values, marked in ((approx.row(i), read), (K[i].copy(), None)):
            values[i] = -np.inf
            columns.append(_listed(corpus, values, marked))
        table.add_row(_short(name), *columns, end_section=True)
    table.caption = "* was read, the others are predicted"
    return table


def _listed(
    corpus: Texts, values: NDArray[np.float64], marked: NDArray[np.bool_] | None
) -> str:
    """Return the four highest values, a line each."""
    return "\n".join(
        f"{values[j]:.2f}{'*' if marked is not None and marked[j] else ' '} "
        f"{_short(corpus.names[j])}"
        for j in np.argsort(-values, kind="stable")[:4]
    )


def _short(name: str) -> str:
    """Return the last two parts of a dotted name."""
    return ".".join(name.split(".")[-2:])


def _method_table(K: NDArray[np.float64]) -> Table:
    """Run every method on the precomputed matrix, where evaluations are look-ups."""
    matrix = from_matrix(K, symmetric=True, diagonal=1.0)
    table = Table(title=f"all methods at {_BUDGET:.0%} of the pairs")
    for name in ("method", "landmarks", "evaluations", "error", "R²", "recall@10", "s"):
        table.add_column(name, justify="left" if name == "method" else "right")
    rank = 0
    for name in [name for name in BY_NAME if name != "optimal"]:
        started = time.perf_counter()
        approx = approximate(None, matrix, method=name, budget=_BUDGET)
        seconds = time.perf_counter() - started
        rank = max(rank, len(approx.landmarks))
        _add(table, name, approx, K, seconds)
    started = time.perf_counter()
    best = approximate(None, matrix, method=Optimal(rank=rank), budget=1.0)
    table.add_section()
    _add(table, f"optimal, rank {rank}", best, K, time.perf_counter() - started)
    table.caption = "optimal reads all pairs: it is the cap for that rank, not a rival"
    return table


def _add(
    table: Table, name: str, approx: Approximation, K: NDArray[np.float64], s: float
) -> None:
    measured = quality(approx, K)
    table.add_row(
        name,
        f"{len(approx.landmarks):,}",
        f"{approx.evaluations:,}",
        f"{measured.relative_error:.4f}",
        f"{measured.r2:.3f}",
        f"{measured.recall:.3f}",
        f"{s:.2f}",
    )
