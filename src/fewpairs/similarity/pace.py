"""Pace: how many calls of a service are begun in a second, learned from its replies."""

import math

__all__ = ["Pace"]

_DOWN = 0.7, 0.9  # of the pace, after a refusal: at least, and at most
_UP = 0.1, 0.01  # of the pace, more in a second: as a rule, and near what was refused
_NEAR = 0.9, 1.1  # of the pace that was refused last
_PATIENCE = 4  # times slower there, at most, if it is refused there again
_MUCH = 0.2  # of the time without a call
_SOON = 1.0  # seconds for which a pace grows without an answer


class Pace:
    """Calls begun per second: as many as may be, until a service refuses some.

    What came through since the last change, and how long that took with the pause that
    is asked for, tell what a service takes. The pace goes there, and on from there
    slowly. Where the service itself says how many calls are left until its quota is
    renewed, they are spread over that time: of a window that is exact, and a bucket
    that fills evenly stays half full.
    """

    def __init__(self, fastest: float | None) -> None:
        self._fastest = math.inf if fastest is None else fastest
        self._learned = self._ceiling = math.inf
        self._patience = 1
        self.begun = self._refused = 0  # calls in all; refused since the last change
        self._changed = 0, 0.0  # calls until then, and when
        self._before = 0, 0.0  # calls that came through before that, and for how long
        self.blocked = 0.0  # seconds since then without a call
        self._grown = 0.0
        self.limits = False
        self._told, self._until = math.inf, 0.0

    def begin(self, now: float, *, waited: bool) -> int:
        """Count a call that is begun, and return its number.

        Where calls do not have to wait, it is not the pace that limits them.
        """
        if not self.begun:
            self._changed = 0, now
        self.limits = waited and self._learned < math.inf
        self.begun += 1
        return self.begun

    def gap(self, now: float) -> float:
        """Return the seconds until the next call."""
        told = self._told if now < self._until else math.inf
        return 1 / min(self._fastest, self._learned, told)

    def answered(self, now: float) -> None:
        """Go a little faster."""
        if self.limits:
            near = _NEAR[0] <= self._learned / self._ceiling <= _NEAR[1]
            more = _UP[near] / self._patience if near else _UP[0]
            self._learned *= 1 + more * min(_SOON, max(0.0, now - self._grown))
        self._grown = max(self._grown, now)

    def told(self, left: float, seconds: float, now: float) -> None:
        """Spread the calls that are left over the seconds until there are more."""
        self._told, self._until = max(1.0, left) / max(seconds, 1e-3), now + seconds

    def is_old(self, number: int) -> bool:
        """Whether a call was begun before the last change, of which it says nothing."""
        return number <= self._changed[0]

    def came_through(self, number: int) -> int:
        """Return how many calls since the last change came through before this one."""
        return max(0, number - self._changed[0] - 1 - self._refused)

    def refused(self) -> None:
        """Count a refusal."""
        self._refused += 1

    def change(self, number: int, now: float) -> None:
        """Note that something changed: what came before says nothing of it."""
        self._before = self.came_through(number), now - self._changed[1]
        self._changed = self.begun, now
        self._refused, self.blocked = 0, 0.0

    def slow_down(self, number: int, now: float, pause: float) -> None:
        """Begin no more calls than come through."""
        before, since = self._learned, max(now - self._changed[1], 1e-3)
        through, (more, time) = self.came_through(number), self._before
        # With what went before: nothing may have come through for most of the time.
        found = max(through / since, (through + more) / (since + time))
        if not self.limits:
            self._learned, self._ceiling = min(found, before), math.inf
        else:
            again = _NEAR[0] <= before / self._ceiling <= _NEAR[1]
            self._patience = min(_PATIENCE, 2 * self._patience) if again else 1
            low, high = _DOWN
            self._learned = high * before
            if self.blocked > _MUCH * since:  # too fast by far
                self._learned = min(high * before, max(found, low * before))
            self._ceiling = min(before, self._learned / _NEAR[0])
        self._grown = now + pause
