"""Tiny classifiers with tokenizers of their own, saved to a folder."""

import random

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
    offset = 2 if kind == "roberta" else 0
    config = transformers.AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=64,
        max_position_embeddings=length + offset,
        type_vocab_size=2 if kind == "bert" else 1,
        num_labels=labels,
        hidden_act=activation,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.25,
    )
    family = transformers.AutoModelForSequenceClassification
    if not head:
        family = transformers.AutoModel
    model = family.from_config(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def _tokenizer(kind, length):
    if kind == "bert":
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        pair = "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
    else:
        names = ["<s>", "<pad>", "</s>", "<unk>"]
        pair = "<s> $A </s> </s> $B </s>"
    letters = sorted(set("".join(WORDS)))
    entries = [*names, *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {word: t for t, word in enumerate(dict.fromkeys(entries))}
    unknown = "[UNK]" if kind == "bert" else "<unk>"
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
    if kind == "bert":
        inputs.insert(1, "token_type_ids")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]" if kind == "bert" else "<pad>",
        unk_token=unknown,
        cls_token=first,
        sep_token=last,
        model_max_length=length,
        model_input_names=inputs,
    )
