"""Axn: a ridge per item on what was read of it, in rounds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.few.answers import Answer, Curve, FromReads, calibrate
from benchmarks.few.cosines import cosines, in_threads, largest
from benchmarks.few.reader import Array, Reader, first_of_each
from benchmarks.few.reranking import rerank
from benchmarks.few.sets import DataSet

__all__ = ["axn"]

ROUNDS = 5
MOST = 96  # partners of an item that its ridge looks at
DAMPINGS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
BATCH = 512  # items whose ridges are solved together
_ENTRIES = 1 << 23  # of a block


def axn(data: DataSet, evaluations: int, rng: np.random.Generator) -> Answer:
    """Alternate between fitting a vector to every item and reading its best.

    The first round reads the prior's top. Every other one fits, for every item i, a
    vector u_i with s(i, j) ≈ f(cos(e_i, e_j)) + u_i·z_j on the pairs read of it, z the
    given embeddings (centered, with a constant) and f the curve of the prior, and
    reads the pairs that it ranks highest. The paper shrinks its u_i to the query's own
    embedding in the same way. It may learn z by factorizing scores of training queries;
    here these would have to be paid for, so z is what is given. Any pair is answered by
    the mean of both items' predictions, as far as random pairs confirm them.

    References
    ----------
    Yadav, Monath, Zaheer, Fergus and McCallum, Adaptive retrieval and scalable indexing
    for k-NN search with cross-encoders, ICLR 2024.
    """
    reader = Reader(data, evaluations)
    fitted = calibrate(reader, rng)
    drawn = reader.keys.copy()
    rounds = int(np.clip(evaluations / data.n, 1, ROUNDS))
    rerank(reader, reader.left // rounds, rng)
    ridge = _fit(reader, fitted, rng)
    for done in range(1, rounds):
        share = reader.left // (rounds - done)
        _read_best(reader, ridge, share, rng)
        ridge = _fit(reader, fitted, rng)
    rerank(reader, reader.left, rng)  # where lists were too short
    ridge = _fit(reader, fitted, rng)
    gain = ridge.confirmed(drawn // data.n, drawn % data.n, reader)

    def predict(i: Array, j: Array) -> Array:
        return fitted.pairs(i, j) + gain * ridge.pairs(i, j)

    return FromReads(reader, predict, ridge.top)


@dataclass(frozen=True)
class _Ridge:
    """A vector and a constant per item that correct the curve of the prior."""

    curve: Curve
    z: NDArray[np.float32]
    vectors: NDArray[np.float32]
    constants: NDArray[np.float32]

    def pairs(self, i: Array, j: Array) -> Array:
        """Return the mean correction that the two items' vectors propose."""
        one = cosines_of(self.vectors, self.z, i, j) + self.constants[i]
        other = cosines_of(self.vectors, self.z, j, i) + self.constants[j]
        return (one + other) / 2

    def rows(self, rows: Array) -> Array:
        """Return what is expected of some items with all others."""
        prior = self.curve.data.prior
        scores = self.curve.of(prior[rows] @ prior.T)
        scores += self.vectors[rows] @ self.z.T
        scores[np.arange(len(rows)), rows] = -np.inf
        return np.asarray(scores)

    def top(self, rows: Array, width: int) -> Array:
        """Return the best of some items."""
        width = min(width, len(self.z) - 1)
        step = max(1, _ENTRIES // len(self.z))
        out = np.empty((len(rows), width), dtype=np.int64)

        def fill(start: int) -> None:
            part = slice(start, start + step)
            out[part] = largest(self.rows(rows[part]), width)

        in_threads(fill, range(0, len(rows), step))
        return out

    def confirmed(self, i: Array, j: Array, reader: Reader) -> float:
        """Return how much of the corrections random pairs bear out, from 0 to 1."""
        missing = reader.look_up(i, j)[1] - self.curve.pairs(i, j)
        said = self.pairs(i, j)
        return float(np.clip(said @ missing / max(said @ said, 1e-30), 0, 1))


def cosines_of(a: Array, b: Array, i: Array, j: Array) -> Array:
    """Return products of rows of ``a`` with rows of ``b``."""
    out = np.empty(len(i))
    step = 1 << 17
    for t in range(0, len(i), step):
        part = slice(t, t + step)
        out[part] = np.einsum("td,td->t", a[i[part]], b[j[part]])
    return out


def _read_best(
    reader: Reader, ridge: _Ridge, share: int, rng: np.random.Generator
) -> None:
    """Read the best unknown pairs of every item, place by place."""
    n = reader.data.n
    start, other, _ = reader.partners(proposed=False)
    width = min(n - 1, 2 * -(-share // n) + 4)
    best = np.empty((n, width), dtype=np.int64)
    step = max(1, _ENTRIES // n)

    def fill(first: int) -> None:
        rows = np.arange(first, min(first + step, n))
        scores = ridge.rows(rows)
        known = other[start[rows[0]] : start[rows[-1] + 1]]
        sizes = np.diff(start[rows[0] : rows[-1] + 2])
        scores[np.repeat(np.arange(len(rows)), sizes), known] = -np.inf
        best[rows] = largest(scores, width)

    in_threads(fill, range(0, n, step))
    end = reader.left - share
    for place in range(width):
        order = rng.permutation(n)
        reader.propose(order, best[order, place], reader.left - end)


def _fit(reader: Reader, curve: Curve, rng: np.random.Generator) -> _Ridge:
    """Fit every item's ridge to its proposed pairs; the damping by leaving out one."""
    data = reader.data
    z = data.prior - data.prior.mean(axis=0)
    z /= np.sqrt(np.mean(np.sum(z**2, axis=1)))
    start, other, value = reader.partners()
    item = np.repeat(np.arange(data.n), np.diff(start))
    missing = value - curve.of(cosines(data.prior, item, other))
    shuffled = np.lexsort((rng.random(len(item)), item))
    sizes = np.minimum(np.diff(start), MOST)
    there = first_of_each(start, shuffled, int(sizes.max(initial=1)))
    some = rng.permutation(data.n)[:600]
    losses = [_left_out(z, other, missing, there[some], mu) for mu in DAMPINGS]
    mu = DAMPINGS[int(np.argmin(losses))]
    vectors = np.zeros(z.shape, dtype=np.float32)
    constants = np.zeros(data.n, dtype=np.float32)
    order = np.argsort(sizes, kind="stable")  # lists of like lengths together

    def fill(first: int) -> None:
        rows = order[first : first + BATCH]
        part = there[rows, : max(1, sizes[rows[-1]])]
        near, inverse, y = _system(z, other, missing, part, mu)
        weights = np.einsum("tab,tb->ta", inverse, y)
        vectors[rows] = (weights[:, None] @ near)[:, 0]
        constants[rows] = weights.sum(axis=1)

    in_threads(fill, range(0, data.n, BATCH))
    return _Ridge(curve, z, vectors, constants)


def _system(
    z: Array, other: Array, missing: Array, there: Array, mu: float
) -> tuple[Any, Any, Any]:
    """Return embeddings, (G + μI)⁻¹ and values of every item's pairs; 0 for none."""
    real = there >= 0
    near = np.where(real[..., None], z[other[there]], 0)
    G = near @ near.transpose(0, 2, 1) + real[:, :, None] * real[:, None, :]
    G = G + mu * np.eye(there.shape[1], dtype=near.dtype)
    y = np.where(real, missing[there], 0).astype(near.dtype)
    return near, np.linalg.inv(G), y


def _left_out(z: Array, other: Array, missing: Array, there: Array, mu: float) -> float:
    """Return the mean squared error of pairs that are left out in turn.

    In closed form: the error of pair a is (H·y)_a / H_aa with H = (G + μI)⁻¹.
    """
    _, inverse, y = _system(z, other, missing, there, mu)
    errors = np.einsum("tab,tb->ta", inverse, y) / np.einsum("taa->ta", inverse)
    return float(np.mean(errors[there >= 0] ** 2)) if (there >= 0).any() else 0.0
