"""Values by what the items are, not by where they stand: for folds and refits."""

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.fingerprint import fingerprint
from fewpairs.similarity.base import Interrupted, Scorer, Similarity
from fewpairs.similarity.wrapping import Wrapping
from fewpairs.types import Indices

__all__ = ["Remembered", "Store"]

_MOST = 1 << 31  # items: two of their numbers make one key


class Store:
    """Every value that estimators have paid for, by the contents of the two items.

    A ledger belongs to one list of items; cross-validation fits many overlapping ones.
    Pass one store to an estimator and no pair is evaluated twice: not for another fold,
    another refit, or another γ of the same distance. Clones share it. It lives in
    memory: processes (``n_jobs``) do not share it, threads and n_jobs=None do; of
    threads, one at a time evaluates.

    Attributes
    ----------
    evaluations
        Values that were paid for.

    Examples
    --------
    >>> import fewpairs as fp
    >>> store = fp.sklearn.Store()
    >>> ratio = fp.StringSimilarity("levenshtein")
    >>> texts = [f"text number {t}" for t in range(50)]
    >>> embedder = fp.sklearn.SimilarityEmbedder(ratio, landmarks=5, store=store)
    >>> features = embedder.fit_transform(texts)
    >>> paid = store.evaluations
    >>> features = embedder.fit_transform(texts)
    >>> paid > 0, store.evaluations == paid
    (True, True)
    """

    def __init__(self) -> None:
        self.evaluations = 0
        self._tables: dict[str, _Table] = {}
        self.lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which belongs to this process."""
        return {**self.__dict__, "lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Have a lock of one's own."""
        self.__dict__.update(state, lock=threading.RLock())

    def table(self, similarity: Similarity) -> "_Table":
        """Return the values of one similarity."""
        kind = fingerprint(similarity.identify())
        with self.lock:
            return self._tables.setdefault(kind, _Table())

    def __deepcopy__(self, memo: dict[int, Any]) -> "Store":
        """Return the same: clones of an estimator share what was paid for."""
        return self

    def __repr__(self) -> str:
        return f"Store({self.evaluations:,} evaluations)"


class _Table:
    """Values of pairs of numbered items, sorted by key."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._keys = np.empty(0, dtype=np.int64)
        self._values = np.empty(0)
        self._added: list[tuple[Indices, NDArray[np.float64]]] = []

    def number(self, items: Sequence[Any]) -> Indices:
        """Return the numbers of items; equal ones have the same."""
        numbers = self._numbers
        found = [numbers.setdefault(_content(item), len(numbers)) for item in items]
        return np.array(found, dtype=np.int64)

    def lookup(self, keys: Indices) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which pairs are known, and their values."""
        self._sort()
        if not len(self._keys):
            return np.zeros(len(keys), dtype=bool), np.zeros(len(keys))
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return self._keys[at] == keys, self._values[at]

    def add(self, keys: Indices, values: NDArray[Any]) -> None:
        """Keep values."""
        self._added.append((keys, np.asarray(values, dtype=np.float64)))

    def _sort(self) -> None:
        if self._added:
            keys = np.concatenate([self._keys, *(keys for keys, _ in self._added)])
            values = np.concatenate([self._values, *(v for _, v in self._added)])
            self._keys, first = np.unique(keys, return_index=True)
            self._values = values[first]
            self._added = []


def _content(item: Any) -> Hashable:
    return item if isinstance(item, str) else fingerprint([item])


@dataclass(frozen=True, repr=False, eq=False)
class Remembered(Wrapping):
    """A similarity that asks a store first.

    Parameters
    ----------
    similarity
        What is asked where the store does not know.
    store
        What was paid for.
    """

    store: Store

    def __post_init__(self) -> None:
        if self.similarity.contextual or self.similarity.by_position:
            what = (
                "depends on all items together"
                if self.similarity.contextual
                else "does not look at the items"
            )
            msg = (
                f"fewpairs.sklearn.Store: a value of {self.similarity.name} {what}, so "
                "it cannot be kept for other lists of items. Pass store=None."
            )
            raise InputError(msg)

    @property
    def symmetric(self) -> bool | None:  # type: ignore[override]
        """As the similarity is."""
        return self.similarity.symmetric

    @property
    def proven(self) -> bool:  # type: ignore[override]
        """As the similarity is."""
        return self.similarity.proven

    @property
    def diagonal(self) -> float | None:  # type: ignore[override]
        """As the similarity's."""
        return self.similarity.diagonal

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """As the similarity is."""
        return self.similarity.psd

    def identify(self) -> Iterable[Any]:
        """Return what the similarity is known by."""
        return self.similarity.identify()

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Bind the similarity, and number the items."""
        bound = self.similarity.bind(items)
        kept = items if bound.kept is None else [items[int(t)] for t in bound.kept]
        return _Remembering(bound, self, kept)


class _Remembering(Scorer):
    def __init__(
        self, bound: Scorer, similarity: Remembered, items: Sequence[Any]
    ) -> None:
        self.n, self.kept, self.dtype = bound.n, bound.kept, bound.dtype
        self.chunk, self.price = bound.chunk, bound.price
        self.backend = bound.backend
        self._own = threading.local()  # values asked for, of each thread
        self._bound, self._store = bound, similarity.store
        self._table = similarity.store.table(similarity.similarity)
        with self._store.lock:
            self._numbers = self._table.number(items)
        self._symmetric = similarity.symmetric is True

    def watch(self, note: Callable[[str], object]) -> None:
        """Tell what the scorer tells."""
        self._bound.watch(note)

    def prepare(self, tell: Callable[[str], None]) -> None:
        self._bound.prepare(tell)

    def spent(self) -> float:
        """Return what was paid: what the store knew is free."""
        asked, self._own.asked = getattr(self._own, "asked", 0), 0
        spent = self._bound.spent()
        return self.price * asked if spent is None else spent

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        with self._store.lock:
            known, values = self._find(i, j)
            missing = np.flatnonzero(~known)
            if len(missing):
                _, first = np.unique(self._keys(i, j)[missing], return_index=True)
                self._ask(i, j, missing[np.sort(first)])
                values = self._find(i, j)[1]
            return values

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        i, j = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
        with self._store.lock:
            if self._find(i, j)[0].any():
                return self.pairs(i, j).reshape(len(rows), len(columns))
            keys = self._keys(i, j)
            try:
                fresh = self._bound.block(rows, columns)
            except Interrupted as stop:
                self._keep_answered(keys, stop.values)
                raise
            self._keep(keys, fresh.ravel())
            return fresh

    def _keys(self, i: Indices, j: Indices) -> Indices:
        return np.asarray(self._numbers[i] * _MOST + self._numbers[j])

    def _find(
        self, i: Indices, j: Indices
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which pairs are known, and their values; a mirror will do."""
        known, values = self._table.lookup(self._keys(i, j))
        if self._symmetric and not known.all():
            mirrored, mirrors = self._table.lookup(self._keys(j, i))
            values = np.where(known, values, mirrors)
            known |= mirrored
        return known, values

    def _ask(self, i: Indices, j: Indices, asked: Indices) -> None:
        """Evaluate what is missing; keep what was paid for when it fails."""
        keys = self._keys(i, j)[asked]
        try:
            self._keep(keys, self._bound.pairs(i[asked], j[asked]))
        except Interrupted as stop:
            self._keep_answered(keys, stop.values)
            known, values = self._find(i, j)
            kept = np.where(known, values, np.nan)
            raise Interrupted(kept, stop.cause) from stop

    def _keep_answered(self, keys: Indices, values: NDArray[Any]) -> None:
        # Side by side, some are answered after one that failed: NaN stands for it.
        answered = np.isfinite(values)
        self._keep(keys[: len(values)][answered], values[answered])

    def _keep(self, keys: Indices, values: NDArray[Any]) -> None:
        self._store.evaluations += len(values)
        self._own.asked = getattr(self._own, "asked", 0) + len(values)
        self._table.add(keys, values)
