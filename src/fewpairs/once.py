"""Once: what is worked out when it is first asked for, by one thread alone."""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self, TypeVar, overload

__all__ = ["once"]

T = TypeVar("T")


class once(cached_property[T]):  # noqa: N801 - used like property
    """A cached property that two threads never compute twice.

    From Python 3.12 on, ``functools.cached_property`` lets threads that come together
    compute a value each. Where it is an oracle, each would pay for the same pairs.

    Examples
    --------
    >>> class Circle:
    ...     @once
    ...     def area(self):
    ...         return 3.14
    >>> Circle().area
    3.14
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__(function)
        # One for all objects: such values do not wait for each other in a circle.
        self._alone = threading.RLock()

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Any:
        """Return the value."""
        if instance is None:
            return self
        with self._alone:
            return super().__get__(instance, owner)
