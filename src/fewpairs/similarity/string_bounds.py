"""What two strings' lengths and letters say at most of their similarity."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.once import once
from fewpairs.types import Indices

__all__ = ["StringBounds", "has_bounds"]

_LETTERS = 64  # bins of single letters
_GRAMS = 1_024  # bins of pairs of letters, at most
_RARE = 16  # one bin in so many is for pairs that have none of their own
_SAMPLE = 2_000  # strings that say which pairs are frequent
_BYTES = 1 << 28  # of bins of pairs, at most
_CHUNK = 1 << 14  # pairs that are compared at once: they stay in the cache
# Above what rounding makes of a value: RapidFuzz counts in double precision, values are
# kept in single precision and may be divided by 100 there.
_ROUNDING = 1e-6

Formula = Callable[[Any, Any, Any], Any]


class _Formulas(NamedTuple):
    """Upper bounds of a score, of lengths a and b and what the strings share.

    letters: of the letters in common, each counted as often as in the string that has
    fewer of them. grams: of pairs of neighboring letters in common, the strings having
    a mark at either end; ``None``: they say nothing.
    """

    letters: Formula
    grams: Formula | None = None


def _longer(a: Any, b: Any) -> Any:
    return np.maximum(np.maximum(a, b), 1)


def _both(a: Any, b: Any) -> Any:
    return np.maximum(a + b, 1)


def _edits(a: Any, b: Any, common: Any, touched: int) -> Any:
    """Return 1 − d / max(a, b), of the fewest edits that grams allow.

    The longer string has max(a, b) + 1 grams, of which ``common`` are shared; an edit
    changes at most ``touched`` of them (Ukkonen 1992).
    """
    edits = np.maximum(np.maximum(a, b) + 1.0 - common, 0) / touched
    return 1 - edits / _longer(a, b)


def _indel(a: Any, b: Any, common: Any) -> Any:
    """Return the fewest insertions and deletions that grams allow.

    Either takes two grams away and brings one, or the other way around: the grams that
    are not shared, a + b + 2 − 2·common, are at most three times as many.
    """
    return np.maximum(a + b + 2.0 - 2.0 * common, 0) / 3


def _jaro(a: Any, b: Any, common: Any) -> Any:
    """Return (m/a + m/b + 1) / 3: letters in common at most match, all in order."""
    a, b = np.maximum(a, 1), np.maximum(b, 1)
    return np.where(common > 0, (common / a + common / b + 1) / 3, 0.0)


# Levenshtein and its like change max(a, b) − common letters at least (the bag distance
# of Bartolini, Ciaccia & Patella 2002); a common subsequence has no other letters.
_LEVENSHTEIN = _Formulas(
    lambda a, b, c: c / _longer(a, b), lambda a, b, g: _edits(a, b, g, 2)
)
_TRANSPOSING = _Formulas(  # two neighbors that change places are in three grams
    lambda a, b, c: c / _longer(a, b), lambda a, b, g: _edits(a, b, g, 3)
)
_RATIO = _Formulas(
    lambda a, b, c: 2 * c / _both(a, b),
    lambda a, b, g: 1 - _indel(a, b, g) / _both(a, b),
)
_FORMULAS = {
    "levenshtein": _LEVENSHTEIN,
    "hamming": _LEVENSHTEIN,
    "osa": _TRANSPOSING,
    "damerau_levenshtein": _TRANSPOSING,
    "prefix": _Formulas(lambda a, b, c: c / _longer(a, b)),
    "postfix": _Formulas(lambda a, b, c: c / _longer(a, b)),
    "lcs": _Formulas(
        lambda a, b, c: c / _longer(a, b),
        lambda a, b, g: (a + b - _indel(a, b, g)) / 2 / _longer(a, b),
    ),
    "indel": _RATIO,
    "ratio": _RATIO,
    "token_sort_ratio": _RATIO,  # of tokens that are sorted
    "qratio": _RATIO,
    "jaro": _Formulas(_jaro),
    # Four letters in front, at most, add a tenth of what is missing each.
    "jaro_winkler": _Formulas(lambda a, b, c: 0.4 + 0.6 * _jaro(a, b, c)),
}


def has_bounds(scorer: str) -> bool:
    """Tell whether a scorer has bounds of this kind."""
    return scorer in _FORMULAS


class StringBounds:
    """Upper bounds of a RapidFuzz score of strings, from what is counted once a string.

    Letters and pairs of letters are counted in bins: strings then seem to share more,
    never less. A bound is never below the score, rounding included.

    Parameters
    ----------
    texts
        The strings that are scored, as they are scored.
    scorer
        One with bounds.

    References
    ----------
    Ukkonen (1992), "Approximate string-matching with q-grams and maximal matches",
    Theoretical Computer Science. Bartolini, Ciaccia & Patella (2002), "String matching
    with metric trees using an approximate distance", SPIRE.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.similarity.string_bounds import StringBounds
    >>> bounds = StringBounds(["kitten", "sitting", "xyz"], "levenshtein")
    >>> bounds.pairs(np.array([0, 0]), np.array([1, 2])).round(4).tolist()
    [0.5714, 0.0]
    """

    def __init__(self, texts: list[str], scorer: str) -> None:
        self._texts = texts
        self._formulas = _FORMULAS[scorer]
        self._lengths = np.array([len(text) for text in texts], dtype=np.float64)

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return the bounds of single pairs."""
        upper = self._bounded(self._formulas.letters, self._letters, i, j)
        if self._formulas.grams is not None:
            by_grams = self._bounded(self._formulas.grams, self._grams, i, j)
            upper = np.minimum(upper, by_grams)
        return upper

    def may_reach(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[np.bool_]:
        """Tell which pairs of a block may reach ``least``: by lengths first."""
        a, b = self._lengths[rows][:, None], self._lengths[columns][None, :]
        found = _rounded(self._formulas.letters(a, b, np.minimum(a, b)), a, b) >= least
        r, c = np.nonzero(found)
        i, j = rows[r], columns[c]
        keep = self._bounded(self._formulas.letters, self._letters, i, j) >= least
        r, c, i, j = r[keep], c[keep], i[keep], j[keep]
        if self._formulas.grams is not None:
            keep = self._bounded(self._formulas.grams, self._grams, i, j) >= least
            r, c = r[keep], c[keep]
        found[:] = False
        found[r, c] = True
        return np.asarray(found)

    def _bounded(
        self, formula: Formula, counts: NDArray[Any], i: Indices, j: Indices
    ) -> NDArray[np.float64]:
        a, b = self._lengths[i], self._lengths[j]
        common = np.empty(len(i))
        for start in range(0, len(i), _CHUNK):
            part = slice(start, start + _CHUNK)
            shared = np.minimum(counts[i[part]], counts[j[part]])
            common[part] = shared.sum(axis=1, dtype=np.int64)
        return _rounded(formula(a, b, common), a, b)

    @once
    def _letters(self) -> NDArray[Any]:
        """How often each string has the letters of each bin."""
        return _counted(self._texts, _LETTERS, lambda codes: codes[1:-1] % _LETTERS)

    @once
    def _grams(self) -> NDArray[Any]:
        """How often each string has the pairs of letters of each bin.

        Frequent pairs have a bin of their own.
        """
        bins = int(np.clip(_BYTES // max(1, len(self._texts)), 64, _GRAMS))
        own = _frequent(self._texts, bins - bins // _RARE)

        def place(codes: NDArray[np.uint32]) -> Indices:
            grams = _grams_of(codes)
            at = np.minimum(np.searchsorted(own, grams), len(own) - 1)
            rare = len(own) + grams % (bins - len(own))
            return np.asarray(np.where(own[at] == grams, at, rare))

        return _counted(self._texts, bins, place)


def _rounded(upper: Any, a: Any, b: Any) -> NDArray[np.float64]:
    """Return bounds that rounding does not carry a score above; 1 of empty strings."""
    upper = np.where((a == 0) & (b == 0), 1.0, np.clip(upper, 0.0, 1.0))
    return np.asarray(upper * (1 + _ROUNDING) + 1e-12)


def _grams_of(codes: NDArray[np.uint32]) -> Indices:
    """Return a number for every two neighbors."""
    wide = codes.astype(np.int64)
    return wide[:-1] << 21 | wide[1:]


def _frequent(texts: list[str], most: int) -> Indices:
    """Return the pairs of letters that most of a sample of strings have, ascending."""
    sample = texts[:: max(1, len(texts) // _SAMPLE)]
    grams = [np.unique(_grams_of(_codes(text))) for text in sample]
    found, count = np.unique(np.concatenate(grams), return_counts=True)
    return np.sort(found[np.argsort(-count, kind="stable")[:most]])


def _codes(text: str) -> NDArray[np.uint32]:
    """Return the letters of a string as numbers, with a mark at either end."""
    marked = f"\x02{text}\x03".encode("utf-32-le", "surrogatepass")
    return np.frombuffer(marked, dtype=np.uint32)


def _counted(
    texts: list[str], bins: int, place: Callable[[NDArray[np.uint32]], Any]
) -> NDArray[Any]:
    """Count each string's letters by bin, in the smallest type that holds them."""
    out = np.zeros((len(texts), bins), dtype=np.uint8)
    for t, text in enumerate(texts):
        counts = np.bincount(place(_codes(text)), minlength=bins)
        enough = np.promote_types(out.dtype, np.min_scalar_type(int(counts.max())))
        out = out.astype(enough, copy=False)
        out[t] = counts
    return out
