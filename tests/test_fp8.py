"""8-bit floating point: numbers and scales, what is refused, and what is told."""

import pickle

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import InputError

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")

from fewpairs.kernels.encoder import reference  # noqa: E402
from fewpairs.similarity.cross_encoder.bert_forward import plain_forward  # noqa: E402
from fewpairs.similarity.cross_encoder.fp8 import (  # noqa: E402
    Deviation,
    Fp8Linear,
    Quantizer,
    check_fp8,
    deviation_of,
    probe_pairs,
    swap_linears,
)
from fewpairs.similarity.cross_encoder.options import choose_precision  # noqa: E402
from fewpairs.similarity.cross_encoder.packed_forward import fp8_forward  # noqa: E402
from tests.tiny_models import save_tiny, save_tiny_causal  # noqa: E402

CARD = torch.device("cuda", 0)


def numbers(*shape, seed=0):
    made = torch.Generator().manual_seed(seed)
    return (
        torch.randn(*shape, generator=made) * torch.logspace(-3, 3, shape[0])[:, None]
    )


def test_every_row_is_scaled_to_the_largest_number_that_there_is():
    x = numbers(9, 64)
    values, scales = reference.quantize(x)
    assert values.dtype == torch.float8_e4m3fn
    assert torch.equal(scales[:, 0], x.abs().amax(1) / 448)
    assert torch.equal(values.float().abs().amax(1), torch.full((9,), 448.0))


def test_a_number_comes_back_to_a_sixteenth_of_itself_or_the_smallest_step():
    x = numbers(50, 256)
    values, scales = reference.quantize(x)
    off = (values.float() * scales - x).abs()
    # Three bits of mantissa; below 2⁻⁶ of a scale steps are 2⁻⁹ of it.
    assert (off <= x.abs() / 16 + scales * 2.0**-10 + 1e-30).all()
    assert off.max() > 0, "nothing was rounded"


def test_a_row_of_zeros_stays_zero():
    values, scales = reference.quantize(torch.zeros(2, 16))
    assert torch.equal(values.float(), torch.zeros(2, 16))
    assert (scales > 0).all()


def test_gelu_is_applied_before_scaling():
    x = numbers(5, 32)
    exact = torch.nn.functional.gelu(x, approximate="tanh")
    for got, expected in zip(
        reference.quantize(x, gelu=True), reference.quantize(exact), strict=True
    ):
        assert torch.equal(got.float(), expected.float())


def test_what_products_share_is_quantized_once(monkeypatch):
    calls = []
    quantize = reference.quantize
    monkeypatch.setattr(
        reference, "quantize", lambda x, **how: calls.append(1) or quantize(x, **how)
    )
    quantizer, x = Quantizer(), numbers(4, 16)
    first = quantizer(x)
    assert quantizer(x) is first
    assert len(calls) == 1
    other = quantizer(x + 1)
    assert len(calls) == 2
    assert not torch.equal(other.values.float(), first.values.float())
    normed = quantizer.add_norm(x, x, torch.nn.LayerNorm(16))
    assert torch.equal(quantizer(normed).scales, quantize(normed)[1])
    assert len(calls) == 3


@pytest.fixture
def layer():
    weight, bias = numbers(48, 32, seed=1), numbers(48, 1, seed=2)[:, 0]
    small, _ = reference.quantize(weight)
    try:
        ones = torch.ones(48, 1)
        torch._scaled_mm(
            small, small.t(), scale_a=ones, scale_b=ones.t(), out_dtype=torch.bfloat16
        )
    except (AttributeError, RuntimeError) as error:
        pytest.skip(f"this PyTorch has no 8-bit products on a CPU: {error}")
    return weight, bias, Fp8Linear(Quantizer(), weight, bias)


def test_a_product_is_that_of_the_quantized_numbers(layer):
    weight, bias, product = layer
    x = numbers(7, 32).view(7, 1, 32)
    a, b = reference.quantize(x[:, 0]), reference.quantize(weight)
    exact = (a[0].float() * a[1]) @ (b[0].float() * b[1]).t() + bias
    got = product(x)
    assert got.shape == (7, 1, 48)
    scale = (a[0].float().abs() * a[1]) @ (b[0].float().abs() * b[1]).t() + bias.abs()
    assert ((got[:, 0].float() - exact).abs() <= scale * 2.0**-7).all()


def test_a_pickled_product_gives_the_same(layer):
    _, _, product = layer
    x = numbers(7, 32)
    expected = product(x)
    assert torch.equal(pickle.loads(pickle.dumps(product))(x), expected)  # noqa: S301


def test_widths_that_are_no_multiples_of_16_are_refused(tmp_path):
    with pytest.raises(AttributeError, match=r"\(16, 24\), no multiples of 16"):
        Fp8Linear(Quantizer(), torch.ones(16, 24), None)
    import transformers

    folder = save_tiny_causal(tmp_path / "m", intermediate_size=40)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with pytest.raises(InputError, match=r"'fp8' is not for 'm'.*Pass 'bfloat16'"):
        swap_linears(model.get_decoder(), "fewpairs.CausalReranker", "m")


def test_a_model_without_a_fast_forward_pass_is_refused(tmp_path):
    import transformers

    folder = save_tiny(tmp_path / "m")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    with pytest.raises(InputError, match=r"not for 'm' \(no fast one.*Pass 'float16'"):
        fp8_forward(model, plain_forward(model), "m")


def test_a_cpu_is_refused_with_the_cure(tmp_path):
    match = "'fp8' needs a GPU of compute capability 8.9 or above; this is 'cpu'. Leave"
    with pytest.raises(InputError, match=f"CrossEncoder: dtype {match}"):
        fp.CrossEncoder(save_tiny(tmp_path / "a"), device="cpu", dtype="fp8")
    with pytest.raises(InputError, match=f"CausalReranker: dtype {match}"):
        fp.CausalReranker(save_tiny_causal(tmp_path / "b"), device="cpu", dtype="fp8")


def test_an_older_card_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA A100")
    with pytest.raises(InputError, match=r"NVIDIA A100 has 8\.0\. Pass 'float16'"):
        check_fp8("fewpairs.CrossEncoder", [CARD])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU that runs them")
def test_products_that_do_not_run_are_told(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    with pytest.raises(InputError, match=r"a scale per row, which PyTorch .* Update"):
        check_fp8("fewpairs.CrossEncoder", [CARD])


def test_it_is_never_chosen_unasked():
    assert choose_precision(None, [CARD]) == "float16"


def test_probe_pairs_are_the_same_every_time_and_sorted_by_their_left_text():
    i, j = probe_pairs(30)
    assert np.array_equal(probe_pairs(30), [i, j])
    assert (np.diff(i) >= 0).all()
    assert 30 <= np.count_nonzero(i == j) < len(i) / 2
    assert probe_pairs(1).max() == 0


def test_a_deviation_is_the_largest_and_the_mean_difference():
    scores, exact = torch.tensor([0.5, 0.25, 0.75]), torch.tensor([0.5, 0.5, 0.5])
    found = deviation_of(scores, exact)
    assert found == Deviation(0.25, pytest.approx(1 / 6), 3)
    assert str(found) == (
        "fp8 puts 3 pairs of these texts off by 0.17 on average and 0.25 at most, "
        "against bfloat16"
    )


class Rough(fp.Similarity):
    """Equal or not, with a remark."""

    remark = "rounded to a half"

    def bind(self, items):
        return fp.from_function(lambda a, b: float(a == b), symmetric=True).bind(items)


def test_a_remark_is_in_the_receipt_also_of_two_sets():
    one = fp.approximate(list("abcabc" * 5), Rough(), budget=0.5, prior=None)
    two = fp.approximate(
        list("abcabc"), Rough(), others=list("abcde" * 4), budget=0.5, prior=None
    )
    for approx in (one, two):
        assert "; rounded to a half" in str(approx)
