"""Student: a small network that learns from the pairs already paid for.

Its inputs are features of the two items (principal components of embeddings where
there are any, profiles of the landmarks' columns always), which it goes on to improve
itself, and what the prior and the low rank say of the pair.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.pair_network import network as pair_network
from fewpairs.kernels.pair_network.network import PairNetwork
from fewpairs.model.pair_inputs import BlockInputs, PairInputs
from fewpairs.model.trainers import best_here, trainer
from fewpairs.model.training_pairs import TrainingPairs
from fewpairs.similarity.priors import Prior

__all__ = ["Student", "StudentThere", "profiles"]

_DIRECTIONS = 96  # of the embeddings
_PROFILES = 32  # of the landmarks' columns
_HIDDEN = (512, 128)
_FEW_PAIRS = 100_000  # up to here batches are small
_ENOUGH_PAIRS = 20_000  # from here on training takes all its steps


@dataclass(frozen=True, eq=False)
class Student:
    """A network and the scales of what goes in and comes out.

    Attributes
    ----------
    network
        Weights and the items' vectors.
    center, scale
        Mean and spread of the similarity.
    cheap_center, cheap_scale
        Mean and spread of the prior.
    """

    network: PairNetwork
    center: float
    scale: float
    cheap_center: float = 0.0
    cheap_scale: float = 0.0  # 0: there is no prior

    @classmethod
    def start(
        cls,
        features: NDArray[Any],
        values: NDArray[Any],
        cheap: NDArray[Any] | None,
        rng: np.random.Generator,
    ) -> "Student":
        """Return an untrained student, scaled to a sample of values."""
        scalars = 1 if cheap is None else 3
        network = PairNetwork.start(features, scalars, hidden=_HIDDEN, rng=rng)
        scale = float(np.std(values)) or 1.0
        if cheap is None:
            return cls(network, float(np.mean(values)), scale)
        spread = float(np.std(cheap)) or 1.0
        return cls(
            network, float(np.mean(values)), scale, float(np.mean(cheap)), spread
        )

    def learn(
        self,
        training: TrainingPairs,
        *,
        steps: int,
        seconds: float,
        rng: np.random.Generator,
        last: int | None = None,
        by: str | None = None,
        on_step: Callable[[int], None] | None = None,
    ) -> tuple[float, int]:
        """Train on pairs for so many steps, or seconds; return seconds and steps done.

        Few pairs are learned in fewer steps. With ``last``, training ends after so many
        steps, as it did before; ``by`` names the trainer, by default this machine's.
        """
        started = time.monotonic()
        steps = max(1, round(steps * min(1.0, len(training) / _ENOUGH_PAIRS)))
        inputs = training.inputs
        scalars = np.stack(self._scalars(inputs.base, inputs.cheap), axis=1)
        targets = ((training.values - self.center) / self.scale).astype(np.float32)
        done = trainer(by or best_here())(
            self.network,
            inputs.i,
            inputs.j,
            scalars,
            targets,
            steps=steps,
            batch=2_048 if len(targets) > _FEW_PAIRS else 1_024,
            rng=rng,
            deadline=None if last is not None else started + seconds,
            last=last,
            on_step=on_step,
        )
        return time.monotonic() - started, done

    def pairs(self, inputs: PairInputs) -> NDArray[np.float32]:
        """Return its predictions of pairs."""
        return self.by(partial(pair_network.predict, self.network), inputs)

    def as_it_is(self, by: str) -> Callable[[PairInputs], NDArray[np.float32]]:
        """Return its predictions of pairs, made where a trainer trained it.

        Those of torch are by the network as it is now; training on asks for others.
        """
        return StudentThere(self) if by == "torch" else self.pairs

    def by(
        self, predict: Callable[..., NDArray[np.float32]], inputs: PairInputs
    ) -> NDArray[np.float32]:
        """Return predictions of pairs by what predicts as its network does."""
        i, j, base, cheap = inputs
        scalars = np.stack(self._scalars(base, cheap), axis=1)
        return self._scaled(predict(i, j, scalars))

    def block(self, inputs: BlockInputs) -> NDArray[np.float32]:
        """Return its predictions of all rows with all columns."""
        rows, columns, base, cheap = inputs
        scalars = self._scalars(base, cheap)
        out = pair_network.predict_block(self.network, rows, columns, scalars)
        return self._scaled(out)

    def _scalars(
        self, base: NDArray[Any], cheap: NDArray[Any] | None
    ) -> list[NDArray[np.float32]]:
        own = ((base - self.center) / self.scale).astype(np.float32)
        if not self.cheap_scale or cheap is None:
            return [own]
        t = ((cheap - self.cheap_center) / self.cheap_scale).astype(np.float32)
        return [own, t, t * t]

    def _scaled(self, out: NDArray[np.float32]) -> NDArray[np.float32]:
        out *= np.float32(self.scale)
        out += np.float32(self.center)
        return out


class StudentThere:
    """A student as it is now, its network on torch's device."""

    def __init__(self, student: Student) -> None:
        from fewpairs.kernels.pair_network.torch_prediction import TorchPredictor

        self._student = student
        self._predictor = TorchPredictor(student.network)

    def __call__(self, inputs: PairInputs) -> NDArray[np.float32]:
        """Return its predictions of pairs."""
        return self._student.by(self._predictor, inputs)

    def there(self, inputs: PairInputs) -> Any:
        """Return the same of pairs whose inputs are tensors on the device."""
        import torch

        of, (i, j, base, cheap) = self._student, inputs
        scalars = [(base - of.center) / of.scale]
        if of.cheap_scale and cheap is not None:
            t = (cheap - of.cheap_center) / of.cheap_scale
            scalars += [t, t * t]
        out = self._predictor.there(i, j, torch.stack(scalars, dim=1))
        return out.mul_(of.scale).add_(of.center)


def profiles(C: NDArray[Any], prior: Prior | None) -> NDArray[np.float32]:
    """Return features of the items, of unit variance on the whole.

    The leading left singular vectors of the landmarks' columns, centered, scaled by
    their singular values; before them principal components of the embeddings.
    """
    sets = []
    if prior is not None and prior.directions is not None:
        sets.append(prior.directions[:, :_DIRECTIONS])
    centered = C - C.mean(axis=0)
    scale = float(np.abs(centered).max()) or 1.0
    centered = (centered / scale).astype(np.float32)
    values, V = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    top = np.argsort(-values)[:_PROFILES]
    sets.append(centered @ V[:, top].astype(np.float32))
    spread = [float(part.std()) or 1.0 for part in sets]
    return np.hstack([part / s for part, s in zip(sets, spread, strict=True)])
