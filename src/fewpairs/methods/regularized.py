"""The Nyström method with a damped core: signs are kept, nothing explodes."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from fewpairs.checks import check_choice, check_instance, check_number
from fewpairs.matrix.cost import Cost
from fewpairs.methods import residual
from fewpairs.methods.base import LandmarkMethod
from fewpairs.methods.weighing import pairs_of_columns, weighed
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.reading.oracle import Oracle
from fewpairs.similarity.priors import Prior

__all__ = ["Regularized"]


@dataclass(frozen=True)
class Regularized(LandmarkMethod):
    """Approximate K by C · V diag(λ / (λ² + μ²)) Vᵀ · Cᵀ, with W = V diag(λ) Vᵀ.

    μ = 0 is Nyström. A core eigenvalue much larger than μ is inverted as there, one
    near 0, which would explode, is damped; signs are kept. μ is chosen by leaving
    out landmarks: their columns are known, so predicting them costs no evaluation.

    Evaluations: n·s − s(s−1)/2 for s landmarks; s fewer when the diagonal is known.

    Parameters
    ----------
    mu
        The damping; ``None`` chooses it by cross-validation.
    centering
        What is taken off before and put back after: ``"none"``, ``"constant"``,
        ``"additive"`` (m + aᵢ + aⱼ), or ``"auto"``, by cross-validation.
    prior
        Given by ``fp.approximate(prior=...)``: K ≈ f(prior) + low rank, f a cubic
        fitted on read entries, used if cross-validation says that it helps.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> rng = np.random.default_rng(0)
    >>> K = np.ones((200, 200)) + 0.1 * rng.standard_normal((200, 200))
    >>> approx = fp.approximate(None, (K + K.T) / 2, method="regularized")
    >>> approx.certificate.relative_error < 0.2
    True
    """

    mu: float | None = None
    centering: str = "auto"
    prior: Prior | None = field(default=None, repr=False)

    needs_symmetric: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True
    reuses_columns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        call = "fewpairs.Regularized"
        check_number(call, "mu", self.mu, least=0, none=True)
        check_choice(call, "centering", self.centering, ("auto", *residual.CENTERINGS))
        cure = "it to fewpairs.approximate(prior=...)"
        check_instance(call, "prior", self.prior, Prior, cure, none=True)

    def price_of(self, landmarks: int, cost: Cost) -> int:
        """Price of the landmarks' columns."""
        return cost.lines(landmarks)

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Model:
        """Read the landmarks' columns, choose the parts and μ, and damp the core."""
        S = self.draw(oracle.n, rng)
        kinds = residual.CENTERINGS if self.centering == "auto" else (self.centering,)
        C, prior = oracle.columns(S), self.prior
        if prior is not None and prior.parts:
            prior = weighed(prior, *pairs_of_columns(C, S, np.random.default_rng(0)))
        fit = residual.fit(C, S, prior, rng, mu=self.mu, centerings=kinds)
        words = f"regularized Nyström with {len(S):,} landmarks; {in_words(fit)}"
        if fit.curve is None:
            low_rank = LowRank(fit.left, fit.signs, left_map=fit.row_map)
            return Model(low_rank, S, words)
        return replace(residual.model_of(fit, S, words, prior), proposer=prior)


def in_words(fit: residual.ResidualFit) -> str:
    """Say what was found and chosen."""
    kind = (
        "semidefinite"
        if fit.negative == 0
        else f"indefinite ({fit.negative:.0%} of its eigenvalues are negative)"
    )
    how = "by leaving out landmarks" if fit.errors else "by rule (too few to choose)"
    if fit.given:
        how = "given"
    words = [f"core {kind}, damping μ = {fit.mu:.3g} {how}"]
    first = next(iter(fit.errors), fit.shape)
    if fit.shape != first and first in fit.errors:
        before, after = fit.errors[first], fit.errors[fit.shape]
        words.append(f"{fit.shape} taken off first: {before:.3g} → {after:.3g}")
    if any(shape.prior for shape in fit.errors) and not fit.shape.prior:
        words.append("the prior did not help and is not added")
    return "; ".join(words)
