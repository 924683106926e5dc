"""Training a pair network by torch: the same mathematics, for a GPU.

On a GPU a step is dozens of kernels of microseconds each, and launching them one by one
would take longer than running them: after a few steps they are recorded as a CUDA
graph, which is then replayed as a whole.
"""

import contextlib
import time
from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.pair_network.adam import averaging_weight, rate_factor
from fewpairs.kernels.pair_network.network import (
    PairNetwork,
    Positions,
    arrays,
    check_pairs,
)

__all__ = ["train"]

# Steps taken one by one before they are recorded: libraries set themselves up there.
_BEFORE_RECORDING = 3
# A GPU is waited for every so many steps, so that the clock says how far it is.
_WAIT_EVERY = 50


def train(
    network: PairNetwork,
    i: Positions,
    j: Positions,
    scalars: NDArray[Any],
    targets: NDArray[Any],
    *,
    steps: int,
    batch: int = 2048,
    rate: float = 4e-3,
    dropout: float = 0.1,
    decay: float = 1e-2,
    items_rate: float = 1.0,
    average: float = 0.995,
    rng: np.random.Generator,
    deadline: float | None = None,
    last: int | None = None,
    on_step: Callable[[int], None] | None = None,
    device: str | None = None,
) -> int:
    """Fit the network to ``targets`` by least squares, in place; return the steps done.

    Parameters are those of `kernels.pair_network.train`; ``device`` is where to train,
    by default a GPU if there is one. The random numbers are others, so the result is
    not the same network, but one as good. Global random states are left alone.
    """
    import torch

    check_pairs(network, i, j, scalars)
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    run = _Run(network, torch.device(device), int(rng.integers(2**63)))
    run.load(i, j, scalars, targets)
    run.prepare(batch, dropout, decay)
    step = 0
    averaged = False
    with run.stream():
        end = steps if last is None else min(steps, last)
        while step < end and (deadline is None or time.monotonic() < deadline):
            weight = averaging_weight(step, steps, average)
            now = rate * rate_factor(step, steps)
            run.step(now, now * items_rate, weight)
            averaged |= weight > 0.0
            step += 1
            if deadline is not None and step % _WAIT_EVERY == 0:
                run.wait()
            if on_step is not None:
                on_step(step)
    if step:
        run.copy_to(network, averaged)
    return step


@final
class _Run:
    """A training run on one device."""

    def __init__(self, network: PairNetwork, device: Any, seed: int) -> None:
        import torch

        self._on_gpu = device.type == "cuda"
        self._device = device
        self._random = torch.Generator(device).manual_seed(seed)
        self._values = {
            name: torch.tensor(p, device=device, requires_grad=True)
            for name, p in arrays(network).items()
        }
        self._averages = {
            name: torch.zeros_like(p, requires_grad=False)
            for name, p in self._values.items()
        }
        # Settings that change from step to step: on the device, where a graph can
        # read them.
        self._weight = torch.zeros((), device=device)
        self._graph: Any = None
        self._steps = 0

    def load(
        self,
        i: Positions,
        j: Positions,
        scalars: NDArray[Any],
        targets: NDArray[Any],
    ) -> None:
        """Bring the samples to the device."""
        import torch

        pairs = np.stack([i, j]).astype(np.int64)
        self._pairs = torch.tensor(pairs, device=self._device)
        known = np.array(scalars, np.float32)
        self._scalars = torch.tensor(known, device=self._device)
        values = np.array(targets, np.float32)
        self._targets = torch.tensor(values, device=self._device)

    def prepare(self, batch: int, dropout: float, decay: float) -> None:
        """Set up the optimizer: items, weights and biases differ in rate or decay."""
        import torch

        self._batch, self._dropout = batch, dropout
        values = self._values
        groups = [
            {"params": [values["items"]], "weight_decay": 0.0},
            {
                "params": [values["first"], values["second"], values["last"]],
                "weight_decay": decay,
            },
            {
                "params": [p for name, p in values.items() if name.endswith("bias")],
                "weight_decay": 0.0,
            },
        ]
        for group in groups:
            group["lr"] = torch.zeros((), device=self._device)
        self._optimizer = torch.optim.AdamW(groups, fused=True, capturable=self._on_gpu)

    def stream(self) -> contextlib.AbstractContextManager[Any]:
        """Return what to run the steps in: recording needs a stream of its own."""
        import torch

        if not self._on_gpu:
            return contextlib.nullcontext()
        self.wait()  # for the samples, which come over on the usual stream
        return torch.cuda.stream(torch.cuda.Stream(self._device))

    def step(self, rate: float, items_rate: float, weight: float) -> None:
        """Take one step; on a GPU, from the fourth on, by replaying it."""
        import torch

        items, *others = self._optimizer.param_groups
        items["lr"].fill_(items_rate)
        for group in others:
            group["lr"].fill_(rate)
        self._weight.fill_(weight)
        if not self._on_gpu or self._steps < _BEFORE_RECORDING:
            self._take()
        else:
            if self._graph is None:
                self._graph = torch.cuda.CUDAGraph()
                self._graph.register_generator_state(self._random)
                stream = torch.cuda.current_stream()
                with torch.cuda.graph(self._graph, stream=stream):
                    self._take()
            self._graph.replay()
        self._steps += 1

    def _take(self) -> None:
        import torch

        self._optimizer.zero_grad(set_to_none=True)
        chosen = torch.randint(
            len(self._targets),
            (self._batch,),
            generator=self._random,
            device=self._device,
        )
        y = self._forward(self._pairs[:, chosen], self._scalars[chosen])
        torch.nn.functional.mse_loss(y, self._targets[chosen]).backward()
        self._optimizer.step()
        with torch.no_grad():
            for name, value in self._values.items():
                self._averages[name].lerp_(value, self._weight)

    def _forward(self, pairs: Any, scalars: Any) -> Any:
        import torch

        p = self._values
        a, b = torch.nn.functional.embedding(pairs, p["items"])
        x = torch.cat([a * b, (a - b).abs(), a + b, scalars], dim=1)
        h = torch.addmm(p["first_bias"], x, p["first"]).relu()
        h = torch.addmm(p["second_bias"], self._drop(h), p["second"]).relu()
        return self._drop(h) @ p["last"] + p["last_bias"]

    def _drop(self, h: Any) -> Any:
        """Drop units by the run's own random numbers; torch's dropout has none."""
        import torch

        if not self._dropout:
            return h
        stays = torch.empty_like(h, requires_grad=False)
        stays.bernoulli_(1.0 - self._dropout, generator=self._random)
        return h * stays.div_(1.0 - self._dropout)

    def wait(self) -> None:
        """Wait until the device has done what it was given."""
        import torch

        if self._on_gpu:
            torch.cuda.synchronize(self._device)

    def copy_to(self, network: PairNetwork, averaged: bool) -> None:
        """Write the parameters, or their running average, into the network."""
        self.wait()
        found = self._averages if averaged else self._values
        for name, value in found.items():
            getattr(network, name)[...] = value.detach().cpu().numpy()
