"""Curve: what takes a prior to the scale of the similarity."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve"]

_IN_RANGE = 1e-30, 1e30  # sizes of values in single precision
_DEGREE = 3
_AT_ONCE = 1 << 15  # places looked at at once: they should stay in the cache
_SURE = 5.0  # times as much of a chord as makes a curve rise


@dataclass(frozen=True)
class Curve:
    """A polynomial of the prior, in a standardized variable."""

    center: float
    scale: float
    coefficients: NDArray[Any]  # from the constant upwards

    @classmethod
    def through(cls, x: NDArray[Any], y: NDArray[Any]) -> "Curve":
        """Fit a curve by least squares."""
        x, y = x.astype(np.float64).ravel(), y.astype(np.float64).ravel()
        center, scale = float(x.mean()), float(x.std())
        if scale <= 1e-7 * max(1.0, abs(center)):  # a constant prior says nothing
            return cls(center, 1.0, np.array([y.mean()]))
        powers = np.vander((x - center) / scale, _DEGREE + 1, increasing=True)
        return cls(center, scale, np.linalg.lstsq(powers, y, rcond=None)[0])

    def __call__(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return f(x) in the precision of x (Horner's rule, in place).

        In double precision where single precision cannot hold the values.
        """
        size = float(np.abs(self.coefficients).max(initial=0.0))
        if size and not _IN_RANGE[0] < size < _IN_RANGE[1]:
            x = x.astype(np.float64)
        out = np.full(x.shape, self.coefficients[-1], dtype=x.dtype)
        places, values = np.ascontiguousarray(x).ravel(), out.ravel()
        for start in range(0, len(places), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            t = (places[part] - x.dtype.type(self.center)) * x.dtype.type(
                1 / self.scale
            )
            some = values[part]
            for coefficient in self.coefficients[-2::-1]:
                some *= t
                some += x.dtype.type(coefficient)
        return out

    def rising(self, places: NDArray[Any]) -> "Curve":
        """Return a curve that rises from each of these places to the next.

        This one, mixed with more of its chord than that takes: a cubic of a few random
        pairs may turn where the most similar ones lie, and put them in the wrong order.
        One that rises, or whose chord falls, is returned as it is.
        """
        at = np.unique(np.asarray(places, dtype=np.float64))
        levels = self(at)
        rise = float(levels[-1] - levels[0])
        if len(at) < 2 or len(self) < 2 or rise <= 0:
            return self
        slope = rise / float(at[-1] - at[0])
        steps, chord = np.diff(levels), slope * np.diff(at)
        falls = steps < 0
        if not falls.any():
            return self
        needed = float(np.max(-steps[falls] / (chord - steps)[falls]))
        share = min(1.0, _SURE * needed)
        mixed = (1 - share) * self.coefficients
        mixed[0] += share * (float(levels[0]) + slope * (self.center - float(at[0])))
        mixed[1] += share * slope * self.scale
        return Curve(self.center, self.scale, mixed)

    def raised(self, by: float) -> "Curve":
        """Return the same curve, higher by a constant."""
        moved = np.array(self.coefficients, dtype=np.float64)
        moved[0] += by
        return Curve(self.center, self.scale, moved)

    def steeper(self, times: float, level: float) -> "Curve":
        """Return a curve so many times as steep, the same where it is at a level."""
        moved = times * np.asarray(self.coefficients, dtype=np.float64)
        moved[0] += (1 - times) * level
        return Curve(self.center, self.scale, moved)

    @property
    def slope(self) -> float:
        """Slope of the curve at the prior's mean."""
        return float(self.coefficients[1] / self.scale) if len(self) > 1 else 0.0

    def __len__(self) -> int:
        return len(self.coefficients)
