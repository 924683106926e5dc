"""What a result is worth on rows that are known: landmarks, hidden from the fit.

Landmarks have been compared with every item, so their rows are known as a whole. A fit
to the other landmarks, which never sees such a row, has to predict it. This tells how
many near neighbors are found and how many pairs above a threshold are missed, and costs
no evaluation.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods import residual
from fewpairs.methods.auto.low_rank import alikeness
from fewpairs.methods.cross_validation import FEWEST
from fewpairs.model.model import Model
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import HeldOut
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["HiddenRows", "found", "hide_rows", "partial_fit", "refined_an_item"]

_FEWEST = 8  # landmarks below which nothing can be told
_FOLDS = 5
_MOST_ROWS = 100
_MOST_ENTRIES = 20_000_000  # of all hidden rows together
_QUICK = 2_000_000  # entries of columns that are fitted again for a receipt
_NEIGHBORS = 10


class HiddenRows(NamedTuple):
    """Rows of landmarks, and what a fit that did not see them makes of them.

    Attributes
    ----------
    items
        Which landmarks.
    truth, guess, cheap
        Arrays (rows, n); an item's own entry is −∞ in all. ``cheap`` is what proposes
        candidates besides the guess: the prior, or the alikeness to the landmarks.
    landmarks
        How many landmarks the fit had.
    """

    items: Indices
    truth: NDArray[np.float64]
    guess: NDArray[np.float64]
    cheap: NDArray[np.float64]
    landmarks: int

    def refined(self, number: int) -> NDArray[np.float64]:
        """Return the guess after ``number`` of every row have been read.

        Half of them by the guess, half by what proposes besides it, as the default
        does in its first rounds.
        """
        out = self.guess.copy()
        half = min(-(-number // 2), out.shape[1] - 1)
        for score in (self.guess, self.cheap) if number > 0 else ():
            read = np.argpartition(-score, half - 1, axis=1)[:, :half]
            exact = np.take_along_axis(self.truth, read, axis=1)
            np.put_along_axis(out, read, exact, axis=1)
        return out

    def recall(self, k: int, refined: int = 0) -> float:
        """Return the share of the true k most similar that the k best guesses hold."""
        return float(self.recalls(k, refined).mean())

    def recalls(self, k: int, refined: int = 0) -> NDArray[np.float64]:
        """Return that share for every row.

        Ties at the k-th place count as found whichever of them is taken.
        """
        k = min(k, self.truth.shape[1] - 1)
        guess = self.refined(refined)
        best = np.argpartition(-guess, k - 1, axis=1)[:, :k]
        reached = np.take_along_axis(self.truth, best, axis=1)
        least = -np.partition(-self.truth, k - 1, axis=1)[:, k - 1 : k]
        found = reached >= least - 1e-12 * np.abs(least)
        return np.asarray(found.mean(axis=1))


def refined_an_item(approx: Approximation) -> int:
    """Return how many single pairs per item were read, on average, held-out ones aside.

    >>> import numpy as np, fewpairs as fp
    >>> from fewpairs.answers.left_out import refined_an_item
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> refined_an_item(fp.approximate(None, X @ X.T, method="nystrom", budget=0.1))
    0
    """
    i, _, _ = approx.known.uncovered()
    held = len(approx.evidence.i) if isinstance(approx.evidence, HeldOut) else 0
    alone = max(0, len(i) - held)
    if approx.known.sides is not None:
        return round(alone / approx.shape[0])
    return round(2 * alone / approx.known.n)


def found(approx: Approximation) -> str | None:
    """Return the share of near neighbors found in hidden rows, in words.

    ``None`` where it is not known: too few landmarks, another model than the one that
    can be fitted again, a certificate that cannot tell, or too many items for a line of
    a receipt.
    """
    model, known = approx.model, approx.known
    lines = known.line_indices()
    if known.sides is not None:
        return None
    if model.is_low_rank or model.student is not None:
        return None
    if len(lines) * known.n > _QUICK or not approx.certificate.tells:
        return None
    rows = hide_rows(approx)
    if rows is None or len(rows.items) < _FEWEST:
        return None
    shares = rows.recalls(_NEIGHBORS, refined_an_item(approx))
    mean, error = float(shares.mean()), float(shares.std(ddof=1)) / len(shares) ** 0.5
    low, high = max(0.0, mean - 2 * error), min(1.0, mean + 2 * error)
    return (
        f"about {mean:.0%} ({low:.0%} to {high:.0%}) of every item's {_NEIGHBORS} most "
        f"similar are found, by {len(np.unique(rows.items)):,} rows hidden from the fit"
    )


def partial_fit(
    approx: Approximation, landmarks: Indices, seed: int = 0
) -> Model | None:
    """Return prior, row effects and damped core fitted to some landmarks alone."""
    known = approx.known
    if not known.symmetric or known.sides is not None or len(landmarks) < FEWEST:
        return None
    prior = _prior(approx)
    columns = np.ascontiguousarray(approx.known.lines(landmarks).T)
    rng = np.random.default_rng(seed)
    return residual.model_of(
        residual.fit(columns, landmarks, prior, rng), landmarks, "partial fit", prior
    )


def hide_rows(
    approx: Approximation, share: float = 0.8, seed: int = 0
) -> HiddenRows | None:
    """Hide landmarks' rows from fits to a share of the landmarks.

    ``None`` where there are too few landmarks, or the matrix is not symmetric. With
    a share of 0.8 every landmark has its turn, in five folds (at most a hundred rows).
    """
    known = approx.known
    lines = np.unique(known.line_indices())
    one_set = known.symmetric and known.sides is None
    if not one_set or not _FEWEST <= len(lines) < known.n:
        return None
    order = np.random.default_rng(seed).permutation(lines)
    most = int(min(_MOST_ROWS, max(_FOLDS, _MOST_ENTRIES // known.n)))
    folds = _FOLDS if share > 0.5 else 1
    number = max(FEWEST, math.floor(share * len(order)))
    items, truths, guesses, cheaps = [], [], [], []
    for fold in range(folds):
        turned = np.roll(order, -fold * (len(order) - number))
        kept, hidden = turned[:number], turned[number:][: -(-most // folds)]
        fit = partial_fit(approx, np.sort(kept), seed)
        if fit is None or not len(hidden):
            continue
        items.append(hidden)
        truths.append(known.lines(hidden).astype(np.float64))
        guesses.append(_block(fit, hidden, known.n))
        proposer = fit.prior or _alikeness(approx, fit.landmarks)
        cheaps.append(_block(proposer, hidden, known.n))
    if not items:
        return None
    rows = np.concatenate(items)
    truth, guess, cheap = np.vstack(truths), np.vstack(guesses), np.vstack(cheaps)
    own = (np.arange(len(rows)), rows)
    truth[own] = guess[own] = cheap[own] = -np.inf
    return HiddenRows(rows, truth, guess, cheap, number)


def _prior(approx: Approximation) -> Prior | None:
    return approx.model.prior


def _alikeness(approx: Approximation, landmarks: Indices) -> Prior:
    return alikeness(np.ascontiguousarray(approx.known.lines(landmarks).T), landmarks)


def _block(model: Model | Prior, rows: Indices, n: int) -> NDArray[np.float64]:
    return np.asarray(model.block(rows, np.arange(n)), dtype=np.float64)
