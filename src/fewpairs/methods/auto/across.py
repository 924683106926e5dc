"""Two sets by the default: what left items are most similar to comes first."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.crossing import Crossing, buy_lines, known_lines
from fewpairs.methods.auto.few import FewStage
from fewpairs.methods.auto.guarding import guarded, mean_of
from fewpairs.methods.auto.spending import Spending
from fewpairs.model.guard import Guard
from fewpairs.model.model import Model
from fewpairs.similarity.priors import Prior

__all__ = ["AcrossStage"]

_UNCHANGED = 0.01  # share of the pairs whose reading leaves the others as they were
_LINES = 0.7  # share of the budget that buys rows and columns, without a prior
_DRAWN, _DRAWN_SHARE = 60, 0.05  # random pairs that tell how far these hold
_FEWEST = 4  # of each that tell more than effects do
_HELD = 1e-6  # unexplained share of the variance that counts as none


class AcrossStage:
    """Spends a budget on two sets.

    With a prior that random pairs confirm, as of few evaluations per item (`FewStage`):
    random pairs, then rounds of what looks most similar, best of every left item first.
    Without one, most of the budget buys as many rows as columns. Where these hold the
    whole matrix (`Crossing`) they answer, and are all that is read; else what they say
    takes the place of the prior.
    """

    def __init__(
        self,
        spending: Spending,
        learns: Callable[[], bool],
        seconds: float,
        rng: np.random.Generator,
        *,
        least: int,
        purpose: str,
    ) -> None:
        self._spending, self._learns, self._seconds = spending, learns, seconds
        self._rng, self._least = rng, least
        self._purpose = "across, entries" if purpose == "entries" else "across"

    def fit(
        self, prior: Prior | None, in_range: Callable[[NDArray[Any]], bool]
    ) -> Model:
        """Spend it; ``in_range`` tells values that single precision can square."""
        spending = self._spending
        stage = FewStage(spending, prior, self._purpose)
        if prior is None:
            stage.draw(max(_DRAWN, int(_DRAWN_SHARE * spending.budget)))
        confirmed = prior is not None and stage.look(spending.left)
        stage.prior = prior = stage.prior if confirmed else None
        if not in_range(stage.random()[2]):
            stage.draw(spending.left)
            why = "values too large or small for anything else"
            return mean_of(spending, stage.random()[2], why)
        if prior is not None:
            return self._by(stage, prior)
        crossing = self._crossing(stage)
        if crossing is None:
            return self._by(stage, None)
        if crossing.error < _HELD:
            model = Model(crossing.low_rank(), crossing.landmarks, "")
            return replace(model, words=crossing.words, guard=Guard()).lean()
        stage.prior = crossing.prior()
        stage.add(*crossing.some(spending, spending.rng))
        model = self._by(stage, None, crossing.words)
        return replace(model, landmarks=crossing.landmarks, proposer=None)

    def _crossing(self, stage: FewStage) -> Crossing | None:
        spending = self._spending
        if spending.paid:  # lines of a matrix that has grown: new items completed them
            S1, S2 = known_lines(spending)
            if min(len(S1), len(S2)) < _FEWEST:
                return None
            return Crossing.fit(spending, S1, S2, stage.random())
        price = spending.oracle.cost.cross(_FEWEST, _FEWEST)
        if price > _LINES * spending.left or min(spending.oracle.cost.shape) < _FEWEST:
            return None
        allowed = int(_LINES * spending.left)
        S1, S2 = buy_lines(spending, allowed, spending.rng)
        return Crossing.fit(spending, S1, S2, stage.random())

    def _by(self, stage: FewStage, prior: Prior | None, more: str = "") -> Model:
        """Read in rounds, by what the stage has for a prior."""
        spending = self._spending
        learns = stage.prior is not None and self._learns()
        model, described, words = stage.fit(
            learns, self._seconds, self._rng, self._least
        )
        if stage.rounds is not None:
            ceilings = stage.rounds.first_places.ceilings(spending.oracle.read)
            model = replace(model, ceilings=ceilings)
        same = stage.chosen < _UNCHANGED * spending.oracle.cost.pairs
        random = stage.uniform() if same else None
        described = "; ".join(part for part in (more, described) if part)
        return guarded(
            spending, model, described, words, random=random, prior=prior, in_order=True
        )
