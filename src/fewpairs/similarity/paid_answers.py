"""Answers: what a service has said, by the content of the question."""

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["PaidAnswers", "PaidCall", "Usage"]


class Usage(NamedTuple):
    """Calls that were answered, their tokens, and what they cost."""

    calls: int = 0
    input: int = 0
    output: int = 0
    money: float = 0.0

    def plus(self, other: "Usage") -> "Usage":
        """Return both together."""
        calls, sent, said = (a + b for a, b in zip(self[:3], other[:3], strict=True))
        return Usage(calls, sent, said, self.money + other.money)

    def minus(self, other: "Usage") -> "Usage":
        """Return what came after another."""
        calls, sent, said = (a - b for a, b in zip(self[:3], other[:3], strict=True))
        return Usage(calls, sent, said, self.money - other.money)


class PaidCall(NamedTuple):
    """One answered call: the usable answers, by the names of questions, and its usage.

    A call whose answer was no use has none, and has been paid for all the same.
    """

    answers: dict[str, float]
    usage: Usage


class PaidAnswers:
    """Every answer of a service that has been paid for, in memory.

    Attributes
    ----------
    usage
        What they took, all calls together.

    Examples
    --------
    >>> from fewpairs.similarity.paid_answers import PaidAnswers, PaidCall, Usage
    >>> answers = PaidAnswers()
    >>> answers.keep(PaidCall({"q1": 7.0}, Usage(1, 120, 6, 0.01)))
    >>> answers.known(["q1", "q2"]), answers.usage.input
    ({'q1': 7.0}, 120)
    """

    def __init__(self) -> None:
        self.usage = Usage()
        self._values: dict[str, float] = {}

    def known(self, names: Iterable[str]) -> dict[str, float]:
        """Return the answers to these questions, as far as there are any."""
        values = self._values
        return {name: values[name] for name in names if name in values}

    def keep(self, call: PaidCall) -> None:
        """Enter what was answered, before anything else is done with it."""
        self._values.update(call.answers)
        self.usage = self.usage.plus(call.usage)
