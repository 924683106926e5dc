"""Cross-encoders give what sentence-transformers gives, and refuse bad input."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.testing import check_similarity

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")

from fewpairs.similarity.base import Interrupted  # noqa: E402
from fewpairs.similarity.cross_encoder.bert_forward import BertForward, plain_forward  # noqa: E402
from fewpairs.similarity.cross_encoder.flat_layers import TorchLayer  # noqa: E402
from fewpairs.similarity.cross_encoder.flat_pairs import BIN, FlatAssembler, plan_flat  # noqa: E402
from fewpairs.similarity.cross_encoder.pair_assembly import PairAssembler  # noqa: E402
from fewpairs.similarity.cross_encoder.pair_batches import (  # noqa: E402
    TokenTable,
    cut_pairs,
    plan_batches,
)
from fewpairs.similarity.cross_encoder.products import Linear, PackedLinear  # noqa: E402
from tests.tiny_models import save_tiny, texts  # noqa: E402

KINDS = ["bert", "roberta"]


@pytest.fixture(params=KINDS)
def folder(request, tmp_path):
    return save_tiny(tmp_path / request.param, request.param)


def everything(n):
    i, j = np.divmod(np.arange(n * n), n)
    return i, j


def reference(folder, items, i, j, **options):
    """What sentence-transformers says, in float32 on the CPU."""
    library = pytest.importorskip("sentence_transformers", reason="is the reference")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = library.CrossEncoder(
            folder, device="cpu", model_kwargs={"dtype": torch.float32}
        )
        pairs = [(items[a], items[b]) for a, b in zip(i, j)]
        return model.predict(pairs, **options)


def encoder(folder, **options):
    return fp.CrossEncoder(folder, device="cpu", **options)


def take_the_padded_way(similarity, scorer, forward):
    for each in scorer._batch_scorers:
        each.assembler = PairAssembler(
            similarity.template, scorer._table, each.assembler.device
        )
        each.forward = forward


def no_such_thing(*_):
    msg = "not in this PyTorch"
    raise AttributeError(msg)


def tokens_of(inputs):
    return sum(each.lengths.sum() for each in inputs.bins)


def test_keeps_the_contract(folder):
    check_similarity(encoder(folder), texts(14))
    check_similarity(encoder(folder, symmetric=True), texts(14))
    check_similarity(encoder(folder, activation="identity"), texts(14))


@pytest.mark.filterwarnings("ignore::fewpairs.FewpairsWarning")
@pytest.mark.parametrize("longest", [6, 60])
def test_equals_sentence_transformers_with_and_without_truncation(folder, longest):
    items = texts(16, longest=longest)
    i, j = everything(16)
    got = encoder(folder).bind(items).pairs(i, j)
    assert got.dtype == np.float32
    assert np.ptp(got) > 0.05, "the tiny model tells nothing apart"
    assert np.abs(got - reference(folder, items, i, j)).max() < 1e-5


def test_the_lean_forward_is_used_and_equals_the_plain_one(folder):
    similarity = encoder(folder)
    scorer = similarity.bind(texts(16))
    assert scorer.backend == "torch, packed pairs, on cpu"
    i, j = everything(16)
    lean = scorer.pairs(i, j)
    take_the_padded_way(similarity, scorer, plain_forward(similarity._models[0]))
    assert np.abs(scorer.pairs(i, j) - lean).max() < 1e-5


@pytest.mark.parametrize("options", [{"heads": 4}, {"activation": "gelu_new"}])
def test_layers_that_have_no_native_code_run_by_torch(tmp_path, options):
    folder = save_tiny(tmp_path / "m", "roberta", **options)
    items = texts(16)
    scorer = encoder(folder).bind(items)
    assert scorer.backend == "torch, packed pairs, on cpu"
    i, j = everything(16)
    assert np.abs(scorer.pairs(i, j) - reference(folder, items, i, j)).max() < 1e-5


@pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this PyTorch has no oneDNN"
)
@pytest.mark.parametrize("kind", ["gelu", "gelu_new", "relu"])
def test_packed_weights_give_what_the_others_give(tmp_path, kind, monkeypatch):
    similarity = encoder(save_tiny(tmp_path / "m", "bert", activation=kind))
    scorer = similarity.bind(texts(16))
    up = scorer._batch_scorers[0].forward._layers[0]._layer._up
    assert isinstance(up, PackedLinear)
    assert up._fused == ("gelu" if kind == "gelu" else "none")
    i, j = everything(16)
    packed = scorer.pairs(i, j)
    take_the_padded_way(similarity, scorer, BertForward(similarity._models[0], Linear))
    assert np.abs(scorer.pairs(i, j) - packed).max() < 1e-5


def test_without_packed_products_the_lean_forward_still_runs(folder, monkeypatch):
    monkeypatch.setattr(PackedLinear, "__init__", no_such_thing)
    items = texts(12)
    scorer = encoder(folder).bind(items)
    assert type(scorer._batch_scorers[0].forward._layers[0]._layer._up) is Linear
    i, j = everything(12)
    assert np.abs(scorer.pairs(i, j) - reference(folder, items, i, j)).max() < 1e-5


def test_a_forward_pass_that_gives_other_logits_is_not_taken(folder, monkeypatch):
    rest = TorchLayer.rest
    monkeypatch.setattr(TorchLayer, "rest", lambda *given: 1.001 * rest(*given))
    scorer = encoder(folder).bind(texts(8))
    assert scorer.backend.startswith("torch, padded pairs")


def test_a_model_of_one_layer_runs_in_padded_batches(tmp_path):
    folder = save_tiny(tmp_path / "m", "bert", layers=1)
    items = texts(12)
    scorer = encoder(folder).bind(items)
    assert scorer.backend.startswith("torch, padded pairs")
    i, j = everything(12)
    assert np.abs(scorer.pairs(i, j) - reference(folder, items, i, j)).max() < 1e-5


@pytest.mark.parametrize("shared", [True, False])
def test_rows_may_be_shared_between_pairs_or_not(folder, shared, monkeypatch):
    items = texts(24, longest=12)
    scorer = encoder(folder).bind(items)
    assembler = scorer._batch_scorers[0].assembler
    assert isinstance(assembler, FlatAssembler)
    if not shared:
        monkeypatch.setattr(assembler, "_most", 0)
    i, j = everything(24)
    known = []
    prepare = assembler.prepare

    def watched(cuts):
        known.append(prepare(cuts))
        return known[-1]

    monkeypatch.setattr(assembler, "prepare", watched)
    got = scorer.pairs(i, j)
    assert (known[0].known is not None) == shared
    assert np.abs(got - reference(folder, items, i, j)).max() < 1e-5


def test_pairs_longer_than_a_bin_have_one_of_their_own(tmp_path):
    folder = save_tiny(tmp_path / "m", "bert", length=400)
    items = [*texts(6), "fox " * 180, "red " * 150 + "dog", "lazy " * 40]
    i, j = everything(len(items))
    got = encoder(folder).bind(items).pairs(i, j)
    assert np.abs(got - reference(folder, items, i, j)).max() < 1e-5


@pytest.mark.parametrize("tokens", [40, 200, BIN, 4 * BIN])
def test_bins_hold_every_pair_once_and_are_full(tokens):
    rng = np.random.default_rng(tokens)
    totals = rng.integers(5, 60, size=3_000)
    totals[:3] = 300
    order, batches = plan_flat(totals, tokens=tokens, threads=2)
    batches = batches[::-1]
    assert np.array_equal(np.sort(order), np.arange(3_000))
    assert batches[0].start == 0
    assert batches[-1].stop == 3_000
    sizes = []
    for before, batch in zip([None, *batches], batches):
        assert before is None or before.stop == batch.start
        pairs = totals[order[batch.start : batch.stop]]
        sizes.append(pairs.sum())
        assert len(pairs) == 1 or pairs.sum() <= tokens
        # A each does not cut what fits.
        assert len(batch.split(max(1, tokens // batch.length))) == 1 or tokens < 300
    if tokens >= BIN:
        assert np.mean(sizes[3:-1]) > 0.99 * BIN
    if tokens > BIN:  # the last ones are small, for threads to end together
        assert np.median(sizes) > 0.99 * tokens
        assert max(sizes[-3:]) <= BIN


def test_other_architectures_run_with_their_own_forward(tmp_path):
    folder = save_tiny(tmp_path / "m", "bert")
    similarity = encoder(folder)
    similarity._models[0].classifier = torch.nn.Sequential(
        similarity._models[0].classifier
    )
    similarity._models[0].bert.encoder.layer[
        0
    ].attention.self.query = torch.nn.Identity()
    scorer = similarity.bind(texts(5))
    assert scorer.backend == "transformers, on cpu"
    assert np.isfinite(scorer.block(np.arange(5), np.arange(5))).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_pairs_are_cut_as_the_tokenizer_cuts_them(tmp_path, side):
    import transformers

    folder = save_tiny(tmp_path / "m", "bert", length=15)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.truncation_side = side
    items = [" ".join(["fox", "dog", "red", "lazy"] * 5).rsplit(" ", k)[0]
             for k in range(1, 20)] + [""]  # fmt: skip
    table = TokenTable.of(tokenizer, items)
    i, j = everything(len(items))
    for room in (11, 12):
        cuts = cut_pairs(table, i, j, room=room, cut_left=side == "left")
        for t in range(len(i)):
            start_a, keep_a, start_b, keep_b = cuts.table[:, t]
            mine = [
                *table.tokens[start_a : start_a + keep_a],
                *table.tokens[start_b : start_b + keep_b],
            ]
            # As a list: alone, transformers takes an empty second text for none.
            theirs = tokenizer(
                [(items[i[t]], items[j[t]])],
                truncation="longest_first",
                max_length=room + 3,
            )
            ids = np.array(theirs["input_ids"][0])
            sides = [s is not None for s in theirs.sequence_ids(0)]
            assert mine == ids[sides].tolist()


def test_values_do_not_depend_on_how_requests_are_cut_or_ordered(folder):
    items = texts(20)
    scorer = encoder(folder).bind(items)
    i, j = everything(20)
    whole = scorer.pairs(i, j)
    order = np.random.default_rng(0).permutation(400)
    small = encoder(folder, batch_tokens=40).bind(items)
    assert np.abs(small.pairs(i[order], j[order]) - whole[order]).max() < 1e-5
    one = [scorer.pairs(i[t : t + 1], j[t : t + 1])[0] for t in range(30)]
    assert np.abs(one - whole[:30]).max() < 1e-5


def test_batches_cover_every_pair_once_with_little_padding():
    totals = np.sort(np.random.default_rng(0).integers(5, 60, size=3_000))
    batches = plan_batches(totals, tokens=512, few=8, longest=64)
    covered = np.concatenate([np.arange(b.start, b.stop) for b in batches])
    assert np.array_equal(np.sort(covered), np.arange(3_000))
    used = sum((b.stop - b.start) * b.length for b in batches)
    assert used <= 1.02 * totals.sum()
    for b in batches:
        assert (b.stop - b.start) * b.length <= 512
        assert b.full == (totals[b.start : b.stop] == b.length).all()


def test_symmetric_averages_both_orders_and_says_so(folder):
    items = texts(12)
    i, j = everything(12)
    plain = encoder(folder).bind(items).pairs(i, j).reshape(12, 12)
    similarity = encoder(folder, symmetric=True)
    assert similarity.symmetric
    assert similarity.proven
    assert encoder(folder).symmetric is False
    both = similarity.bind(items).block(np.arange(12), np.arange(12))
    assert np.abs(both - (plain + plain.T) / 2).max() < 1e-6
    assert np.abs(plain - plain.T).max() > 1e-3


def test_a_label_is_picked_from_several(tmp_path):
    folder = save_tiny(tmp_path / "m", "bert", labels=3)
    items = texts(8)
    i, j = everything(8)
    with pytest.raises(fp.InputError, match=r"has 3 labels.*label=0 to 2"):
        encoder(folder)
    with pytest.raises(fp.InputError, match="label is 'no'"):
        encoder(folder, label="no")
    logits = reference(folder, items, i, j)
    got = encoder(folder, label=2).bind(items).pairs(i, j)
    assert np.abs(got - logits[:, 2]).max() < 1e-5
    named = encoder(folder, label="LABEL_1", activation="softmax")
    soft = reference(folder, items, i, j, apply_softmax=True)
    assert np.abs(named.bind(items).pairs(i, j) - soft[:, 1]).max() < 1e-5
    assert named.bounds == (0.0, 1.0)


@pytest.mark.parametrize("path", ["Sigmoid", "Identity"])
def test_the_configured_activation_is_the_default(tmp_path, path):
    import json

    folder = save_tiny(tmp_path / "m", "bert")
    file = Path(folder) / "config.json"
    config = json.loads(file.read_text())
    module = "activation" if path == "Sigmoid" else "linear"
    config["sentence_transformers"] = {
        "activation_fn": f"torch.nn.modules.{module}.{path}"
    }
    file.write_text(json.dumps(config))
    items = texts(6)
    i, j = everything(6)
    similarity = encoder(folder)
    assert similarity.activation == path.lower()
    got = similarity.bind(items).pairs(i, j)
    assert np.abs(got - reference(folder, items, i, j)).max() < 1e-5
    config["sentence_transformers"] = {"activation_fn": "torch.nn.Tanh"}
    file.write_text(json.dumps(config))
    with pytest.raises(fp.InputError, match=r"names the activation 'torch\.nn\.Tanh'"):
        encoder(folder)


def test_truncation_is_counted_and_warned_of_once(tmp_path):
    folder = save_tiny(tmp_path / "m", "bert", length=16)
    items = ["red " * 30, "fox", "dog " * 8, "dog " * 9]
    with pytest.warns(fp.FewpairsWarning, match="1 of 4 texts are over the model's"):
        scorer = encoder(folder).bind(items)
    i, j = everything(4)
    scorer.pairs(i, j)  # a second warning would be an error
    assert scorer.long_texts == 1
    assert scorer.truncated == 7 + 4
    fits = encoder(folder).bind(items[2:])
    with pytest.warns(fp.FewpairsWarning, match="4 pairs are over"):
        fits.pairs(*everything(2))


def test_out_of_memory_halves_the_batch_and_goes_on(folder):
    items = texts(20)
    i, j = everything(20)
    scorer = encoder(folder).bind(items)
    expected = scorer.pairs(i, j)
    largest = []
    for each in scorer._batch_scorers:

        def stingy(inputs, forward=each.forward):
            largest.append(tokens_of(inputs))
            if largest[-1] > 100:
                raise torch.OutOfMemoryError("no more")
            return forward(inputs)

        each.forward = stingy
    assert np.abs(scorer.pairs(i, j) - expected).max() < 1e-5
    assert max(largest) > 100
    assert all(each.tokens < 2_048 for each in scorer._batch_scorers)


def test_out_of_memory_with_one_pair_is_an_error_that_keeps_what_is_done(folder):
    scorer = encoder(folder, batch_tokens=40).bind(texts(20))
    for each in scorer._batch_scorers:

        def broken(inputs, forward=each.forward):
            if max(each.lengths.max() for each in inputs.bins) <= 8:
                raise torch.OutOfMemoryError("no more")
            return forward(inputs)

        each.forward = broken
    with pytest.raises(Interrupted) as stop:
        scorer.pairs(*everything(20))
    assert isinstance(stop.value.cause, fp.SimilarityError)
    assert "single pair" in str(stop.value.cause)
    assert 0 < np.isfinite(stop.value.values).sum() < 400


def test_threads_are_as_before(folder):
    before = torch.get_num_threads()
    encoder(folder, batch_tokens=30).bind(texts(20)).pairs(*everything(20))
    assert torch.get_num_threads() == before


def test_int8_stays_near(folder):
    items = texts(10)
    i, j = everything(10)
    full = encoder(folder).bind(items).pairs(i, j)
    low = encoder(folder, dtype="int8").bind(items).pairs(i, j)
    assert low.dtype == np.float32
    # Processors without these instructions leave it seven bits of the eight.
    near = 0.1 if torch.cpu._is_vnni_supported() else 0.2
    assert np.abs(low - full).max() < near * np.ptp(full)


def test_an_approximation_of_texts_runs_through(folder):
    items = texts(40)
    approx = fp.approximate(items, encoder(folder, symmetric=True), budget=0.6)
    assert approx.evaluations <= 0.6 * 40 * 39 / 2
    assert np.isfinite(approx.dense()).all()


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("./no/such/folder", "is not a folder"),
        ("/no/such/folder", "is not a folder"),
        ("", "name is .*; pass the path"),
        ("nobody/has-this", "cannot load 'nobody/has-this'"),
    ],
)
def test_unknown_models_are_refused(name, match):
    with pytest.raises(fp.InputError, match=match):
        fp.CrossEncoder(name, local_files_only=True)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(fp.InputError, match="cannot load"):
        fp.CrossEncoder(str(tmp_path))


def test_a_model_without_a_head_is_refused(tmp_path):
    folder = save_tiny(tmp_path / "m", "bert", head=False)
    with pytest.raises(fp.InputError, match=r"no trained classification head.*classif"):
        encoder(folder)


def test_bad_texts_and_options_are_refused(tmp_path):
    folder = save_tiny(tmp_path / "m", "bert")
    with pytest.raises(fp.InputError, match=r"items\[1\] is None"):
        encoder(folder).bind(["a", None])
    with pytest.raises(fp.InputError, match=r"items\[0\] is 3"):
        encoder(folder).bind([3])
    for options, match in [
        ({"activation": "softmax"}, "activation 'softmax' with 1 labels"),
        ({"activation": "tanh"}, "activation 'tanh'"),
        ({"dtype": "float8"}, "dtype 'float8'"),
        ({"dtype": "float16"}, "dtype 'float16' on 'cpu'"),
        ({"batch_tokens": 0}, "batch_tokens is 0"),
        ({"max_length": 4}, "max_length is 4"),
    ]:
        with pytest.raises(fp.InputError, match=match):
            encoder(folder, **options)
    with pytest.raises(fp.InputError, match="unknown device 'moon'"):
        fp.CrossEncoder(folder, device="moon")
    with pytest.raises(fp.InputError, match="torch sees"):
        fp.CrossEncoder(folder, device="cuda:99")


def test_tokenizers_that_cannot_pair_are_refused(tmp_path):
    from fewpairs.similarity.cross_encoder.pair_batches import PairTemplate

    class Slow:
        is_fast = False

    with pytest.raises(fp.InputError, match="a fast tokenizer with a padding token"):
        PairTemplate.of(Slow(), "m")

    class Swaps:
        is_fast, pad_token_id = True, 0

        def __call__(self, *texts, **options):
            return self

        def __getitem__(self, key):
            return [5, 6]

        def sequence_ids(self):
            return [1, 0]

    with pytest.raises(fp.InputError, match="first does not come before the second"):
        PairTemplate.of(Swaps(), "m")


def test_a_missing_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(fp.MissingExtraError, match=r'pip install "fewpairs\[torch\]"'):
        fp.CrossEncoder("any")


@pytest.fixture
def real_model():
    folder = os.environ.get("FEWPAIRS_MODELS")
    if not folder and os.environ.get("FEWPAIRS_DATA"):
        folder = Path(os.environ["FEWPAIRS_DATA"]).resolve().parent / "models"
    path = Path(folder or ".") / "stsb-cross-encoder"
    if not path.is_dir():
        pytest.skip("needs a real model: set FEWPAIRS_MODELS to the folder of models")
    return str(path)


def test_the_real_model_equals_sentence_transformers(real_model, data_folder):
    lines = (data_folder / "stsb" / "sts-dev.csv").read_text("utf-8").split("\n")[:30]
    items = [text for line in lines for text in line.split("\t")[5:7]]
    items.append(items[0] * 60)
    i, j = np.random.default_rng(0).integers(len(items), size=(2, 60))
    i[:3], j[:3] = len(items) - 1, [len(items) - 1, 0, 1]
    with pytest.warns(fp.FewpairsWarning, match="over the model's length of 512"):
        got = encoder(real_model).bind(items).pairs(i, j)
    assert np.abs(got - reference(real_model, items, i, j)).max() < 1e-5
