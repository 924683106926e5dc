"""Pairs above a threshold: proposed by an approximation, checked one by one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.above import pairs_above
from fewpairs.answers.across import refuse_two_sets
from fewpairs.answers.all_pairs import AllPairs, level_of
from fewpairs.answers.certifying import certify
from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.left_out import hide_rows, refined_an_item
from fewpairs.answers.matches import NOTHING_MISSED, Matches, Missed
from fewpairs.answers.recall import Target, of_everything
from fewpairs.answers.sides import Side, sides_of
from fewpairs.answers.way import Way
from fewpairs.checks import check_number, check_whole
from fewpairs.errors import BudgetError
from fewpairs.kernels.statistics.ratios import ratio_at_least
from fewpairs.progress import Progress, Silence, as_progress
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import HeldOut
from fewpairs.types import Indices

__all__ = [
    "duplicates",
    "exact_matches",
    "find_matches",
    "first_right",
    "read_pairs",
]

_MARGIN = 2.0  # standard deviations of the prediction's error
_TAIL = 500  # held-out pairs with the highest predictions: near the threshold

_CHUNKS = 50  # in which candidates are read, so that a bar moves


def find_matches(
    approx: Approximation,
    threshold: float,
    *,
    margin: float | None = None,
    most: int | None = None,
    also: tuple[Indices, Indices] | None = None,
    cut: bool = False,
    progress: Progress | None = None,
) -> Matches:
    """Return the pairs whose similarity is at least ``threshold``, all of them checked.

    Evaluations: one a candidate that was not read before; they are counted in the
    result and kept in the reader of ``approx``, whose own answers stay as they were.

    Parameters
    ----------
    approx
        Proposes: unread pairs that it predicts above threshold − margin, of more than
        20,000 items those that an index finds. A loaded one
        needs its similarity: ``fp.load(path, items=…, similarity=…)``.
    threshold
        Of the similarity.
    margin
        ``None``: two standard deviations of the errors of the held-out pairs that are
        predicted highest.
    most
        Candidates that may be evaluated at most.
    also
        Pairs that are candidates whatever is predicted, such as equal texts.
    cut
        Evaluate the best of the candidates where there are more than ``most``, instead
        of none.
    progress
        Told of every chunk that is read.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> from fewpairs.answers.matching import find_matches
    >>> K = np.eye(100) * 0.4 + 0.1
    >>> K[3, 7] = K[7, 3] = 0.9
    >>> approx = fp.approximate(None, K, budget=0.3)
    >>> found = find_matches(approx, 0.5, also=(np.array([7]), np.array([3])))
    >>> list(zip(found.left, found.right, found.similarity.tolist())) == [(3, 7, 0.9)]
    True
    """
    threshold = check_number("find_matches", "threshold", threshold)
    margin = _margin(approx) if margin is None else float(margin)
    level = level_of(threshold, _precision(approx))
    i, j = pairs_above(approx, min(threshold - margin, level))
    if also is not None:
        low, high = np.minimum(*also), np.maximum(*also)
        n = approx.known.n
        keys = np.unique(np.concatenate([i * n + j, low * n + high]))
        i, j = keys // n, keys % n
    known, values = approx.known.lookup(i, j)
    possible = known | _may_reach(approx, i, j, level)
    excluded = int((~possible).sum())
    i, j, known, values = i[possible], j[possible], known[possible], values[possible]
    new = np.flatnonzero(~known)
    least = threshold - margin  # predictions above it are evaluated
    if most is not None and len(new) > most and cut:
        guess = _answers(approx, i[new], j[new])
        best = np.argsort(-guess, kind="stable")[:most]
        # Of equal ones some are left out: only what lies above is sure to be read.
        left_out = np.delete(guess, best).max()
        least = max(least, float(np.nextafter(left_out, np.inf)))
        kept = np.sort(np.concatenate([np.flatnonzero(known), new[best]]))
        i, j, known, values = i[kept], j[kept], known[kept], values[kept]
        new = np.flatnonzero(~known)
    elif most is not None and len(new) > most:
        msg = (
            f"find_matches: {len(new):,} candidates lie above {threshold - margin:.4g} "
            f"and are not known; {most:,} may be evaluated. Raise the threshold, lower "
            "the margin, or allow more."
        )
        raise BudgetError(msg, needed=len(new), allowed=most)
    before = _paid(approx)
    values[new] = read_pairs(approx, i[new], j[new], progress or Silence())
    keep = values >= level
    values = np.where(keep, np.maximum(values, threshold), values)
    looked_at = Pairs(i, j - first_right(approx), values)
    left, right, similarity = looked_at.at(keep).sorted()
    return Matches(
        left=left,
        right=right,
        similarity=similarity,
        threshold=float(threshold),
        sides=sides_of(approx),
        others=looked_at.at(~keep),
        candidate_margin=margin,
        edge=least,
        known=int(known[keep].sum()),
        checked=len(new),
        excluded=excluded,
        missed=_missed(approx, threshold, least),
        evaluations=_paid(approx) - before,
    )


def duplicates(
    approx: Approximation,
    threshold: float,
    *,
    evaluations: int | None = None,
    margin: float | None = None,
    progress: bool | Progress = False,
) -> Matches:
    """Return the pairs above a threshold; see ``Approximation.duplicates``."""
    call = "Approximation.duplicates"
    refuse_two_sets(approx, call)
    threshold = check_number(call, "threshold", threshold)
    check_number(call, "margin", margin, least=0, none=True)
    check_whole(call, "evaluations", evaluations, none=True)
    shown = as_progress(progress, call)
    with np.errstate(over="ignore"):  # in single precision 1e300 is infinite
        found = find_matches(
            approx,
            threshold,
            margin=margin,
            most=evaluations,
            cut=True,
            progress=shown,
        )
        return certify(approx, found, Target())


def exact_matches(
    sweep: AllPairs,
    threshold: float,
    way: Way,
    *,
    sides: tuple[Side, Side],
    paid: int,
) -> Matches:
    """Return what a pass over all pairs has found: nothing is missed."""
    left, right, similarity = sweep.above()
    return Matches(
        left=left,
        right=right,
        similarity=similarity,
        threshold=float(threshold),
        sides=sides,
        others=sweep.near(),
        checked=sweep.pairs - sweep.excluded,
        excluded=sweep.excluded,
        missed=NOTHING_MISSED,
        certificate=of_everything(len(left), sweep.excluded),
        evaluations=paid,
        way=way,
    )


def first_right(approx: Approximation) -> int:
    """Return where right rows begin on the axis of all items; of one set 0."""
    sides = approx.known.sides
    return 0 if sides is None else sides.split


def _answers(approx: Approximation, i: Indices, j: Indices) -> NDArray[Any]:
    """Return what is answered for positions on the axis of all items."""
    return approx.pairs(i, j - first_right(approx))


def _may_reach(
    approx: Approximation, i: Indices, j: Indices, least: float
) -> NDArray[np.bool_]:
    if approx.source is None:
        return np.ones(len(i), dtype=bool)
    return approx.source.reader.may_reach(i, j, least)


def _paid(approx: Approximation) -> int:
    """Return the calls of the similarity since the fit."""
    return 0 if approx.source is None else approx.source.reader.evaluations


def read_pairs(
    approx: Approximation, i: Indices, j: Indices, progress: Progress
) -> NDArray[np.float64]:
    """Evaluate candidates, chunk by chunk."""
    if not len(i):
        return np.empty(0)
    reader = approx.reader("find_matches")
    out = np.empty(len(i))
    step = max(256, -(-len(i) // _CHUNKS))
    progress.start("checking candidates", len(i))
    try:
        for start in range(0, len(i), step):
            part = slice(start, start + step)
            out[part] = reader.pairs(i[part], j[part])
            progress.advance(len(out[part]))
    finally:
        progress.finish()
    return out


def _precision(approx: Approximation) -> np.dtype[Any]:
    if approx.source is None:
        return np.dtype(approx.left.dtype)
    return approx.source.reader.dtype


def _margin(approx: Approximation) -> float:
    if not isinstance(approx.evidence, HeldOut) or not len(approx.evidence.i):
        return 0.0
    held = approx.evidence
    guess = approx.model.pairs(held.i, held.j).astype(np.float64)
    top = np.argsort(-guess, kind="stable")[:_TAIL]
    errors = held.truth[top] - guess[top]
    return _MARGIN * float(np.sqrt(np.mean(errors**2)))


def _missed(approx: Approximation, threshold: float, least: float) -> Missed:
    """Return what held-out pairs say of those that are predicted below ``least``."""
    from scipy import special  # takes a tenth of a second

    known = approx.known
    unread = max(0, known.pairs - known.moments().number)
    m = above = 0
    if isinstance(approx.evidence, HeldOut):
        held = approx.evidence
        guess = approx.model.pairs(held.i, held.j)
        m = len(held.i)
        above = int(((held.truth >= threshold) & (guess < least)).sum())
    share = above / m if m else 0.0
    high = float(special.betaincinv(above + 1, m - above, 0.95)) if m > above else 1.0
    hidden = found = 0
    surely = 0.0
    rows = hide_rows(approx)
    if rows is not None:
        guess = rows.refined(refined_an_item(approx))
        over = rows.truth >= threshold
        hidden = int(over.sum())
        there = over & (guess >= least)
        found = int(there.sum())
        surely = ratio_at_least(there.sum(axis=1), over.sum(axis=1))
    return Missed(m, above, share * unread, high * unread, hidden, found, surely)
