"""A small network that predicts a number for a pair of items from their vectors.

With a = X[i], b = X[j] and a few scalars that are known of the pair:

    x = [a∘b, |a−b|, a+b, scalars]
    y = relu(relu(x W₁ + c₁) W₂ + c₂) w₃ + c₃

It is symmetric in i and j by construction. The vectors X are trained like the weights.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.kernels.linalg.blas_threads import in_threads, kept_threads
from fewpairs.kernels.pair_network.adam import (
    Adam,
    Group,
    averaging_weight,
    rate_factor,
)
from fewpairs.kernels.pair_network.gradient import (
    ROWS,
    InputBuffer,
    Part,
    Samples,
    views,
)
from fewpairs.kernels.pair_network.row_steps import RowSteps

__all__ = [
    "PairNetwork",
    "arrays",
    "check_pairs",
    "from_arrays",
    "predict",
    "predict_block",
    "train",
]

Array = NDArray[np.float32]
Positions = NDArray[np.integer[Any]]

# Chunks of pairs, or rows of a block, that a thread takes before it asks for more.
_STRIP = 32
# Items from which on a step moves only those that its batch touches.
_MANY = 32_768


@final
@dataclass(eq=False)
class PairNetwork:
    """The parameters, all float32: n items of d dimensions, s scalars per pair.

    ``items`` is X, (n, d). ``first`` is W₁, (3d + s, h₁), its rows for a∘b, |a−b|, a+b
    and the scalars; ``second`` is W₂, (h₁, h₂); ``last`` is w₃, (h₂,). The biases are
    (h₁,), (h₂,) and (1,).
    """

    items: Array
    first: Array
    first_bias: Array
    second: Array
    second_bias: Array
    last: Array
    last_bias: Array

    @classmethod
    def start(
        cls,
        features: NDArray[Any],
        scalars: int,
        hidden: tuple[int, int] = (512, 128),
        *,
        rng: np.random.Generator,
    ) -> Self:
        """Return a network that starts at these features, with random weights.

        Weights and biases are uniform within ±1/√(inputs of their layer).
        """
        items = np.array(features, dtype=np.float32, order="C")
        inputs, (wide, narrow) = 3 * items.shape[1] + scalars, hidden

        def uniform(fan_in: int, *shape: int) -> Array:
            bound = 1.0 / math.sqrt(max(fan_in, 1))
            return rng.uniform(-bound, bound, shape).astype(np.float32)

        return cls(
            items,
            uniform(inputs, inputs, wide),
            uniform(inputs, wide),
            uniform(wide, wide, narrow),
            uniform(wide, narrow),
            uniform(narrow, narrow),
            uniform(narrow, 1),
        )

    @property
    def scalars(self) -> int:
        """How many scalars are given of every pair."""
        return len(self.first) - 3 * self.items.shape[1]


def arrays(network: PairNetwork) -> dict[str, Array]:
    """Return the parameters by name, not copied."""
    return {field.name: getattr(network, field.name) for field in fields(network)}


def from_arrays(parameters: Mapping[str, NDArray[Any]]) -> PairNetwork:
    """Return the network of what `arrays` gave, with arrays of its own."""
    names = [field.name for field in fields(PairNetwork)]
    return PairNetwork(
        **{name: np.array(parameters[name], np.float32, order="C") for name in names}
    )


def check_pairs(
    network: PairNetwork, i: Positions, j: Positions, scalars: NDArray[Any]
) -> None:
    """Raise ValueError unless these are pairs of the network's items."""
    shapes = (np.shape(i), np.shape(j), np.shape(scalars))
    if shapes != ((len(i),), (len(i),), (len(i), network.scalars)):
        msg = f"i (m,), j (m,) and scalars (m, {network.scalars}) needed, got {shapes}"
        raise ValueError(msg)
    n = len(network.items)
    if len(i) and not (min(i.min(), j.min()) >= 0 and max(i.max(), j.max()) < n):
        msg = f"positions must be from 0 to {n - 1}"
        raise ValueError(msg)


def predict(
    network: PairNetwork, i: Positions, j: Positions, scalars: NDArray[Any]
) -> Array:
    """Return y of the pairs (i[k], j[k]); ``scalars`` is (pairs, s)."""
    check_pairs(network, i, j, scalars)
    out = np.empty(len(i), np.float32)
    weights = np.vstack([network.first, network.first_bias])
    rows = min(ROWS, len(i))

    def fill(start: int) -> None:
        inputs = InputBuffer(rows, network.items.shape[1], network.scalars)
        layers = _Layers(network, rows)
        for at in range(start, min(start + _STRIP * ROWS, len(i)), ROWS):
            part = slice(at, min(at + ROWS, len(i)))
            x = inputs.gather(network.items, i[part], j[part], scalars[part])
            out[part] = layers.output(x, weights)

    if len(i) <= ROWS:  # less work than waking the threads
        fill(0)
    else:
        in_threads(fill, range(0, len(i), _STRIP * ROWS))
    return out


def predict_block(
    network: PairNetwork,
    rows: Positions,
    columns: Positions,
    scalars: Sequence[NDArray[Any]],
) -> Array:
    """Return y of all pairs of ``rows`` and ``columns``.

    ``scalars`` holds s arrays of shape (rows, columns). In a row, a is fixed:

        x W₁ = B (diag(a) Wₚ + Wₛ) + |a − B| W_d + scalars Wₙ + a Wₛ

    with B = X[columns] and the rows of W₁ for product, difference, sum and scalars.
    That is two thirds of the work of `predict`, and only |a − B| is elementwise.
    """
    if len(scalars) != network.scalars:
        msg = f"{network.scalars} scalars per pair needed, got {len(scalars)}"
        raise ValueError(msg)
    if len(columns) < len(rows):  # the shorter side is the one to walk along
        turned = [scalar.T for scalar in scalars]
        return np.ascontiguousarray(predict_block(network, columns, rows, turned).T)
    d = network.items.shape[1]
    of_product, of_step, of_sum, of_scalars = np.split(network.first, (d, 2 * d, 3 * d))
    A = network.items[rows]
    constant = A @ of_sum + network.first_bias
    out = np.empty((len(rows), len(columns)), np.float32)

    def fill(tile: tuple[int, int]) -> None:
        top, left = tile
        part = slice(left, min(left + ROWS, len(columns)))
        B = network.items[columns[part]]
        x = np.ones((len(B), 2 * d + len(scalars) + 1), np.float32)
        x[:, :d] = B
        step = x[:, d : 2 * d]
        weights = np.vstack([of_product, of_step, of_scalars, constant[:1]])
        layers = _Layers(network, len(B))
        for r in range(top, min(top + _STRIP, len(rows))):
            np.multiply(of_product, A[r, :, None], out=weights[:d])
            weights[:d] += of_sum
            weights[-1] = constant[r]
            np.subtract(B, A[r], out=step)
            np.abs(step, out=step)
            for k, scalar in enumerate(scalars):
                x[:, 2 * d + k] = scalar[r, part]
            out[r, part] = layers.output(x, weights)

    tops, lefts = range(0, len(rows), _STRIP), range(0, len(columns), ROWS)
    in_threads(fill, [(top, left) for left in lefts for top in tops])
    return out


class _Layers:
    """Room for the hidden units of up to ``rows`` pairs."""

    def __init__(self, network: PairNetwork, rows: int) -> None:
        self._network = network
        self._h1 = np.empty((rows, network.second.shape[0]), np.float32)
        self._h2 = np.empty((rows, network.second.shape[1]), np.float32)

    def output(self, x: Array, weights: Array) -> Array:
        """Return y; ``x`` ends in a column of 1, ``weights`` in the bias."""
        network, h1, h2 = self._network, self._h1[: len(x)], self._h2[: len(x)]
        np.matmul(x, weights, out=h1)
        np.maximum(h1, np.float32(0), out=h1)
        np.matmul(h1, network.second, out=h2)
        h2 += network.second_bias
        np.maximum(h2, np.float32(0), out=h2)
        return h2 @ network.last + network.last_bias


def train(
    network: PairNetwork,
    i: Positions,
    j: Positions,
    scalars: NDArray[Any],
    targets: NDArray[Any],
    *,
    steps: int,
    batch: int = 2048,
    rate: float = 4e-3,
    dropout: float = 0.1,
    decay: float = 1e-2,
    items_rate: float = 1.0,
    average: float = 0.995,
    rng: np.random.Generator,
    deadline: float | None = None,
    last: int | None = None,
    on_step: Callable[[int], None] | None = None,
) -> int:
    """Fit the network to ``targets`` by least squares, in place; return the steps done.

    AdamW on batches drawn with replacement; of more than 32,768 items only those of the
    batch move in a step (`kernels.pair_network.row_steps`). The network goes on from
    where it is, the optimizer starts anew. In the end the network is the running
    average of its parameters over the last steps (`kernels.adam.averaging_weight`).

    Parameters
    ----------
    i, j, scalars, targets
        The pairs, (pairs, s) scalars, and a number for each.
    rate
        Largest learning rate; `kernels.adam.rate_factor` says how it changes.
    dropout
        Share of hidden units that a step leaves out, rounded to 1/256.
    decay
        Weight decay of W₁, W₂ and w₃; vectors and biases have none.
    items_rate
        Learning rate of the vectors, as a multiple of ``rate``.
    average
        Decay of the running average.
    deadline
        Stop when ``time.monotonic()`` gets there.
    last
        Stop after so many steps, as a deadline would have.
    on_step
        Called after every step with the number of steps done.
    """
    check_pairs(network, i, j, scalars)
    samples = Samples(
        np.ascontiguousarray(i, np.int32),
        np.ascontiguousarray(j, np.int32),
        np.ascontiguousarray(scalars, np.float32),
        np.ascontiguousarray(targets, np.float32),
    )
    vector = np.concatenate([p.ravel() for p in arrays(network).values()])
    ends = np.empty((2, batch, network.items.shape[1]), np.float32)
    positions = np.empty((2, batch), np.int32)
    parts = _parts(network, vector, ends, positions, dropout, rng)
    to_items, size = [np.empty(0, np.float32)] * 2, network.items.size
    groups = [Group(size, to_items, 0, rate * items_rate, 0.0)]
    offset, to_weights = 0, [part.gradient for part in parts]
    for name, parameter in list(arrays(network).items())[1:]:
        kept = 0.0 if name.endswith("bias") else decay
        groups.append(Group(parameter.size, to_weights, offset, rate, kept))
        offset += parameter.size
    touched: RowSteps | None = None
    if len(network.items) > _MANY:
        items = vector[:size].reshape(network.items.shape)
        touched = RowSteps(items, rate * items_rate)
        optimizer = Adam(vector[size:], groups[1:])
    else:
        optimizer = Adam(vector, groups)

    def scatter(end: int) -> None:
        to_items[end] = _add_up(positions[end], ends[end], len(network.items))

    step = 0
    with kept_threads() as side_by_side:
        end = steps if last is None else min(steps, last)
        while step < end and (deadline is None or time.monotonic() < deadline):
            side_by_side.each(lambda part: part.draw(samples), parts)
            weight, factor = (
                averaging_weight(step, steps, average),
                rate_factor(step, steps),
            )
            if touched is None:
                side_by_side.each(scatter, range(2))
            else:
                gradients = ends.reshape(2 * batch, -1)
                touched.step(positions.ravel(), gradients, factor, weight)
            optimizer.step(side_by_side, factor, weight)
            step += 1
            if on_step is not None:
                on_step(step)
    shapes = {name: parameter.shape for name, parameter in arrays(network).items()}
    result = optimizer.result
    if touched is not None:
        result = np.concatenate([touched.result.ravel(), result])
    for name, values in views(result, shapes).items():
        getattr(network, name)[...] = values
    return step


def _parts(
    network: PairNetwork,
    vector: Array,
    ends: Array,
    positions: NDArray[np.int32],
    dropout: float,
    rng: np.random.Generator,
) -> list[Part]:
    """Cut the batch; every part has its own random numbers, whichever thread runs it.

    ``vector`` holds all parameters: c₁ follows W₁ there, so both are one matrix.
    """
    shapes = {name: parameter.shape for name, parameter in arrays(network).items()}
    del shapes["first_bias"]
    shapes["first"] = (len(network.first) + 1, network.first.shape[1])
    live = views(vector, shapes)
    batch = positions.shape[1]
    parts = []
    for start in range(0, batch, ROWS):
        where = slice(start, start + ROWS)
        own = np.random.Generator(np.random.SFC64(int(rng.integers(2**63))))
        parts.append(
            Part(
                live,
                ends[:, where],
                positions[:, where],
                share=1.0 / batch,
                dropout=dropout,
                rng=own,
            )
        )
    return parts


def _add_up(positions: NDArray[np.int32], gradients: Array, n: int) -> Array:
    """Return the sums of the gradients by item, all items in one vector.

    A product with a matrix that has one 1 a column: ten times as fast as `np.add.at`.
    """
    m = len(positions)
    once = (np.ones(m, np.float32), positions, np.arange(m + 1, dtype=np.int32))
    sums: Any = sparse.csc_array(once, shape=(n, m)) @ gradients
    return sums.ravel()
