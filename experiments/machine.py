"""A linear support vector machine for dense features, all classes at once.

LIBLINEAR's objective of option -s 2 (scikit-learn's ``LinearSVC(dual=False)``), one
class against the rest, w with the bias as its last entry:

    ½‖w‖² + C Σᵢ max(0, 1 − yᵢ·w·xᵢ)²

LIBLINEAR walks through sparse rows, one class after the other; these features are
dense, so here all classes share matrix products. Newton steps are solved by conjugate
gradients in the basis of the features' principal directions, where one division
preconditions them for any C, and lengths of steps are exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Machine", "Principal"]

Array = NDArray[Any]
STEPS = 60  # of Newton, at most
PRODUCTS = 200  # of the Hessian with a vector, at most, a step
SOLVED = 0.1  # a step is good enough when so much of the gradient is left


@dataclass(frozen=True)
class Principal:
    """Features with a constant, turned into their principal directions.

    The objective is the same in any orthonormal basis.

    Attributes
    ----------
    X
        (n, r) turned features.
    values
        Eigenvalues of XᵀX.
    turn
        What takes features with a constant to X, or similarities plus 1.
    kernel
        Whether it is of similarities.
    """

    X: Array
    values: Array
    turn: Array
    kernel: bool = False

    @classmethod
    def of(cls, features: Array, dtype: Any = np.float32) -> "Principal":
        """Turn features. Time: 4·n·d² for products, about 9·d³ for eigenvectors."""
        raw = _with_constant(features, dtype)
        values, turn = np.linalg.eigh(raw.T @ raw)
        return cls(raw @ turn, np.maximum(values, 0.0), turn)

    @classmethod
    def of_kernel(cls, K: Array, dtype: Any = np.float32) -> "Principal":
        """Take the features that K is the inner products of, and a constant.

        The machine is then the same objective in the span of the kernel. Negative
        eigenvalues, if there are any, count by their magnitude; those of rounding are
        left out. Time: about 9·n³.
        """
        values, vectors = np.linalg.eigh(np.asarray(K, dtype=np.float64) + 1)
        size = np.abs(values)
        keep = size > 1e-10 * size.max()
        root = np.sqrt(size[keep])
        turn = vectors[:, keep] * (np.sign(values[keep]) / root)
        X = vectors[:, keep] * root
        return cls(X.astype(dtype), size[keep], turn.astype(dtype), kernel=True)

    def turned(self, features: Array) -> Array:
        """Return other rows: features, or similarities to the rows of the kernel."""
        if self.kernel:
            return np.asarray((features + 1) @ self.turn, dtype=self.X.dtype)
        return np.asarray(_with_constant(features, self.X.dtype) @ self.turn)


class Machine:
    """One-vs-rest machines of one set of features; each fit starts at the last one.

    Parameters
    ----------
    features
        (n, d) array.
    labels
        Class of every row.
    C
        Price of a violation, LIBLINEAR's ``-c``.
    tol
        LIBLINEAR's ``-e``: a class is done when its gradient is below tol times the
        share of its rarer side of the gradient at 0.
    """

    def __init__(
        self,
        features: Array | Principal,
        labels: Array,
        C: float,
        *,
        tol: float = 1e-4,
        dtype: Any = np.float32,
    ) -> None:
        if not isinstance(features, Principal):
            features = Principal.of(features, dtype)
        self.basis = features
        self.C, self.tol = C, tol
        self.classes, self._codes = np.unique(labels, return_inverse=True)
        kinds = np.arange(len(self.classes))
        if len(kinds) == 2:  # one machine tells two classes apart
            kinds = kinds[1:]
        X = self.basis.X
        self._Y = np.where(self._codes[:, None] == kinds, 1, -1).astype(X.dtype)
        self._W = np.zeros((X.shape[1], len(kinds)), dtype=X.dtype)
        self._margins = np.zeros_like(self._Y)  # X·W

    def fit(self, rows: Array | None = None) -> "Machine":
        """Train on some rows, all by default."""
        X, Y = self.basis.X, self._Y
        use = np.ones(len(X), dtype=X.dtype)
        if rows is not None:
            use[:] = 0
            use[rows] = 1
        price = (2 * self.C * use)[:, None].astype(X.dtype)
        positive = (use[:, None] * (Y > 0)).sum(axis=0)
        rarer = np.maximum(1, np.minimum(positive, use.sum() - positive)) / use.sum()
        enough = self.tol * rarer * np.linalg.norm(X.T @ (price * Y), axis=0)
        todo = np.arange(Y.shape[1])
        before = np.full(Y.shape[1], np.inf)
        for _ in range(STEPS):
            lost = np.maximum(0, 1 - Y[:, todo] * self._margins[:, todo])
            W = self._W[:, todo]
            reached = 0.5 * ((W**2).sum(axis=0) + (price * lost**2).sum(axis=0))
            gradient = W - X.T @ (price * Y[:, todo] * lost)
            # Where rounding hides all progress there is none to be had.
            going = np.linalg.norm(gradient, axis=0) > enough[todo]
            going &= reached < before[todo] * (1 - 1e-9)
            before[todo] = reached
            if not going.any():
                break
            todo, lost, gradient = todo[going], lost[:, going], gradient[:, going]
            curved = price * (lost > 0)
            step = self._step(gradient, curved)
            self._move(todo, step, price)
        return self

    def decision(self, features: Array | None = None) -> Array:
        """Return the values of all machines: of the own rows by default."""
        if features is None:
            return self._margins
        return np.asarray(self.basis.turned(features) @ self._W)

    def predict(self, features: Array | None = None) -> Array:
        """Return the classes."""
        values = self.decision(features)
        if values.shape[1] == 1:
            return np.asarray(self.classes[(values[:, 0] > 0).astype(int)])
        return np.asarray(self.classes[values.argmax(axis=1)])

    @property
    def coefficients(self) -> Array:
        """(d + 1, machines) weights of features as given, the constant last."""
        return np.asarray(self.basis.turn @ self._W)

    def validate(
        self, folds: Iterable[tuple[Array, Array]], judged: Array | None = None
    ) -> float:
        """Return the accuracy on folds' second parts, trained on the first ones.

        Of all rows, or of those that ``judged`` is true of.
        """
        right = np.zeros(len(self._codes), dtype=bool)
        for train, held in folds:
            said = self.fit(train).predict()[held]
            right[held] = said == self.classes[self._codes[held]]
        return float(right.mean() if judged is None else right[judged].mean())

    def _step(self, gradient: Array, curved: Array) -> Array:
        """Solve (I + Xᵀ·diag(curved)·X)·step = −gradient, class by class."""
        X = self.basis.X
        share = curved.mean(axis=0, dtype=np.float64)
        diagonal = 1 / (1 + self.basis.values[:, None] * share)
        diagonal = diagonal.astype(X.dtype)
        left = -gradient
        step = np.zeros_like(left)
        near = diagonal * left
        way = near.copy()
        size = np.einsum("dk,dk->k", left, near, dtype=np.float64)
        enough = SOLVED**2 * size
        for _ in range(PRODUCTS):
            product = way + X.T @ (curved * (X @ way))
            bend = np.einsum("dk,dk->k", way, product, dtype=np.float64)
            length = np.where(size > enough, size / np.maximum(bend, 1e-300), 0.0)
            step += length.astype(X.dtype) * way
            left -= length.astype(X.dtype) * product
            near = diagonal * left
            now = np.einsum("dk,dk->k", left, near, dtype=np.float64)
            if (now <= enough).all():
                break
            way = near + (now / np.maximum(size, 1e-300)).astype(X.dtype) * way
            size = now
        return step

    def _move(self, todo: Array, step: Array, price: Array) -> None:
        """Go to the lowest point along each step: a root of a piecewise line."""
        Y, W = self._Y[:, todo], self._W[:, todo]
        ahead = self.basis.X @ step
        rise = Y * ahead
        short = 1 - Y * self._margins[:, todo]
        flat = np.einsum("dk,dk->k", W, step, dtype=np.float64)
        square = np.einsum("dk,dk->k", step, step, dtype=np.float64)
        length = np.ones(len(todo))
        low, high = np.zeros(len(todo)), np.full(len(todo), np.inf)
        for _ in range(20):
            lost = np.maximum(0, short - length.astype(rise.dtype) * rise)
            charged = price * rise
            slope = flat + length * square - (charged * lost).sum(axis=0)
            bend = square + (charged * rise * (lost > 0)).sum(axis=0)
            low = np.where(slope < 0, length, low)
            high = np.where(slope > 0, length, high)
            new = length - slope / bend
            half = np.where(np.isfinite(high), (low + high) / 2, 2 * length)
            new = np.where((new > low) & (new < high), new, half)
            done = np.abs(new - length) <= 1e-3 * length
            length = new
            if done.all():
                break
        self._W[:, todo] += length.astype(W.dtype) * step
        self._margins[:, todo] += length.astype(W.dtype) * ahead


def _with_constant(features: Array, dtype: Any) -> Array:
    ones = np.ones((len(features), 1), dtype=dtype)
    return np.hstack([np.asarray(features, dtype=dtype), ones])
