"""Products of 8-bit floating point numbers, for GPUs that are twice as fast at them.

Weights have a scale per output, activations one per token, found while they are
quantized (e4m3: three bits of mantissa); sums are of more bits, all else is bfloat16.
What this does to scores is measured on pairs of the texts at hand, and told.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.encoder import reference
from fewpairs.similarity.cross_encoder.products import HalfLinear, Linear, is_gelu

__all__ = [
    "Deviation",
    "Fp8Linear",
    "Fp8Products",
    "check_fp8",
    "deviation_of",
    "probe_pairs",
    "swap_linears",
]

_OLDEST = (8, 9)  # compute capability: Ada, Hopper and what came after
_MULTIPLE = 16  # of widths
_PROBE = 128  # pairs


class Deviation(NamedTuple):
    """How far scores of so many pairs are from those of bfloat16."""

    largest: float
    mean: float
    pairs: int

    def __str__(self) -> str:
        """Return it in words."""
        return (
            f"fp8 puts {self.pairs} pairs of these texts off by {self.mean:.2g} on "
            f"average and {self.largest:.2g} at most, against bfloat16"
        )


class Quantized(NamedTuple):
    """Rows of 8-bit numbers with their scales, and the shape that they had."""

    values: Any
    scales: Any
    shape: tuple[int, ...]


class Quantizer:
    """Quantizes rows, and those that several products share once."""

    def __init__(self) -> None:
        self._last: tuple[Any, Quantized] | None = None

    def __reduce__(self) -> tuple[type["Quantizer"], tuple[()]]:
        """Leave behind what was quantized last."""
        return Quantizer, ()

    def __call__(self, x: Any) -> Quantized:
        """Return rows of numbers, of any shape but for the last axis."""
        last = self._last  # another thread may put its own there
        if last is None or last[0] is not x:
            self._last = last = x, self._quantize(x, gelu=False)
        return last[1]

    def gelu(self, x: Any) -> Quantized:
        """Return rows of GELU's values."""
        return self._quantize(x, gelu=True)

    def add_norm(self, x: Any, y: Any, norm: Any) -> Any:
        """Return the layer norm of the rows of x + y, and have it quantized."""
        out, values, scales = _passes(x).add_norm_quantized(x, y, norm)
        self._last = out, Quantized(values, scales, tuple(out.shape))
        return out

    def _quantize(self, x: Any, *, gelu: bool) -> Quantized:
        flat = x.reshape(-1, x.shape[-1]).contiguous()
        values, scales = _passes(x).quantize(flat, gelu=gelu)
        return Quantized(values, scales, tuple(x.shape))


def _passes(x: Any) -> Any:
    if not x.is_cuda:
        return reference
    from fewpairs.kernels.encoder import eight_bits

    return eight_bits


class Fp8Linear(Linear):
    """A linear layer and its activation; behind GELU the output stays quantized."""

    def __init__(
        self, quantizer: Quantizer, weight: Any, bias: Any, activation: Any = None
    ) -> None:
        import torch

        super().__init__(weight, bias, activation)
        if any(size % _MULTIPLE for size in weight.shape):
            msg = (
                f"a linear layer of {tuple(weight.shape)}, no multiples of {_MULTIPLE}"
            )
            raise AttributeError(msg)
        self._quantizer = quantizer
        small, scales = reference.quantize(self._weight)
        self._weight = small.view(torch.uint8)  # 8-bit floats cannot be pickled
        self._scales = scales.t().contiguous()
        self._bias = None if bias is None else bias.detach().to(torch.bfloat16)
        self._fused = is_gelu(activation)

    def __call__(self, x: Any) -> Any:
        """Return the activated product."""
        import torch

        small = x if isinstance(x, Quantized) else self._quantizer(x)
        y = torch._scaled_mm(
            small.values,
            self._weight.view(torch.float8_e4m3fn).t(),
            scale_a=small.scales,
            scale_b=self._scales,
            bias=self._bias,
            out_dtype=torch.bfloat16,
            use_fast_accum=small.values.is_cuda,
        )
        y = y.view(*small.shape[:-1], -1)
        if self._fused:
            return self._quantizer.gelu(y)
        return y if self._activation is None else self._activation(y)


class Fp8Products:
    """Makes the products of one forward pass, which share what they quantize."""

    attention = staticmethod(HalfLinear.attention)
    words = "8-bit floating point"

    def __init__(self) -> None:
        self.quantizer = Quantizer()
        self.add_norm = self.quantizer.add_norm

    def __call__(self, weight: Any, bias: Any, activation: Any = None) -> Fp8Linear:
        """Return a linear layer of 8-bit products."""
        return Fp8Linear(self.quantizer, weight, bias, activation)


def swap_linears(decoder: Any, call: str, name: str) -> None:
    """Let a model's linear layers run as 8-bit products."""
    import torch

    products = Fp8Products()
    parts = [part for part in decoder.modules() if type(part) is torch.nn.Linear]
    try:
        made = [products(part.weight, part.bias) for part in parts]
    except AttributeError as error:
        msg = f"{call}: dtype 'fp8' is not for {name!r}: {error}. Pass 'bfloat16'."
        raise InputError(msg) from error
    for part, product in zip(parts, made, strict=True):
        part.forward = product  # in the place of the method


def check_fp8(call: str, devices: list[Any]) -> None:
    """Refuse devices that cannot multiply 8-bit numbers, with the cure."""
    import torch

    need = f"{call}: dtype 'fp8' needs"
    for device in devices:
        if device.type != "cuda":
            msg = (
                f"{need} a GPU of compute capability {_OLDEST[0]}.{_OLDEST[1]} or "
                f"above; this is {device.type!r}. Leave dtype out, or pass 'float32'."
            )
            raise InputError(msg)
        found = torch.cuda.get_device_capability(device)
        if found < _OLDEST:
            msg = (
                f"{need} compute capability {_OLDEST[0]}.{_OLDEST[1]} or above; "
                f"{torch.cuda.get_device_name(device)} has {found[0]}.{found[1]}. "
                "Pass 'float16' or 'bfloat16'."
            )
            raise InputError(msg)
        try:
            rows = torch.ones(2, _MULTIPLE, device=device, dtype=torch.bfloat16)
            layer = Fp8Linear(Quantizer(), rows.new_ones(_MULTIPLE, _MULTIPLE), None)
            layer(rows)
        except Exception as error:  # PyTorch, Triton and the driver have many
            msg = (
                f"{need} Triton and torch._scaled_mm with a scale per row, which "
                f"PyTorch {torch.__version__} does not run here ({error!s:.200}). "
                "Update PyTorch, or pass 'float16'."
            )
            raise InputError(msg) from error


def probe_pairs(n: int) -> NDArray[np.int64]:
    """Return pairs to measure a deviation with: a quarter of a text with itself."""
    i, j = np.random.default_rng(0).integers(n, size=(2, _PROBE))
    j[::4] = i[::4]
    return np.stack([i, j])[:, np.lexsort((j, i))]


def deviation_of(scores: Any, exact: Any) -> Deviation:
    """Return how far scores are from those of the same pairs in bfloat16."""
    off = (scores - exact).abs()
    return Deviation(float(off.max()), float(off.mean()), len(off))
