"""Read: what was read so far, and what scorers learn from."""

from dataclasses import dataclass

from fewpairs.model.training_pairs import TrainingPairs

__all__ = ["Read"]

_UNIFORM = 0.3  # share of what a student learns from that random pairs are at least


@dataclass
class Read:
    """What was read: random pairs, and those that looked most similar."""

    uniform: TrainingPairs
    chosen: TrainingPairs

    def balanced(self) -> TrainingPairs:
        """Return both, random pairs as often as makes them a fair share."""
        often = _UNIFORM * len(self.chosen) / ((1 - _UNIFORM) * len(self.uniform))
        both = self.chosen
        for _ in range(max(1, round(often))):
            both = both + self.uniform
        return both
