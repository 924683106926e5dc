"""Causal rerankers give what the model gives for whole prompts, or refuse."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.testing import check_similarity

torch = pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")

from fewpairs.similarity.base import Interrupted  # noqa: E402
from fewpairs.similarity.causal_reranker import shared_forward  # noqa: E402
from fewpairs.similarity.causal_reranker.prompts import PromptTokens  # noqa: E402
from fewpairs.similarity.causal_reranker.templates import choose_template  # noqa: E402
from tests.tiny_models import CAUSAL, save_tiny, save_tiny_causal, texts  # noqa: E402

N = 6
LEFT, RIGHT = np.divmod(np.arange(N * N), N)


@pytest.fixture(autouse=True)
def one_thread():
    """Tiny models: threads would wait for each other longer than they work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=CAUSAL)
def folder(request, tmp_path):
    return save_tiny_causal(tmp_path / request.param, request.param)


def reranker(folder, **options):
    return fp.CausalReranker(folder, device="cpu", **options)


def own_scores(similarity, prompts):
    """The softmax of two logits at the last token, prompt by prompt."""
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(similarity.path)
    words = [similarity._tokenizer(w)["input_ids"][-1] for w in similarity.answers]
    scores = []
    with torch.inference_mode():
        for prompt in prompts:
            logits = model(input_ids=torch.tensor([prompt])).logits[0, -1]
            scores.append(float(logits[words].softmax(0)[1]))
    return np.array(scores)


def card_prompts(similarity, items, i, j):
    """Prompts as the model cards make them, written out once more."""
    kind = similarity._models[0].config.model_type
    encode = similarity._tokenizer.encode
    for a, b in ((items[s], items[t]) for s, t in zip(i, j)):
        if kind == "qwen3":
            system = (
                "Judge whether the Document meets the requirements based on the Query "
                "and the Instruct provided. Note that the answer can only be "
                '"yes" or "no".'
            )
            task = (
                "Given a web search query, retrieve relevant passages that answer the "
                "query"
            )
            yield [
                *encode(f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n"),
                *encode(f"<Instruct>: {task}\n<Query>: {a}\n<Document>: {b}"),
                *encode("<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"),
            ]
        elif kind == "gemma":
            prompt = (
                "Given a query A and a passage B, determine whether the passage "
                "contains an answer to the query by providing a prediction of either "
                "'Yes' or 'No'."
            )
            line = encode("\n")
            yield [
                similarity._tokenizer.bos_token_id,
                *(*encode(f"A: {a}"), *line, *encode(f"B: {b}"), *line),
                *encode(prompt),
            ]
        else:
            system = (
                "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
            )
            task = (
                "You are a search relevance expert who evaluates how well documents "
                "match search queries. For each query-document pair, carefully analyze "
                "the semantic relationship between them, then provide your binary "
                "relevance judgment (0 for not relevant, 1 for relevant).\nRelevance:"
            )
            line = encode("\n")
            yield [
                *encode(f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n"),
                *(*encode(f"query: {a}"), *line, *encode(f"document: {b}"), *line),
                *encode(task),
                *encode("<|im_end|>\n<|im_start|>assistant\n"),
            ]


def test_pairs_and_blocks_equal_the_model_on_the_cards_prompts(folder):
    similarity = reranker(folder)
    items = [*texts(N - 2, longest=7), "Why? Because!", "(a) 1st: fox"]
    scorer = similarity.bind(items)
    assert scorer.backend == "transformers' layers, shared prefixes, on cpu"
    expected = own_scores(similarity, card_prompts(similarity, items, LEFT, RIGHT))
    assert np.ptp(expected) > 0.01, "the tiny model tells nothing apart"
    assert np.abs(scorer.pairs(LEFT, RIGHT) - expected).max() < 1e-5
    every = np.arange(N)
    assert np.abs(scorer.block(every, every).ravel() - expected).max() < 1e-5
    order = np.random.default_rng(0).permutation(N * N)[:20]
    scattered = scorer.pairs(LEFT[order], RIGHT[order])
    assert np.abs(scattered - expected[order]).max() < 1e-5


def test_keeps_the_contract(folder):
    check_similarity(reranker(folder), texts(5))


def test_symmetric_averages_both_orders(tmp_path):
    folder = save_tiny_causal(tmp_path / "m")
    items = texts(N, longest=5)
    plain = reranker(folder).bind(items).pairs(LEFT, RIGHT).reshape(N, N)
    similarity = reranker(folder, symmetric=True)
    assert similarity.symmetric
    both = similarity.bind(items).block(np.arange(N), np.arange(N))
    assert np.abs(both - (plain + plain.T) / 2).max() < 1e-6
    assert np.abs(plain - plain.T).max() > 1e-3


def test_a_left_text_is_encoded_once_for_all_its_pairs(tmp_path, monkeypatch):
    similarity = reranker(save_tiny_causal(tmp_path / "m"), batch_tokens=10_000)
    scorer = similarity.bind(texts(N, longest=5))
    forward = scorer._batch_scorers[0].forward
    tokens = []
    run = type(forward)._run

    def watched(self, given, *rest):
        tokens.append(len(given))
        return run(self, given, *rest)

    monkeypatch.setattr(type(forward), "_run", watched)
    scorer.block(np.arange(N), np.arange(N))
    lengths, prompts = scorer._prompts.left.lengths, scorer._prompts
    right = N * (prompts.right.lengths.sum() + N * len(prompts.tail))
    assert sum(tokens) == lengths.sum() + right, "the header is known since bind"


def test_values_do_not_depend_on_how_requests_are_cut(tmp_path):
    folder = save_tiny_causal(tmp_path / "m")
    items = texts(N, longest=9)
    whole = reranker(folder).bind(items).pairs(LEFT, RIGHT)
    small = reranker(folder, batch_tokens=300).bind(items)
    assert np.abs(small.pairs(LEFT, RIGHT) - whole).max() < 1e-5
    one = [
        small.pairs(LEFT[t : t + 1], RIGHT[t : t + 1])[0] for t in range(0, N * N, 9)
    ]
    assert np.abs(np.array(one) - whole[::9]).max() < 1e-5


def test_another_model_runs_on_whole_prompts_and_says_so(tmp_path, monkeypatch):
    folder = save_tiny_causal(tmp_path / "m")
    items = texts(N, longest=5)
    expected = reranker(folder).bind(items).pairs(LEFT, RIGHT)

    def other(*given, **options):
        raise NotImplementedError

    monkeypatch.setattr(shared_forward.SharedForward, "__call__", other)
    scorer = reranker(folder).bind(items)
    assert scorer.backend == "transformers, whole prompts, on cpu"
    assert np.abs(scorer.pairs(LEFT, RIGHT) - expected).max() < 1e-5


def test_a_window_is_left_to_the_model_itself(tmp_path):
    changes = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 0}
    folder = save_tiny_causal(tmp_path / "m", "qwen2", **changes)
    similarity = reranker(folder)
    items = texts(4, longest=9)
    scorer = similarity.bind(items)
    assert scorer.backend == "transformers, whole prompts, on cpu"
    i, j = np.divmod(np.arange(16), 4)
    expected = own_scores(similarity, card_prompts(similarity, items, i, j))
    assert np.abs(scorer.pairs(i, j) - expected).max() < 1e-5


def test_a_template_of_ones_own(tmp_path):
    similarity = reranker(
        save_tiny_causal(tmp_path / "m"),
        template="{instruction} One: {left} Other: {right}\nAnswer:",
        instruction="The same?",
        yes="1",
        no="0",
    )
    items = texts(N, longest=5)
    got = similarity.bind(items).pairs(LEFT, RIGHT)
    encode = similarity._tokenizer.encode
    prompts = [
        encode(f"The same? One: {items[a]} Other: {items[b]}\nAnswer:")
        for a, b in zip(LEFT, RIGHT)
    ]
    assert np.abs(got - own_scores(similarity, prompts)).max() < 1e-5


def test_parts_that_a_tokenizer_would_join_are_warned_of(tmp_path):
    folder = save_tiny_causal(tmp_path / "m")
    similarity = reranker(folder, template="fo{left}, {right}:")
    with pytest.warns(fp.FewpairsWarning, match=r"\d+ of 9 sampled prompts have other"):
        similarity.bind(["x", "red", "dog"])


def test_long_texts_are_cut_and_counted(tmp_path):
    folder = save_tiny_causal(tmp_path / "m")
    similarity = reranker(folder, max_length=330)
    items = ["fox " * 200, "red", "dog " * 20]
    with pytest.warns(fp.FewpairsWarning, match="1 of 3 texts are over the model's"):
        scorer = similarity.bind(items)
    i, j = np.divmod(np.arange(9), 3)
    got = scorer.pairs(i, j)
    assert scorer.long_texts == 1
    lengths, room = scorer._prompts.right.lengths, scorer._prompts.room
    over = scorer._prompts.left.lengths[i] + lengths[j] > room
    assert scorer.truncated == over.sum() >= 3
    prompts = [scorer._prompts.prompt(a, b) for a, b in zip(i, j)]
    assert max(len(prompt) for prompt in prompts) == 330
    assert np.abs(got - own_scores(similarity, prompts)).max() < 1e-5


def test_out_of_memory_halves_the_batch_and_goes_on(tmp_path):
    scorer = reranker(save_tiny_causal(tmp_path / "m")).bind(texts(N, longest=5))
    expected = scorer.pairs(LEFT, RIGHT)
    each = scorer._batch_scorers[0]
    forward = each.forward

    def stingy(inputs):
        if len(inputs.right_lengths) > 5:
            raise torch.OutOfMemoryError("no more")
        return forward(inputs)

    each.forward = stingy
    assert np.abs(scorer.pairs(LEFT, RIGHT) - expected).max() < 1e-5

    def broken(inputs):
        raise torch.OutOfMemoryError("no more")

    each.forward = broken
    with pytest.raises(Interrupted) as stop:
        scorer.pairs(LEFT, RIGHT)
    assert str(stop.value.cause).startswith("fewpairs.CausalReranker: out of memory")


def test_an_approximation_of_texts_runs_through(tmp_path):
    similarity = reranker(save_tiny_causal(tmp_path / "m"), symmetric=True)
    approx = fp.approximate(texts(30, longest=5), similarity, budget=0.5)
    assert approx.evaluations <= 0.5 * 30 * 29 / 2
    assert np.isfinite(approx.dense()).all()


def test_models_are_told_apart_by_all_that_decides_their_values(tmp_path):
    folder = save_tiny_causal(tmp_path / "m")
    others = [{}, {"instruction": "x"}, {"yes": "1"}, {"no": "0"}, {"symmetric": True}]
    assert len({tuple(reranker(folder, **o).identify()) for o in others}) == len(others)


def test_the_card_is_known_by_the_models_name():
    for name, word in [
        ("Qwen/Qwen3-Reranker-0.6B", "yes"),
        ("BAAI/bge-reranker-v2-gemma", "Yes"),
        ("mixedbread-ai/mxbai-rerank-base-v2", "1"),
    ]:
        assert choose_template(None, name, "other").yes == word
    template = choose_template(None, "mixedbread-ai/mxbai-rerank-base-v2", "qwen2")
    header, left, _ = template.parts("", "")
    assert left[0] == "query: {left}"
    assert header[0].startswith("<|im_start|>system\nYou are Qwen")


def test_a_model_whose_prompt_is_not_known_is_warned_of():
    with pytest.warns(fp.FewpairsWarning, match="no prompt is known for 'judge-7b'"):
        template = choose_template(None, "somebody/judge-7b", "llama")
    assert template == choose_template(None, "Qwen/Qwen3-Reranker-4B", "qwen3")


def test_an_instruction_has_its_line_where_the_card_has_one(tmp_path):
    folder = save_tiny_causal(tmp_path / "m", "qwen2")
    similarity = reranker(folder, instruction="be strict")
    assert similarity.instruction == "instruction: be strict\n"
    scorer = similarity.bind(texts(4))
    text = similarity._tokenizer.decode(scorer._prompts.prompt(0, 1))
    assert "instruction: be strict\nquery: " in text


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"yes": "certainly"}, r"yes is 'certainly', which the tokenizer turns into"),
        ({"no": "nope"}, r"no is 'nope', .*must be a single token"),
        ({"yes": ""}, "yes is ''"),
        ({"template": "{left} and"}, r"template is .*\{left\} and \{right\} once each"),
        ({"template": "{right} {left}"}, r"\{right\} comes before \{left\}"),
        ({"template": 3}, "template is 3"),
        ({"instruction": 3}, "instruction is 3"),
        ({"dtype": "bfloat16"}, "dtype 'bfloat16' on 'cpu'; there it can be one of"),
        ({"batch_tokens": 0}, "batch_tokens is 0"),
        ({"max_length": 30}, "max_length is 30; the prompt alone has"),
    ],
)
def test_bad_options_are_refused(tmp_path, options, match):
    with pytest.raises(fp.InputError, match=match):
        reranker(save_tiny_causal(tmp_path / "m"), **options).bind(["a", "b"])


def test_bad_items_are_refused(tmp_path):
    similarity = reranker(save_tiny_causal(tmp_path / "m"))
    with pytest.raises(fp.InputError, match=r"items\[1\] is None"):
        similarity.bind(["a", None])
    with pytest.raises(fp.InputError, match="items is"):
        similarity.bind([])


def test_models_that_cannot_answer_are_refused(tmp_path):
    with pytest.raises(fp.InputError, match=r"'\./no/such' is not a folder"):
        reranker("./no/such")
    with pytest.raises(fp.InputError, match="cannot load 'nobody/has-this'"):
        reranker("nobody/has-this", local_files_only=True)
    folder = save_tiny_causal(tmp_path / "headless", head=False)
    with pytest.raises(fp.InputError, match=r"no trained language head.*lm_head"):
        reranker(folder)
    with pytest.raises(fp.InputError, match=r"language head|is no causal"):
        reranker(save_tiny(tmp_path / "bert", "bert"))


def test_a_model_that_looks_ahead_is_refused(tmp_path, monkeypatch):
    import transformers

    forward = transformers.Qwen3ForCausalLM.forward

    def looking(self, input_ids, **given):
        out = forward(self, input_ids=input_ids, **given)
        out.logits += input_ids[0, -1]
        return out

    monkeypatch.setattr(transformers.Qwen3ForCausalLM, "forward", looking)
    with pytest.raises(fp.InputError, match="is no causal language model"):
        reranker(save_tiny_causal(tmp_path / "m"))


def test_prompts_of_a_pair_are_cut_at_the_right_text(tmp_path):
    similarity = reranker(save_tiny_causal(tmp_path / "m"))
    prompts = PromptTokens.of(
        similarity._tokenizer,
        ["fox " * 30, "dog"],
        similarity.template,
        instruction="x",
        max_length=300,
    )
    kept, cut = prompts.kept(np.array([0, 1]), np.array([0, 1]))
    assert cut == 1
    assert kept[1] == prompts.right.lengths[1]
    assert prompts.prompt(0, 0)[-len(prompts.tail) :] == prompts.tail.tolist()


def test_another_process_gives_the_same(tmp_path):
    import pickle

    scorer = reranker(save_tiny_causal(tmp_path / "m")).bind(texts(N, longest=5))
    here = scorer.pairs(LEFT, RIGHT)
    there = pickle.loads(pickle.dumps(scorer))  # noqa: S301 - what it just wrote
    assert np.array_equal(there.pairs(LEFT, RIGHT), here)
    assert there.backend == scorer.backend


@pytest.mark.parametrize(("kind", "replaced"), [("qwen3", 13), ("gemma", 0)])
def test_norms_are_replaced_where_that_changes_nothing(tmp_path, kind, replaced):
    import transformers

    from fewpairs.similarity.causal_reranker.fused_norms import fuse_norms

    folder = save_tiny_causal(tmp_path / "m", kind)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokens = torch.arange(20)[None]
    with torch.inference_mode():
        own = model(input_ids=tokens).logits
        before = fuse_norms(model)
        quick = model(input_ids=tokens).logits
    assert len(before) == replaced  # four of a layer and one at the end, or none
    assert (own - quick).abs().max() < 1e-4 * own.abs().max()
