"""Every family gives what its own forward pass gives, on each fast way."""

from itertools import pairwise

import numpy as np
import pytest

import fewpairs as fp

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")

from fewpairs.kernels.encoder import reference  # noqa: E402
from fewpairs.similarity.cross_encoder.bert_forward import lean_forward  # noqa: E402
from fewpairs.similarity.cross_encoder.packed_forward import (  # noqa: E402
    PackedForward,
    packed_way,
)
from fewpairs.similarity.cross_encoder.packed_pairs import (  # noqa: E402
    PackedAssembler,
    plan_packed,
)
from fewpairs.similarity.cross_encoder.pair_assembly import (  # noqa: E402
    PaddedInputs,
    PairAssembler,
)
from fewpairs.similarity.cross_encoder.pair_batches import Batch, cut_pairs  # noqa: E402
from fewpairs.similarity.cross_encoder.products import Linear, PackedLinear  # noqa: E402
from tests.tiny_models import FAMILIES, save_tiny, texts  # noqa: E402

N = 10
LEFT, RIGHT = np.divmod(np.arange(N * N), N)


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny models: threads would wait for each other longer than they work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=FAMILIES)
def family(request, tmp_path):
    return save_tiny(tmp_path / request.param, request.param, length=48, layers=3)


def own_scores(similarity, items, i, j):
    """What the model's own forward pass gives, padded as its tokenizer pads."""
    tokenizer = similarity._tokenizer
    inputs = tokenizer(
        [items[t] for t in i],
        [items[t] for t in j],
        padding=True,
        truncation="longest_first",
        max_length=similarity.max_length,
        return_tensors="pt",
    )
    with torch.inference_mode():
        named = {name: inputs[name] for name in tokenizer.model_input_names}
        return similarity.finish(similarity._models[0](**named).logits).numpy()


def packed_cuts(similarity, scorer):
    cuts = cut_pairs(scorer._table, LEFT, RIGHT, room=scorer._longest, cut_left=False)
    return cuts.table, cuts.totals(similarity.template.special)


@pytest.mark.filterwarnings("ignore::fewpairs.FewpairsWarning")
@pytest.mark.parametrize("longest", [6, 30])
def test_pairs_and_blocks_of_mixed_lengths_equal_the_models_own(family, longest):
    items = texts(N, longest=longest)
    similarity = fp.CrossEncoder(family, device="cpu")
    scorer = similarity.bind(items)
    assert scorer.backend.startswith("torch, p"), scorer.backend
    expected = own_scores(similarity, items, LEFT, RIGHT)
    assert np.ptp(expected) > 2e-3, "the tiny model tells nothing apart"
    assert np.abs(scorer.pairs(LEFT, RIGHT) - expected).max() < 1e-5
    every = np.arange(N)
    assert np.abs(scorer.block(every, every).ravel() - expected).max() < 1e-5


def test_pairs_of_one_length_equal_the_models_own(family):
    items = ["red fox runs home", "a lazy dog jumps", "it rains while dog", "fox " * 4]
    i, j = np.divmod(np.arange(16), 4)
    similarity = fp.CrossEncoder(family, device="cpu")
    got = similarity.bind(items).pairs(i, j)
    assert np.abs(got - own_scores(similarity, items, i, j)).max() < 1e-5


@pytest.mark.parametrize("product", [Linear, PackedLinear])
@pytest.mark.parametrize("full", [True, False])
def test_padded_and_full_batches_equal_the_models_own(family, product, full):
    if product is PackedLinear and not torch.backends.mkldnn.is_available():
        pytest.skip("this PyTorch has no oneDNN")
    items = texts(N, longest=16)
    similarity = fp.CrossEncoder(family, device="cpu")
    scorer = similarity.bind(items)
    table, totals = packed_cuts(similarity, scorer)
    where = np.flatnonzero(totals == np.median(totals)) if full else np.arange(N * N)
    assembler = PairAssembler(similarity.template, scorer._table, torch.device("cpu"))
    batch = Batch(0, len(where), int(totals[where].max()), full)
    inputs = assembler.assemble(assembler.prepare(table[:, where]), batch)
    assert isinstance(inputs, PaddedInputs)
    assert (inputs.mask is None) == full
    with torch.inference_mode():
        lean = lean_forward(similarity._models[0], product)
        got = similarity.finish(lean(inputs)).numpy()
    expected = own_scores(similarity, items, LEFT[where], RIGHT[where])
    assert np.abs(got - expected).max() < 1e-5


@pytest.mark.parametrize(
    "kind", [kind for kind in FAMILIES if kind not in ("deberta-v2", "modernbert")]
)
def test_packed_pairs_equal_the_models_own(tmp_path, kind):
    folder = save_tiny(tmp_path / kind, kind, length=48, layers=3)
    items = texts(N, longest=16)
    similarity = fp.CrossEncoder(folder, device="cpu")
    scorer = similarity.bind(items)
    table, totals = packed_cuts(similarity, scorer)
    order, batches = plan_packed(totals, tokens=300)
    assert len(batches) > 3
    assembler = PackedAssembler(similarity.template, scorer._table, torch.device("cpu"))
    pairs = assembler.prepare(table[:, order])
    forward = PackedForward(similarity._models[0], reference, Linear)
    with torch.inference_mode():
        logits = [forward(assembler.assemble(pairs, batch)) for batch in batches]
        got = similarity.finish(torch.cat(logits)).numpy()
    expected = own_scores(similarity, items, LEFT, RIGHT)[order]
    assert np.abs(got - expected).max() < 1e-5


def test_packed_batches_hold_every_pair_once_and_stay_below_their_limit():
    totals = np.random.default_rng(0).integers(5, 60, size=3_000)
    totals[:2] = 700  # over the limit by themselves
    order, batches = plan_packed(totals, tokens=512)
    assert np.array_equal(np.sort(order), np.arange(3_000))
    assert batches[0].start == 0
    assert batches[-1].stop == 3_000
    sizes = [totals[order[b.start : b.stop]].sum() for b in batches]
    assert all(a.stop == b.start for a, b in pairwise(batches))
    assert sorted(sizes)[-2:] == [700, 700]
    assert sorted(sizes)[-3] <= 512
    assert np.mean(sizes) > 0.9 * 512


@pytest.mark.parametrize("pairs", ["c2p", "p2c", "c2p|p2c"])
@pytest.mark.parametrize("shared", [True, False])
def test_attention_by_distance_of_every_kind(tmp_path, pairs, shared):
    import json

    folder = save_tiny(tmp_path / "m", "deberta-v2", length=48)
    file = tmp_path / "m" / "config.json"
    import transformers

    config = json.loads(file.read_text()) | {
        "pos_att_type": pairs.split("|"),
        "share_att_key": shared,
    }
    torch.manual_seed(0)
    config = transformers.DebertaV2Config(**config)
    transformers.DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    items = texts(N, longest=20)
    similarity = fp.CrossEncoder(folder, device="cpu")
    scorer = similarity.bind(items)
    assert scorer.backend == "torch, packed pairs, on cpu"
    expected = own_scores(similarity, items, LEFT, RIGHT)
    assert np.abs(scorer.pairs(LEFT, RIGHT) - expected).max() < 1e-5


def test_a_mean_over_all_tokens_is_read_from_all_of_them(tmp_path):
    folder = save_tiny(tmp_path / "m", "modernbert", length=48, layers=3)
    similarity = fp.CrossEncoder(folder, device="cpu")
    similarity._models[0].config.classifier_pooling = "mean"
    items = texts(N, longest=16)
    scorer = similarity.bind(items)
    assert scorer.backend.startswith("torch, padded pairs")
    expected = own_scores(similarity, items, LEFT, RIGHT)
    assert np.abs(scorer.pairs(LEFT, RIGHT) - expected).max() < 1e-5


def test_a_family_without_a_fast_way_runs_as_it_is_and_says_so(tmp_path):
    folder = save_tiny(tmp_path / "m", "albert")
    items = texts(N)
    similarity = fp.CrossEncoder(folder, device="cpu")
    scorer = similarity.bind(items)
    assert scorer.backend == "transformers, on cpu"
    expected = own_scores(similarity, items, LEFT, RIGHT)
    assert np.abs(scorer.pairs(LEFT, RIGHT) - expected).max() < 1e-5


def test_long_texts_are_batched_by_their_tokens(tmp_path):
    folder = save_tiny(tmp_path / "m", "modernbert", length=700, layers=2)
    items = ["fox " * 300, "lazy dog " * 150, "red", "a fox"]
    i, j = np.divmod(np.arange(16), 4)
    similarity = fp.CrossEncoder(folder, device="cpu", batch_tokens=1_300)
    scorer = similarity.bind(items)
    sizes = []
    for each in scorer._batch_scorers:

        def watched(inputs, forward=each.forward):
            sizes.append(inputs.ids.numel())
            return forward(inputs)

        each.forward = watched
    got = scorer.pairs(i, j)
    assert max(sizes) <= 1_300
    assert np.abs(got - own_scores(similarity, items, i, j)).max() < 1e-5


def test_without_a_gpu_or_triton_there_is_no_packed_way(tmp_path):
    folder = save_tiny(tmp_path / "m", "bert")
    similarity = fp.CrossEncoder(folder, device="cpu")
    scorer = similarity.bind(texts(N))
    table, _ = packed_cuts(similarity, scorer)
    model, logits = similarity._models[0], torch.zeros(3, 1)
    way = packed_way(model, similarity.template, scorer._table, table[:, :3], logits)
    assert way is None


@pytest.mark.parametrize("longest", [4, 16, 90])
def test_kernels_of_all_lengths_are_compiled_before_anything_is_timed(
    tmp_path, longest
):
    folder = save_tiny(tmp_path / "m", "bert", length=256)
    similarity = fp.CrossEncoder(folder, device="cpu")
    scorer = similarity.bind(["fox", "dog " * longest])
    tried = []

    class Watched(PackedForward):
        def __call__(self, inputs):
            tried.append((len(inputs.ids), len(inputs.starts) - 1, inputs.longest))
            return super().__call__(inputs)

    here = torch.device("cpu")
    for each in scorer._batch_scorers:
        each.assembler = PackedAssembler(similarity.template, scorer._table, here)
        each.forward = Watched(similarity._models[0], reference, Linear)
    said = []
    scorer.prepare(said.append)
    assert set(said) == {"compiling kernels for the GPU"}
    blocks = {max(32, 1 << (most - 1).bit_length()) for _, _, most in tried}
    most = 2 * longest + 3
    assert blocks == {
        block for block in (32, 64, 128) if block == 32 or most > block / 2
    }
    for block in blocks:
        rows = [(tokens, pairs) for tokens, pairs, n in tried if n <= block]
        assert any(tokens % 16 == 0 and pairs % 16 == 0 for tokens, pairs in rows)
        assert any(tokens % 16 and pairs % 16 for tokens, pairs in rows)


def test_no_place_is_tried_that_the_model_does_not_have(tmp_path):
    folder = save_tiny(tmp_path / "m", "xlm-roberta", length=40)
    similarity = fp.CrossEncoder(folder, device="cpu")
    with pytest.warns(fp.FewpairsWarning, match="over the model's length of 40"):
        scorer = similarity.bind(["fox", "dog " * 90])
    here = torch.device("cpu")
    assembler = PackedAssembler(similarity.template, scorer._table, here)
    assert assembler.longest > 128
    forward = PackedForward(similarity._models[0], reference, Linear)
    with torch.inference_mode():
        forward.warm_up(assembler)  # an index beyond the table would be an error
