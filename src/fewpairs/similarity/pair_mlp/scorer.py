"""PairMLP: a small network on two vectors and their product."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.checks import check_choice, check_flag, check_path, refuse
from fewpairs.errors import InputError
from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.cross_encoder.loading import require
from fewpairs.similarity.items import as_items
from fewpairs.types import Indices

__all__ = ["PairMLP", "check_vectors"]

Float32 = NDArray[np.float32]
Layers = Sequence[tuple[ArrayLike, ArrayLike]]

_CALL = "fewpairs.PairMLP"
# Pairs that go through the layers together: enough for BLAS, little enough for caches.
_ROWS = 1_024
# Multiplications of a block that are worth a thread per core.
_LARGE = 1 << 31


class PairMLP(Similarity):
    """Score of two vectors by a network on [a; b; a∘b], as in coreference resolution.

    s(a, b) = activation(Wₖ … relu(W₁[a; b; a∘b] + c₁) … + cₖ). With W₁ = [Wₐ W_b W_p],
    the products Wₐa and W_b b are computed once per item; a pair costs W_p(a∘b) alone,
    a third of the first layer. Blocks run as matrix products in float32.

    Evaluations: one per pair. With ``symmetric=True`` both orders are averaged and
    share the product W_p(a∘b).

    Parameters
    ----------
    layers
        ``[(weight, bias), …]`` as in ``torch.nn.Linear``: weights of shape (out, in),
        the first with in = 3·d, the last with out = 1.
    vectors
        (n, d) array with one row per item; without it, the items are the vectors.
    symmetric
        Whether to average both orders. Otherwise it is declared asymmetric.
    activation
        ``"sigmoid"``: a probability; ``"identity"``: the logit.

    References
    ----------
    Cattan et al., Cross-document Coreference Resolution over Predicted Mentions, 2021.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> layers = [(np.ones((2, 3)), np.zeros(2)), (np.ones((1, 2)), np.zeros(1))]
    >>> mlp = fp.PairMLP(layers, activation="identity")
    >>> scorer = mlp.bind([[1.0], [2.0]])
    >>> scorer.pairs(np.array([0]), np.array([1])).tolist()
    [10.0]
    """

    def __init__(
        self,
        layers: Layers,
        vectors: ArrayLike | None = None,
        *,
        symmetric: bool = False,
        activation: Literal["sigmoid", "identity"] = "sigmoid",
    ) -> None:
        check_choice(_CALL, "activation", activation, ("sigmoid", "identity"))
        symmetric = check_flag(_CALL, "symmetric", symmetric)
        self.layers = _check_layers(layers)
        self.width = self.layers[0][0].shape[1] // 3
        self.activation = activation
        self.symmetric = self.proven = symmetric
        self.fingerprinted = True
        self.bounds = (0.0, 1.0) if activation == "sigmoid" else None
        self._vectors = None
        self.by_position = vectors is not None
        if vectors is not None:
            self._vectors = check_vectors(vectors, _CALL, self.width)

    def identify(self) -> Iterable[Any]:
        """Return the weights and what decides the values."""
        weights = [array for layer in self.layers for array in layer]
        return ("pair-mlp", self.activation, self.symmetric, weights, self._vectors)

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Compute what the first layer makes of every item, once."""
        X = self._vectors
        items = as_items(items, _CALL)
        if X is None:
            X = check_vectors(items, _CALL, self.width)
        if len(X) != len(items):
            msg = (
                f"{_CALL}: {len(X)} vectors for {len(items)} items. "
                "Pass one row per item, in the order of the items."
            )
            raise InputError(msg)
        return _MLPScorer(self, X)

    def beside(
        self, new_items: Sequence[Any], items: Sequence[Any], positions: Indices
    ) -> Scorer:
        """Bind new vectors beside those of some items."""
        if self._vectors is None:
            return super().beside(new_items, items, positions)
        X = check_vectors(new_items, _CALL, self.width)
        return _MLPScorer(self, np.vstack([X, self._vectors[positions]]))

    @classmethod
    def from_safetensors(
        cls, path: str | Path, vectors: ArrayLike | None = None
    ) -> "PairMLP":
        """Load what ``save`` wrote, or any file of ``*.weight`` and ``*.bias``.

        Layers are taken in the order of the numbers in their names.
        """
        require(_CALL, "safetensors")
        path = check_path(f"{_CALL}.from_safetensors", "path", path)
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(path), framework="numpy") as file:
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                meta = file.metadata() or {}
        except (OSError, SafetensorError) as error:
            msg = (
                f"{_CALL}.from_safetensors: cannot read {str(path)!r}: {error}. "
                "Pass a file that PairMLP.save or safetensors wrote."
            )
            raise InputError(msg) from error
        names = [k.removesuffix(".weight") for k in tensors if k.endswith(".weight")]
        names.sort(key=lambda name: [int(t) for t in name.split(".") if t.isdigit()])
        lacking = [name for name in names if f"{name}.bias" not in tensors]
        if lacking or 2 * len(names) != len(tensors) or not names:
            msg = (
                f"{_CALL}.from_safetensors: {str(path)!r} holds "
                f"{', '.join(sorted(tensors)[:8])}; expected a weight and a bias a "
                "layer, such as layers.0.weight and layers.0.bias."
            )
            raise InputError(msg)
        layers = [(tensors[f"{n}.weight"], tensors[f"{n}.bias"]) for n in names]
        options = json.loads(meta.get("fewpairs", "{}"))
        return cls(layers, vectors, **options)

    def save(self, path: str | Path) -> None:
        """Write weights and options to a safetensors file."""
        require(_CALL, "safetensors")
        from safetensors import SafetensorError
        from safetensors.numpy import save_file

        path = check_path(f"{_CALL}.save", "path", path)

        tensors = {}
        for t, (weight, bias) in enumerate(self.layers):
            tensors[f"layers.{t}.weight"] = weight
            tensors[f"layers.{t}.bias"] = bias
        options = {"symmetric": self.symmetric, "activation": self.activation}
        try:
            save_file(tensors, path, metadata={"fewpairs": json.dumps(options)})
        except (OSError, SafetensorError) as error:
            msg = f"{_CALL}.save: cannot write {path!r}: {error}. Pass another path."
            raise InputError(msg) from error


class _MLPScorer(Scorer):
    backend = "NumPy"

    dtype = np.dtype(np.float32)
    chunk = 1 << 16

    def __init__(self, mlp: PairMLP, X: Float32) -> None:
        d = mlp.width
        weight, bias = mlp.layers[0]
        self.n = len(X)
        self._mlp = mlp
        self._X = X
        self._first = X @ weight[:, :d].T + bias
        self._second = X @ weight[:, d : 2 * d].T
        self._product = np.ascontiguousarray(weight[:, 2 * d :].T)
        self._after = [(np.ascontiguousarray(w.T), b) for w, b in mlp.layers[1:]]

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        out = np.empty(len(i), dtype=np.float32)
        for start in range(0, len(i), _ROWS):
            part = slice(start, start + _ROWS)
            a, b = i[part], j[part]
            H = (self._X[a] * self._X[b]) @ self._product
            out[part] = self._orders(H, (a, b), (b, a))
        return self._activate(out)

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        out = np.empty((len(rows), len(columns)), dtype=np.float32)
        wide = max(1, min(len(columns), _ROWS))
        high = max(1, _ROWS // wide)

        def fill(corner: tuple[int, int]) -> None:
            top, left = corner
            r, c = rows[top : top + high], columns[left : left + wide]
            products = self._X[r][:, None, :] * self._X[c][None, :, :]
            # One product of matrices for all pairs of these rows and columns.
            H = products.reshape(len(r) * len(c), -1) @ self._product
            a, b = r[:, None], c[None, :]
            values = self._orders(H.reshape(len(r), len(c), -1), (a, b), (b, a))
            out[top : top + high, left : left + wide] = values

        tiles = product(range(0, len(rows), high), range(0, len(columns), wide))
        if out.size * self._product.size < _LARGE:
            for corner in tiles:
                fill(corner)
        else:
            in_threads(fill, tiles)
        return self._activate(out)

    def _orders(self, H: NDArray[Any], there: Any, back: Any) -> Float32:
        """Score a product part in one order, or average it over both; H is used up."""
        if not self._mlp.symmetric:
            return self._logits(H, *there)
        other = self._logits(H.copy(), *back)
        return np.asarray(0.5 * (self._logits(H, *there) + other))

    def _logits(self, H: NDArray[Any], a: Indices, b: Indices) -> Float32:
        H += self._first[a]
        H += self._second[b]
        flat = H.reshape(-1, H.shape[-1])
        for weight, bias in self._after:
            np.maximum(flat, 0, out=flat)
            # A single output as a vector: BLAS runs matrices of one column slowly.
            flat = flat @ (weight if weight.shape[1] > 1 else weight[:, 0])
            flat += bias
        return np.asarray(flat.reshape(H.shape[:-1]))

    def _activate(self, logits: Float32) -> Float32:
        if self._mlp.activation == "identity":
            return logits
        # exp of a negative number alone: it cannot overflow.
        small = np.exp(-np.abs(logits))
        return np.asarray(np.where(logits >= 0, 1, small) / (1 + small))


def check_vectors(vectors: Any, call: str, width: int | None = None) -> Float32:
    """Return (n, d) float32 vectors, or say what is wrong with them."""
    try:
        X = np.asarray(vectors)
    except Exception:  # noqa: BLE001 - ragged, or no array at all
        X = np.empty(0, dtype=object)
    expected = "(n, d)" if width is None else f"(n, {width})"
    if X.ndim != 2 or X.dtype.kind not in "biuf" or width not in (None, X.shape[1]):
        msg = (
            f"{call}: needs an {expected} array of real numbers, one row per item; got "
            f"{type(vectors).__name__} that gives shape {X.shape} and dtype {X.dtype}. "
            "Pass the vectors that the network was trained on."
        )
        raise InputError(msg)
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if bad.size:
        msg = (
            f"{call}: row {bad[0]} is not finite ({bad.size} such rows). "
            "Drop those items or mend their vectors."
        )
        raise InputError(msg)
    with np.errstate(over="ignore"):
        small = np.ascontiguousarray(X, dtype=np.float32)
    if not np.isfinite(small).all():
        msg = f"{call}: a vector has numbers beyond single precision. Scale them."
        raise InputError(msg)
    return small


def _check_layers(layers: Layers) -> list[tuple[Float32, Float32]]:
    checked = []
    cure = "a list of (weight, bias), as in torch.nn.Linear"
    try:
        for weight, bias in layers:
            W = np.ascontiguousarray(weight, dtype=np.float32)
            c = np.ascontiguousarray(bias, dtype=np.float32)
            checked.append((W, c))
    except Exception as error:
        raise refuse(_CALL, "layers", layers, cure) from error
    shapes = [(W.shape, c.shape) for W, c in checked]
    chained = len(shapes) > 1 and all(
        W.ndim == 2 and c.shape == (W.shape[0],) for W, c in checked
    )
    chained = chained and all(
        before[0][0] == after[0][1] for before, after in pairwise(shapes)
    )
    if not chained or shapes[0][0][1] % 3 or shapes[-1][0][0] != 1:
        msg = (
            f"{_CALL}: layers of shapes {shapes}; expected at least two (weight, bias) "
            "with weights of shape (out, in) that fit each other, the first with "
            "in = 3·d, the last with out = 1."
        )
        raise InputError(msg)
    if not all(np.isfinite(W).all() and np.isfinite(c).all() for W, c in checked):
        msg = f"{_CALL}: a weight is not finite. Load or train the network again."
        raise InputError(msg)
    return checked
