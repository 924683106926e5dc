"""What only a GPU can show: half precision, memory that runs out, several devices."""

import numpy as np
import pytest

import fewpairs as fp

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")

from fewpairs.similarity.cross_encoder.bert_forward import BertForward, plain_forward  # noqa: E402
from fewpairs.similarity.cross_encoder.products import HalfLinear  # noqa: E402
from tests.tiny_models import save_tiny, texts  # noqa: E402

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="torch sees no GPU"
)

KINDS = ["bert", "roberta"]


@pytest.fixture(params=KINDS)
def folder(request, tmp_path):
    return save_tiny(tmp_path / request.param, request.param)


def blocks(folder, n=40, **options):
    items = texts(n)
    all_items = np.arange(n)
    exact = fp.CrossEncoder(folder, device="cpu").bind(items)
    ours = fp.CrossEncoder(folder, device="cuda:0", **options).bind(items)
    return ours, exact.block(all_items, all_items), all_items


@pytest.mark.parametrize(
    ("dtype", "limit"), [("float32", 1e-5), ("float16", 5e-3), ("bfloat16", 3e-2)]
)
def test_equals_the_cpu_to_its_precision(folder, dtype, limit):
    ours, exact, everything = blocks(folder, dtype=dtype)
    forward = ours._batch_scorers[0].forward
    assert isinstance(forward, BertForward)
    assert isinstance(forward._last._up, HalfLinear) == (dtype != "float32")
    assert np.ptp(exact) > 0.1, "the tiny model tells nothing apart"
    assert np.abs(ours.block(everything, everything) - exact).max() < limit


def test_padded_batches_equal_full_ones(folder):
    ours, exact, everything = blocks(folder)
    ours._few = 10**6  # everything is one batch, padded
    assert np.abs(ours.block(everything, everything) - exact).max() < 5e-3


def test_real_out_of_memory_halves_the_batch_and_goes_on(folder):
    ours, exact, everything = blocks(folder, n=1_000, batch_tokens=1 << 30)
    each = ours._batch_scorers[0]
    tokens = each.tokens
    _, total = torch.cuda.mem_get_info(0)
    torch.cuda.empty_cache()
    room = torch.cuda.memory_allocated(0) + (64 << 20)
    torch.cuda.set_per_process_memory_fraction(room / total, 0)
    try:
        got = ours.block(everything, everything)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, 0)
    assert each.tokens < tokens, "memory never ran out"
    assert np.abs(got - exact).max() < 5e-3


def test_two_lanes_on_a_gpu_give_what_one_gives(folder):
    items = texts(60)
    everything = np.arange(60)
    similarity = fp.CrossEncoder(folder, device="cuda:0", batch_tokens=256)
    one = similarity.bind(items).block(everything, everything)
    similarity._devices *= 2
    similarity._models *= 2
    scorer = similarity.bind(items)
    assert len(scorer._batch_scorers) == 2
    assert np.array_equal(scorer.block(everything, everything), one)


def test_the_lean_forward_equals_the_plain_one(folder):
    ours, _, everything = blocks(folder, dtype="float32")
    lean = ours.block(everything, everything)
    for each in ours._batch_scorers:
        each.forward = plain_forward(ours._similarity._models[0])
    assert np.abs(ours.block(everything, everything) - lean).max() < 1e-5


def test_a_process_a_gpu_gives_what_this_process_gives(folder):
    items = texts(60)
    similarity = fp.CrossEncoder(folder, symmetric=True)
    here = fp.approximate(items, similarity, method="nystrom", budget=0.5)
    there = fp.approximate(
        items, similarity, method="nystrom", budget=0.5, executor="gpus"
    )
    assert there.evaluations == here.evaluations
    assert np.array_equal(there.dense(), here.dense())
