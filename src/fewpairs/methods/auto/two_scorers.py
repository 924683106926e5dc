"""Two scorers: what finds an item's most similar better gets more of what is read.

Items' own regressions say more where items differ in what makes their most similar, a
few numbers for all items where they do not; neither is known before. So each chooses
half of a round, and once one of them is surely ahead it chooses them all, until the
other one is: on pairs that neither had seen, it has to put those that turned out to be
among an item's ten most similar before the others. The order of these says nothing:
where values are heavy-tailed, nearly all that is read lies far below the ten. But what
answers is to be right about them too, so there all couples of an item's pairs count.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.best_values import with_new
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.correction_scorer import CorrectionScorer
from fewpairs.methods.auto.couples import Couples, ahead, hits_first
from fewpairs.methods.auto.ranking import Ranking
from fewpairs.methods.auto.read import Read
from fewpairs.model.correction import Correction
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs

__all__ = ["TwoScorers"]

_SURE = 2.0  # standard errors


class TwoScorers:
    """A correction, item by item, and a ranking, the same for all items.

    ``best``: the largest values that were read of every item before, (n, 10).

    Attributes
    ----------
    rounds
        How many there are.
    lead, order
        Standard errors by which the correction was ahead on the pairs read last: at
        putting hits first, and at putting all pairs of an item in their order.
    """

    def __init__(
        self,
        correction: CorrectionScorer,
        ranking: Ranking,
        best: NDArray[np.float32],
    ) -> None:
        self._correction, self._ranking, self._best = correction, ranking, best
        self.rounds = correction.rounds
        self.lead = self.order = 0.0
        self._learned: int | None = None  # chosen pairs that both know

    def learn(self, read: Read, *, last: bool, label: str) -> None:
        """Compare both on what is new, then let both learn it."""
        new = np.arange(len(read.chosen)) >= (self._learned or 0)
        latest = read.chosen.some(new)
        i, j = latest.inputs.i, latest.inputs.j
        self._best = with_new(self._best, i, j, latest.values)
        if self._learned is not None:
            self._compare(latest)
        for scorer in (self._correction, self._ranking):
            scorer.learn(read, last=last, label=label)
        self._learned = len(read.chosen)

    def choose(self, found: Candidates, count: int, known: Entries) -> PairInputs:
        """Return unread pairs: of each half, or all of the one that is ahead."""
        orders: list[tuple[int, NDArray[Any] | None]] = [(count, None)]
        if self._learned is None:
            return found.choose_by_several(known, orders)
        if self.lead <= _SURE:
            found.score_anew(self._ranking.score)
        if abs(self.lead) <= _SURE:
            half = count // 2
            orders = [(half, None), (count - half, found.score.copy())]
        if self.lead >= -_SURE:
            found.score_anew(self._correction.score)
        return found.choose_by_several(known, orders)

    def answer(self, read: Read) -> Correction | None:
        """Return the correction of all that was read, unless the ranking is ahead."""
        if self.order < -_SURE:
            return None
        self._correction.learn(read, last=True, label="last round")
        return self._correction.correction

    def _compare(self, new: TrainingPairs) -> None:
        inputs, both = new.inputs, (self._correction, self._ranking)
        said = [one.score(inputs) for one in both]
        item = np.concatenate([inputs.i, inputs.j])
        hit = np.tile(new.values.astype(np.float32), 2) >= self._best[item, -1]
        self.lead = ahead(*(hits_first(item, hit, np.tile(x, 2)) for x in said))
        couples = Couples.among(inputs.i, inputs.j)
        if len(couples):
            self.order = ahead(*(couples.agreement(new.values, x) for x in said))
