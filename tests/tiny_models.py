"""Tiny classifiers with tokenizers of their own, saved to a folder."""

import random
import warnings

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = "the red fox jumps over a lazy dog and runs home again while it rains".split()


def texts(n, *, longest=9, seed=0):
    """Random texts, among them an empty one, a blank one and unknown words."""
    rng = random.Random(seed)
    out = [" ".join(rng.choices(WORDS, k=rng.randint(1, longest))) for _ in range(n)]
    out[1], out[2], out[3] = "", " ", "  unheard of   Words \n"
    return out


def save_tiny(
    folder,
    kind="bert",
    *,
    labels=1,
    length=32,
    head=True,
    seed=0,
    activation="gelu",
    heads=2,
    layers=2,
):
    """Save a random model and return its folder."""
    torch.manual_seed(seed)
    tokenizer = _tokenizer(kind, length)
    config = transformers.AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        num_labels=labels,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.25,
        **_shape(kind, length, activation, heads, layers),
    )
    family = transformers.AutoModelForSequenceClassification
    if not head:
        family = transformers.AutoModel
    with warnings.catch_warnings():  # DeBERTa's code is of the time of torch.jit
        warnings.simplefilter("ignore", DeprecationWarning)
        model = family.from_config(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


# Families that a fast forward pass is for.
FAMILIES = [
    "bert",
    "roberta",
    "xlm-roberta",
    "distilbert",
    "electra",
    "deberta-v2",
    "modernbert",
]
# Those whose tokenizers join pairs as RoBERTa's does, without token types.
_LIKE_ROBERTA = ("roberta", "xlm-roberta", "modernbert")


def _shape(kind, length, activation, heads, layers):
    if kind == "distilbert":
        return {
            "dim": 32,
            "n_layers": layers,
            "n_heads": heads,
            "hidden_dim": 64,
            "max_position_embeddings": length,
            "activation": activation,
        }
    shape = {
        "hidden_size": 32,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 64,
        "max_position_embeddings": length,
        "hidden_act": activation,
        "type_vocab_size": 2,
    }
    if kind in ("roberta", "xlm-roberta"):
        shape |= {"max_position_embeddings": length + 2, "type_vocab_size": 1}
    if kind == "electra":
        shape |= {"embedding_size": 24}
    if kind == "deberta-v2":  # as v3 has it
        shape |= {
            "type_vocab_size": 0,
            "relative_attention": True,
            "position_buckets": 8,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": "p2c|c2p",
            "position_biased_input": False,
            "pooler_hidden_size": 32,
        }
    if kind == "modernbert":
        shape |= {
            "local_attention": 8,
            "global_attn_every_n_layers": 2,
            "layer_types": None,
        }
        shape |= dict.fromkeys(("bos_token_id", "cls_token_id"), 0)
        shape |= dict.fromkeys(("eos_token_id", "sep_token_id"), 2)
        del shape["type_vocab_size"], shape["hidden_act"]
    return shape


def _tokenizer(kind, length):
    like_bert = kind not in _LIKE_ROBERTA
    if like_bert:
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        pair = "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
    else:
        names = ["<s>", "<pad>", "</s>", "<unk>"]
        pair = "<s> $A </s> </s> $B </s>"
    letters = sorted(set("".join(WORDS)))
    entries = [*names, *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {word: t for t, word in enumerate(dict.fromkeys(entries))}
    unknown = "[UNK]" if like_bert else "<unk>"
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    first, last = pair.split()[0].split(":")[0], pair.split()[-1].split(":")[0]
    backend.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=pair,
        special_tokens=[(name, vocabulary[name]) for name in (first, last)],
    )
    inputs = ["input_ids", "attention_mask"]
    if like_bert and kind != "distilbert":
        inputs.insert(1, "token_type_ids")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]" if like_bert else "<pad>",
        unk_token=unknown,
        cls_token=first,
        sep_token=last,
        model_max_length=length,
        model_input_names=inputs,
    )


CAUSAL = ["qwen3", "qwen2", "gemma"]


def save_tiny_causal(
    folder, kind="qwen3", *, seed=0, head=True, spread=0.25, **changes
):
    """Save a random causal language model of characters, and return its folder."""
    torch.manual_seed(seed)
    tokenizer = _characters()
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 1_024,
        "tie_word_embeddings": False,
        "initializer_range": spread,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = transformers.AutoConfig.for_model(kind, **(shape | changes))
    family = transformers.AutoModelForCausalLM if head else transformers.AutoModel
    family.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _characters():
    """Words of a few letters that are joined as GPT's tokenizers join them."""
    special = ["<pad>", "<bos>", "<eos>", "<|im_start|>", "<|im_end|>"]
    words = ["yes", "no", "Yes", "No", "0", "1", *WORDS]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {t: n for n, t in enumerate(dict.fromkeys([*special, *alphabet]))}
    merges = []
    for word in words:  # joined from the left, letter by letter
        for start in ("", "Ġ"):
            for end in range(1, len(start + word)):
                pair = (start + word)[:end], (start + word)[end]
                if "".join(pair) not in vocabulary:
                    vocabulary["".join(pair)] = len(vocabulary)
                    merges.append(pair)
    backend = Tokenizer(models.BPE(vocabulary, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=special[0],
        bos_token=special[1],
        eos_token=special[2],
        additional_special_tokens=special[3:],
        model_max_length=1_024,
    )
