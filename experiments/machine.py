"""A linear support vector machine for dense features, all classes at once.

LIBLINEAR's objective of option -s 2 (scikit-learn's ``LinearSVC(dual=False)``), one
class against the rest, w with the bias as its last entry:

    ½‖w‖² + C Σᵢ max(0, 1 − yᵢ·w·xᵢ)²

LIBLINEAR walks through sparse rows, one class after the other; these features are
dense, so here all classes share matrix products. Newton steps are solved by conjugate
gradients in the basis of the features' principal directions, where one division
preconditions them for any C, and lengths of steps are exact. PyTorch does it, on a
GPU where there is one; NumPy arrays may go in, and come out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Machine", "Principal", "leading", "tensor"]

Array = NDArray[Any]
STEPS = 60  # of Newton, at most
PRODUCTS = 200  # of the Hessian with a vector, at most, a step
EXACT = 10_000  # rows of a matrix whose eigenvectors are found in full, at most
KRYLOV = 8  # blocks of s/2 columns in the space that is looked into beyond that
SOLVED = 0.1  # a step is good enough when so much of the gradient is left


def tensor(values: Any, dtype: Any = None) -> "Tensor":
    """Return numbers where they are worked on, as those of a NumPy type."""
    import torch

    kind = None if dtype is None else getattr(torch, np.dtype(dtype).name)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.as_tensor(values, dtype=kind, device=where)


def leading(K: Any, s: int) -> Array:
    """Return the leading eigenvectors of a symmetric K, by magnitude, scaled.

    Time: about 9·n³, or 8·n²·s in a Krylov space where n³ is too much.
    """
    import torch

    if len(K) > EXACT:
        values, vectors = _in_krylov_space(tensor(K, np.float32), s)
    else:
        values, vectors = torch.linalg.eigh(tensor(K, np.float64))
    chosen = torch.argsort(-values.abs(), stable=True)[:s]
    scaled = vectors[:, chosen] * values[chosen].abs().sqrt()
    return np.asarray(scaled.cpu().numpy())


def _in_krylov_space(K: "Tensor", s: int) -> "tuple[Tensor, Tensor]":
    """Return the eigenvalues and vectors of K in the space of G, K·G, K²·G and so on.

    G is a random block; every next one is made orthogonal to all before it. Musco &
    Musco (2015), "Randomized block Krylov methods for stronger and faster approximate
    singular value decomposition", NeurIPS.
    """
    import torch

    block = -(-s // 2)
    torch.manual_seed(0)
    made = torch.linalg.qr(torch.randn(len(K), block).to(K)).Q
    basis, products = made, K @ made
    for _ in range(KRYLOV - 1):
        made = products[:, -block:]
        for _ in range(2):  # once leaves what rounding has left
            made = torch.linalg.qr(made - basis @ (basis.T @ made)).Q
        basis = torch.hstack([basis, made])
        products = torch.hstack([products, K @ made])
    inside = (basis.T @ products).double()
    values, turn = torch.linalg.eigh((inside + inside.T) / 2)
    # A space of 4·s: what comes last in it is not K's yet, what comes first is.
    return values, basis @ turn.to(basis.dtype)


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

    X: "Tensor"
    values: "Tensor"
    turn: "Tensor"
    kernel: bool = False

    @classmethod
    def of(cls, features: Any, dtype: Any = np.float32) -> "Principal":
        """Turn features. Time: 4·n·d² for products, about 9·d³ for eigenvectors."""
        import torch

        raw = _with_constant(features, dtype)
        values, turn = torch.linalg.eigh(raw.T @ raw)
        return cls(raw @ turn, values.clamp(min=0), turn)

    @classmethod
    def of_kernel(cls, K: Any, dtype: Any = np.float32) -> "Principal":
        """Take the features that K is the inner products of, and a constant.

        The machine is then the same objective in the span of the kernel. Negative
        eigenvalues, if there are any, count by their magnitude; those of rounding are
        left out. Time: about 9·n³.
        """
        import torch

        values, vectors = torch.linalg.eigh(tensor(K, np.float64) + 1)
        size = values.abs()
        keep = size > 1e-10 * size.max()
        size, values, vectors = size[keep], values[keep], vectors[:, keep]
        X = tensor(vectors * size.sqrt(), dtype)
        turn = tensor(vectors * (values.sign() / size.sqrt()), dtype)
        return cls(X, tensor(size, dtype), turn, kernel=True)

    def turned(self, features: Any) -> "Tensor":
        """Return other rows: features, or similarities to the rows of the kernel."""
        if self.kernel:
            return (tensor(features).to(self.X.dtype) + 1) @ self.turn
        return _with_constant(features, _numpy_type(self.X)) @ self.turn


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
        own = self._codes[:, None] == kinds
        self._Y = tensor(np.where(own, 1, -1), _numpy_type(X))
        self._W = X.new_zeros((X.shape[1], len(kinds)))
        self._margins = X.new_zeros(self._Y.shape)  # X·W

    def fit(self, rows: Array | None = None) -> "Machine":
        """Train on some rows, all by default."""
        import torch

        X, Y = self.basis.X, self._Y
        use = X.new_ones(len(X))
        if rows is not None:
            use[:] = 0
            use[tensor(rows)] = 1
        price = (2 * self.C * use)[:, None]
        positive = (use[:, None] * (Y > 0)).sum(dim=0)
        rarer = torch.minimum(positive, use.sum() - positive).clamp(min=1) / use.sum()
        enough = self.tol * rarer * torch.linalg.norm(X.T @ (price * Y), dim=0)
        todo = torch.arange(Y.shape[1], device=X.device)
        before = torch.full_like(enough, torch.inf, dtype=torch.float64)
        for _ in range(STEPS):
            lost = (1 - Y[:, todo] * self._margins[:, todo]).clamp(min=0)
            W = self._W[:, todo]
            paid = (price * lost**2).sum(dim=0, dtype=torch.float64)
            reached = 0.5 * ((W**2).sum(dim=0, dtype=torch.float64) + paid)
            gradient = W - X.T @ (price * Y[:, todo] * lost)
            # Where rounding hides all progress there is none to be had.
            going = torch.linalg.norm(gradient, dim=0) > enough[todo]
            going &= reached < before[todo] * (1 - 1e-9)
            before[todo] = reached
            if not going.any():
                break
            todo, lost, gradient = todo[going], lost[:, going], gradient[:, going]
            curved = price * (lost > 0)
            step = self._step(gradient, curved)
            self._move(todo, step, price)
        return self

    def decision(self, features: Any = None) -> Array:
        """Return the values of all machines: of the own rows by default."""
        own = features is None
        values = self._margins if own else self.basis.turned(features) @ self._W
        return np.asarray(values.cpu().numpy())

    def predict(self, features: Any = None) -> Array:
        """Return the classes."""
        values = self.decision(features)
        if values.shape[1] == 1:
            return np.asarray(self.classes[(values[:, 0] > 0).astype(int)])
        return np.asarray(self.classes[values.argmax(axis=1)])

    @property
    def coefficients(self) -> Array:
        """(d + 1, machines) weights of features as given, the constant last."""
        return np.asarray((self.basis.turn @ self._W).cpu().numpy())

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

    def _step(self, gradient: "Tensor", curved: "Tensor") -> "Tensor":
        """Solve (I + Xᵀ·diag(curved)·X)·step = −gradient, class by class."""
        X = self.basis.X
        diagonal = 1 / (1 + self.basis.values[:, None] * curved.mean(dim=0))
        left = -gradient
        step = left.new_zeros(left.shape)
        near = diagonal * left
        way = near.clone()
        size = _inner(left, near)
        enough = SOLVED**2 * size
        for _ in range(PRODUCTS):
            product = way + X.T @ (curved * (X @ way))
            length = (size / _inner(way, product).clamp(min=1e-300)).to(X.dtype)
            length *= size > enough
            step += length * way
            left -= length * product
            near = diagonal * left
            now = _inner(left, near)
            if (now <= enough).all():
                break
            way = near + (now / size.clamp(min=1e-300)).to(X.dtype) * way
            size = now
        return step

    def _move(self, todo: "Tensor", step: "Tensor", price: "Tensor") -> None:
        """Go to the lowest point along each step: a root of a piecewise line."""
        import torch

        Y, W = self._Y[:, todo], self._W[:, todo]
        ahead = self.basis.X @ step
        rise = Y * ahead
        short = 1 - Y * self._margins[:, todo]
        charged = price * rise
        flat, square = _inner(W, step), _inner(step, step)
        length = torch.ones_like(square)
        low, high = torch.zeros_like(length), torch.full_like(length, torch.inf)
        for _ in range(20):
            lost = (short - length.to(rise.dtype) * rise).clamp(min=0)
            slope = flat + length * square - _inner(charged, lost)
            bend = square + _inner(charged, rise * (lost > 0))
            low = torch.where(slope < 0, length, low)
            high = torch.where(slope > 0, length, high)
            new = length - slope / bend
            half = torch.where(torch.isfinite(high), (low + high) / 2, 2 * length)
            new = torch.where((new > low) & (new < high), new, half)
            done = (new - length).abs() <= 1e-3 * length
            length = new
            if done.all():
                break
        self._W[:, todo] += length.to(W.dtype) * step
        self._margins[:, todo] += length.to(W.dtype) * ahead


def _inner(A: "Tensor", B: "Tensor") -> "Tensor":
    """Return the inner products of columns, summed up in float64."""
    import torch

    return (A * B).sum(dim=0, dtype=torch.float64)


def _numpy_type(like: "Tensor") -> Any:
    return np.dtype(str(like.dtype).removeprefix("torch."))


def _with_constant(features: Any, dtype: Any) -> "Tensor":
    import torch

    rows = tensor(features, dtype)
    return torch.hstack([rows, rows.new_ones((len(rows), 1))])
