"""New items: placed among the fitted ones by their entries at the landmarks."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError, StaleWarning
from fewpairs.matrix.positions import positions_of
from fewpairs.model.model import Model
from fewpairs.model.row_maps import RowMap
from fewpairs.reading.oracle import Oracle
from fewpairs.result.approximation import Approximation
from fewpairs.similarity.priors import NewPrior
from fewpairs.types import Indices

__all__ = ["Projection", "project"]

_ROWS = 2_000  # fitted items that new ones are compared with
_FOLDS = 5
_RIDGE = 1e-3
_BADLY = 1.5  # times that limit
_RARE = 0.01  # share of the fitted items that are explained worse than the limit


@dataclass(frozen=True, eq=False)
class Projection:
    """New items among the fitted ones.

    Attributes
    ----------
    features
        (m, r) array, rows like those of ``Approximation.embedding()``.
    left, right
        (m, r) arrays, rows like those of ``Approximation.left`` and ``right``.
    """

    approx: Approximation
    oracle: Oracle
    features: NDArray[Any]
    left: NDArray[Any]
    right: NDArray[Any]
    prior: NewPrior | None
    profiles: NDArray[Any]  # entries at the landmarks of ``left``

    def __len__(self) -> int:
        return len(self.left)

    @property
    def evaluations(self) -> int:
        """Calls of the similarity made for the new items so far."""
        return self.oracle.evaluations

    def block(
        self, rows: Any = slice(None), columns: Any = slice(None)
    ) -> NDArray[Any]:
        """Return the similarities of new items (rows) to fitted ones (columns).

        Exact where they were read, else what the approximation predicts. A student is
        not asked: it has vectors of the fitted items alone.
        """
        others = self.approx.known.seekers[1]
        call = "Projection.block"
        r = np.atleast_1d(positions_of(rows, len(self), call, most=1))
        c = np.atleast_1d(positions_of(columns, len(others), call, most=1))
        c = others[c]
        out = predict(self, r, c)
        self.oracle.read.overlay(out, self.approx.known.n + r, c)
        return out

    @cached_property
    def staleness(self) -> NDArray[np.float64]:
        """How badly the landmarks explain each new item; 1: like the worst fitted ones.

        Every landmark's entries are predicted from those at the other landmarks, by a
        ridge regression fitted on fitted items. The root mean square error of a new
        item is divided by the one that 99 % of (other) fitted items keep below. Costs
        no evaluation.
        """
        return _staleness(self)

    @property
    def stale(self) -> bool:
        """Whether clearly more new items than fitted ones are badly explained."""
        beyond, m = int((self.staleness > _BADLY).sum()), len(self)
        return beyond > 0.05 * m + 2 * float(np.sqrt(_RARE * m))


def project(
    approx: Approximation, new_items: Any, *, prior: Any, call: str = "project"
) -> Projection:
    """Evaluate new items at the landmarks and give them rows of the model."""
    name = f"Approximation.{call}"
    reader = approx.reader(call)
    if approx.model.low_rank.left_map is None:
        msg = (
            f"{name}: {approx.method} has no landmarks that would place new items. Use "
            "another method."
        )
        raise InputError(msg)
    made = approx.model.prior is not None and approx.model.proposer is None
    if approx.known.sides is not None and made:
        msg = (
            f"{name}: rows and columns that were read stand for a prior, and new items "
            "are in none of them. Use .search(new_items), or fit with a prior."
        )
        raise InputError(msg)
    new_items = reader.checked(new_items, name)
    oracle = reader.outside(new_items, name)
    _check_prior(approx.model, prior, new_items, name)
    new = approx.known.n + np.arange(len(new_items))
    columns = approx.model.low_rank.left_map.landmarks
    X = _read(oracle, new, columns, approx.left.dtype)
    beside = _new_prior(approx.model, prior, new_items, X, name)
    across = approx.model.low_rank.right_map
    if across is None or approx.known.sides is not None:
        rows = _two_sided(approx.model, approx.model.low_rank.left_map, X, beside)
    else:
        Y = _read(oracle, new, across.landmarks, X.dtype, rows=True)
        rows = _one_sided(
            approx.model, approx.model.low_rank.left_map.rows(X), across.rows(Y)
        )
    projection = Projection(approx, oracle, *rows, beside, X)
    if projection.stale:
        share = float((projection.staleness > _BADLY).mean())
        warnings.warn(
            f"{name}: the landmarks miss {share:.0%} of the new items by {_BADLY:g} "
            f"times what they miss {1 - _RARE:.0%} of the fitted ones by, or more. Fit "
            "again with some of them among the items.",
            StaleWarning,
            stacklevel=3,
        )
    return projection


def transform(approx: Approximation, new_items: Any, *, prior: Any) -> NDArray[Any]:
    """Return features of new items; see ``Approximation.transform``."""
    return project(approx, new_items, prior=prior, call="transform").features


def predict(
    projection: Projection, rows: Indices, columns: Indices
) -> NDArray[np.float32]:
    """Return what prior and low rank say of new items and fitted ones."""
    model = projection.approx.model
    low_rank = model.low_rank
    side = low_rank.left if low_rank.other is None else low_rank.other
    left = projection.left[rows]
    if low_rank.signature is not None:
        left = left * low_rank.signature.astype(left.dtype)
    out = np.asarray(left @ side[columns].T)
    if model.curve is not None and projection.prior is not None:
        out += model.curve(projection.prior.block(rows, columns))
    # No ceilings: refinement has not looked for new items' neighbors.
    return out if model.guard is None else model.guard.apply(out)


def _check_prior(model: Model, given: Any, new_items: Sequence[Any], call: str) -> None:
    """Find out now, before anything is paid for, whether the prior can be had."""
    if model.prior is not None and model.prior.alike is None:
        model.prior.beside(given, new_items, np.empty((len(new_items), 0)), call)


def _read(
    oracle: Oracle, new: Indices, landmarks: Indices, dtype: Any, *, rows: bool = False
) -> NDArray[Any]:
    """Return the (m, s) entries of new items at landmarks, in either order."""
    if not len(landmarks):
        return np.empty((len(new), 0), dtype=dtype)
    if rows:
        return oracle.block(landmarks, new).T.astype(dtype)
    return oracle.block(new, landmarks).astype(dtype)


def _new_prior(
    model: Model, given: Any, new_items: Sequence[Any], X: NDArray[Any], call: str
) -> NewPrior | None:
    if model.prior is None:
        return None
    return model.prior.beside(given, new_items, X, call)


def _one_sided(
    model: Model, L: NDArray[Any], R: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return features, rows of left and rows of right where the two differ (CUR)."""
    if not model.low_rank.averaged:
        return L, L, R
    half = L.dtype.type(np.sqrt(0.5))
    return L, np.hstack([L, R]) * half, np.hstack([R, L]) * half


def _two_sided(
    model: Model, entry: RowMap, X: NDArray[Any], prior: NewPrior | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return features, rows of left and rows of right where signs set them apart."""
    curve = model.curve
    if curve is not None and prior is not None:
        cheap = prior.block(np.arange(len(X)), entry.landmarks)
        X = X - curve(cheap).astype(X.dtype)
    left = features = entry.rows(X)
    signs = np.asarray(model.low_rank.signature).astype(left.dtype)
    more = model.features.shape[1] > left.shape[1]
    if more and curve is not None and prior is not None:
        # Embeddings of the prior stand first, scaled as those of the fitted items.
        root = np.sqrt(abs(curve.slope))
        in_range = root < np.finfo(np.float32).max
        scaled = np.asarray(prior.embeddings) * (np.float32(root) if in_range else root)
        features = np.hstack([scaled.astype(left.dtype), left])
    return features, left, left * signs


def _staleness(projection: Projection) -> NDArray[np.float64]:
    X = projection.profiles.astype(np.float64)
    m, s = X.shape
    known, model = projection.approx.known, projection.approx.model
    entry = model.low_rank.left_map
    if s < 2 or entry is None or not known.has_lines(entry.landmarks).all():
        return np.zeros(m)  # of references no whole columns are known
    n = projection.approx.shape[0]
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.setdiff1d(np.arange(n), entry.landmarks))[:_ROWS]
    half = len(rows) // 2
    if half < 20:
        return np.zeros(m)
    C = known.lines(entry.landmarks)[:, rows].T.astype(np.float64)
    own = known.lines(entry.landmarks)[:, entry.landmarks].astype(np.float64)
    scale = float(np.abs(C).max(initial=0.0)) or 1.0
    learn, test = C[:half] / scale, C[half:] / scale
    with np.errstate(over="ignore"):  # as far away as squares allow
        new, own = (np.clip(part / scale, -1e100, 1e100) for part in (X, own))
    test_error, new_error = np.zeros(len(test)), np.zeros(m)
    for fold in np.array_split(rng.permutation(s), min(_FOLDS, s)):
        kept = np.setdiff1d(np.arange(s), fold)
        center, aim = learn[:, kept].mean(axis=0), learn[:, fold].mean(axis=0)
        A, B = learn[:, kept] - center, learn[:, fold] - aim
        gram = A.T @ A
        ridge = _RIDGE * np.trace(gram) / len(kept) + 1e-300
        W = np.linalg.solve(gram + ridge * np.eye(len(kept)), A.T @ B)
        for entries, missed in ((test, test_error), (new, new_error)):
            guess = (entries[:, kept] - center) @ W + aim
            missed[:] += np.sum((entries[:, fold] - guess) ** 2, axis=1)
    limit = float(np.quantile(test_error, 1 - _RARE)) + (1e-6**2) * s
    # A landmark come again has the entry of an item with itself, which no other
    # landmark foretells; it is explained as well as can be.
    again = np.abs(new - own[new.argmax(axis=1)]).max(axis=1) <= 1e-6
    return np.where(again, 0.0, np.sqrt(new_error / limit))
