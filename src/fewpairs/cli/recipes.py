"""Names of similarities and priors on the command line, and what they stand for."""

import difflib
import importlib
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.cli.inputs import Input, place_of
from fewpairs.errors import FewpairsError, InputError, MissingExtraError
from fewpairs.run.jobs import check_threshold as check_bounds
from fewpairs.similarity import (
    WMD,
    Similarity,
    StringSimilarity,
    TokenOverlap,
    from_function,
)
from fewpairs.similarity.strings import SCORERS

__all__ = [
    "NAMES",
    "Spec",
    "check_threshold",
    "make_pair_priors",
    "make_priors",
    "make_similarity",
]

_OVERLAPS = {
    "jaccard": "jaccard",
    "dice": "dice",
    "overlap": "overlap",
    "token_cosine": "cosine",
}
NAMES = tuple(
    name.replace("_", "-")
    for name in (*SCORERS, *_OVERLAPS, "wmd", "cross_encoder", "judge")
)
_OF_TEXTS = {"lexical": "lexical", "auto": "auto", "none": None}  # priors
_MINILM = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True)
class Spec:
    """A similarity as the command names it; kept in ``run.json``.

    Attributes
    ----------
    name
        One of :data:`NAMES`, or ``module:function``.
    vectors, gamma
        File of word vectors and γ, for ``wmd``.
    model, label
        Folder or name of a model, and which output counts, for ``cross-encoder``; the
        name of the model for ``judge``.
    characters
        Length of character n-grams, for ``jaccard``, ``dice``, ``overlap``.
    judge_url, judge_prompt, judge_price
        Of ``judge``: the server, the question or a file that holds it, and money per
        million tokens, as in ``0.25,2``.
    """

    name: str
    vectors: str | None = None
    gamma: float | None = None
    model: str | None = None
    label: str | None = None
    characters: int | None = None
    judge_url: str | None = None
    judge_prompt: str | None = None
    judge_price: str | None = None


def make_similarity(spec: Spec) -> Similarity:
    """Return the similarity that a name stands for, or suggest the near one."""
    if ":" in spec.name:
        return _imported(spec.name)
    name = spec.name.strip().lower().replace("-", "_")
    _check_options(spec, name)
    if name in SCORERS:
        return StringSimilarity(name)
    if name in _OVERLAPS:
        kind: Any = _OVERLAPS[name]
        return TokenOverlap(kind, characters=spec.characters)
    if name == "wmd":
        if spec.vectors is None:
            msg = (
                "--similarity wmd needs word vectors. Pass --vectors FILE, in the "
                "format of word2vec or GloVe."
            )
            raise InputError(msg)
        # Every text keeps its row; one without a known word is similar to nothing.
        return WMD(spec.vectors, gamma=spec.gamma or 1.0, empty="zero")
    if name == "cross_encoder":
        return _cross_encoder(spec)
    if name == "judge":
        return _judge(spec)
    near = difflib.get_close_matches(name.replace("_", "-"), NAMES, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(NAMES)}."
    msg = (
        f"there is no similarity {spec.name!r}. {hint} "
        "A function of your own is named module:function."
    )
    raise InputError(msg)


def check_threshold(threshold: float, similarity: Similarity) -> None:
    """Refuse a threshold that no similarity reaches, or that every one does."""
    if not np.isfinite(threshold):
        msg = f"--threshold is {threshold}; pass a number such as 0.8."
        raise InputError(msg)
    check_bounds(threshold, similarity, "--threshold")


def _check_options(spec: Spec, name: str) -> None:
    """Refuse options that the similarity would ignore."""
    takers = {
        "--vectors": (spec.vectors, ("wmd",)),
        "--gamma": (spec.gamma, ("wmd",)),
        "--model": (spec.model, ("cross_encoder", "judge")),
        "--label": (spec.label, ("cross_encoder",)),
        "--characters": (spec.characters, tuple(_OVERLAPS)),
        "--judge-url": (spec.judge_url, ("judge",)),
        "--judge-prompt": (spec.judge_prompt, ("judge",)),
        "--judge-price": (spec.judge_price, ("judge",)),
    }
    known = name.replace("_", "-") in NAMES
    for option, (value, names) in takers.items():
        if known and value is not None and name not in names:
            shown = ", ".join(taker.replace("_", "-") for taker in names)
            msg = f"{option} has no meaning for {spec.name}; it is for {shown}."
            raise InputError(msg)


def _cross_encoder(spec: Spec) -> Similarity:
    if spec.model is None:
        msg = (
            "--similarity cross-encoder needs a model. Pass --model with a folder, or "
            "with a name on the Hugging Face hub."
        )
        raise InputError(msg)
    from fewpairs.similarity.cross_encoder.scorer import CrossEncoder

    by_number = spec.label is not None and spec.label.isdigit()
    label = int(spec.label or 0) if by_number else spec.label
    return CrossEncoder(spec.model, label=label)


def _judge(spec: Spec) -> Similarity:
    if spec.model is None:
        msg = "--similarity judge needs a model. Pass --model, as the server calls it."
        raise InputError(msg)
    from fewpairs.similarity.judge.judge import Judge

    options: dict[str, Any] = {}
    if spec.judge_url is not None:
        options["url"] = spec.judge_url
    if spec.judge_prompt is not None:
        path = Path(spec.judge_prompt)
        is_file = "{" not in spec.judge_prompt and path.is_file()
        options["prompt"] = path.read_text("utf-8") if is_file else spec.judge_prompt
    if spec.judge_price is not None:
        try:
            each = [float(part) for part in spec.judge_price.split(",")]
        except ValueError:
            each = []
        if len(each) != 2:
            msg = (
                f"--judge-price is {spec.judge_price!r}; pass money per million "
                "tokens, of what is sent and of what is answered, such as 0.25,2."
            )
            raise InputError(msg)
        options["price"] = tuple(each)
    return Judge(spec.model, **options)


def _imported(name: str) -> Similarity:
    """Return ``module:function`` as a similarity; the working folder is looked in."""
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and not module_name.startswith(error.name):
            msg = f"{module_name} needs the module {error.name}. Install it first."
            raise InputError(msg) from error
        msg = (
            f"there is no module {module_name!r} for --similarity {name}. Run the "
            f"command in the folder that has {module_name}.py, or install it."
        )
        raise InputError(msg) from error
    except FewpairsError:
        raise
    except Exception as error:  # whatever a user's module raises
        msg = (
            f"importing {module_name} raised {type(error).__name__}: {error}. Mend it; "
            "--debug shows where."
        )
        raise InputError(msg) from error
    found = getattr(module, attribute, None)
    if found is None:
        near = difflib.get_close_matches(attribute, dir(module), n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        msg = f"{module_name} has no {attribute!r}.{hint} Pass module:function."
        raise InputError(msg)
    if isinstance(found, Similarity):
        return found
    if isinstance(found, type) and issubclass(found, Similarity):
        return found()
    if callable(found) and not isinstance(found, type):
        return from_function(found)
    msg = (
        f"{name} is {found!r:.60}; it must be a function f(a, b) of two texts, or a "
        "fewpairs.Similarity."
    )
    raise InputError(msg)


def make_priors(names: Sequence[str], given: Input) -> Any:
    """Return the prior of one name, or a list of those of several."""
    made = [make_prior(name, given) for name in names]
    return made if len(made) > 1 else made[0]


def make_pair_priors(names: Sequence[str], left: Input, right: Input) -> Any:
    """Return the prior of two files: embeddings of both, or one recipe for both."""
    made = []
    for name in names:
        one = make_prior(name, left)
        pair = isinstance(one, np.ndarray)
        made.append((one, make_prior(name, right)) if pair else one)
    return made if len(made) > 1 else made[0]


def make_prior(name: str, given: Input) -> Any:
    """Return a prior: embeddings of a model, a file or a column, or a similarity."""
    if name in _OF_TEXTS:
        return _OF_TEXTS[name]
    if name == "minilm":
        return _embedded(_MINILM, given.texts)
    if name in given.table.columns:
        return _column(name, given)
    path = Path(name)
    if path.is_dir():
        return _embedded(name, given.texts)
    if path.is_file() or path.suffix == ".npy":
        return _loaded(path, given)
    try:
        return make_similarity(Spec(name))
    except InputError as error:
        msg = (
            f"--prior is {name!r}: no column of the input, no file, and {error} Pass "
            "lexical, none, minilm, the folder of a sentence-transformers model, a "
            ".npy file of embeddings or a column that holds them."
        )
        raise InputError(msg) from None


def _embedded(model: str, texts: list[str]) -> NDArray[Any]:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        msg = (
            "--prior needs sentence-transformers to embed texts. Run: "
            'pip install "fewpairs[torch]"'
        )
        raise MissingExtraError(msg) from error
    # What the hub's libraries log is not for the user of a command.
    for name in ("huggingface_hub", "sentence_transformers", "transformers"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    encoder = None
    for local in (True, False):  # the hub is asked only for what is not there
        try:
            encoder = SentenceTransformer(model, local_files_only=local)
            break
        except Exception as error:  # the hub's errors have no common base
            if local:
                continue
            reason = str(error).splitlines()[0][:120]
            msg = (
                f"--prior: the model {model} cannot be loaded ({reason}). Pass the "
                "folder of a sentence-transformers model, or a .npy file of embeddings."
            )
            raise InputError(msg) from error
    assert encoder is not None  # noqa: S101
    found = encoder.encode(texts, convert_to_numpy=True, show_progress_bar=False)
    return np.asarray(found, dtype=np.float32)


def _loaded(path: Path, given: Input) -> NDArray[Any]:
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        msg = f"--prior: there is no file {path}. Check the path."
        raise InputError(msg) from None
    except (OSError, ValueError) as error:
        msg = (
            f"--prior: {path} cannot be read as a .npy array ({error}). Save it by "
            "numpy.save, one row a text."
        )
        raise InputError(msg) from error
    return _of_texts(np.asarray(array), given)


def _of_texts(array: NDArray[Any], given: Input) -> NDArray[Any]:
    """Take the rows of the texts that stayed, where empty ones were skipped."""
    everything = len(given.table.rows)
    if len(array) == everything != len(given.texts):
        return np.asarray(array[given.positions])
    return array


def _column(name: str, given: Input) -> NDArray[Any]:
    """Read vectors from a column: lists, or texts such as ``[0.1, 0.2]``."""
    at = place_of(name, given.table, given.name)
    vectors = []
    for row in given.positions:
        value = given.table.rows[row][at]
        try:
            parsed = json.loads(value) if isinstance(value, str) else value
            vectors.append(np.asarray(parsed, dtype=np.float32))
            whole = vectors[-1].ndim == 1 and len(vectors[-1]) == len(vectors[0])
        except (TypeError, ValueError, RecursionError):
            whole = False
        if not whole:
            msg = (
                f"--prior: row {row + 1} of column {name!r} is {value!r:.40}; every "
                "row must hold a list of numbers, all of one length."
            )
            raise InputError(msg)
    return np.stack(vectors)
