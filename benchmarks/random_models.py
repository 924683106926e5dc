"""Models with random weights and of real shapes, for speed alone.

Their tokenizer has a token per word, so that a text of k words has k tokens.
"""

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np

WORDS = 20_000

# Layers, width, heads and inner width of models that people load.
SHAPES = {
    "MiniLM-L6": (6, 384, 12, 1_536),
    "base": (12, 768, 12, 3_072),
    "large": (24, 1_024, 16, 4_096),
    "small": (4, 256, 4, 1_024),
}
FAMILIES = (
    "bert",
    "xlm-roberta",
    "distilbert",
    "electra",
    "deberta-v2",
    "modernbert",
)


def texts(lengths: Any, seed: int = 0) -> list[str]:
    """Return random texts of so many words each."""
    rng = np.random.default_rng(seed)
    return [
        " ".join(f"w{k}" for k in rng.integers(WORDS, size=int(n))) for n in lengths
    ]


def save_classifier(folder: Path, family: str, shape: str, *, length: int) -> str:
    """Save a random classifier, and return its folder."""
    import torch
    import transformers

    tokenizer = _tokenizer(length, types=family in ("bert", "electra", "deberta-v2"))
    config = transformers.AutoConfig.for_model(
        family,
        vocab_size=len(tokenizer),
        num_labels=1,
        pad_token_id=tokenizer.pad_token_id,
        **_classifier_shape(family, SHAPES[shape], length),
    )
    torch.manual_seed(0)
    with _quiet(), torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = transformers.AutoModelForSequenceClassification.from_config(config)
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def save_qwen3(folder: Path, *, layers: int = 28, width: int = 1_024) -> str:
    """Save a random causal model of Qwen3-Reranker-0.6B's shape, or 4B's (2,560)."""
    import torch
    import transformers

    tokenizer = _tokenizer(8_192, types=False)
    config = transformers.AutoConfig.for_model(
        "qwen3",
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=9_728 if width == 2_560 else 3 * width,
        num_hidden_layers=layers,
        num_attention_heads=32 if width == 2_560 else 16,
        num_key_value_heads=8,
        head_dim=128 if width >= 1_024 else 16,
        max_position_embeddings=40_960,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    with _quiet(), torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = transformers.AutoModelForCausalLM.from_config(config)
        model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _classifier_shape(
    family: str, shape: tuple[int, int, int, int], length: int
) -> dict[str, Any]:
    layers, width, heads, inner = shape
    if family == "distilbert":
        made = {"dim": width, "n_layers": layers, "n_heads": heads, "hidden_dim": inner}
        return {**made, "max_position_embeddings": length}
    made = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "max_position_embeddings": length + 2,
    }
    extra: dict[str, dict[str, Any]] = {
        "xlm-roberta": {"type_vocab_size": 1},
        "electra": {"embedding_size": width},
        "deberta-v2": {  # as v3 has it
            "type_vocab_size": 0,
            "relative_attention": True,
            "position_buckets": 256,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": "p2c|c2p",
            "position_biased_input": False,
            "pooler_hidden_size": width,
        },
        "modernbert": {  # gated: two thirds of the width, twice
            "intermediate_size": 3 * width // 2,
            **dict.fromkeys(("bos_token_id", "cls_token_id"), 0),
            **dict.fromkeys(("eos_token_id", "sep_token_id"), 2),
        },
    }
    return made | extra.get(family, {})


def _tokenizer(length: int, *, types: bool) -> Any:
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = ["<s>", "<pad>", "</s>", "<unk>", "yes", "no"]
    entries = [*names, *(f"w{k}" for k in range(WORDS))]
    vocabulary = {word: t for t, word in enumerate(entries)}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=names[3]))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    pair = "<s> $A </s> </s> $B </s>"
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s>:0 $A:0 </s>:0 $B:1 </s>:1" if types else pair,
        special_tokens=[(name, vocabulary[name]) for name in ("<s>", "</s>")],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=names[1],
        unk_token=names[3],
        cls_token=names[0],
        sep_token=names[2],
        model_max_length=length,
        model_input_names=["input_ids", "attention_mask"] + ["token_type_ids"] * types,
    )


@contextlib.contextmanager
def _quiet() -> Any:
    """Keep progress bars away from the tables."""
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stderr(nowhere):
        yield
