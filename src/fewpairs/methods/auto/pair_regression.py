"""Prior, row effects and a bilinear form, fitted to scattered pairs.

With c the prior of a pair, e the items' features that cost no evaluation (principal
components of the embeddings) and a the items' effects,

    K_ij ≈ f(c_ij) + a_i + a_j + e_i·D e_j + κ a_i a_j,   a_i = e_i·w + b_i,

f a cubic, D diagonal, b shrunk by how much is known of an item (see
`fewpairs.kernels.linalg.mixed_effects`). The last term is Tukey's one degree of freedom
for non-additivity (1949): items that are similar to nearly everything are more so to
each other, or less.

A landmark's column costs n pairs and tells something of n items; n scattered pairs tell
something of 2n. So this is what few evaluations per item are best spent on. Where there
are landmarks, what the rest leaves of the first five columns, g, adds
g_i·v + g_j·v + g_i·M g_j with M symmetric: Nyström's core, fitted to the random pairs.
What that leaves of more columns has a damped core (`left_columns`).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.mixed_effects import Effects, MixedEffects
from fewpairs.kernels.linalg.top_products import EXACT
from fewpairs.methods.auto.first_look import crossed
from fewpairs.methods.auto.item_features import item_features
from fewpairs.methods.auto.left_columns import LeftColumns
from fewpairs.model.curve import Curve
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.row_maps import RowMap, effect_columns
from fewpairs.similarity.priors import Prior
from fewpairs.types import Indices

__all__ = ["PairRegression"]

_DIRECTIONS = 64  # of the items' features
_PAIRS_PER_FEATURE = 12  # at least
# Pairs that tell more than a line through the prior: of one set, and of two.
_FEWEST, _FEWEST_ACROSS = 150, 250
_REFERENCES = 32  # items at which new ones are evaluated, to place them
_POWERS = 3  # of the prior
_PROFILED = 5  # landmarks whose core random pairs tell
_TOLD = 200_000  # pairs that tell its mean and spread


@dataclass(frozen=True, eq=False)
class _Setting:
    """The features that are used, and what puts them on a common scale.

    Attributes
    ----------
    center, scale
        Mean and spread of the similarity.
    cheap_center, cheap_scale
        Those of the prior.
    features
        (n, d) features of the items, or ``None``.
    rows
        The items' effects, standardized, once they are known.
    profiles
        (n, s) what the rest leaves of a few landmarks' columns, if there are any.
    columns
        What all of that leaves of more columns, as a low rank.
    """

    center: float
    scale: float
    cheap_center: float
    cheap_scale: float
    features: NDArray[np.float32] | None
    rows: NDArray[np.float64] | None = None
    profiles: NDArray[np.float32] | None = None
    columns: LeftColumns | None = None


class PairRegression:
    """Fits the model of this module to pairs that were drawn uniformly."""

    def __init__(
        self,
        n: int,
        prior: Prior | None,
        rng: np.random.Generator,
        *,
        first: int = 0,
        landmarks: Indices | None = None,
        device: str | None = None,
        good_prior: bool = False,
    ) -> None:
        self.n = n
        self._good_prior = good_prior  # leaves little to the items' effects
        self.prior = prior
        self._device = device  # where torch solves for the effects
        self._fewest = _FEWEST_ACROSS if first else _FEWEST
        self._landmarks = np.asarray(() if landmarks is None else landmarks, np.int64)
        self.profiles: NDArray[np.float32] | None = None
        self._rng = rng
        self._features = item_features(prior, _DIRECTIONS, rng)
        # New items are compared with them: of two sets with right ones, from first on.
        self._references = np.sort(first + rng.permutation(n - first)[:_REFERENCES])
        if len(self._landmarks) > _REFERENCES:  # all items were compared with them
            self._references = np.sort(self._landmarks)

    def fit(
        self,
        i: Indices,
        j: Indices,
        values: NDArray[Any],
        columns: NDArray[Any] | None = None,
    ) -> Model:
        """Return the model of these pairs and their values.

        Its features are those of the low rank alone (`with_features`). Too few pairs
        tell no more than a line through the prior. ``columns``: those
        of the landmarks; what they tell of the items is kept as ``profiles``.
        """
        if self.prior is not None and len(values) < self._fewest:
            return self._line(self.prior, i, j, values)
        setting = self._setting(i, j, values)
        y = (np.asarray(values, dtype=np.float64) - setting.center) / setting.scale
        effects = self._solve(i, j, y, setting)
        a = self._additive(effects, setting)
        spread = float(a.std())
        if spread > 1e-9 and len(values) >= 4 * _PAIRS_PER_FEATURE:
            self.profiles = self._left_of(columns, effects, setting)
            rows = (a - a.mean()) / spread
            setting = replace(setting, rows=rows, profiles=self.profiles)
            effects = self._solve(i, j, y, setting, effects)
        if columns is not None and len(self._landmarks) > _PROFILED:
            S = self._landmarks
            said = self._model(effects, setting).block_inputs(np.arange(self.n), S)
            found = LeftColumns.fitted(columns - said.base, S, self._rng)
            self.profiles = found.profiles
            setting = replace(setting, columns=found)
        return self._model(effects, setting)

    def _line(
        self, prior: Prior, i: Indices, j: Indices, values: NDArray[Any]
    ) -> Model:
        """Return the model of a line through the prior, and nothing else."""
        cheap = prior.pairs(i, j).astype(np.float64)
        center, spread = float(cheap.mean()), float(cheap.std()) or 1.0
        unit = float(np.std(values)) or 1.0
        y = (np.asarray(values, dtype=np.float64) - np.mean(values)) / unit
        slope = float(np.mean((cheap - center) / spread * y))
        weights = np.concatenate([[0.0, slope], np.zeros(self._powers - 2)])
        setting = _Setting(float(np.mean(values)), unit, center, spread, None)
        noise = max(1.0 - slope**2, 1e-4)
        effects = Effects(weights, np.zeros(self.n), noise, 1e-4, np.empty(0))
        return self._model(effects, setting)

    @property
    def _powers(self) -> int:
        return 1 if self.prior is None else 1 + _POWERS

    def _chosen(self, pairs: int) -> NDArray[np.float32] | None:
        """Return as many features of the items as so many pairs can tell apart."""
        most = pairs // (2 * _PAIRS_PER_FEATURE)
        if self._features is None or most < 1:
            return None
        return self._features[:, :most]

    def _setting(self, i: Indices, j: Indices, values: NDArray[Any]) -> _Setting:
        center, scale = float(np.mean(values)), float(np.std(values)) or 1.0
        e = self._chosen(len(values))
        if self.prior is None:
            return _Setting(center, scale, 0.0, 1.0, e)
        cheap = self.prior.pairs(i[:_TOLD], j[:_TOLD]).astype(np.float64)
        spread = float(cheap.std()) or 1.0
        return _Setting(center, scale, float(cheap.mean()), spread, e)

    def _solve(
        self,
        i: Indices,
        j: Indices,
        y: NDArray[np.float64],
        setting: _Setting,
        start: Effects | None = None,
    ) -> Effects:
        d = 0 if setting.features is None else setting.features.shape[1]
        g = 0 if setting.profiles is None else setting.profiles.shape[1]
        more = g, g * (g + 1) // 2
        sizes = self._powers, d, d, *more, 0 if setting.rows is None else 2
        groups = np.repeat([-1, 0, 1, 2, 3, -1], sizes)
        fitted = MixedEffects(self.n, groups, self._device, small=self._good_prior)
        fitted.add(lambda part: self._design(i[part], j[part], setting), i, j, y)
        return fitted.solve(start)

    def _design(self, i: Indices, j: Indices, setting: _Setting) -> NDArray[np.float32]:
        """Return the features of pairs: powers of the prior, sums, products."""
        e, rows = setting.features, setting.rows
        parts = [np.ones((len(i), 1), dtype=np.float32)]
        if self.prior is not None:
            cheap = self.prior.pairs(i, j).astype(np.float32)
            t = cheap - np.float32(setting.cheap_center)
            t /= np.float32(setting.cheap_scale)
            parts.append(np.stack([t**power for power in range(1, _POWERS + 1)], 1))
        if e is not None:
            a, b = np.take(e, i, axis=0), np.take(e, j, axis=0)
            parts += [a + b, a * b * np.float32(np.sqrt(e.shape[1]))]
        if setting.profiles is not None:
            a, b = setting.profiles[i], setting.profiles[j]
            parts += [a + b, crossed(a, b)]
        if rows is not None:
            both = np.stack([rows[i] * rows[j], rows[i] ** 2 + rows[j] ** 2], axis=1)
            parts.append(both.astype(np.float32))
        return np.hstack(parts)

    def _model(self, effects: Effects, setting: _Setting) -> Model:
        """Return it as a curve of the prior and a low rank."""
        weights, unit = effects.weights, setting.scale
        e, rows = setting.features, setting.rows
        a = self._additive(effects, setting)
        # Of many items in single precision: they are the largest array of a model.
        precision = np.float32 if self.n > EXACT else np.float64
        columns, signs = [np.empty((self.n, 0), precision)], [np.empty(0)]
        if e is not None:
            d = e.shape[1]
            D = weights[self._powers + d : self._powers + 2 * d] * np.sqrt(d) * unit
            columns.append(e * np.sqrt(np.abs(D)).astype(precision))
            signs.append(np.where(D < 0, -1.0, 1.0))
        if setting.profiles is not None:
            g = setting.profiles
            k = g.shape[1]
            form = np.zeros((k, k))
            at = self._powers + 2 * (0 if e is None else e.shape[1]) + k
            form[np.triu_indices(k)] = weights[at : at + k * (k + 1) // 2]
            values, V = np.linalg.eigh((form + form.T) * unit)
            columns.append((g @ (V * np.sqrt(np.abs(values)))).astype(precision))
            signs.append(np.where(values < 0, -1.0, 1.0))
        if setting.columns is not None:
            columns.append(setting.columns.left.astype(precision, copy=False))
            signs.append(setting.columns.signs)
        if rows is not None:
            product, square = weights[-2:]
            a = a + square * rows**2
            column = (rows * np.sqrt(abs(product) * unit))[:, None]
            columns.append(column.astype(precision))
            signs.append(np.array([-1.0 if product < 0 else 1.0]))
        a = a * unit
        # Effects are as of the references: their mean is part of the constant.
        shift = float(a[self._references].mean())
        a -= shift
        constant = setting.center + weights[0] * unit + 2 * shift
        bilinear, sign = np.hstack(columns), np.concatenate(signs)
        curve = None
        if self.prior is not None:
            powers = np.concatenate([[constant], weights[1 : self._powers] * unit])
            curve = Curve(setting.cheap_center, setting.cheap_scale, powers)
            constant = 0.0
        size = float(np.sqrt(np.mean((a + constant / 2) ** 2)))
        beside, beside_signs = effect_columns(self.n, a, constant, size)
        row_map = RowMap(
            self._references,
            self._core(bilinear, sign, effects.noise * unit**2),
            constant=constant,
            effects=a[self._references],
            kept=effects.spread
            / (effects.spread + effects.noise / len(self._references)),
            spread=size,
        )
        left = np.hstack([bilinear, beside], dtype=precision, casting="same_kind")
        signature = np.concatenate([sign, beside_signs])
        return Model(
            LowRank(left, signature, left_map=row_map),
            self._landmarks,
            "",
            prior=self.prior,
            curve=curve,
            proposer=self.prior,
        )

    def _core(
        self, left: NDArray[Any], sign: NDArray[Any], noise: float
    ) -> NDArray[np.float64]:
        """Return how new items get rows: a ridge regression on their entries.

        They are evaluated at the references, and get the row that explains these
        entries best, shrunk by the noise of the fit.
        """
        A = np.asarray(left[self._references] * sign, dtype=np.float64)
        if not A.size:
            return A
        usual = np.einsum("nd,nd->d", left, left, dtype=np.float64) / self.n
        penalty = noise / np.maximum(usual, 1e-12 * float(usual.max()) + 1e-300)
        return np.asarray(A @ np.linalg.inv(A.T @ A + np.diag(penalty)))

    def _additive(self, effects: Effects, setting: _Setting) -> NDArray[np.float64]:
        """Return a, in units of the values' spread."""
        e, g = setting.features, setting.profiles
        out, at = effects.items.copy(), self._powers
        if e is not None:
            out += e.astype(np.float64) @ effects.weights[at : at + e.shape[1]]
            at += 2 * e.shape[1]
        if g is not None:
            out += g.astype(np.float64) @ effects.weights[at : at + g.shape[1]]
        return out

    def _left_of(
        self, columns: NDArray[Any] | None, effects: Effects, setting: _Setting
    ) -> NDArray[np.float32] | None:
        """Return what is left of a few landmarks' columns, on a common scale."""
        S = self._landmarks[:_PROFILED]
        if not len(S) or columns is None:
            return None
        columns = columns[:, : len(S)]
        inputs = self._model(effects, setting).block_inputs(np.arange(self.n), S)
        left = (columns - inputs.base).astype(np.float32)
        own = np.arange(len(S))
        left[S, own] = 0.0
        left -= left.mean(axis=0)
        left[S, own] = 0.0
        size = float(np.sqrt(np.mean(left.astype(np.float64) ** 2)))
        return None if size == 0 else left / np.float32(size)
