"""Similarities of sets of tokens, on sparse matrices."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.checks import check_choice, check_function, check_whole
from fewpairs.errors import InputError
from fewpairs.similarity.base import Scorer, Similarity, cut, made_of
from fewpairs.similarity.items import as_items
from fewpairs.types import Indices

__all__ = ["TokenOverlap"]

Kind = Literal["jaccard", "dice", "overlap", "cosine"]


@dataclass(frozen=True, repr=False)
class TokenOverlap(Similarity):
    """How much two sets of tokens have in common, between 0 and 1.

    With a = |A|, b = |B| and c = |A ∩ B|: Jaccard c / (a + b − c), Dice 2c / (a + b),
    overlap c / min(a, b), cosine c / √(ab). Two empty sets are equal and score 1; an
    empty and another one score 0. A block is one sparse product.

    Parameters
    ----------
    kind
        ``"jaccard"``, ``"dice"``, ``"overlap"`` or ``"cosine"``.
    tokenizer
        Turns an item into tokens; by default a text is split at blanks, anything else
        is taken as tokens. Give ``characters=3`` for the 3-grams of a text instead.
    characters
        Length of character n-grams; ``None`` for whole words.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> scorer = fp.TokenOverlap("jaccard").bind(["a b c", "b c d", "x"])
    >>> scorer.pairs(np.array([0, 0]), np.array([1, 2])).tolist()
    [0.5, 0.0]
    """

    kind: Kind = "jaccard"
    tokenizer: Callable[[Any], Iterable[Any]] | None = None
    characters: int | None = None

    symmetric = True
    diagonal = 1.0
    bounds = (0.0, 1.0)
    proven = True

    def __post_init__(self) -> None:
        call = "fewpairs.TokenOverlap"
        check_choice(call, "kind", self.kind, ("jaccard", "dice", "overlap", "cosine"))
        cure = "a function of one item that returns its tokens"
        check_function(call, "tokenizer", self.tokenizer, cure=cure, none=True)
        check_whole(call, "characters", self.characters, least=1, none=True)

    @property
    def fingerprinted(self) -> bool:  # type: ignore[override]
        """Whether it has no tokenizer of its own, which has but a name."""
        return self.tokenizer is None

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """All but overlap are kernels (Gower & Legendre 1986)."""
        return self.kind != "overlap"

    @property
    def name(self) -> str:
        """The call that makes this similarity."""
        grams = "" if self.characters is None else f", characters={self.characters}"
        return f'TokenOverlap("{self.kind}"{grams})'

    def identify(self) -> Iterable[Any]:
        """Return the kind and the name of the tokenizer."""
        return ("overlap", self.name, getattr(self.tokenizer, "__qualname__", ""))

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Give every token a number and build the incidence matrix, once."""
        number: dict[Any, int] = {}
        starts, columns = [0], []
        for position, item in enumerate(as_items(items, "fewpairs.TokenOverlap")):
            tokens = {
                number.setdefault(t, len(number)) for t in self._of(position, item)
            }
            columns.extend(sorted(tokens))
            starts.append(len(columns))
        shape = (len(starts) - 1, max(1, len(number)))
        ones = np.ones(len(columns), dtype=np.float32)
        return _OverlapScorer(
            self.kind, sparse.csr_array((ones, columns, starts), shape)
        )

    def _of(self, position: int, item: Any) -> Iterable[Any]:
        if self.tokenizer is not None:
            tokens = made_of(
                item, position, self.tokenizer, "fewpairs.TokenOverlap", "tokenizer"
            )
            found = made_of(tokens, position, set, "fewpairs.TokenOverlap", "tokenizer")
            return cast("set[Any]", found)
        if isinstance(item, str):
            if self.characters is None:
                return item.split()
            k = self.characters
            return {item[t : t + k] for t in range(max(1, len(item) - k + 1))} - {""}
        if isinstance(item, (list, tuple, set, frozenset)) and self.characters is None:
            return item
        msg = (
            f"fewpairs.TokenOverlap: items[{position}] is {item!r:.60}, of type "
            f"{type(item).__name__}; pass texts, collections of tokens or a tokenizer."
        )
        raise InputError(msg)


class _OverlapScorer(Scorer):
    backend = "SciPy"

    dtype = np.dtype(np.float32)  # counts of tokens are whole numbers, exact in it

    def __init__(self, kind: Kind, incidence: sparse.csr_array) -> None:
        self.n = incidence.shape[0]
        self._kind = kind
        self._incidence = incidence
        self._sizes = np.diff(incidence.indptr).astype(np.float32)

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float32]:
        common = self._incidence[i].multiply(self._incidence[j]).sum(axis=1)
        found = np.asarray(common, dtype=np.float32).ravel()
        return self._ratio(found, self._sizes[i], self._sizes[j])

    def block(self, rows: Indices, columns: Indices) -> NDArray[np.float32]:
        across, down = self._incidence[cut(rows)], self._incidence[cut(columns)]
        common = (across @ down.T).toarray()
        a, b = self._sizes[cut(rows)][:, None], self._sizes[cut(columns)][None, :]
        return self._ratio(common, a, b)

    @property
    def prunes(self) -> bool:
        return False  # a sparse product takes hardly longer than its bound

    def upper_bound(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return what it is if all of the smaller set is in common, rounded up."""
        a, b = self._sizes[i], self._sizes[j]
        most = self._ratio(np.minimum(a, b), a, b)
        return np.asarray(most.astype(np.float64) * (1 + 1e-6))

    def _ratio(
        self, common: NDArray[np.float32], a: NDArray[Any], b: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Divide in place; only empty sets can have a zero below."""
        whole = _WHOLE[self._kind](a, b)
        if self._kind == "jaccard":
            whole -= common
        if a.all() and b.all():
            common /= whole
            return common
        np.divide(common, np.where(whole > 0, whole, 1), out=common)
        common[np.broadcast_to((a == 0) & (b == 0), common.shape)] = 1.0
        return common


# Below the line; Jaccard's is less what both have.
_WHOLE: dict[str, Callable[[Any, Any], NDArray[Any]]] = {
    "jaccard": lambda a, b: a + b,
    "dice": lambda a, b: (a + b) / 2,
    "overlap": np.minimum,
    "cosine": lambda a, b: np.sqrt(a * b),
}
