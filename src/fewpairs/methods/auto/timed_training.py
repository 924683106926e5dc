"""Training of a student within a number of seconds, in several rounds."""

import numpy as np

from fewpairs.model.student import Student
from fewpairs.model.trainers import best_here, trainer
from fewpairs.model.training_pairs import TrainingPairs
from fewpairs.reading.oracle import Oracle

__all__ = ["TimedTraining", "trainer_of"]

_SLACK = 1.25  # times its share of the time left that a round may take


def trainer_of(oracle: Oracle) -> str:
    """Return the trainer of a run by name, or say why it is not available here.

    NumPy and torch train others: a run that goes on elsewhere has the same.
    """
    by = str(oracle.decide("trainer", best_here))
    trainer(by)
    return by


class TimedTraining:
    """Trains a student within so many seconds, all rounds together.

    Where time is short every round gets less of it: it must not run out before the
    last one, in which most is learned.

    Parameters
    ----------
    student
        What is trained.
    oracle
        Writes down where the clock ended training, and is told what is being done.
    seconds, steps
        For all rounds together.

    Attributes
    ----------
    trainer
        Who trains, by name.
    spent
        Seconds of training so far.
    """

    def __init__(
        self,
        student: Student,
        oracle: Oracle,
        seconds: float,
        steps: int,
        rng: np.random.Generator,
    ) -> None:
        self._student, self._oracle, self._rng = student, oracle, rng
        self._seconds, self._ahead = seconds, steps
        self.trainer = trainer_of(oracle)
        self.spent = 0.0

    def train(self, training: TrainingPairs, steps: int, label: str) -> None:
        """Train for so many steps, or for their share of the time."""
        left = self._seconds - self.spent
        if left <= 0:
            return
        self._oracle.note(f"training the student{label}")
        share = min(1.0, _SLACK * steps / self._ahead)
        self._ahead -= steps
        trained: list[tuple[float, int]] = []

        def learn(last: int | None = None) -> tuple[float, int]:
            done = self._student.learn(
                training,
                steps=steps,
                seconds=share * left,
                rng=self._rng,
                last=last,
                by=self.trainer,
            )
            trained.append(done)
            return done

        # The clock may end it: a run that goes on stops after as many steps as before.
        seconds, done = self._oracle.decide(f"training{label}", learn)
        if not trained:
            learn(done)
        self.spent += seconds
        self._oracle.note("computing")
