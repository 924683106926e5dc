"""Limits: money and time that a run may spend, and what evaluations have taken."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fewpairs.similarity.service import Allowed

__all__ = ["Limits"]

_CARE = (
    1.25  # times what evaluations took, that others may take which cannot be stopped
)
_SHARE = 0.97  # of what is left, that what is planned may take
_LATE = 0.01  # of the time, that the last call may take longer than others
_RECENT, _FEWEST = 0.2, 16  # share of evaluations that tell what others take; at least
_ENOUGH = 0.9  # of the limit: less, and more is read


class Limits:
    """Money and time that a run may spend, and what evaluations have taken so far.

    Parameters
    ----------
    money, seconds
        The limits; ``None``: there is none of that kind. Time counts from here on.

    Attributes
    ----------
    evaluations, paid, waited
        Evaluations that were made, their money, and seconds until they had come.
    computing
        Seconds that are kept for what comes after reading.
    kept
        Share of both that is kept for what comes last.
    chunk
        Evaluations of one call at most, of what cannot be stopped; ``None``: any.
    more
        Evaluations that may still be read after a fit, as that fit has decided.
    """

    def __init__(
        self, money: float | None = None, seconds: float | None = None
    ) -> None:
        self.money, self.seconds = money, seconds
        self.evaluations, self.paid, self.waited = 0, 0.0, 0.0
        self.computing = self.kept = 0.0
        self.more = 0
        self.chunk: int | None = None
        self._started = time.perf_counter()
        self._since = 0  # evaluations before those that are timed
        self._seen = [(0, 0.0, 0.0)]  # what was made, paid and waited for, over time
        self._under_way = 0.0  # money that calls under way may take

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._started

    @property
    def used(self) -> float:
        """The share that is used, of what is scarcer."""
        shares = []
        if self.money is not None:
            shares.append(self.paid / self.money)
        if self.seconds is not None:
            shares.append(self.elapsed / self.seconds)
        return max(shares)

    def count(self, evaluations: int, money: float) -> None:
        """Enter evaluations that were made."""
        self.evaluations += evaluations
        self.paid += money

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time until evaluations have come."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.waited += time.perf_counter() - began
            if not self._seen or self._seen[-1][0] < self.evaluations:
                self._seen.append((self.evaluations, self.paid, self.waited))

    def mark(self) -> None:
        """Time evaluations anew from here on: small requests take longer each."""
        self._since = self.evaluations

    def fits(self) -> int | None:
        """Return how many more evaluations fit, by what they took; ``None``: any."""
        return self._fitting(_SHARE)

    def is_enough(self) -> bool:
        """Tell whether so much is used that more is not worth another fit."""
        return self.used >= _ENOUGH

    def allow(self, size: int, workers: int, price: float | None) -> Allowed | None:
        """Return what a call for so many evaluations may take; ``None``: none is left.

        ``workers`` share what is left. ``price``: what one costs, of a scorer that
        cannot stop; it gets no call that might take too long.
        """
        money, seconds = self._left()
        if (money is not None and money <= 0) or (seconds is not None and seconds <= 0):
            return None
        if price is not None:
            each, lasts = self._each()
            cost = price if each is None else max(price, each)
            if money is not None and size * cost > money * (1 + 1e-9):
                return None
            if seconds is not None and _CARE * size * (lasts or 0.0) > seconds:
                return None
            workers = 1
            money = None if money is None else size * cost
        share = None if money is None else money / workers
        self._under_way += share or 0.0
        return Allowed(share, seconds)

    def has_come(self, allowed: Allowed) -> None:
        """Take note that a call is no longer under way."""
        self._under_way -= allowed.money or 0.0

    def _left(self) -> tuple[float | None, float | None]:
        money = seconds = None
        if self.money is not None:
            money = (1 - self.kept) * self.money - self.paid - self._under_way
        if self.seconds is not None:
            usable = (1 - self.kept - _LATE) * self.seconds
            seconds = usable - self.elapsed - self.computing
        return money, seconds

    def _each(self) -> tuple[float | None, float | None]:
        """Return money and seconds that an evaluation takes; ``None``: not known."""
        if not self.evaluations:
            return None, None
        # The last ones: prices and texts may change as a run goes on.
        recent = max(self._since, int((1 - _RECENT) * self.evaluations))
        made, paid, waited = max(
            (seen for seen in self._seen if seen[0] <= recent), default=(0, 0.0, 0.0)
        )
        number = self.evaluations - made
        if number < _FEWEST:
            made, paid, waited, number = 0, 0.0, 0.0, self.evaluations
        return (self.paid - paid) / number, (self.waited - waited) / number

    def _fitting(self, share: float) -> int | None:
        pairs = zip(self._left(), self._each(), strict=True)
        known = [(left, each) for left, each in pairs if left is not None and each]
        most = [max(0.0, share * left) / each for left, each in known]
        return math.floor(min(most)) if most else None
