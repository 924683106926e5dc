"""Inputs and gradient of a pair network, for as many pairs as a core's cache holds.

See `fewpairs.kernels.pair_network` for the network. A batch is cut into parts, and each
part runs from the gather to its gradient on one thread, so NumPy's elementwise passes
run side by side like the products, on arrays that stay in the cache. The parts, and so
the result, do not depend on the number of cores.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROWS", "InputBuffer", "Part", "Samples", "views"]

Array = NDArray[np.float32]

# Pairs that a core works on at a time: their 512 hidden units take 1 MB.
ROWS = 512


def views(vector: Array, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Return arrays of these shapes as neighboring stretches of a vector."""
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    parts = np.split(vector[: sum(sizes)], np.cumsum(sizes)[:-1])
    return {
        name: part.reshape(shape)
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


@dataclass(frozen=True, eq=False)
class Samples:
    """What to learn from: pairs, their (pairs, s) scalars and their targets."""

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    scalars: Array
    targets: Array


@final
class InputBuffer:
    """Room for x = [a∘b, |a−b|, a+b, scalars, 1] of up to ``rows`` pairs.

    The 1 at the end lets the product with W₁ add the bias.
    """

    def __init__(self, rows: int, dimensions: int, scalars: int) -> None:
        self._x = np.ones((rows, 3 * dimensions + scalars + 1), np.float32)
        self._a, self._b, self._step = np.empty((3, rows, dimensions), np.float32)

    def gather(
        self, items: Array, i: NDArray[Any], j: NDArray[Any], scalars: NDArray[Any]
    ) -> Array:
        """Return x of these pairs, whose positions must be valid."""
        rows, d = len(i), items.shape[1]
        x, a, b, step = (
            part[:rows] for part in (self._x, self._a, self._b, self._step)
        )
        # "clip" never does: without it, NumPy would fill a second buffer first.
        items.take(i, axis=0, out=a, mode="clip")
        items.take(j, axis=0, out=b, mode="clip")
        np.multiply(a, b, out=x[:, :d])
        np.subtract(a, b, out=step)
        np.abs(step, out=x[:, d : 2 * d])
        np.add(a, b, out=x[:, 2 * d : 3 * d])
        x[:, 3 * d : -1] = scalars
        return x

    def spread(self, to_x: Array, to_a: Array, to_b: Array) -> None:
        """Write the gradients of a and b of the pairs gathered last; uses up ``to_x``.

        Where a = b, |a−b| is given the slope 0.
        """
        d = to_a.shape[1]
        a, b, step = self._a, self._b, self._step
        product, difference, total = np.split(to_x, (d, 2 * d), axis=1)
        np.sign(step, out=step)
        difference *= step
        np.multiply(product, b, out=to_a)
        to_a += difference
        to_a += total
        np.multiply(product, a, out=to_b)
        to_b -= difference
        to_b += total


@final
class Part:
    """A stretch of the batch: draws its pairs, and leaves their gradient.

    Parameters
    ----------
    live
        The parameters as they are now: ``items``, ``first`` with the bias as its last
        row, ``second``, ``second_bias``, ``last``, ``last_bias``.
    ends
        (2, rows, d), where the gradients of a and b go.
    positions
        (2, rows), where the pairs that were drawn go.
    share
        Weight of a pair's squared error in the loss.
    dropout
        Share of hidden units left out, rounded to 1/256.

    Attributes
    ----------
    gradient
        That of all parameters after the items, as one vector.
    """

    def __init__(
        self,
        live: Mapping[str, Array],
        ends: Array,
        positions: NDArray[np.int32],
        *,
        share: float,
        dropout: float,
        rng: np.random.Generator,
    ) -> None:
        self._live, self._ends, self._positions = live, ends, positions
        self._share, self._rng = share, rng
        shapes = {name: p.shape for name, p in live.items() if name != "items"}
        size = sum(p.size for name, p in live.items() if name != "items")
        self.gradient = np.empty(size, np.float32)
        self._to = views(self.gradient, shapes)
        rows, d = ends.shape[1:]
        width, narrow = live["second"].shape
        self._inputs = InputBuffer(rows, d, len(live["first"]) - 3 * d - 1)
        self._to_x = np.empty((rows, 3 * d), np.float32)
        self._h1, self._to_h1, self._open1 = np.empty((3, rows, width), np.float32)
        self._h2, self._to_h2, self._open2 = np.empty((3, rows, narrow), np.float32)
        self._dropped = round(256 * dropout)

    def draw(self, samples: Samples) -> None:
        """Draw pairs uniformly, with replacement, and leave their gradient."""
        rows = self._positions.shape[1]
        chosen = self._rng.integers(len(samples.targets), size=rows)
        samples.i.take(chosen, out=self._positions[0], mode="clip")
        samples.j.take(chosen, out=self._positions[1], mode="clip")
        self.differentiate(samples.scalars[chosen], samples.targets[chosen])

    def differentiate(self, scalars: Array, targets: Array) -> None:
        """Leave the gradient of share · Σ(y − target)² over the pairs drawn."""
        live, to, (i, j) = self._live, self._to, self._positions
        # Units that stay are scaled by this; it is cheapest where layers are narrow.
        scale = np.float32(256 / (256 - self._dropped))
        x = self._inputs.gather(live["items"], i, j, scalars)
        h1 = np.matmul(x, live["first"], out=self._h1)
        self._open(h1, self._open1)
        h2 = np.matmul(h1, live["second"], out=self._h2)
        h2 *= scale
        h2 += live["second_bias"]
        self._open(h2, self._open2)
        y = h2 @ live["last"]
        y *= scale
        y += live["last_bias"]

        y -= targets
        y *= np.float32(2.0 * self._share)
        to["last_bias"][0] = y.sum()
        y *= scale
        np.matmul(y, h2, out=to["last"])
        to_h2 = np.multiply(self._open2, live["last"], out=self._to_h2)
        to_h2 *= y[:, None]
        to_h2.sum(axis=0, out=to["second_bias"])
        to_h2 *= scale
        np.matmul(h1.T, to_h2, out=to["second"])
        to_h1 = np.matmul(to_h2, live["second"].T, out=self._to_h1)
        to_h1 *= self._open1
        np.matmul(x.T, to_h1, out=to["first"])
        np.matmul(to_h1, live["first"][: self._to_x.shape[1]].T, out=self._to_x)
        self._inputs.spread(self._to_x, *self._ends)

    def _open(self, h: Array, unit: Array) -> None:
        """Close units below 0 and those dropped; ``unit`` gets 1 for an open one.

        Eight bytes of every random word say whether eight units stay. NumPy
        multiplies by floats faster than by booleans, and the way back needs them too.
        """
        stays = np.greater(h, np.float32(0))
        if self._dropped:
            words = self._rng.integers(
                2**64 - 1, size=-(-h.size // 8), dtype=np.uint64, endpoint=True
            )
            coins = words.view(np.uint8)[: h.size].reshape(h.shape)
            stays &= coins >= self._dropped
        np.copyto(unit, stays)
        h *= unit
