"""String similarities at native speed, by RapidFuzz."""

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_whole, shown
from fewpairs.errors import InputError
from fewpairs.similarity.base import Scorer, Similarity, check_texts, made_of
from fewpairs.types import Indices

__all__ = ["SCORERS", "StringSimilarity"]


class _Facts(NamedTuple):
    """What is known of a RapidFuzz scorer.

    proven: symmetric by definition. The others are symmetric as RapidFuzz computes
    them today (it flags them so), which is checked on sampled pairs in every run.
    unit_diagonal: False where a blank string scores 0 against itself.
    """

    path: str
    scale: float
    proven: bool
    unit_diagonal: bool


def _distance(module: str, *, proven: bool = True) -> _Facts:
    path = f"rapidfuzz.distance.{module}:normalized_similarity"
    return _Facts(path, 1.0, proven, unit_diagonal=True)


def _fuzz(name: str, *, proven: bool = True, unit_diagonal: bool = True) -> _Facts:
    return _Facts(f"rapidfuzz.fuzz:{name}", 0.01, proven, unit_diagonal)


_SCORERS: dict[str, _Facts] = {
    "levenshtein": _distance("Levenshtein"),
    "indel": _distance("Indel"),
    "osa": _distance("OSA"),
    "damerau_levenshtein": _distance("DamerauLevenshtein"),
    "hamming": _distance("Hamming"),
    "jaro": _distance("Jaro", proven=False),
    "jaro_winkler": _distance("JaroWinkler", proven=False),
    "lcs": _distance("LCSseq"),
    "prefix": _distance("Prefix"),
    "postfix": _distance("Postfix"),
    "ratio": _fuzz("ratio"),
    "partial_ratio": _fuzz("partial_ratio", proven=False),
    "token_sort_ratio": _fuzz("token_sort_ratio"),
    "token_set_ratio": _fuzz("token_set_ratio", unit_diagonal=False),
    "token_ratio": _fuzz("token_ratio"),
    "partial_token_sort_ratio": _fuzz("partial_token_sort_ratio", proven=False),
    "partial_token_set_ratio": _fuzz(
        "partial_token_set_ratio", proven=False, unit_diagonal=False
    ),
    "partial_token_ratio": _fuzz("partial_token_ratio", proven=False),
    "wratio": _fuzz("WRatio", proven=False, unit_diagonal=False),
    "qratio": _fuzz("QRatio", unit_diagonal=False),
}

SCORERS = tuple(_SCORERS)
_THREADS = 4_096  # at most


class StringSimilarity(Similarity):
    """Similarity of two strings, between 0 and 1, by a RapidFuzz scorer.

    Blocks run in native code on all cores. RapidFuzz's ``fuzz`` scores of 0 to 100
    are divided by 100.

    Parameters
    ----------
    scorer
        ``"levenshtein"``, ``"indel"``, ``"osa"``, ``"damerau_levenshtein"``,
        ``"hamming"``, ``"jaro"``, ``"jaro_winkler"``, ``"lcs"``, ``"prefix"``,
        ``"postfix"``, ``"ratio"``, ``"partial_ratio"``, ``"token_sort_ratio"``,
        ``"token_set_ratio"``, ``"token_ratio"``, ``"partial_token_sort_ratio"``,
        ``"partial_token_set_ratio"``, ``"partial_token_ratio"``, ``"wratio"`` or
        ``"qratio"``.
    weights
        Costs of an insertion, a deletion and a substitution, for ``"levenshtein"``
        alone. Unequal costs of insertion and deletion make it asymmetric.
    processor
        Applied to every string once, for example
        ``rapidfuzz.utils.default_process`` (lower case, no punctuation).
    workers
        Threads; −1 takes all cores.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> scorer = fp.StringSimilarity("levenshtein").bind(["kitten", "sitting"])
    >>> scorer.pairs(np.array([0]), np.array([1])).round(4).tolist()
    [0.5714]
    """

    bounds = (0.0, 1.0)

    def __init__(
        self,
        scorer: str = "levenshtein",
        *,
        weights: tuple[int, int, int] | None = None,
        processor: Callable[[str], str] | None = None,
        workers: int = -1,
    ) -> None:
        if not isinstance(scorer, str) or scorer not in _SCORERS:
            msg = (
                f"fewpairs.StringSimilarity: unknown scorer {shown(scorer)}. "
                f"Choose one of {', '.join(sorted(_SCORERS))}."
            )
            raise InputError(msg)
        if weights is not None and scorer != "levenshtein":
            msg = (
                f"fewpairs.StringSimilarity: weights={shown(weights)} with {scorer!r}; "
                "only 'levenshtein' takes weights."
            )
            raise InputError(msg)
        if weights is not None and not (
            isinstance(weights, tuple)
            and len(weights) == 3
            and all(isinstance(w, int) and 0 <= w < 1 << 31 for w in weights)
        ):
            msg = (
                f"fewpairs.StringSimilarity: weights is {weights!r:.60}; pass whole "
                "costs of insertion, deletion and substitution, such as (1, 1, 2)."
            )
            raise InputError(msg)
        if processor is not None and not callable(processor):
            msg = (
                f"fewpairs.StringSimilarity: processor is {processor!r:.60}; pass a "
                "function of one string."
            )
            raise InputError(msg)
        call = "fewpairs.StringSimilarity"
        workers = check_whole(call, "workers", workers, least=-1, most=_THREADS)
        facts = _SCORERS[scorer]
        self.scorer = scorer
        self.weights = weights
        self.symmetric = weights is None or weights[0] == weights[1]
        self.proven = facts.proven
        self.diagonal = 1.0 if facts.unit_diagonal else None
        self.processor = processor
        self.fingerprinted = processor is None  # else known by its name alone
        self.workers = workers

    @property
    def name(self) -> str:
        """The call that makes this similarity."""
        weights = "" if self.weights is None else f", weights={self.weights}"
        return f'StringSimilarity("{self.scorer}"{weights})'

    def identify(self) -> Iterable[Any]:
        """Return the scorer, its weights, and the name of its processor."""
        processor = getattr(self.processor, "__qualname__", repr(self.processor))
        return ("strings", self.scorer, self.weights, processor)

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Check and process every string once."""
        texts = check_texts(items, "fewpairs.StringSimilarity")
        if self.processor is not None:
            call = "fewpairs.StringSimilarity"
            processed = [
                made_of(text, t, self.processor, call, "processor")
                for t, text in enumerate(texts)
            ]
            texts = check_texts(processed, f"{call} (processor)")
        return _StringScorer(self, texts)


class _StringScorer(Scorer):
    backend = "RapidFuzz"

    chunk = 1 << 16

    def __init__(self, similarity: StringSimilarity, texts: list[str]) -> None:
        from rapidfuzz import process

        facts = _SCORERS[similarity.scorer]
        module, attribute = facts.path.split(":")
        self.n = len(texts)
        self._texts = texts
        self._scale = facts.scale
        self._process = process
        kwargs = None if similarity.weights is None else {"weights": similarity.weights}
        self._options: dict[str, Any] = {
            "scorer": getattr(importlib.import_module(module), attribute),
            "dtype": np.float64,
            "workers": similarity.workers,
            "scorer_kwargs": kwargs,
        }

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        a = [self._texts[t] for t in i]
        b = [self._texts[t] for t in j]
        return np.asarray(self._process.cpdist(a, b, **self._options)) * self._scale

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        a = [self._texts[t] for t in rows]
        b = [self._texts[t] for t in columns]
        return np.asarray(self._process.cdist(a, b, **self._options)) * self._scale
