"""Looking at an approximation: its report, and plots by Matplotlib."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from fewpairs.answers.sides import Side, sides_of
from fewpairs.checks import check_path
from fewpairs.errors import InputError
from fewpairs.plotting import axes_of
from fewpairs.report import findings, write_report
from fewpairs.report.gathering import mapped
from fewpairs.result.approximation import Approximation

__all__ = ["plot", "plot_map", "report"]

_NEIGHBORS = 15


def report(
    approx: Approximation,
    path: str | PathLike[str],
    *,
    texts: Iterable[str] | None,
    others: Iterable[str] | None,
    title: str,
    threshold: float | None,
) -> Path:
    """Write one HTML file; see ``Approximation.report``."""
    call = "Approximation.report"
    file = Path(check_path(call, "path", path))
    if not file.parent.is_dir():
        msg = (
            f"{call}: there is no folder {file.parent}. Make it first, or pass another."
        )
        raise InputError(msg)
    left, right = sides_of(approx)
    two_sets = approx.known.sides is not None
    texts = _texts(left, call, "texts") if texts is None else texts
    if others is None and two_sets:
        others = _texts(right, call, "others")
    write_report(approx, texts, file, title=title, threshold=threshold, others=others)
    return file


def _texts(side: Side, call: str, name: str) -> list[str]:
    """Return the texts of fitted items, or say that they are not known."""
    if side.compared is None and not side.columns:
        msg = (
            f"{call}: the items are not known: a matrix has none, and a loaded "
            f"approximation those that fewpairs.load is given. Pass {name}=, one per "
            "item."
        )
        raise InputError(msg)
    return side.texts(np.arange(side.n))


def plot(approx: Approximation, ax: Any) -> Any:
    """Draw predicted against exact; see ``Approximation.plot``."""
    call = "Approximation.plot"
    pairs = findings.held_out(approx)
    if pairs is None:
        msg = f"{call}: no pairs were held out: everything was read, or nothing is left"
        raise InputError(msg)
    ax = axes_of(ax, call)
    exact, predicted = pairs["exact"], pairs["predicted"]
    low, high = float(min(exact.min(), predicted.min())), float(exact.max())
    ax.plot([low, high], [low, high], color="0.5", linewidth=1)
    ax.scatter(predicted, exact, s=9, alpha=0.45, linewidths=0)
    ax.set_xlabel("predicted")
    ax.set_ylabel("exact, held out")
    ax.set_title(f"{approx.certificate.worth}", fontsize="medium")
    return ax


def plot_map(approx: Approximation, ax: Any, *, labels: Any) -> Any:
    """Draw items in the plane; see ``Approximation.plot_map``."""
    call = "Approximation.plot_map"
    n = approx.known.n
    if approx.known.sides is not None:
        msg = f"{call}: this is of two sets; .report(path) has a map of both."
        raise InputError(msg)
    if labels is not None and np.shape(labels) != (n,):
        msg = f"{call}: labels has shape {np.shape(labels)}; pass one per item, {n:,}."
        raise InputError(msg)
    if n < 5:
        msg = f"{call}: {n} items make no map; it takes at least 5."
        raise InputError(msg)
    ax = axes_of(ax, call)
    found = approx.neighbors(min(_NEIGHBORS, n - 1))
    at, groups = mapped(found.indices, found.similarities.astype(np.float64))
    colors = groups if labels is None else np.asarray(labels)
    ax.scatter(*at.T, c=colors, cmap="tab10", s=10, linewidths=0)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax
