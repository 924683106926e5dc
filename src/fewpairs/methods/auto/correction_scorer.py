"""CorrectionScorer: a correction in closed form says what to read next."""

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import single_threaded
from fewpairs.kernels.linalg.top_products import EXACT
from fewpairs.methods.auto.cautious import Halfway
from fewpairs.methods.auto.correcting import FEWEST, Correcting
from fewpairs.methods.auto.read import Read
from fewpairs.model.correction import Correction
from fewpairs.model.curve import Curve
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.training_pairs import TrainingPairs

if TYPE_CHECKING:
    from fewpairs.methods.auto.candidates_on_device import AnyCandidates

__all__ = ["CorrectionScorer"]

_FEWEST_CHOSEN = 60  # of those that looked most similar, for a cautious correction
_ROUNDS, _ROUNDS_ACROSS, _SCORES_ALL = 4, 6, 3  # all are scored in every third
# Rounds below so many pairs per item; and from the third number to the fourth, where
# all pairs are looked at: there no round is needed to find candidates.
_FEWER_ROUNDS, _FEW_PAIRS, _SCARCE, _MANY_PAIRS = 3, 30.0, 4.0, 75.0
_SLOPED = 8_000  # chosen pairs that tell slopes


class CorrectionScorer:
    """Scores pairs by a correction of prior and low rank, fitted anew in every round.

    Evaluations are quick where nothing is trained: so should this be. ``per_item``: how
    many pairs per item there are in all.
    """

    answers = False  # it is fitted once more in the end, and anew

    def __init__(
        self,
        features: NDArray[np.float32] | None,
        n: int,
        rng: np.random.Generator,
        *,
        curve: Curve | None = None,
        always: bool = False,
        per_item: float = np.inf,
        fades: bool = True,
        directions: NDArray[np.float32] | None = None,
    ) -> None:
        self._correcting = Correcting(
            features,
            n,
            rng,
            curve=curve,
            always=always,
            fades=fades,
            directions=directions,
        )
        self._curve = curve
        self._fewest = FEWEST if always or curve is None else _FEWEST_CHOSEN
        fewer = _FEWER_ROUNDS if per_item < _FEW_PAIRS else _ROUNDS
        if n <= EXACT and _SCARCE <= per_item < _MANY_PAIRS:
            fewer -= 1
        self.rounds, self.scores_all = _ROUNDS_ACROSS if always else fewer, _SCORES_ALL
        self.correction: Correction | None = None
        # Where all pairs are looked at, neighbors of neighbors add nothing to them.
        self.expands = 2 if n > EXACT else 0

    def place(self, found: "AnyCandidates") -> None:
        """Take from candidates where the most similar of every item begin."""
        self._correcting.place(found)

    @single_threaded()  # small products; what is large has its threads
    def learn(self, training: Read, *, last: bool, label: str) -> None:  # noqa: ARG002
        """Fit to random pairs and to those that looked most similar."""
        uniform, chosen = training.uniform, training.chosen
        if len(uniform) >= FEWEST and len(chosen) >= self._fewest:
            fitted = self._correcting.fit(uniform, chosen, anew=last)
            if fitted is not None and not last:
                # The rare similar pair among those that look unlike would be missed.
                fitted = replace(fitted, fade=None)
            self.correction = fitted and self._with_slopes(fitted, chosen)

    def _with_slopes(self, fitted: Correction, chosen: TrainingPairs) -> Correction:
        """Return it with its slopes at the more similar half of what was chosen."""
        some = chosen.evenly(_SLOPED).inputs
        score = fitted.pairs(some)
        top = some.some(score >= np.median(score))
        return fitted.with_slopes(top, self._curve)

    @property
    def score(self) -> Callable[[PairInputs], NDArray[Any]]:
        """What says how similar pairs are: before anything is fitted, the model."""
        if self.correction is None:
            return attrgetter("base")
        return self.correction

    @property
    def halfway(self) -> Callable[[PairInputs], NDArray[Any]]:
        """What orders pairs halfway between the model and the prior's curve."""
        curve = self._correcting.curve
        if curve is None:
            return self.score
        return Halfway(curve)
