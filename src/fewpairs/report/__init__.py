"""A report: one HTML file that people look at, without network."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fewpairs.errors import InputError
from fewpairs.progress import Progress, Silence
from fewpairs.report import findings
from fewpairs.report.gathering import MOST_ITEMS, gather_items, packed
from fewpairs.report.matches import write_matches_report
from fewpairs.report.page import page
from fewpairs.result.approximation import Approximation
from fewpairs.result.bill import duration
from fewpairs.similarity.items import as_items

__all__ = ["write_matches_report", "write_report"]

_SCRIPTS = ("charts.js", "map.js", "explorer.js", "report.js")


def write_report(
    approx: Approximation,
    texts: Iterable[str],
    path: str | Path,
    *,
    title: str = "similarities",
    threshold: float | None = None,
    created: str = "",
    progress: Progress | None = None,
    others: Iterable[str] | None = None,
) -> None:
    """Write one self-contained HTML file: certificate, map, neighbors, spectrum.

    Costs no evaluation; time is that of every item's neighbors and of the map.
    Everything that is shown is on the page: it asks no network, and it holds the texts
    (shortened where there are many). Of more than 25,000 items a sample is shown.

    Parameters
    ----------
    approx
        The approximation; saved and loaded ones are as good.
    texts
        One a item, in the order of the matrix.
    path
        The file; it is replaced.
    title
        What the page is about.
    threshold
        Color the map by ``approx.cluster(threshold=…)``, and not by broad groups.
    created
        When the approximation was made, in words.
    progress
        Told what is being done.
    others
        Of two sets, one text per right item. The map then has both sides, and an item's
        neighbors are of the other one.

    Examples
    --------
    >>> import tempfile, fewpairs as fp
    >>> from pathlib import Path
    >>> from fewpairs.datasets import stdlib_docstrings
    >>> texts = stdlib_docstrings(limit=300).texts
    >>> approx = fp.approximate(texts, fp.TokenOverlap("jaccard"), budget=0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(approx, texts, f"{folder}/report.html", title="docstrings")
    ...     page = Path(f"{folder}/report.html").read_text(encoding="utf-8")
    >>> page.startswith("<!doctype html>"), "http-equiv" in page
    (True, True)
    """
    texts = _texts_of(approx, texts, others)
    n = len(texts)
    told = progress or Silence()
    try:
        told.start("neighbors and map", None)
        labels = None
        if threshold is not None:
            labels = approx.cluster(threshold=threshold)
        items = np.arange(n)
        if n > MOST_ITEMS:
            items = np.sort(np.random.default_rng(0).permutation(n)[:MOST_ITEMS])
        shown = gather_items(approx, list(map(str, texts)), items, labels, told)
        told.start("what it is worth", None)
        facts = {
            "title": title,
            "created": created,
            "n": n,
            "shape": None if approx.known.sides is None else list(approx.shape),
            "threshold": threshold,
            "items": shown,
            **_figures(approx, texts),
        }
    finally:
        told.finish()
    made = page("report.html", title, facts, _SCRIPTS)
    Path(path).write_text(made, encoding="utf-8")


def _texts_of(
    approx: Approximation, texts: Iterable[str], others: Iterable[str] | None
) -> Sequence[str]:
    """Return a text per item, of two sets those of the right after the left."""
    sides = [("texts", texts)]
    if approx.known.sides is not None:
        sides.append(("others", others if others is not None else []))
    found: list[str] = []
    for (name, given), n in zip(sides, approx.shape, strict=False):
        listed = as_items(given, "write_report", name=name)
        if len(listed) != n:
            msg = (
                f"write_report: {len(listed):,} {name} for {n:,} items. Pass one text "
                "an item, in the order of the matrix; of two sets texts and others."
            )
            raise InputError(msg)
        found += listed
    return found


def _figures(approx: Approximation, texts: Sequence[str]) -> dict[str, Any]:
    bill = approx.bill
    worst = findings.badly_explained(approx)
    pairs = findings.held_out(approx)
    # Items that are mentioned beside the map bring their text along.
    named = {entry[key] for entry in worst for key in ("item", "with")}
    return {
        "receipt": str(approx),
        "method": approx.method,
        "landmarks": len(approx.landmarks),
        "rank": approx.left.shape[1],
        "bill": asdict(bill),
        "words": {
            "evaluating": duration(bill.evaluating),
            "computing": duration(bill.computing),
            "exact": duration(_exact_seconds(approx)),
            "each": duration(bill.evaluating / max(1, bill.evaluations)),
        },
        "certificate": findings.certified(approx),
        "pairs": pairs
        and {
            **pairs,
            "i": packed(pairs["i"], "<u4"),
            "j": packed(pairs["j"], "<u4"),
            "exact": _rounded(pairs["exact"]),
            "predicted": _rounded(pairs["predicted"]),
        },
        "curve": findings.learning_curve(approx),
        "spectrum": _rounded(findings.spectrum(approx)),
        "core": _rounded(findings.core_values(approx)),
        "worst": worst,
        "named": {str(t): str(texts[t])[:300] for t in sorted(named)},
    }


def _exact_seconds(approx: Approximation) -> float:
    bill = approx.bill
    return bill.evaluating / max(1, bill.evaluations) * bill.everything


def _rounded(values: Any) -> Any:
    return None if values is None else [float(f"{value:.5g}") for value in values]
