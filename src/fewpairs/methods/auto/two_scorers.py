"""Two scorers: what orders the pairs that are read next better gets more of them.

Items' own regressions say more where items differ in what makes their most similar, a
few numbers for all items where they do not; neither is known before. So each chooses
half of a round, and once one of them is surely ahead in putting an item's pairs in
order, on pairs that neither had seen, it chooses them all.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.correcting import CorrectionScorer
from fewpairs.methods.auto.couples import Couples, ahead
from fewpairs.methods.auto.ranking import Ranking
from fewpairs.methods.auto.read import Read
from fewpairs.model.correction import Correction
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs

__all__ = ["TwoScorers"]

_SURE = 2.0  # standard errors


class TwoScorers:
    """A correction, item by item, and a ranking, the same for all items.

    Attributes
    ----------
    rounds
        How many there are.
    lead
        Standard errors by which the correction was ahead on the pairs read last.
    """

    def __init__(self, correction: CorrectionScorer, ranking: Ranking) -> None:
        self._correction, self._ranking = correction, ranking
        self.rounds = correction.rounds
        self.lead = 0.0
        self._learned: int | None = None  # chosen pairs that both know

    def learn(self, read: Read, *, last: bool, label: str) -> None:
        """Compare both on what is new, then let both learn it."""
        if self._learned is not None:
            new = np.arange(len(read.chosen)) >= self._learned
            self._compare(read.chosen.some(new))
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
        if self.lead < -_SURE:
            return None
        self._correction.learn(read, last=True, label="last round")
        return self._correction.correction

    def _compare(self, new: TrainingPairs) -> None:
        inputs = new.inputs
        couples = Couples.among(inputs.i, inputs.j)
        if not len(couples):
            return
        said = [one.score(inputs) for one in (self._correction, self._ranking)]
        self.lead = ahead(*(couples.agreement(new.values, score) for score in said))
