"""What only a GPU can show: half precision, memory that runs out, several devices."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from benchmarks.hidden import Rough

import fewpairs as fp

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")

from fewpairs.similarity.cross_encoder.bert_forward import BertForward, plain_forward  # noqa: E402
from fewpairs.similarity.cross_encoder.modern_forward import ModernForward  # noqa: E402
from fewpairs.similarity.cross_encoder.packed_forward import PackedForward  # noqa: E402
from tests.tiny_models import (  # noqa: E402
    CAUSAL,
    FAMILIES,
    save_tiny,
    save_tiny_causal,
    texts,
)

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="torch sees no GPU"
)

HAS_TRITON = find_spec("triton") is not None
# Those whose attention is their own go in batches of one length.
OWN_ATTENTION = {"deberta-v2": BertForward, "modernbert": ModernForward}


@pytest.fixture(params=FAMILIES)
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
    packed = PackedForward if HAS_TRITON and dtype != "float32" else BertForward
    assert isinstance(forward, OWN_ATTENTION.get(Path(folder).name, packed))
    assert np.ptp(exact) > 2e-3, "the tiny model tells nothing apart"
    assert np.abs(ours.block(everything, everything) - exact).max() < limit
    order = np.random.default_rng(0).permutation(1_600)[:300]
    i, j = np.divmod(order, 40)
    assert np.abs(ours.pairs(i, j) - exact[i, j]).max() < limit


@pytest.mark.parametrize("length", [60, 125, 300])
def test_lengths_that_need_other_kernels_equal_the_cpu(tmp_path, length):
    for kind in ("xlm-roberta", "modernbert", "deberta-v2"):
        folder = save_tiny(tmp_path / kind, kind, length=2 * length + 8)
        items = texts(24, longest=length)
        everything = np.arange(24)
        exact = fp.CrossEncoder(folder, device="cpu").bind(items)
        ours = fp.CrossEncoder(folder, device="cuda:0").bind(items)
        got = ours.block(everything, everything)
        assert np.abs(got - exact.block(everything, everything)).max() < 5e-3


@pytest.mark.skipif(not HAS_TRITON, reason="needs Triton")
@pytest.mark.parametrize(
    ("dtype", "limit", "width", "heads", "longest"),
    [
        (torch.float16, 8e-3, 384, 12, 20),
        (torch.float16, 8e-3, 384, 12, 64),
        (torch.float16, 8e-3, 1_024, 16, 128),
        (torch.bfloat16, 6e-2, 96, 3, 50),
    ],
)
def test_passes_equal_their_twins(dtype, limit, width, heads, longest):
    from fewpairs.kernels.encoder import passes, reference

    torch.manual_seed(longest)

    def numbers(*shape):
        return torch.randn(*shape, device="cuda", dtype=dtype)

    lengths = torch.randint(1, longest + 1, (50,), device="cuda")
    lengths[0] = longest
    ends = lengths.cumsum(0).int()
    starts = torch.cat([ends.new_zeros(1), ends])
    tokens = int(ends[-1])
    norm = torch.nn.LayerNorm(width, eps=1e-12).to("cuda", dtype)
    norm.weight.data.copy_(numbers(width))
    norm.bias.data.copy_(numbers(width))
    ids, kinds, places = torch.randint(2, (3, tokens), device="cuda")
    tables = numbers(50, width), numbers(2, width), numbers(20, width), 2
    how = {"heads": heads, "longest": longest}
    x, y, q = numbers(tokens, width), numbers(tokens, width), numbers(50, width)
    three, both = numbers(tokens, 3 * width), numbers(tokens, 2 * width)
    with torch.inference_mode():
        for name, given, named in [
            ("add_norm", (x, y, norm), {}),
            ("embed_norm", (ids, kinds, places, tables, norm), {}),
            ("embed_norm", (ids, None, places, tables, norm), {}),
            ("attend", (three, starts), how),
            ("attend_first", (q, both, starts), how),
        ]:
            got = getattr(passes, name)(*given, **named).float()
            expected = getattr(reference, name)(*given, **named).float()
            off = (got - expected).abs().max() / expected.abs().max()
            assert off < limit, name


@pytest.mark.parametrize("kind", CAUSAL)
@pytest.mark.parametrize(
    ("dtype", "limit"), [("float32", 1e-5), ("float16", 5e-3), ("bfloat16", 3e-2)]
)
def test_causal_rerankers_equal_the_model_in_its_precision(
    tmp_path, kind, dtype, limit
):
    import transformers

    folder = save_tiny_causal(tmp_path / kind, kind, head_dim=32, spread=0.1)
    items = texts(7, longest=9)
    everything = np.arange(7)
    similarity = fp.CausalReranker(folder, device="cuda:0", dtype=dtype)
    ours = similarity.bind(items)
    assert ours.backend == "transformers' layers, shared prefixes, on cuda:0"
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    model = model.to("cuda:0", getattr(torch, dtype)).eval()
    own = np.empty((7, 7))
    with torch.inference_mode():
        for i, j in np.ndindex(7, 7):
            prompt = torch.tensor([ours._prompts.prompt(i, j)], device="cuda:0")
            logits = model(input_ids=prompt).logits[0, -1, similarity._tokens]
            own[i, j] = float(logits.float().softmax(0)[1])
    assert np.ptp(own) > 1e-3, "the tiny model tells nothing apart"
    assert np.abs(ours.block(everything, everything) - own).max() < limit
    i, j = np.array([3, 6, 3, 1]), np.array([2, 2, 5, 1])
    assert np.abs(ours.pairs(i, j) - own[i, j]).max() < limit


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_real_out_of_memory_halves_the_batch_and_goes_on(tmp_path, kind):
    folder = save_tiny(tmp_path / kind, kind)
    ours, exact, everything = blocks(folder, n=400, batch_tokens=1 << 30)
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


def test_kernels_of_candidates_equal_numpy():
    from fewpairs.kernels.linalg import (
        broken_line,
        broken_line_torch,
        item_ridges,
        item_ridges_torch,
        products_torch,
        selection,
        selection_torch,
    )

    rng = np.random.default_rng(0)
    n, m = 70_000, 40
    scores = np.round(rng.standard_normal((n, m)), 1).astype(np.float32)
    scores[rng.random((n, m)) < 0.2] = -np.inf
    found = selection_torch.largest(torch.tensor(scores, device="cuda"), 9)
    assert np.array_equal(found.cpu().numpy(), selection.largest(scores, 9))
    knots = np.sort(rng.standard_normal(12))
    levels = rng.standard_normal(12)
    x = rng.standard_normal(n).astype(np.float32)
    there = broken_line_torch.broken_line(torch.tensor(x, device="cuda"), knots, levels)
    expected = broken_line.broken_line(x, knots, levels)
    assert np.abs(there.cpu().numpy() - expected).max() < 1e-4
    i, j = rng.integers(n, size=(2, 10 * n))
    i[:500] = 3
    weights, values = rng.random((2, len(i))).astype(np.float32)
    features = rng.standard_normal((n, 13)).astype(np.float32)
    data = i, j, weights, values, features
    for mine, its in zip(
        item_ridges_torch.item_ridges(*data, ridges=(1.0, 20.0), device="cuda"),
        item_ridges.item_ridges(*data, ridges=(1.0, 20.0)),
        strict=True,
    ):
        assert np.abs(mine - its).max() < 1e-3
    b = rng.standard_normal(n)
    sums = np.bincount(i, b[j], n) + np.bincount(j, b[i], n)
    partners = products_torch.PartnersOnDevice(n, i, j, "cuda")
    assert np.abs((partners @ b) - sums).max() < 1e-9
    assert np.array_equal(partners @ b, partners @ b)
    dense = products_torch.DenseOnDevice(features, "cuda")
    told = features.T.astype(np.float64) @ b
    off = (dense.T @ b.astype(np.float32)) - told
    assert np.abs(off).max() < 1e-3 * np.sqrt(n)


@pytest.mark.parametrize("student", [False, True])
def test_candidates_on_a_gpu_find_what_those_on_the_host_do(monkeypatch, student):
    from fewpairs.methods.auto import reading_rounds, round_steps, steps_on_device

    assert 0 < round_steps.gpu_memory() < np.inf
    n, per_item = 25_000, 10
    similarity = Rough(n)
    scorer, used = similarity.bind(range(n)), []

    def run(by_host):
        def steps_by(by, *rest):
            used.append(found := round_steps.steps_by(None if by_host else by, *rest))
            return found

        monkeypatch.setattr(reading_rounds, "steps_by", steps_by)
        return fp.approximate(
            range(n),
            similarity,
            method=fp.Auto(student=student),
            budget=per_item * n // 2,
            prior=similarity.prior,
        )

    def recall(approx):
        found, hits = approx.neighbors(10).indices, 0
        for row in range(0, n, n // 200):
            true = scorer.block(np.array([row]), np.arange(n))[0]
            true[row] = -np.inf
            hits += np.isin(found[row], np.argpartition(-true, 10)[:10]).sum()
        return hits / (10 * len(range(0, n, n // 200)))

    there, host = run(False), run(True)
    assert used[0] is steps_on_device.ON_DEVICE
    assert used[1] is not steps_on_device.ON_DEVICE
    assert abs(recall(there) - recall(host)) < 0.03
    if not student:
        again = run(False).known.scattered()
        for one, other in zip(there.known.scattered(), again, strict=True):
            assert np.array_equal(one, other)


def test_a_process_a_gpu_gives_what_this_process_gives(tmp_path):
    folder = save_tiny(tmp_path / "m", "roberta")
    items = texts(60)
    similarity = fp.CrossEncoder(folder, symmetric=True)
    here = fp.approximate(items, similarity, method="nystrom", budget=0.5)
    there = fp.approximate(
        items, similarity, method="nystrom", budget=0.5, executor="gpus"
    )
    assert there.evaluations == here.evaluations
    assert np.array_equal(there.dense(), here.dense())
