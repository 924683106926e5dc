"""Loading a sequence classifier, and refusing what is none, before anything is paid."""

import contextlib
import importlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fewpairs.errors import InputError, MissingExtraError

__all__ = [
    "Classifier",
    "default_activation",
    "load_classifier",
    "load_model",
    "longest",
    "require",
]

_CALL = "fewpairs.CrossEncoder"


class Classifier(NamedTuple):
    """A model with its tokenizer, and the most tokens that it takes."""

    model: Any
    tokenizer: Any
    max_length: int


def require(call: str, *libraries: str) -> None:
    """Import libraries of the torch extra, or say how to install them."""
    for library in libraries:
        try:
            importlib.import_module(library)
        except ImportError as error:
            msg = (
                f"{call}: needs {library}, which is not installed. "
                'Run: pip install "fewpairs[torch]"'
            )
            raise MissingExtraError(msg) from error


def load_classifier(name: str, *, local_files_only: bool = False) -> Classifier:
    """Load a sequence classifier from a folder, the local cache or the hub."""
    from transformers import AutoModelForSequenceClassification

    model, missing, tokenizer = load_model(
        name,
        AutoModelForSequenceClassification,
        call=_CALL,
        kind="sequence-classification",
        local_files_only=local_files_only,
    )
    if missing:
        msg = (
            f"{_CALL}: {name!r} has no trained classification head: its checkpoint "
            f"lacks {', '.join(missing[:4])}, which would be random numbers. Pass a "
            "sequence-classification model, or fine-tune this one first; a language "
            "model that answers yes or no is for fewpairs.CausalReranker."
        )
        raise InputError(msg)
    return Classifier(model, tokenizer, longest(model, tokenizer))


def load_model(
    name: str,
    family: Any,
    *,
    call: str,
    kind: str,
    local_files_only: bool,
    dtype: str = "float32",
) -> tuple[Any, list[str], Any]:
    """Return a model, what its checkpoint lacks, and its tokenizer.

    A name that looks like a path must be a folder. Any other name is looked for in
    the local cache first, and on the hub only if it is not there.
    """
    from transformers import AutoTokenizer

    def load(*, offline: bool) -> tuple[Any, Any, Any]:
        options: dict[str, Any] = {"local_files_only": offline}
        model, info = family.from_pretrained(
            name, output_loading_info=True, dtype=dtype, **options
        )
        return model, info, AutoTokenizer.from_pretrained(name, **options)

    local = _check_path(name, call)
    with _quiet():
        try:
            model, info, tokenizer = load(offline=True)
        except (OSError, ValueError) as error:
            if local or local_files_only:
                raise InputError(_why_not(name, error, call, kind)) from error
            try:
                model, info, tokenizer = load(offline=False)
            except (OSError, ValueError) as again:
                raise InputError(_why_not(name, again, call, kind)) from again
    model.eval()
    return model, sorted(info["missing_keys"]), tokenizer


def default_activation(name: str, config: Any) -> str:
    """Return the activation that sentence-transformers would apply.

    What the model's configuration names; else sigmoid for one label and none for
    several.
    """
    path = (getattr(config, "sentence_transformers", None) or {}).get("activation_fn")
    path = path or getattr(config, "sbert_ce_default_activation_function", None)
    beside = Path(name) / "config_sentence_transformers.json"
    if beside.is_file():
        path = json.loads(beside.read_text("utf-8")).get("activation_fn") or path
    if path is None:
        return "sigmoid" if config.num_labels == 1 else "identity"
    kind = str(path).rpartition(".")[2].lower()
    if kind not in ("identity", "sigmoid"):
        msg = (
            f"{_CALL}: the configuration of {name!r} names the activation {path!r}, "
            "which is not known here. Pass activation='identity', 'sigmoid' or "
            "'softmax'."
        )
        raise InputError(msg)
    return kind


def _check_path(name: str, call: str) -> bool:
    """Tell whether ``name`` is a folder; refuse a path that is none."""
    if name and Path(name).is_dir():
        return True
    looks_like_path = (
        name.startswith((".", "~", "/")) or name.count("/") > 1 or "\\" in name
    )
    if looks_like_path or not name or Path(name).exists():
        msg = (
            f"{call}: {name!r} is not a folder. Pass the folder of a saved model "
            "(with config.json and weights) or a name on the Hugging Face hub."
        )
        raise InputError(msg)
    return False


def _why_not(name: str, error: Exception, call: str, kind: str) -> str:
    first = (str(error).strip().splitlines() or ["no reason given"])[0]
    return (
        f"{call}: cannot load {name!r}: {first:.200} Pass the folder of a saved "
        f"{kind} model with its tokenizer, or a name on the Hugging Face hub that is "
        "cached or can be downloaded."
    )


def longest(model: Any, tokenizer: Any) -> int:
    """Return the most tokens of a pair: the tokenizer's limit and the model's."""
    limits = [int(tokenizer.model_max_length)]
    positions = getattr(model.config, "max_position_embeddings", None)
    if positions:
        # RoBERTa counts positions from its padding token on: the first are not used.
        table = getattr(model.base_model, "embeddings", None)
        table = getattr(table, "position_embeddings", None)
        padding = getattr(table, "padding_idx", None)
        limits.append(int(positions) - (0 if padding is None else int(padding) + 1))
    return min(limits)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers from printing while it loads, and from old ways of its own."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
