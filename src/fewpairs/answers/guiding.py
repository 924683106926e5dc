"""Guiding: which items a query is evaluated at next."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

from fewpairs.matrix.entries import Entries
from fewpairs.result.approximation import Approximation
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["Guide", "evaluate_in_rounds", "guide_of", "prior_of"]

_TAUGHT = 64  # known lines that the first guess is fitted to
_TAUGHT_ENTRIES = 400_000
_FEWEST_PAIRS = 30  # read one by one, that a curve is fitted to
_BINS = 200  # of the prior, for a rising curve
_QUANTILES = 4_096  # of the known values, for normal scores
_TRIED, _TRIED_FOR = 24, 60  # known rows searched to compare scales; evaluations each
# Shares of the embeddings, the factors' rows and a constant in the covariance of two
# items' scores, and the variance of what they leave unexplained.
_SHARES, _CONSTANT = 0.5, 0.5
_NOISES = 0.2, 2.0
_IN_RANGE = 1e-15, 1e15  # sizes that single precision can square safely
_LEARNING = threading.Lock()


@dataclass(frozen=True, eq=False)
class Guide:
    """What is known of all items before a query is evaluated at any.

    A query's score of item j is guessed as m(j) + φ(j)·w: m is a rising curve of the
    prior plus a multiple of the item's mean similarity, fitted to known rows; φ are
    features of the items, and w is refitted to the query's exact scores in every
    round, by ridge regression. All of it on the similarities as they are, or on their
    normal scores, with little noise or much, whichever finds more of the most similar
    items of landmarks, whose rows are known: a similarity such as exp(−6·distance) is
    almost 0 almost everywhere.

    Attributes
    ----------
    parts
        Arrays with a row per item, unit rows times the root of their share.
    effects
        Every item's mean similarity to the landmarks.
    weights
        Of 1 and of the effects.
    curve
        Values of the prior, and what it says of the similarity there.
    scale
        Values and their normal scores; ``None``: values are taken as they are.
    noise
        Variance of what the features leave of a score.
    unit
        What similarities are divided by: their size, where single precision cannot
        hold them, else 1.
    """

    parts: list[NDArray[np.float32]]
    effects: NDArray[np.float64]
    weights: NDArray[np.float64]
    curve: "_Curve | None" = None
    scale: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    noise: float = _NOISES[0]
    unit: float = 1.0

    @classmethod
    def of(cls, approx: Approximation) -> "Guide":
        """Learn it from what the fit has read; no evaluation."""
        model, known = approx.model, approx.known
        prior = prior_of(approx)
        right = model.low_rank.other
        side = model.left if right is None else right
        parts = [_unit(side)]
        if prior is not None and prior.vectors is not None:
            parts.append(_unit(prior.vectors - prior.vectors.mean(axis=0)))
        share = np.float32(np.sqrt(2 * _SHARES / len(parts)))
        parts = [part * share for part in parts]
        constant = np.sqrt(np.float32(_CONSTANT))
        parts.append(np.full((known.n, 1), constant, dtype=np.float32))
        if known.sides is not None:
            parts = [part[known.sides.right] for part in parts]
            return cls(parts, *_across(known, prior))
        lines = known.line_indices("columns" if known.symmetric else "rows")
        if not len(lines):
            values = known.scattered()[1]
            unit = _unit_of(values)
            mean = float((values / unit).mean()) if len(values) else 0.0
            curve = _of_scattered(known, prior, unit)
            weights = np.array([mean if curve is None else 0.0, 0.0])
            return cls(parts, np.zeros(known.n), weights, curve, unit=unit)
        rows = known.lines(lines, "rows").astype(np.float64)
        unit = _unit_of(rows)
        rows /= unit
        plain = cls(parts, *_first_guess(rows, lines, prior))
        off = np.ones(rows.shape, dtype=bool)
        off[np.arange(len(lines)), lines] = False
        scale = _normal_scores(rows[off])
        scored = np.interp(rows, *scale)
        other = replace(cls(parts, *_first_guess(scored, lines, prior)), scale=scale)
        guides = [
            replace(guide, noise=noise) for noise in _NOISES for guide in (other, plain)
        ]
        tried = [_tried(guide, rows, lines, prior) for guide in guides]
        return replace(guides[int(np.argmax(tried))], unit=unit)

    def start(self, cheap: NDArray[Any] | None, queries: int) -> NDArray[np.float64]:
        """Return the first guess, (queries, n)."""
        w = self.weights
        out = np.tile(w[0] + w[1] * self.effects, (queries, 1))
        if cheap is not None and self.curve is not None:
            out += self.curve(cheap)
        return out

    def guess(
        self, first: NDArray[Any], at: list[Indices], scores: list[NDArray[Any]]
    ) -> NDArray[Any]:
        """Return the first guess, corrected by what queries scored at some items."""
        out = first.copy()
        told = [t for t, own in enumerate(at) if len(own)]
        if not told:
            return out
        w = [self._correction(at[t], scores[t] / self.unit, first[t]) for t in told]
        for number, part in enumerate(self.parts):
            out[told] += np.stack([query[number] for query in w]) @ part.T
        return out

    def _correction(
        self, at: Indices, scores: NDArray[Any], first: NDArray[Any]
    ) -> list[NDArray[Any]]:
        """Return w, part by part."""
        if self.scale is not None:
            scores = np.interp(scores, *self.scale)
        rows = [part[at].astype(np.float64) for part in self.parts]
        gram = sum(part @ part.T for part in rows) + self.noise * np.eye(len(at))
        # Not numpy's solve: for a hundred equations its threads wait for each other a
        # hundred times as long as Cholesky takes, the more so where others search too.
        alpha = cho_solve(cho_factor(gram), scores - first[at])
        return [(part.T @ alpha).astype(np.float32) for part in rows]


def guide_of(approx: Approximation) -> Guide:
    """Return what guides searches, learned once, by one of several threads."""
    with _LEARNING:
        if "guide" not in approx.indexes:
            approx.indexes["guide"] = Guide.of(approx)
        made: Guide = approx.indexes["guide"]
        return made


def prior_of(approx: Approximation) -> Prior | None:
    """Return the caller's prior, also where predictions do without it."""
    return approx.model.proposer


def _unit_of(values: NDArray[Any]) -> float:
    largest = float(np.abs(values).max(initial=0.0))
    return 1.0 if largest == 0 or _IN_RANGE[0] < largest < _IN_RANGE[1] else largest


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    rows = (rows / np.where(largest > 0, largest, 1)).astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1))


def _first_guess(
    rows: NDArray[Any], lines: Indices, prior: Prior | None
) -> "tuple[NDArray[np.float64], NDArray[np.float64], _Curve | None]":
    """Fit 1, the items' effects and a curve of the prior to known rows."""
    n = rows.shape[1]
    rng = np.random.default_rng(0)
    own = rows[np.arange(len(lines)), lines]
    total, number = rows.sum(axis=0), np.full(n, float(len(lines)))
    total[lines] -= own  # the diagonal is no pair
    number[lines] -= 1
    effects = total / np.maximum(number, 1)
    some = rng.permutation(len(lines))[:_TAUGHT]
    items = rng.permutation(n)[: max(1, _TAUGHT_ENTRIES // len(some))]
    at, column = (part.ravel() for part in np.meshgrid(some, items, indexing="ij"))
    off = lines[at] != column
    at, column = at[off], column[off]
    inputs = [np.ones(len(at)), effects[column]]
    aim = rows[at, column]
    if prior is None:
        fitted = np.linalg.lstsq(np.stack(inputs, axis=1), aim, rcond=None)[0]
        return effects, fitted, None
    cheap = prior.pairs(lines[at], column).astype(np.float64)
    inputs += [cheap, cheap**2, cheap**3]
    weight = np.linalg.lstsq(np.stack(inputs, axis=1), aim, rcond=None)[0][1]
    curve = _Curve.through(cheap, aim - weight * effects[column])
    return effects, np.array([0.0, weight]), curve


def _across(
    known: Entries, prior: Prior | None
) -> "tuple[NDArray[np.float64], NDArray[np.float64], _Curve | None]":
    """Return what is known of right items before a left one is compared with them.

    A curve of the prior; without one, their means in the rows that are known.
    """
    items, others = known.seekers
    lines = np.intersect1d(known.line_indices("rows"), items)
    curve = _of_scattered(known, prior, 1.0)
    if curve is not None or not len(lines):
        values = known.scattered()[1]
        mean = float(values.mean()) if len(values) and curve is None else 0.0
        return np.zeros(len(others)), np.array([mean, 0.0]), curve
    effects = known.lines(lines, "rows")[:, others].mean(axis=0, dtype=np.float64)
    return effects, np.array([0.0, 1.0]), None


def _of_scattered(known: Entries, prior: Prior | None, unit: float) -> "_Curve | None":
    """Fit a curve of the prior to pairs that were read one by one."""
    keys, values = known.scattered()
    some = np.random.default_rng(0).permutation(len(keys))[:_TAUGHT_ENTRIES]
    i, j = known.ends(keys[some])
    some, i, j = some[i != j], i[i != j], j[i != j]
    if prior is None or len(some) < _FEWEST_PAIRS:
        return None
    cheap = prior.pairs(i, j).astype(np.float64)
    return _Curve.through(cheap, values[some] / unit)


class _Curve(NamedTuple):
    """A curve that only rises, or only falls, with a slope that breaks ties."""

    at: NDArray[np.float64]
    values: NDArray[np.float64]
    slope: float

    @classmethod
    def through(cls, x: NDArray[Any], y: NDArray[Any]) -> "_Curve":
        """Fit it: isotonic regression of the means in bins, finer at the top."""
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
        rising = float(np.sum((x - x.mean()) * (y - y.mean()))) >= 0
        top = len(x) - np.geomspace(4, len(x), _BINS).astype(np.int64)
        ends = np.unique(np.concatenate([top, len(x) - top, [0]]))
        ends = ends[ends < len(x)]
        number = np.diff(np.append(ends, len(x)))
        at = np.add.reduceat(x, ends) / number
        means = np.add.reduceat(y, ends) / number
        fitted = isotonic_regression(means, weights=number, increasing=rising).x
        slope = 1e-3 * float(y.std()) / (float(x.std()) or 1.0)
        return cls(at, fitted, slope if rising else -slope)

    def __call__(self, x: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(np.interp(x, self.at, self.values) + self.slope * x)


def _normal_scores(
    values: NDArray[Any],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return some of the values, rising, and Φ⁻¹ of their ranks; all of the top."""
    values = np.sort(values)
    last = len(values) - 1
    spread = np.linspace(0, last, _QUANTILES).astype(np.int64)
    top = np.arange(max(0, last - _QUANTILES), last + 1)
    at = np.union1d(spread, top)
    scores = ndtri((at + 0.5) / len(values))
    distinct, where, number = np.unique(
        values[at], return_inverse=True, return_counts=True
    )
    return distinct, np.bincount(where, scores) / number


def _tried(
    guide: Guide, rows: NDArray[Any], lines: Indices, prior: Prior | None
) -> float:
    """Return the share of the ten most similar that searches of known rows find."""
    n = rows.shape[1]
    some = np.arange(len(lines))[:_TRIED]
    cheap = None if prior is None else prior.block(lines[some], np.arange(n))
    nothing = [np.empty(0, dtype=np.int64) for _ in some]
    k = min(10, n - 1)
    at, _ = evaluate_in_rounds(
        guide,
        guide.start(cheap, len(some)),
        (nothing, [np.empty(0) for _ in some]),
        lambda chosen: [rows[t, own] for t, own in zip(some, chosen, strict=True)],
        hidden=lines[some],
        numbers=(min(_TRIED_FOR, n - 1), 4),
    )
    hits = 0
    for t, own in zip(some, at, strict=True):
        line = rows[t].copy()
        line[lines[t]] = -np.inf
        least = np.partition(line, n - k)[n - k]
        hits += int((line[own] >= least).sum())
    return float(hits / max(1, k * len(some)))


# --- rounds of evaluations ---------------------------------------------------------


class Guesses(Protocol):
    """What `evaluate_in_rounds` asks of a guide."""

    def guess(
        self, first: NDArray[Any], at: list[Indices], scores: list[NDArray[Any]]
    ) -> NDArray[Any]:
        """Return the first guess, corrected by what queries scored at some items."""


def evaluate_in_rounds(
    guide: Guesses,
    first: NDArray[Any],
    known: tuple[list[Indices], list[NDArray[Any]]],
    read: Callable[[list[Indices]], list[NDArray[Any]]],
    *,
    hidden: Indices,
    numbers: tuple[int, int],
    spread: Indices | None = None,
) -> tuple[list[Indices], list[NDArray[Any]]]:
    """Return what was evaluated of each query, and its exact scores.

    Parameters
    ----------
    first
        The first guess, (queries, n).
    known
        Items whose scores are known of each query, and the scores.
    read
        Evaluates all queries at the items chosen for each.
    hidden
        An item of each query that is never chosen (itself), or −1.
    numbers
        Evaluations per query, and rounds.
    spread
        Items that a query is evaluated at first, where nothing is known of it.
    """
    at, scores = known
    number, rounds = numbers
    n = first.shape[1]
    spent = np.zeros(len(first), dtype=np.int64)
    for turn in range(rounds):
        wanted = (number - spent) // (rounds - turn)
        guess = guide.guess(first, at, scores)
        chosen = []
        for t, own in enumerate(at):
            guess[t, own] = -np.inf
            taken = len(own)
            if hidden[t] >= 0:
                guess[t, hidden[t]] = -np.inf
                taken += 1
            size = min(int(wanted[t]), n - taken)
            if spread is not None and not len(own):
                chosen.append(np.asarray(spread[:size], dtype=np.int64))
            else:
                chosen.append(_top(guess[t], size))
        spent += np.array([len(some) for some in chosen])
        fresh = read(chosen)
        at = [np.concatenate(both) for both in zip(at, chosen, strict=True)]
        scores = [np.concatenate(both) for both in zip(scores, fresh, strict=True)]
    return at, scores


def _top(guess: NDArray[Any], size: int) -> Indices:
    if size < 1:
        return np.empty(0, dtype=np.int64)
    return np.argpartition(-guess, size - 1)[:size]
