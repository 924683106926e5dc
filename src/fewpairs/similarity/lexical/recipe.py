"""Lexical: vectors of texts from what their characters say, fitted once.

Four views of a text stand side by side, each of unit length:

- its characters, the second "e" being another feature than the first: the inner product
  of two texts is then Σ min(a, b) over the counts of characters, which bounds what an
  edit distance can find in common, and knows of lengths;
- pairs of characters, counted in the same way;
- runs of two to four characters and words, by TF-IDF: what is rare and shared;
- characters with the place in the text where they stand: their order.

Each is hashed to columns (Weinberger et al. 2009, "Feature hashing for large scale
multitask learning") and reduced to its leading right singular vectors (Halko,
Martinsson & Tropp 2011, "Finding structure with randomness"), fitted to a sample of the
texts. A new text gets its vector by the same columns and vectors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.similarity.lexical.grams import BUCKETS, counted
from fewpairs.similarity.lexical.texts import texts_of

__all__ = ["Facet", "Lexical"]

_VIEWS = {
    "characters": 48,
    "pairs": 96,
    "runs": 128,
    "places": 64,
}  # and their dimensions
_RARE = ("runs",)  # views in which what is rare counts more
_FITTED = 5_000  # texts that columns and singular vectors are fitted to
_EXACT = 800  # texts up to which singular vectors are exact
_COLUMNS = 16_384  # of a view, the most frequent
_EMBEDDED = 20_000  # texts whose counts are held at once

Put = Callable[[str, NDArray[Any]], None]
Get = Callable[[str], NDArray[Any]]


class Facet(NamedTuple):
    """One view: its columns, their weights, and the directions that tell most."""

    kind: str
    columns: NDArray[np.int32]
    weights: NDArray[np.float32]
    directions: NDArray[np.float32]  # (columns, d)

    @classmethod
    def fit(cls, kind: str, texts: Sequence[str]) -> "Facet | None":
        """Fit a view to texts; ``None`` where they share nothing, or are all alike."""
        counts = counted(texts, kind)
        shared = np.bincount(counts.indices, minlength=BUCKETS)
        order = np.argsort(-shared, kind="stable")[:_COLUMNS]
        columns = np.sort(order[shared[order] >= 2]).astype(np.int32)
        if not len(columns):
            return None
        weights = np.ones(len(columns), dtype=np.float32)
        if kind in _RARE:  # as scikit-learn's TfidfTransformer has it
            often = (1 + shared[columns]) / (1 + len(texts))
            weights -= np.log(often).astype(np.float32)
        empty = np.empty((len(columns), 0), dtype=np.float32)
        rows = cls(kind, columns, weights, empty).rows(counts)
        if _alike(rows):
            return None
        return cls(kind, columns, weights, _leading(rows, _VIEWS[kind]))

    def rows(self, counts: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return weighted counts of unit length, in the columns of this view."""
        chosen = counts[:, self.columns]
        if self.kind in _RARE:
            chosen.data = 1 + np.log(chosen.data)
        weighted = chosen @ sparse.diags(self.weights)
        norms = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
        unit = sparse.diags(1 / np.where(norms > 0, norms, 1)) @ weighted
        return sparse.csr_matrix(unit.astype(np.float32))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (m, d) unit vectors; 0 for a text that has none of the columns."""
        vectors = np.asarray(self.rows(counted(texts, self.kind)) @ self.directions)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        norms[norms < 1e-6] = 1
        return np.asarray(vectors / norms, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Lexical:
    """Makes vectors of texts, as it was fitted to some.

    Price: about 20 s for 10⁵ texts of 100 characters on two cores, and 336 numbers per
    text; no evaluation.
    """

    views: tuple[Facet, ...]

    @classmethod
    def fit(cls, texts: Sequence[str]) -> Self | None:
        """Return what was fitted to texts; ``None`` where they say nothing."""
        some = texts
        if len(texts) > _FITTED:
            chosen = np.random.default_rng(0).permutation(len(texts))[:_FITTED]
            some = [texts[t] for t in np.sort(chosen)]
        fitted = [Facet.fit(kind, some) for kind in _VIEWS]
        views = tuple(view for view in fitted if view is not None)
        return cls(views) if views else None

    @property
    def dimensions(self) -> int:
        """Numbers per text."""
        return sum(view.directions.shape[1] for view in self.views)

    def embed(self, items: Sequence[Any]) -> NDArray[np.float32]:
        """Return (m, d) vectors of unit length, the views of equal weight."""
        texts = texts_of(items) or [""] * len(items)
        out = np.empty((len(texts), self.dimensions), dtype=np.float32)
        share = np.float32(1 / np.sqrt(len(self.views)))
        for start in range(0, len(texts), _EMBEDDED):
            part = texts[start : start + _EMBEDDED]
            made = [view.embed(part) * share for view in self.views]
            out[start : start + _EMBEDDED] = np.hstack(made)
        return out

    def write(self, name: str, put: Put) -> list[str]:
        """Hand over the arrays of every view by name, and return the views' kinds."""
        for view in self.views:
            put(f"{name}-{view.kind}-columns", view.columns)
            put(f"{name}-{view.kind}-weights", view.weights)
            put(f"{name}-{view.kind}-directions", view.directions)
        return [view.kind for view in self.views]

    @classmethod
    def read(cls, name: str, kinds: Sequence[str], get: Get) -> Self:
        """Return what was written."""
        parts = ("columns", "weights", "directions")
        return cls(
            tuple(
                Facet(kind, *(get(f"{name}-{kind}-{part}") for part in parts))
                for kind in kinds
            )
        )


def _leading(rows: sparse.csr_matrix, most: int) -> NDArray[np.float32]:
    """Return (columns, d) leading right singular vectors.

    Of few rows from the eigenvectors of their inner products, exactly; of many by
    randomized subspace iteration.
    """
    n, columns = rows.shape
    d = min(most, n, columns)
    if n > _EXACT:
        from sklearn.utils.extmath import randomized_svd

        found = randomized_svd(rows, d, n_iter=2, random_state=0)[2]
        return np.asarray(found.T, dtype=np.float32)
    values, vectors = np.linalg.eigh((rows @ rows.T).toarray().astype(np.float64))
    top = np.argsort(-values)[:d]
    top = top[values[top] > 1e-6 * float(values.max())]
    directions = rows.T @ (vectors[:, top] / np.sqrt(values[top]))
    return np.asarray(directions, dtype=np.float32)


def _alike(rows: sparse.csr_matrix) -> bool:
    """Tell whether all rows are the same: then they tell nothing apart."""
    difference = rows - rows[np.zeros(rows.shape[0], dtype=np.int64)]
    return bool(abs(difference).max() < 1e-6) if difference.nnz else True
