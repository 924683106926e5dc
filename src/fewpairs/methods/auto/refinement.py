"""Refinement: reading what looks most similar, in rounds, each improving the next."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto import candidates
from fewpairs.methods.auto.low_rank import LowRankStage
from fewpairs.methods.auto.proposals import propose, searching
from fewpairs.methods.auto.ranking import Ranking
from fewpairs.model.model import Model
from fewpairs.model.student import profiles
from fewpairs.model.training_pairs import TrainingPairs
from fewpairs.types import Indices

__all__ = ["Last", "put_under", "refine"]

_ROUNDS = 6
_NEIGHBORS = 10  # whose finding refinement is after
# Refinement ends where fewer of a round's pairs than this are among the most similar
# of either item; the rest of the budget then buys landmarks.
_YIELD = 0.01
_MOST = 256  # pairs per item
_DEEPEST = 512  # candidates per item, those of the prior aside
_VECTORS = 64  # dimensions of the items' vectors that rank candidates
_TELLING = 50_000  # refined pairs that tell what the items' vectors are worth
_RANKED = 4_000_000  # candidates that can be ranked with them in reasonable time
_UNIFORM = 60_000  # pairs of the columns that a ranking learns from
_PREDICTED = 0.05  # error, as a share of the spread, that counts as none
_CHECKED = 50_000  # pairs that tell it


class Last(NamedTuple):
    """The pairs of the last round."""

    i: Indices
    j: Indices
    values: NDArray[Any]


def refine(
    work: LowRankStage, model: Model, evaluations: int
) -> tuple[Model, list[str]]:
    """Read what looks most similar; buy landmarks for what is left.

    Returns the model and what was done, in words.
    """
    spending, n = work.spending, work.spending.fresh
    count = min(evaluations // spending.calls, _MOST * n // 2)
    if count < n // 4:
        spending.buy_landmarks(spending.left)
        return work.low_rank(proposing=False), []
    depth = max(32, min(3 * (2 * count // n) + 20, _DEEPEST))
    spending.oracle.note("finding candidates")
    by = searching(spending.oracle)
    found = propose(model, spending.oracle.read, depth, by=by)
    vectors = None
    if count >= _TELLING and found.partner.size <= _RANKED:
        vectors = profiles(spending.columns, work.prior)[:, :_VECTORS]
    ranking = Ranking(vectors)
    training, uniform = TrainingPairs(), work.column_pairs(model, _UNIFORM)
    best = _best_known(spending.columns, spending.landmarks)
    last, read = None, 0
    for turn in range(_ROUNDS):
        wanted = (count - read) // (_ROUNDS - turn)
        blind = turn == 0 and model.curve is None
        inputs = found.choose_by_both(
            wanted, spending.oracle.read, by_prior=0.5 if blind else 0.0
        )
        if not len(inputs):
            break
        inputs, values = spending.take(inputs)
        if not len(inputs):
            break
        read += len(inputs)
        last = Last(inputs.i, inputs.j, values)
        new = (values > best[inputs.i, -1]) | (values > best[inputs.j, -1])
        best = _merged(best, last)
        if new.mean() < _YIELD or turn == _ROUNDS - 1:
            break
        training.add(inputs, values)
        _fit(ranking, training, uniform, spending.rng)
        found.score_anew(ranking.score)
    had = len(spending.landmarks)
    spending.buy_landmarks(spending.left)
    if len(spending.landmarks) > had:
        model = work.low_rank(proposing=False)
    return put_under(model, last), [
        f"{2 * read / n:.0f} exact neighbors per {spending.item}"
    ]


def put_under(model: Model, last: Last | None) -> Model:
    """Put what is left unread under what refinement found last.

    Not where those pairs were predicted well: then so are the others.
    """
    if last is None:
        return model
    step = -(-len(last.i) // _CHECKED)
    some = Last(last.i[::step], last.j[::step], last.values[::step])
    missed = np.mean((model.before_guard(some.i, some.j) - some.values) ** 2)
    if missed < _PREDICTED**2 * np.var(some.values):
        return model
    return replace(model, ceilings=candidates.ceilings(model.n, *last))


def _fit(
    ranking: Ranking,
    training: TrainingPairs,
    uniform: TrainingPairs,
    rng: np.random.Generator,
) -> None:
    """Fit the ranking to refined and to uniform pairs, of equal weight."""
    both = training + uniform
    weights = [
        np.full(len(part), len(both) / max(1, len(part)))
        for part in (training, uniform)
    ]
    ranking.fit(both.inputs, both.values, np.concatenate(weights), rng)


def _best_known(C: NDArray[Any], S: Indices) -> NDArray[Any]:
    """Return (n, k) values: the largest that landmarks' columns say of an item."""
    C = np.array(C, dtype=np.float32)
    C[S, np.arange(len(S))] = -np.inf
    k = min(_NEIGHBORS, C.shape[1])
    best = -np.partition(-C, k - 1, axis=1)[:, :k]
    out = np.full((len(C), _NEIGHBORS), -np.inf, dtype=np.float32)
    out[:, :k] = -np.sort(-best, axis=1)
    return out


def _merged(best: NDArray[Any], new: Last) -> NDArray[Any]:
    """Return every item's largest values, with those of new pairs among them."""
    n, k = best.shape
    item = np.concatenate([new.i, new.j])
    both = np.concatenate([new.values, new.values]).astype(best.dtype)
    order = np.lexsort((-both, item))
    item, both = item[order], both[order]
    rank = np.arange(len(item)) - np.searchsorted(item, item)
    top = rank < k
    fresh = np.full((n, k), -np.inf, dtype=best.dtype)
    fresh[item[top], rank[top]] = both[top]
    return -np.sort(-np.hstack([best, fresh]), axis=1)[:, :k]
