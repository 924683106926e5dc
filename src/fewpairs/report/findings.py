"""What a report shows, as plain facts: nothing here costs an evaluation."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.left_out import (
    HiddenRows,
    hide_rows,
    partial_fit,
    refined_an_item,
)
from fewpairs.kernels.linalg.spectral import symmetric_eigen
from fewpairs.model.model import Model
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import HeldOut

__all__ = [
    "badly_explained",
    "certified",
    "core_values",
    "held_out",
    "learning_curve",
    "spectrum",
]

_SHOWN_PAIRS = 1_500  # held-out pairs in the picture
_SHARES = (0.125, 0.25, 0.5, 1.0)
_HIDDEN = 0.8  # share of the landmarks that see, where the others are hidden
_NEIGHBORS = 10
_WORST = 12
_VALUES = 200  # eigenvalues in the picture

Array = NDArray[np.float64]


def certified(approx: Approximation) -> dict[str, Any]:
    """Return the certificate, and what predicting the mean would achieve."""
    found = approx.certificate
    mean = math.nan
    if found.r2 < 1 and found.relative_error > 0:
        # R² = 1 − error² / error²(mean), over the same pairs.
        mean = found.relative_error / math.sqrt(1 - found.r2)
    return {
        "error": found.relative_error,
        "low": found.interval[0],
        "high": found.interval[1],
        "r2": found.r2,
        "pairs": found.pairs,
        "unread": found.unread,
        "worth": found.worth,
        "doubt": found.doubt or None,
        "mean": mean,
    }


def held_out(approx: Approximation) -> dict[str, Any] | None:
    """Return exact values of held-out pairs and what was predicted for them."""
    evidence = approx.evidence
    if not isinstance(evidence, HeldOut) or not len(evidence.i):
        return None
    guess = approx.model.pairs(evidence.i, evidence.j).astype(np.float64)
    some = slice(None, _SHOWN_PAIRS)  # they are in random order already
    errors = np.abs(guess - evidence.truth)
    return {
        "i": evidence.i[some],
        "j": evidence.j[some],
        "exact": evidence.truth[some],
        "predicted": guess[some],
        "all": len(guess),
        "median": float(np.median(errors)),
        "most": float(np.quantile(errors, 0.95)),
    }


def learning_curve(approx: Approximation) -> dict[str, Any] | None:
    """Return error and recall of smaller fits, estimated from what is known.

    The error of a fit to a part of the landmarks is taken on the held-out pairs, which
    it has not seen; its recall on rows of landmarks that were hidden from it, with as
    many pairs per item read as that share of the budget buys. The last point is the run
    itself: its error is its own, its recall that of a fit to four fifths of the
    landmarks. ``None`` where there are too few landmarks.
    """
    order = np.random.default_rng(0).permutation(np.unique(approx.known.line_indices()))
    refined = refined_an_item(approx)
    points = []
    for share in _SHARES:
        rows = hide_rows(approx, min(share, _HIDDEN))
        if rows is None:
            continue
        fit: Any = approx.model
        if share < 1:
            fit = partial_fit(approx, np.sort(order[: rows.landmarks]))
        points.append(
            {
                "evaluations": round(share * approx.evaluations),
                "landmarks": rows.landmarks,
                "recall": rows.recall(_NEIGHBORS, round(share * refined)),
                "error": None if fit is None else _unread_error(approx, fit),
            }
        )
    if not points:
        return None
    return {
        "points": points,
        "refined": refined,
        "neighbors": _NEIGHBORS,
        "everything": approx.bill.everything,
    }


def _unread_error(approx: Approximation, fit: Model) -> float | None:
    """Return the relative error of a fit on the held-out pairs."""
    held = approx.evidence
    if not isinstance(held, HeldOut):
        return None
    norm = float(np.sum(held.truth**2))
    guess = fit.pairs(held.i, held.j).astype(np.float64)
    off = float(np.sum((held.truth - guess) ** 2))
    return math.sqrt(off / norm) if norm > 0 else None


def spectrum(approx: Approximation) -> Array:
    """Return the leading eigenvalues of the low-rank part, by magnitude."""
    left = approx.left.astype(np.float64)
    if approx.known.sides is not None:
        right = approx.right.astype(np.float64)
        product = np.linalg.qr(left)[1] @ np.linalg.qr(right)[1].T
        return np.asarray(np.linalg.svd(product, compute_uv=False)[:_VALUES])
    signs = approx.model.low_rank.signature
    if signs is not None:
        R = np.linalg.qr(left)[1]
        values: NDArray[Any] = np.linalg.eigvalsh((R * signs) @ R.T)
    else:  # ½(A + Aᵀ) of A = left @ right.T, through a basis of both
        right = approx.right.astype(np.float64)
        Q = np.linalg.qr(np.hstack([left, right]))[0]
        A = (Q.T @ left) @ (Q.T @ right).T
        values = np.linalg.eigvalsh((A + A.T) / 2)
    order = np.argsort(-np.abs(values), kind="stable")
    return np.asarray(values[order][:_VALUES])


def core_values(approx: Approximation) -> Array | None:
    """Return the eigenvalues of the landmarks' own block of the matrix."""
    S = np.unique(approx.known.line_indices())
    if len(S) < 3 or len(S) > 4_000 or approx.known.sides is not None:
        return None
    core = np.asarray(approx.known.lines(S)[:, S], dtype=np.float64)
    values, _ = symmetric_eigen((core + core.T) / 2)
    return np.sort(values)[::-1]


def badly_explained(approx: Approximation) -> list[dict[str, Any]]:
    """Return the items whose similarities to hidden landmarks are predicted worst."""
    rows = hide_rows(approx)
    if rows is None:
        return []
    errors = _errors(rows)
    each = np.sqrt(np.nanmean(errors**2, axis=0))
    # A landmark has no prediction of its own but in its turn: others come first.
    each[np.isnan(each)] = 0.0
    usual = float(np.median(each))
    worst = np.argsort(-each, kind="stable")[:_WORST]
    out = []
    for item in worst:
        row = int(np.nanargmax(np.abs(errors[:, item])))
        out.append(
            {
                "item": int(item),
                "error": float(each[item]),
                "usual": usual,
                "with": int(rows.items[row]),
                "exact": float(rows.truth[row, item]),
                "predicted": float(rows.guess[row, item]),
            }
        )
    return out


def _errors(rows: HiddenRows) -> Array:
    """Return truth − guess, and NaN for an item and itself."""
    own = ~np.isfinite(rows.truth)
    errors = np.where(own, 0.0, rows.truth) - np.where(own, 0.0, rows.guess)
    errors[own] = np.nan
    return errors
