"""Training a PairMLP on labeled pairs of vectors."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fewpairs.checks import (
    check_array,
    check_flag,
    check_number,
    check_text,
    check_whole,
    refuse,
)
from fewpairs.errors import InputError
from fewpairs.similarity.cross_encoder.loading import require
from fewpairs.similarity.pair_mlp.scorer import PairMLP, check_vectors

__all__ = ["train_pair_mlp"]

_CALL = "fewpairs.train_pair_mlp"
_RATE = 1e6  # beyond it single precision overflows
_WIDEST = 1 << 20


def train_pair_mlp(
    vectors: ArrayLike,
    pairs: ArrayLike,
    labels: ArrayLike,
    *,
    hidden: Sequence[int] = (1024,),
    epochs: int = 20,
    batch: int = 256,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-2,
    validation: float = 0.1,
    patience: int = 3,
    symmetric: bool = False,
    device: str = "cpu",
    seed: int = 0,
) -> PairMLP:
    """Train a `PairMLP` by binary cross-entropy on the logits, with AdamW.

    A share of the pairs is held out; training stops when the loss on it has not
    improved for ``patience`` epochs, and the best weights are returned. The same seed
    gives the same network on the same machine. Global random states are left alone.

    Evaluations: none; the labels are given.

    Parameters
    ----------
    vectors
        (n, d) array, one row per item.
    pairs
        (m, 2) array of positions.
    labels
        m numbers between 0 and 1: whether the two belong together.
    hidden
        Widths of the hidden layers.
    epochs, batch, learning_rate, weight_decay
        As usual.
    validation
        Share of the pairs that is held out.
    patience
        Epochs without improvement before it stops.
    symmetric
        Whether to train on both orders and to return a symmetric similarity.
    device
        Where to train.
    seed
        Of the weights, the held-out share and the order of the pairs.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> X = np.repeat(np.eye(4), 5, axis=0)
    >>> i, j = np.divmod(np.arange(400), 20)
    >>> mlp = fp.train_pair_mlp(
    ...     X, np.column_stack([i, j]), i // 5 == j // 5, hidden=[16]
    ... )  # doctest: +SKIP
    >>> mlp.bind(X).pairs(np.array([0, 0]), np.array([1, 9])).round()  # doctest: +SKIP
    array([1., 0.], dtype=float32)
    """
    require(_CALL, "torch")
    X = check_vectors(vectors, _CALL)
    p, y = _check_pairs(pairs, labels, len(X))
    widths = _check_widths(hidden)
    epochs = check_whole(_CALL, "epochs", epochs, most=1_000_000)
    batch = check_whole(_CALL, "batch", batch, least=1)
    patience = check_whole(_CALL, "patience", patience, least=1)
    seed = check_whole(_CALL, "seed", seed)
    check_number(_CALL, "learning_rate", learning_rate, above=0, most=_RATE)
    check_number(_CALL, "weight_decay", weight_decay, least=0, most=_RATE)
    check_number(_CALL, "validation", validation, least=0, most=1)
    symmetric = check_flag(_CALL, "symmetric", symmetric)
    device = _check_device(device)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(p))
    held = order[: round(validation * len(p))]
    kept = order[len(held) :]
    if not 0 <= validation < 1 or not len(kept):
        msg = (
            f"{_CALL}: validation={validation} of {len(p)} pairs leaves none to learn."
        )
        raise InputError(msg)
    network = _network((3 * X.shape[1], *widths, 1), rng, device)
    trainer = _Trainer(network, X, device, symmetric=symmetric)
    optimizer = _adamw(network, learning_rate, weight_decay)
    best, waited, weights = float("inf"), 0, trainer.weights()
    for _ in range(epochs):
        shuffled = rng.permutation(kept)
        trained = 0.0
        for start in range(0, len(shuffled), batch):
            part = shuffled[start : start + batch]
            optimizer.zero_grad()
            loss = trainer.loss(p[part], y[part])
            loss.backward()
            optimizer.step()
            trained += float(loss.detach()) * len(part) / len(shuffled)
        reached = trainer.held_out_loss(p[held], y[held]) if len(held) else trained
        if reached < best:
            best, waited, weights = reached, 0, trainer.weights()
        else:
            waited += 1
            if waited >= patience:
                break
    return PairMLP(weights, symmetric=symmetric)


class _Trainer:
    """A network and the vectors that it learns on, on one device."""

    def __init__(self, network: Any, X: Any, device: str, *, symmetric: bool) -> None:
        import torch

        self._network = network
        self._X = torch.from_numpy(X).to(device)
        self._symmetric = symmetric
        self._entropy = torch.nn.functional.binary_cross_entropy_with_logits

    def loss(self, pairs: Any, labels: Any) -> Any:
        """Return the mean loss over pairs, in both orders when symmetric."""
        import torch

        target = torch.from_numpy(labels).to(self._X.device)
        a, b = self._X[pairs[:, 0]], self._X[pairs[:, 1]]
        orders = [(a, b), (b, a)] if self._symmetric else [(a, b)]
        losses = []
        for one, two in orders:
            joined = torch.cat([one, two, one * two], dim=1)
            losses.append(self._entropy(self._network(joined)[:, 0], target))
        return sum(losses) / len(losses)

    def held_out_loss(self, pairs: Any, labels: Any) -> float:
        """Return the mean loss over held-out pairs, in parts."""
        import torch

        total = 0.0
        with torch.no_grad():
            for start in range(0, len(pairs), 4_096):
                part = slice(start, start + 4_096)
                count = len(pairs[part])
                total += float(self.loss(pairs[part], labels[part])) * count
        return total / len(pairs)

    def weights(self) -> list[tuple[Any, Any]]:
        """Return a copy of every layer's weight and bias."""
        return [
            tuple(t.detach().cpu().numpy().copy() for t in (layer.weight, layer.bias))
            for layer in self._network
            if hasattr(layer, "weight")
        ]


def _network(widths: tuple[int, ...], rng: np.random.Generator, device: str) -> Any:
    """Linear layers with relu between, drawn from ``rng`` as torch draws them."""
    import torch

    layers: list[Any] = []
    for fan_in, out in pairwise(widths):
        linear = torch.nn.Linear(fan_in, out, device="meta").to_empty(device=device)
        limit = fan_in**-0.5
        for parameter in (linear.weight, linear.bias):
            drawn = rng.uniform(-limit, limit, tuple(parameter.shape))
            parameter.data.copy_(torch.from_numpy(drawn.astype(np.float32)))
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _adamw(network: Any, learning_rate: float, weight_decay: float) -> Any:
    import torch

    return torch.optim.AdamW(
        network.parameters(), lr=learning_rate, weight_decay=weight_decay
    )


def _check_widths(hidden: Any) -> list[int]:
    cure = "a list of the hidden layers' widths, such as [1024]"
    if not isinstance(hidden, (list, tuple)):
        raise refuse(_CALL, "hidden", hidden, cure)
    return [check_whole(_CALL, "hidden", k, least=1, most=_WIDEST) for k in hidden]


def _check_device(device: Any) -> str:
    import torch

    device = check_text(_CALL, "device", device)
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        msg = f"{_CALL}: device is {device!r}: {error}. Pass 'cpu' or 'cuda'."
        raise InputError(msg) from error
    return str(device)


def _check_pairs(pairs: ArrayLike, labels: ArrayLike, n: int) -> tuple[Any, Any]:
    p = check_array(_CALL, "pairs", pairs, "an (m, 2) array of positions")
    cure = f"{len(p) if p.ndim else 1} numbers between 0 and 1, one per pair"
    y = check_array(_CALL, "labels", labels, cure)
    shaped = p.ndim == 2 and p.shape[1] == 2 and p.dtype.kind in "iu" and len(p)
    if not shaped or p.min() < 0 or p.max() >= n:
        msg = (
            f"{_CALL}: pairs has shape {p.shape} and dtype {p.dtype}; expected (m, 2) "
            f"positions from 0 to {n - 1}."
        )
        raise InputError(msg)
    right = y.shape == (len(p),) and y.dtype.kind in "biuf"
    if not right or not ((y >= 0) & (y <= 1)).all():
        msg = (
            f"{_CALL}: labels has shape {y.shape} and dtype {y.dtype}; expected "
            f"{len(p)} numbers between 0 and 1, one per pair."
        )
        raise InputError(msg)
    return p.astype(np.int64), y.astype(np.float32)
