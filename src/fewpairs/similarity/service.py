"""Service: what is asked over a network for similarities, some pairs per call."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["Allowed", "CallsLeft", "Pay", "Service"]

# Told of money as soon as it is charged, whatever comes of the answer.
Pay = Callable[[float], None]


class Allowed(NamedTuple):
    """The most that a call of a scorer may cost; ``None``: no limit.

    Attributes
    ----------
    money
        In the unit of ``Scorer.price``.
    seconds
        From its beginning on.
    """

    money: float | None = None
    seconds: float | None = None


class CallsLeft(NamedTuple):
    """How many calls a service has left, until its quota is renewed in some seconds."""

    calls: float
    seconds: float


class Service(ABC):
    """What is asked for the similarities of some pairs, in an event loop.

    Attributes
    ----------
    per_call
        Pairs that one call is asked for at most.
    calls_left
        Calls that are left, as the last reply has it; ``None``: it does not say.
    """

    per_call: int = 1
    calls_left: CallsLeft | None = None

    @abstractmethod
    async def ask(
        self, pairs: Sequence[tuple[Any, Any]], pay: Pay
    ) -> Sequence[float | None]:
        """Make one call; return a number per pair, ``None`` where it is asked alone.

        Raises where the call has to be made again, as it is. An error with an attribute
        ``final`` that is true is not tried again.
        """

    def most(self, pairs: Sequence[tuple[Any, Any]]) -> float:  # noqa: ARG002
        """Return the most that a call can cost, as far as that is known."""
        return 0.0

    async def close(self) -> None:  # noqa: B027 - optional
        """End connections."""
