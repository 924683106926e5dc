"""Tables of the demo: neighbors beside the true ones, the paper's methods."""

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text

from fewpairs.cli.demo.ways import Truth
from fewpairs.datasets import DocstringScores
from fewpairs.evaluation import quality
from fewpairs.methods import BY_NAME
from fewpairs.result.approximation import Approximation
from fewpairs.run.approximate import approximate
from fewpairs.similarity import from_matrix

__all__ = ["certified", "method_table", "neighbor_table"]

SHOWN = ("gzip.open", "datetime.date.today", "logging.warning")
LISTED = 5


def neighbor_table(
    data: DocstringScores, truth: Truth, found: NDArray[np.int64]
) -> Table:
    """Show the most similar of three items, as found and as they are."""
    table = Table(title="the most similar lines of three", title_justify="left")
    for name in ("of", "found by fewpairs", "true"):
        table.add_column(name, overflow="fold")
    items = [data.names.index(name) for name in SHOWN if name in data.names]
    for i in items or range(3):
        true = set(truth.nearest[i].tolist())
        columns = [
            Text("\n").join(
                Text(
                    f"{truth.scores[i, j]:.2f} {_short(data.names[j])}: "
                    f"{_cut(data.texts[j])}",
                    style="" if int(j) in true else "dim",
                )
                for j in ranked[:LISTED]
            )
            for ranked in (found[i], truth.nearest[i])
        ]
        what = Text(f"{_short(data.names[i])}: {_cut(data.texts[i])}")
        table.add_row(what, *columns, end_section=True)
    return table


def certified(approx: Approximation, truth: Truth) -> Table:
    """Show what the certificate says beside what is."""
    measured, certificate = quality(approx, truth.scores), approx.certificate
    low, high = certificate.interval
    table = Table(title="the certificate beside the truth", title_justify="left")
    for name in ("", "certified", "true"):
        table.add_column(name)
    table.add_row(
        "relative error",
        f"{certificate.relative_error:.3f} (95 % interval {low:.3f} to {high:.3f})",
        f"{measured.relative_error:.3f}",
    )
    table.add_row("R²", f"{certificate.r2:.3f}", f"{measured.r2:.3f}")
    return table


def method_table(truth: Truth, approx: Approximation, budget: str) -> Table:
    """Run the methods of the paper for as many evaluations."""
    matrix = from_matrix(truth.scores, symmetric=True, diagonal=1.0)
    table = Table(title=f"the methods of the paper at {budget}", title_justify="left")
    for name in ("method", "evaluations", "R²", "recall@10"):
        table.add_column(name, justify="left" if name == "method" else "right")
    _add(table, "fewpairs' default", approx, truth)
    table.add_section()
    for name in ("nystrom", "sms", "skeleton", "sicur", "stacur"):
        other = approximate(None, matrix, method=name, budget=budget)
        _add(table, BY_NAME[name].__name__, other, truth)
    return table


def _add(table: Table, name: str, approx: Approximation, truth: Truth) -> None:
    measured = quality(approx, truth.scores)
    cells = f"{approx.evaluations:,}", f"{measured.r2:.3f}", f"{measured.recall:.3f}"
    table.add_row(name, *cells)


def _short(name: str) -> str:
    """Return the last two parts of a dotted name."""
    return ".".join(name.split(".")[-2:])


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
