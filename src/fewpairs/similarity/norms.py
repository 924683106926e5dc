"""Norms: numbers per item whose products no similarity exceeds."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import shown
from fewpairs.errors import InputError, SimilarityError
from fewpairs.types import Indices

__all__ = ["Norms", "check_norm"]

_ROUNDING = 1e-6  # what a product may lack, of itself


def check_norm(
    call: str, norm: Callable[[Any], float] | None
) -> Callable[[Any], float] | None:
    """Return a function of an item, or nothing."""
    if norm is None or callable(norm):
        return norm
    msg = (
        f"{call}: norm is {shown(norm)}, which cannot be called with an item. Pass a "
        "function norm(a) -> float, or leave it out."
    )
    raise InputError(msg)


class Norms:
    """The norms of items: f(a, b) is at most norm(a) · norm(b)."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self._values = values

    @classmethod
    def of(cls, norm: Callable[[Any], float], items: Sequence[Any]) -> "Norms":
        """Ask for the norm of every item, once."""
        values = np.empty(len(items))
        for t, item in enumerate(items):
            try:
                found = norm(item)
            except Exception as error:
                msg = (
                    f"norm(items[{t}]) raised {type(error).__name__}: {error}. The "
                    f"item: {item!r:.40}."
                )
                raise SimilarityError(msg) from error
            try:
                values[t] = float(found)
            except (TypeError, ValueError):
                values[t] = math.nan
            if not values[t] >= 0 or math.isinf(values[t]):
                msg = (
                    f"norm(items[{t}]) returned {found!r:.60}; it must return a number "
                    f"of 0 or more. The item: {item!r:.40}."
                )
                raise SimilarityError(msg)
        return cls(values)

    def products(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return what no similarity of these pairs is above, rounding included."""
        return np.asarray(self._values[i] * self._values[j] * (1 + _ROUNDING))

    def check(self, name: str, values: NDArray[Any], i: Indices, j: Indices) -> None:
        """Refuse norms that evaluated pairs contradict."""
        above = np.flatnonzero(values > self.products(i, j))
        if not len(above):
            return
        t = above[0]
        a, b = int(i[t]), int(j[t])
        msg = (
            f"{name} of items {a} and {b} is {float(values[t]):.6g}, more than the "
            f"product of their norms, {self._values[a]:.6g} and {self._values[b]:.6g}. "
            "Leave norm= out, or mend it."
        )
        raise SimilarityError(msg)
