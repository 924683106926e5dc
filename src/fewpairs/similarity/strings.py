"""String similarities at native speed, by RapidFuzz."""

import importlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_whole, shown
from fewpairs.errors import InputError
from fewpairs.once import once
from fewpairs.similarity.base import Scorer, Similarity, check_texts, cut, made_of
from fewpairs.similarity.string_bounds import StringBounds, has_bounds
from fewpairs.types import Indices

__all__ = ["SCORERS", "StringSimilarity"]


class _Facts(NamedTuple):
    """What is known of a RapidFuzz scorer.

    proven: symmetric by definition. The others are symmetric as RapidFuzz computes
    them today (it flags them so), which is checked on sampled pairs in every run.
    unit_diagonal: False where a blank string scores 0 against itself.
    arranged: what a score does with each text alone, done once in ``bind``.
    path: what scores texts that have been arranged.
    """

    path: str
    scale: float
    proven: bool
    unit_diagonal: bool
    arranged: Callable[[str], str] | None = None


_NO_BLANKS = re.compile(r"[^\t-\r\x1c-\x1f ]+")


def _tokens(text: str) -> list[str]:
    """Split a text where RapidFuzz does.

    In texts of one byte a letter, U+0085 and U+00A0 are no blanks to it.
    """
    odd = not text.isascii() and ("\x85" in text or "\xa0" in text)
    return _NO_BLANKS.findall(text) if odd and max(text) <= "\xff" else text.split()


def _tokens_sorted(text: str) -> str:
    r"""Return the tokens of a text in order, as RapidFuzz's ``token_sort`` does.

    >>> _tokens_sorted("new  york\tmets")
    'mets new york'
    """
    return " ".join(sorted(_tokens(text)))


def _token_set(text: str) -> str:
    """Return the distinct tokens of a text in order.

    >>> _token_set("to be or not to be")
    'be not or to'
    """
    return " ".join(sorted(set(_tokens(text))))


def _distance(module: str, *, proven: bool = True) -> _Facts:
    path = f"rapidfuzz.distance.{module}:normalized_similarity"
    return _Facts(path, 1.0, proven, unit_diagonal=True)


def _fuzz(
    name: str,
    *,
    proven: bool = True,
    unit_diagonal: bool = True,
    arranged: Callable[[str], str] | None = None,
) -> _Facts:
    path = f"rapidfuzz.fuzz:{name}"
    return _Facts(path, 100.0, proven, unit_diagonal, arranged)


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
    "token_sort_ratio": _fuzz("ratio", arranged=_tokens_sorted),
    "token_set_ratio": _fuzz(
        "token_set_ratio", unit_diagonal=False, arranged=_token_set
    ),
    "token_ratio": _fuzz("token_ratio", arranged=_tokens_sorted),
    "partial_token_sort_ratio": _fuzz(
        "partial_ratio", proven=False, arranged=_tokens_sorted
    ),
    "partial_token_set_ratio": _fuzz(
        "partial_token_set_ratio",
        proven=False,
        unit_diagonal=False,
        arranged=_token_set,
    ),
    "partial_token_ratio": _fuzz(
        "partial_token_ratio", proven=False, arranged=_tokens_sorted
    ),
    "wratio": _fuzz("WRatio", proven=False, unit_diagonal=False),
    "qratio": _fuzz("QRatio", unit_diagonal=False),
}

SCORERS = tuple(_SCORERS)
_THREADS = 4_096  # at most
_ROW = 256  # pairs of one left text from which on they are a row of a block
_WORTH_THREADS = 1e6  # nanoseconds of work; starting threads takes a tenth of that
# What a stopping score may be too high by, after its own rounding and float32's.
_SLACK = 1e-6
_WORTH_BOUNDS = 500.0  # nanoseconds a pair; below, RapidFuzz itself stops as early


class StringSimilarity(Similarity):
    """Similarity of two strings, between 0 and 1, by a RapidFuzz scorer.

    Blocks run in native code on all cores, in single precision, as fast as RapidFuzz's
    own ``cdist``: what depends on one text alone, such as sorting its tokens, is done
    once, in ``bind``. RapidFuzz's ``fuzz`` scores of 0 to 100 are divided by 100.

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
    >>> scorer.pairs(np.array([0]), np.array([1])).round(4)
    array([0.5714], dtype=float32)
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
        """Check, process and arrange every string once."""
        texts = check_texts(items, "fewpairs.StringSimilarity")
        if self.processor is not None:
            call = "fewpairs.StringSimilarity"
            processed = [
                made_of(text, t, self.processor, call, "processor")
                for t, text in enumerate(texts)
            ]
            texts = check_texts(processed, f"{call} (processor)")
        arranged = _SCORERS[self.scorer].arranged
        if arranged is not None:
            texts = [arranged(text) for text in texts]
        return _StringScorer(self, texts)


class _StringScorer(Scorer):
    backend = "RapidFuzz"

    dtype = np.dtype(np.float32)
    chunk = 1 << 18  # starting the threads of a block takes as long as 10⁴ pairs

    def __init__(self, similarity: StringSimilarity, texts: list[str]) -> None:
        from rapidfuzz import process

        facts = _SCORERS[similarity.scorer]
        module, attribute = facts.path.split(":")
        self.n = len(texts)
        self._texts = np.empty(len(texts), dtype=object)
        self._texts[:] = texts
        self._scale = facts.scale
        bounded = has_bounds(similarity.scorer) and similarity.weights is None
        self._bounded = similarity.scorer if bounded else None
        self._process = process
        self._workers = similarity.workers
        mean = sum(map(len, texts)) / max(1, len(texts))
        self._each = 30 + mean * mean / 100  # nanoseconds a pair, roughly
        kwargs = None if similarity.weights is None else {"weights": similarity.weights}
        self._options: dict[str, Any] = {
            "scorer": getattr(importlib.import_module(module), attribute),
            "dtype": np.float32,
            "scorer_kwargs": kwargs,
        }

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float32]:
        """Score pairs; many of one left text as a row, whose text is prepared once."""
        out = np.empty(len(i), dtype=np.float32)
        rest = np.ones(len(i), dtype=bool)
        left, place, count = np.unique(i, return_inverse=True, return_counts=True)
        for t in np.flatnonzero(count >= _ROW):
            own = np.flatnonzero(place == t)
            out[own] = self.block(left[t : t + 1], j[own])[0]
            rest[own] = False
        if rest.any():
            a, b = self._texts[i[rest]].tolist(), self._texts[j[rest]].tolist()
            workers = self._threads(len(a))
            found = self._process.cpdist(a, b, workers=workers, **self._options)
            out[rest] = self._scaled(np.asarray(found))
        return out

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        return self._block(rows, columns, None)

    def block_above(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[np.float32]:
        if least <= 0:
            return self._block(rows, columns, None)
        return self._block(rows, columns, least * self._scale * (1 - _SLACK))

    def _block(
        self, rows: Indices, columns: Indices, cutoff: float | None
    ) -> NDArray[np.float32]:
        a = self._texts[cut(rows)].tolist()
        b = self._texts[cut(columns)].tolist()
        found = self._process.cdist(
            a,
            b,
            score_cutoff=cutoff,
            workers=self._threads(len(a) * len(b)),
            **self._options,
        )
        return self._scaled(np.asarray(found))

    @property
    def has_bounds(self) -> bool:
        return self._bounded is not None

    @property
    def prunes(self) -> bool:
        return self.has_bounds and self._each > _WORTH_BOUNDS

    def upper_bound(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        return np.ones(len(i)) if self._bounds is None else self._bounds.pairs(i, j)

    def may_reach(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[np.bool_]:
        if self._bounds is None:
            return super().may_reach(rows, columns, least)
        return self._bounds.may_reach(rows, columns, least)

    @once
    def _bounds(self) -> StringBounds | None:
        if self._bounded is None:
            return None
        return StringBounds(self._texts.tolist(), self._bounded)

    def _scaled(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        # Divided, not multiplied by 0.01: 85 becomes the number nearest to 0.85.
        return scores if self._scale == 1 else np.divide(scores, 100, out=scores)

    def _threads(self, pairs: int) -> int:
        return self._workers if pairs * self._each > _WORTH_THREADS else 1
