"""8-bit floating point on a GPU that multiplies it: kernels, families, what is told."""

from importlib.util import find_spec

import numpy as np
import pytest

import fewpairs as fp

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")

from fewpairs.kernels.encoder import reference  # noqa: E402
from fewpairs.similarity.cross_encoder.fp8 import (  # noqa: E402
    Fp8Linear,
    Quantizer,
    probe_pairs,
)
from tests.tiny_models import (  # noqa: E402
    CAUSAL,
    FAMILIES,
    save_tiny,
    save_tiny_causal,
    texts,
)

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available()
    or torch.cuda.get_device_capability() < (8, 9)
    or find_spec("triton") is None,
    reason="torch sees no GPU of compute capability 8.9 with Triton",
)
PACKED = "torch and Triton, packed pairs, 8-bit floating point, on cuda:0"
PADDED = "torch, padded pairs, 8-bit floating point, on cuda:0"
OWN_ATTENTION = ("deberta-v2", "modernbert")


def numbers(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


@pytest.mark.parametrize(
    ("rows", "width"), [(50, 48), (64, 384), (7, 1_024), (33, 4_096)]
)
def test_quantizing_equals_its_twin(rows, width):
    from fewpairs.kernels.encoder import eight_bits

    torch.manual_seed(width)
    x, y = numbers(rows, width), numbers(rows, width)
    norm = torch.nn.LayerNorm(width).to(x)
    norm.weight.data.copy_(numbers(width))
    with torch.inference_mode():
        out, *normed = eight_bits.add_norm_quantized(x, y, norm)
        exact = norm.float()(x.float() + y.float())
        assert (out.float() - exact).abs().max() < 1e-2 * exact.abs().max()
        for (values, scales), (expected, expected_scales) in (
            (eight_bits.quantize(x), reference.quantize(x)),
            (eight_bits.quantize(x, gelu=True), reference.quantize(x, gelu=True)),
            (normed, reference.quantize(exact)),
        ):
            assert torch.allclose(scales, expected_scales, rtol=1e-4)
            other = values.float() != expected.float()
            # Numbers in the middle of two may go either way, by one step.
            assert other.float().mean() < 1e-2
            off = (values.float() - expected.float()).abs()
            assert (off <= expected.float().abs() / 7 + 2.0**-9).all()


@pytest.mark.parametrize("rows", [1, 16, 1_001])
def test_a_product_is_that_of_the_quantized_numbers(rows):
    torch.manual_seed(rows)
    x, weight, bias = numbers(rows, 384), numbers(1_536, 384), numbers(1_536)
    with torch.inference_mode():
        got = Fp8Linear(Quantizer(), weight, bias)(x).float()
        a, b = reference.quantize(x), reference.quantize(weight)
        exact = (a[0].float() * a[1]) @ (b[0].float() * b[1]).t() + bias.float()
    assert (got - exact).abs().max() < 2e-2 * exact.abs().max()


@pytest.mark.parametrize("kind", FAMILIES)
def test_families_run_and_tell_how_far_they_are_off(tmp_path, kind):
    folder, items = save_tiny(tmp_path / kind, kind), texts(40)
    everything = np.arange(40)
    exact = fp.CrossEncoder(folder, device="cpu").bind(items)
    half = fp.CrossEncoder(folder, device="cuda:0", dtype="bfloat16").bind(items)
    similarity = fp.CrossEncoder(folder, device="cuda:0", dtype="fp8")
    ours = similarity.bind(items)
    way = PADDED if kind in OWN_ATTENTION else PACKED
    assert ours.backend == f"{way}; {ours.deviation}"
    assert similarity.remark == str(ours.deviation)
    off = ours.block(everything, everything) - exact.block(everything, everything)
    assert np.abs(off).max() < 0.25
    assert np.abs(off).mean() < 0.06
    i, j = probe_pairs(40)
    found = np.abs(ours.pairs(i, j) - half.pairs(i, j))
    assert ours.deviation.pairs == len(i)
    assert ours.deviation.largest == pytest.approx(found.max(), abs=5e-3)
    assert ours.deviation.mean == pytest.approx(found.mean(), abs=1e-3)
    assert ours.deviation.largest > 1e-3, "nothing was rounded"


@pytest.mark.parametrize("length", [60, 300])
def test_longer_texts_run(tmp_path, length):
    folder = save_tiny(tmp_path / "m", "xlm-roberta", length=2 * length + 8)
    items, everything = texts(24, longest=length), np.arange(24)
    exact = fp.CrossEncoder(folder, device="cpu").bind(items)
    ours = fp.CrossEncoder(folder, device="cuda:0", dtype="fp8").bind(items)
    off = ours.block(everything, everything) - exact.block(everything, everything)
    assert np.abs(off).max() < 0.25


@pytest.mark.parametrize("kind", CAUSAL)
def test_causal_rerankers_run_and_tell_how_far_they_are_off(tmp_path, kind):
    folder = save_tiny_causal(tmp_path / kind, kind, head_dim=32, spread=0.1)
    items, everything = texts(7, longest=9), np.arange(7)
    half = fp.CausalReranker(folder, device="cuda:0", dtype="bfloat16").bind(items)
    similarity = fp.CausalReranker(folder, device="cuda:0", dtype="fp8")
    ours = similarity.bind(items)
    way = "transformers' layers, shared prefixes, 8-bit floating point, on cuda:0"
    assert ours.backend == f"{way}; {ours.deviation}"
    assert similarity.remark == str(ours.deviation)
    off = ours.block(everything, everything) - half.block(everything, everything)
    assert np.abs(off).max() < 0.25
    i, j = probe_pairs(7)
    found = np.abs(ours.pairs(i, j) - half.pairs(i, j))
    assert ours.deviation.largest == pytest.approx(found.max(), abs=1e-2)
    assert ours.deviation.mean == pytest.approx(found.mean(), abs=3e-3)


def test_the_receipt_tells_the_deviation(tmp_path):
    similarity = fp.CrossEncoder(
        save_tiny(tmp_path / "m"), device="cuda:0", dtype="fp8", symmetric=True
    )
    approx = fp.approximate(texts(40), similarity, budget=0.4)
    assert "; fp8 puts 128 pairs of these texts off by" in str(approx)
