"""Items on a device: what prior, low rank and a correction say of pairs, in torch.

The twins in NumPy are `Model.inputs` and `Correction.pairs`.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fewpairs.kernels.linalg.blas_threads import in_threads
from fewpairs.kernels.linalg.broken_line_torch import broken_line
from fewpairs.kernels.linalg.selection_torch import parts
from fewpairs.methods.auto.cautious import Halfway
from fewpairs.model.correction import Correction
from fewpairs.model.curve import Curve
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.product_vectors import beside, narrowing
from fewpairs.model.student import StudentThere

__all__ = ["ItemsOnDevice", "curved", "scorer_on_device", "tensor"]

_NUMBERS = 1 << 27  # gathered at once: half a gigabyte
_ASKED = 1 << 16  # pairs that a scorer on the host is asked about at once


class ItemsOnDevice:
    """What a model of a prior with embeddings and of signed low rank knows of items."""

    def __init__(self, model: Model, device: str) -> None:
        self.device = device
        self._left = tensor(model.left, device)
        self._signs = tensor(np.asarray(model.low_rank.signature), device)
        self._curve = model.curve
        prior = model.prior
        self.embeddings = None if prior is None else tensor(prior.embeddings, device)

    def inputs(self, i: torch.Tensor, j: torch.Tensor) -> PairInputs:
        """Return what prior and low rank predict of pairs, and the prior alone."""
        base = _products(self._left, self._left, i, j, self._signs)
        if self.embeddings is None:
            return PairInputs(i, j, base, None)
        cheap = _products(self.embeddings, self.embeddings, i, j)
        if self._curve is not None:
            base += curved(self._curve, cheap)
        return PairInputs(i, j, base, cheap)

    def product_vectors(self, model: Model) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what `fewpairs.model.product_vectors` does of the same model."""
        sides, s = beside(model)
        mine = [self._there(side, model) for side in sides]
        some = list(parts(model.n, len(s), _NUMBERS // 2))
        gram = torch.zeros((len(s), len(s)), dtype=torch.float64, device=self.device)
        for part in some:
            rows = torch.cat([side[part] for side in mine], dim=1).double()
            gram += rows.T @ rows
        W, signs = narrowing(gram.cpu().numpy(), s)
        turn = torch.tensor(W, device=self.device)
        out = [
            torch.cat([side[part] for side in mine], dim=1).double().matmul(turn)
            for part in some
        ]
        return torch.cat([part.float() for part in out]), tensor(signs, self.device)

    def _there(self, side: NDArray[Any], model: Model) -> torch.Tensor:
        """Return what lies beside the others, which may be on the device already."""
        if side is model.left:
            return self._left
        if model.prior is not None and side is model.prior.vectors:
            return self.embeddings
        return tensor(side, self.device)


class _CorrectionOnDevice:
    """Scores pairs as a correction does."""

    def __init__(self, correction: Correction, device: str) -> None:
        self._of = correction
        self._features, self._vectors, self._levels = (
            tensor(array, device)
            for array in (correction.features, correction.vectors, correction.levels)
        )
        form = correction.form
        if form is not None:
            self._form = [tensor(part, device) for part in form]
            self._form[0] = self._form[0][:, : len(form.weights)]

    def __call__(self, inputs: PairInputs) -> Any:
        """Return the corrected predictions of pairs."""
        of, (i, j, base, cheap) = self._of, inputs
        own = _products(self._vectors, self._features, i, j)
        own += _products(self._vectors, self._features, j, i)
        if of.form is not None and len(of.form.weights):
            own += _products(self._form[0], self._form[0], i, j, self._form[1])
        mixture = top = base
        if of.curve is not None and cheap is not None:
            mixture = curved(of.curve, cheap)
            top = torch.maximum(base, mixture)
        level = torch.minimum(self._levels[i], self._levels[j])
        gate = ((top - level) * float(np.float32(1 / of.rise)) + 1).clamp_(0, 1)
        own *= gate
        if of.fade is not None:
            own *= broken_line(base, *of.fade.line)
        if top is not base:
            mixture = (mixture - base) * gate * of.mixed + base
        own += broken_line(mixture, of.base_knots, of.base_levels)
        if cheap is not None and len(of.cheap_knots):
            own += broken_line(cheap, of.cheap_knots, of.cheap_levels)
        if of.bulk is not None:
            own = (own - base) * broken_line(top, *of.bulk.line) + base
        return own


def scorer_on_device(
    scorer: Callable[[PairInputs], NDArray[Any]], device: str
) -> Callable[[PairInputs], Any]:
    """Return what scores pairs whose inputs are on a device, as a scorer does.

    A correction there, a student that is there, and what prior and low rank say. Any
    other scorer is asked on the host.
    """
    if isinstance(scorer, Correction):
        return _CorrectionOnDevice(scorer, device)
    if isinstance(scorer, attrgetter):
        return scorer
    if isinstance(scorer, Halfway):
        curve = scorer.curve
        return lambda inputs: (inputs.base + curved(curve, inputs.cheap)) / 2
    if isinstance(scorer, StudentThere):
        return scorer.there

    def ask(inputs: Sequence[Any]) -> Any:
        arrays: list[Any] = [x if x is None else x.cpu().numpy() for x in inputs]
        host = PairInputs(*arrays)
        out = np.empty(len(host), dtype=np.float32)

        def look(part: slice) -> None:
            out[part] = scorer(host.some(part))

        in_threads(look, list(parts(len(out), 1, _ASKED)))
        return tensor(out, device)

    return ask


def curved(curve: Curve, x: Any) -> Any:
    """Return a curve at x, by Horner's rule in double precision."""
    t = (x.double() - curve.center) / curve.scale
    *rest, last = np.asarray(curve.coefficients).tolist()
    out = torch.full_like(t, last)
    for coefficient in reversed(rest):
        out = out.mul_(t).add_(coefficient)
    return out.float()


def tensor(array: Any, device: str) -> Any:
    """Return an array on the device, in single precision."""
    # A copy: torch warns of arrays that must not be written to.
    return torch.tensor(np.asarray(array), dtype=torch.float32, device=device)


def _products(left: Any, right: Any, i: Any, j: Any, signs: Any = None) -> torch.Tensor:
    """Return products of row i[t] of one and j[t] of the other, some with signs."""
    out = torch.empty(len(i), dtype=torch.float32, device=left.device)
    for part in parts(len(i), left.shape[1], _NUMBERS):
        rows = left[i[part]]
        if signs is not None:
            rows *= signs
        out[part] = rows.mul_(right[j[part]]).sum(dim=1)
    return out
