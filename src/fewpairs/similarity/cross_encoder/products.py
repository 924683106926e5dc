"""Products: linear layers with their activation, for a device and a precision."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Protocol

__all__ = ["HalfLinear", "Int8Linear", "Linear", "PackedLinear", "Product", "is_gelu"]

_SHORT = 64  # tokens of a pair
_TOKENS_EXPECTED = 1_024  # of a batch: a hint for the order of packed weights


class Product(Protocol):
    """A kind of linear layer: a class, or what makes those that belong together."""

    @property
    def attention(self) -> Callable[[int], AbstractContextManager[Any]]:
        """What attention runs in, by the tokens of a pair."""

    @property
    def add_norm(self) -> Callable[[Any, Any, Any], Any] | None:
        """A residual with its norm, where the kind has one of its own."""

    @property
    def words(self) -> str:
        """What it is, in words."""

    def __call__(self, weight: Any, bias: Any, activation: Any = None) -> "Linear":
        """Return a linear layer and its activation."""


def _anyhow(length: int) -> AbstractContextManager[Any]:  # noqa: ARG001
    return nullcontext()


class Linear:
    """A linear layer and its activation."""

    attention = staticmethod(_anyhow)
    add_norm: ClassVar[Callable[[Any, Any, Any], Any] | None] = None
    words: ClassVar[str] = "plain products"

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        self._weight = weight.detach()
        self._bias = None if bias is None else bias.detach()
        self._activation = activation

    def __call__(self, x: Any) -> Any:
        """Return the activated product."""
        from torch.nn import functional

        y = functional.linear(x, self._weight, self._bias)
        return y if self._activation is None else self._activation(y)

    def plus(self, x: Any, residual: Any) -> Any:
        """Return the output plus ``residual``."""
        return self(x).add_(residual)


def _for_length(length: int) -> AbstractContextManager[Any]:
    """Prefer the attention kernel that is quickest for so many tokens.

    Of a few dozen one wastes least: the others compute tiles of 64 × 128 tokens.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kernels = ["EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION", "MATH"]
    if length > _SHORT:
        kernels[:2] = kernels[1::-1]
    order = [getattr(SDPBackend, kernel) for kernel in kernels]
    quick: AbstractContextManager[Any] = sdpa_kernel(order, set_priority=True)
    return quick


class HalfLinear(Linear):
    """The same on a GPU in half precision, GELU inside the product.

    There GELU is the approximation by tanh, which differs from it by less than what
    half precision rounds away (3e-4).
    """

    attention = staticmethod(_for_length)
    words = "half precision"

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        import torch

        if weight.device.type != "cuda" or weight.dtype == torch.float32:
            msg = "for half precision on a GPU"
            raise AttributeError(msg)
        super().__init__(weight, bias, activation)
        self._fused = bias is not None and is_gelu(activation)

    def __call__(self, x: Any) -> Any:
        """Return the activated product."""
        import torch

        if not self._fused:
            return super().__call__(x)
        flat = x.reshape(-1, x.shape[-1])
        weight = self._weight.t()
        y = torch._addmm_activation(self._bias, flat, weight, use_gelu=True)
        return y.view(*x.shape[:-1], -1)


class PackedLinear(Linear):
    """The same on a CPU in float32, by the products that torch.compile would take."""

    words = "packed products"

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        import torch

        if weight.device.type != "cpu" or weight.dtype != torch.float32:
            msg = "packed weights are for float32 on a CPU"
            raise AttributeError(msg)
        pack = torch.ops.mkldnn._reorder_linear_weight
        fused = is_gelu(activation)
        super().__init__(weight, bias, None if fused else activation)
        self._weight = pack(weight.detach().contiguous(), _TOKENS_EXPECTED)
        # By overload: to choose among them, torch would look through every number.
        self._product = torch.ops.mkldnn._linear_pointwise.default
        self._sum = torch.ops.mkldnn._linear_pointwise.binary
        self._fused = "gelu" if fused else "none"

    def __call__(self, x: Any) -> Any:
        """Return the activated product."""
        # The last two arguments: no parameters, GELU by the error function.
        x = x.contiguous()
        y = self._product(x, self._weight, self._bias, self._fused, [], "none")
        return y if self._activation is None else self._activation(y)

    def plus(self, x: Any, residual: Any) -> Any:
        """Return the output plus ``residual``, added inside the product."""
        x, residual = x.contiguous(), residual.contiguous()
        return self._sum(x, residual, self._weight, self._bias, "add")


class Int8Linear(Linear):
    """The same on a CPU with 8-bit integers: one scale an output, one a batch.

    The scale of a batch makes a value depend a little on what else is in the batch.
    """

    words = "8-bit products"

    def __init__(self, weight: Any, bias: Any, activation: Any = None) -> None:
        import torch

        super().__init__(weight, bias, activation)
        exact = self._weight.float().contiguous()
        scales = (exact.abs().amax(dim=1).clamp_min(1e-12) / 127).double()
        middle = torch.zeros(len(scales), dtype=torch.long)
        small = torch.quantize_per_channel(exact, scales, middle, 0, torch.qint8)
        bias = None if bias is None else bias.detach().float()
        self._weight = torch.ops.quantized.linear_prepack(small, bias)
        # Without these instructions sums of 16 bits overflow, and one bit is given up.
        wide = getattr(torch.cpu, "_is_vnni_supported", lambda: False)
        self._reduce = not wide()

    def __call__(self, x: Any) -> Any:
        """Return the activated product."""
        import torch

        product = torch.ops.quantized.linear_dynamic
        y = product(x.contiguous(), self._weight, self._reduce)
        return y if self._activation is None else self._activation(y)


def is_gelu(activation: Any) -> bool:
    """Whether this is GELU by the error function, not one of its approximations."""
    import torch

    if activation is None:
        return False
    x = torch.linspace(-4.0, 4.0, 33)
    return bool(torch.equal(activation(x), torch.nn.functional.gelu(x)))
