"""Refinement: reading what looks most similar, in rounds, each improving the next."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.best_values import with_new
from fewpairs.methods.auto.candidates import Candidates, ceilings
from fewpairs.methods.auto.correction_scorer import CorrectionScorer
from fewpairs.methods.auto.item_features import beside, item_features
from fewpairs.methods.auto.low_rank import LowRankStage
from fewpairs.methods.auto.proposals import propose, searching
from fewpairs.methods.auto.ranking import Ranking
from fewpairs.methods.auto.read import Read
from fewpairs.methods.auto.two_scorers import TwoScorers
from fewpairs.model.model import Model
from fewpairs.model.student import profiles
from fewpairs.model.training_pairs import TrainingPairs
from fewpairs.types import Indices

__all__ = ["Last", "put_under", "refine"]

_NEIGHBORS = 10  # whose finding refinement is after
# Refinement ends where fewer of a round's pairs than this are among the most similar
# of either item; the rest of the budget then buys landmarks.
_YIELD = 0.01
_MOST = 256  # pairs per item
_DEEPEST = 512  # candidates per item, those of the prior aside
_DIRECTIONS = 12  # of the prior, and of the columns, that items have weights for
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
    best = _best_known(spending.columns, spending.landmarks)
    scorer = _scorer(work, model, found, count, best)
    read = Read(work.column_pairs(model, _UNIFORM), TrainingPairs())
    last, done = None, 0
    for turn in range(scorer.rounds):
        if turn:
            scorer.learn(read, last=False, label=f"round {turn + 1}")
        wanted = (count - done) // (scorer.rounds - turn)
        if turn == 0 and model.curve is None:
            known = spending.oracle.read
            inputs = found.choose_by_both(wanted, known, by_prior=0.5)
        else:
            inputs = scorer.choose(found, wanted, spending.oracle.read)
        if not len(inputs):
            break
        inputs, values = spending.take(inputs)
        if not len(inputs):
            break
        done += len(inputs)
        read.chosen.add(inputs, values)
        last = Last(inputs.i, inputs.j, values)
        new = (values > best[inputs.i, -1]) | (values > best[inputs.j, -1])
        best = with_new(best, *last)
        if new.mean() < _YIELD:
            break
    words = [f"{2 * done / n:.0f} exact neighbors per {spending.item}"]
    had = len(spending.landmarks)
    spending.buy_landmarks(spending.left)
    if len(spending.landmarks) > had:
        return put_under(work.low_rank(proposing=False), last), words
    correction = scorer.answer(read)
    if correction is not None:
        return replace(model, correction=correction), words
    return put_under(model, last), words


def _scorer(
    work: LowRankStage,
    model: Model,
    found: Candidates,
    count: int,
    best: NDArray[np.float32],
) -> Ranking | TwoScorers:
    """Return what learns from so many pairs which others look similar.

    A few numbers for all items. With a prior a correction, item by item, beside them;
    its features are directions of the prior and of the landmarks' columns. Without, the
    columns are all that is known of the items, and the low rank has it already.
    """
    spending = work.spending
    vectors = None
    if count >= _TELLING and found.partner.size <= _RANKED:
        vectors = profiles(spending.columns, work.prior)[:, :_VECTORS]
    ranking = Ranking(vectors, spending.rng)
    directions = item_features(work.prior, _DIRECTIONS, spending.rng)
    if directions is None:
        return ranking
    of_columns = profiles(spending.columns, None)[:, :_DIRECTIONS]
    features = beside(directions, of_columns)
    correction = CorrectionScorer(
        features, len(directions), spending.rng, curve=model.curve, fades=False
    )
    correction.place(found)
    found.mixed = True  # more is learned where items take turns
    return TwoScorers(correction, ranking, best)


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
    return replace(model, ceilings=ceilings(model.n, *last))


def _best_known(C: NDArray[Any], S: Indices) -> NDArray[Any]:
    """Return (n, k) values: the largest that landmarks' columns say of an item."""
    C = np.array(C, dtype=np.float32)
    C[S, np.arange(len(S))] = -np.inf
    k = min(_NEIGHBORS, C.shape[1])
    best = -np.partition(-C, k - 1, axis=1)[:, :k]
    out = np.full((len(C), _NEIGHBORS), -np.inf, dtype=np.float32)
    out[:, :k] = -np.sort(-best, axis=1)
    return out
