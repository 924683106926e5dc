"""TrainedScorer: a student, trained on from round to round, says what to read next."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.methods.auto.item_features import student_features
from fewpairs.methods.auto.read import Read
from fewpairs.methods.auto.spending import Spending
from fewpairs.methods.auto.timed_training import TimedTraining, trainer_of
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.student import Student
from fewpairs.similarity.priors import Prior

__all__ = ["TrainedScorer"]

# Rounds with a student and steps of each, by purpose. The more rounds, the better it is
# known what to read; but of many items a round takes long on the cores.
_ROUNDS = {
    "balanced": (32, 125),
    "neighbors": (48, 125),
    "entries": (8, 250),
    "across": (16, 250),
}
_ROUNDS["across, entries"] = _ROUNDS["entries"]
_MANY, _FEWER_ROUNDS = 20_000, (8, 250)
_LAST_STEPS = 1_500
# As many times more steps as there are so many pairs, up to so many times, by trainer:
# on a GPU they cost next to nothing.
_MORE_STEPS = {"torch": (60_000, 8), "numpy": (250_000, 2)}


class TrainedScorer:
    """A student, trained on from round to round."""

    answers = True
    expands, scores_all = 1, 4

    def __init__(
        self,
        student: Student,
        timed: TimedTraining,
        times: int,
        rounds: int,
        steps: int,
    ) -> None:
        self.student = student
        self.rounds = rounds
        self._timed = timed
        self._times, self._steps = times, steps
        self._pairs = 0
        self.score: Callable[[PairInputs], NDArray[Any]] = student.pairs

    @classmethod
    def start(
        cls,
        spending: Spending,
        purpose: str,
        prior: Prior | None,
        model: Model,
        read: Read,
        *,
        seconds: float,
        rng: np.random.Generator,
    ) -> "TrainedScorer":
        """Return one that knows the items' features, and nothing else."""
        features = student_features(model, prior, rng)
        student = Student.start(
            features, read.uniform.values, read.uniform.inputs.cheap, rng
        )
        oracle = spending.oracle
        pairs = spending.budget // spending.calls
        by = trainer_of(oracle)
        each, most = _MORE_STEPS[by]
        times = min(max(1, pairs // each), most)
        rounds, steps = _ROUNDS[purpose]
        if spending.n > _MANY and by != "torch":
            rounds, steps = _FEWER_ROUNDS
        together = times * (rounds * steps + _LAST_STEPS)
        timed = TimedTraining(student, oracle, seconds, together, rng)
        return cls(student, timed, times, rounds, steps)

    def learn(self, training: Read, *, last: bool, label: str) -> None:
        """Train on what was read."""
        both = training.balanced()
        self._pairs = len(training.uniform) + len(training.chosen)
        steps = self._times * (_LAST_STEPS if last else self._steps)
        self._timed.train(both, steps, f" ({label})")
        self.score = self.student.as_it_is(self._timed.trainer)

    @property
    def words(self) -> str:
        """What was done, for the receipt."""
        return (
            f"a student trained on {self._pairs:,} pairs in {self._timed.spent:.0f} s; "
            "left, right, embedding and linkage are of the low rank, not of the student"
        )
