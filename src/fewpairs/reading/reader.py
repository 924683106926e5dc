"""Reader: exact values once an approximation is made, counted and kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.subject import Identity
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.limits import Limits
from fewpairs.once import once
from fewpairs.reading.opening import open_oracle
from fewpairs.reading.oracle import Oracle
from fewpairs.reading.query_memory import QueryMemory
from fewpairs.reading.run_entries import ReadSoFar
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.items import Items, as_items
from fewpairs.similarity.joined import Joined
from fewpairs.types import Indices

__all__ = ["Reader", "looks_like"]


class Reader:
    """Reads the similarity of fitted items, and of new ones beside them.

    What the fit read is free. What is read here is kept, apart from the approximation,
    whose answers stay what they were: reading it again is free, and `grow` starts from
    it. A ledger, where the fit had one, gets it too. Any number of threads may read:
    the similarity is called by one at a time, and need not be safe in threads itself.

    Parameters
    ----------
    similarity, scorer
        The recipe, and it bound to the items.
    items
        The items; ``None`` where the similarity is a matrix.
    reading
        What the fit read.
    symmetrize
        Whether an asymmetric similarity is read as ½(K + Kᵀ).
    store, identity
        The ledger of the fit, and what it knows the items by.

    Attributes
    ----------
    limits
        Of money and time, where a job has any; set before anything is read.
    """

    def __init__(
        self,
        similarity: Similarity,
        scorer: Scorer,
        items: Items | None,
        reading: ReadSoFar,
        *,
        symmetrize: bool,
        store: Ledger | None = None,
        identity: Callable[[], Identity] | None = None,
    ) -> None:
        self.similarity = similarity
        self.items = list(range(scorer.n)) if items is None else items
        self._scorer = scorer
        self._reading = reading
        self._symmetrize = symmetrize
        self._store, self._identity = store, identity
        self.limits: Limits | None = None

    @once
    def oracle(self) -> Oracle:
        """The reader of fitted pairs; it has no budget, see `allow`."""
        before = ReadSoFar(self._reading.entries.copy(), self._reading.symmetric)
        return open_oracle(
            self._scorer,
            self.similarity,
            symmetrize=self._symmetrize,
            ledger=self._store,
            identity=self._identity,
            before=before,
            limits=self.limits,
        )

    @once
    def queries(self) -> QueryMemory:
        """What has been paid for of new items."""
        return QueryMemory(self._store, self.similarity.split or 0)

    @property
    def evaluations(self) -> int:
        """Calls of the similarity made for pairs of fitted items, after the fit."""
        return self.oracle.evaluations if "oracle" in self.__dict__ else 0

    @property
    def charged(self) -> int:
        """Calls that this takes, made now or paid for in a ledger before."""
        return self.oracle.charged if "oracle" in self.__dict__ else 0

    @property
    def money(self) -> float:
        """What that cost."""
        return self.oracle.account.money if "oracle" in self.__dict__ else 0.0

    @property
    def known(self) -> Entries:
        """Everything read, by the fit and since."""
        if "oracle" in self.__dict__:
            return self.oracle.read
        return self._reading.entries

    @property
    def n(self) -> int:
        """How many items were fitted."""
        return self._scorer.n

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of a value."""
        return self._scorer.dtype

    @property
    def symmetric(self) -> bool:
        """Whether the similarity was found symmetric."""
        return self._reading.symmetric

    @property
    def calls(self) -> int:
        """Calls of the similarity that an entry takes: 2 where orders are averaged."""
        return 2 if self._symmetrize and not self._reading.symmetric else 1

    def may_reach(self, i: Indices, j: Indices, least: float) -> NDArray[np.bool_]:
        """Tell which pairs may be as similar as ``least``; no evaluation."""
        # The average of both orders may reach what one of them does not.
        if not self._scorer.has_bounds or self.calls == 2:
            return np.ones(len(i), dtype=bool)
        return np.asarray(self._scorer.upper_bound(i, j) >= least)

    def pairs(self, i: Indices, j: Indices) -> NDArray[np.float64]:
        """Return exact similarities; known ones are free, others counted and kept."""
        with self.oracle.lock, self._session():
            return self.oracle.pairs(i, j)

    @contextmanager
    def allow(self, evaluations: int) -> Iterator[Oracle]:
        """Give the oracle so many evaluations; more is a `BudgetError`."""
        oracle = self.oracle
        with oracle.lock, self._session():
            oracle.account.limit = oracle.evaluations + evaluations
            try:
                yield oracle
            finally:
                oracle.account.limit = None

    @contextmanager
    def _session(self) -> Iterator[None]:
        """Have the ledger to oneself, where there is one."""
        if self._store is None:
            yield
            return
        with self._store.session():
            yield

    def outside(self, new_items: Items, call: str) -> Oracle:
        """Return a reader of n + m items: the fitted ones, then `checked` new ones."""
        joined = Joined(self.similarity, self.items, self._scorer, new_items, call)
        one_sided = self._reading.symmetric or self._symmetrize
        entries = Entries(joined.n, symmetric=one_sided)
        return open_oracle(
            joined,
            self.similarity,
            symmetrize=self._symmetrize,
            before=ReadSoFar(entries, self._reading.symmetric),
            lock=self.oracle.lock,
        )

    def checked(self, new_items: Any, call: str, *, others: bool = False) -> Items:
        """Return new items as a list of what the fitted items are, or raise.

        ``others``: of two sets, new items of the second one.
        """
        name = "others" if others else "new_items"
        found = as_items(new_items, call, name=name)
        if len(found) == 0:
            msg = f"{call}: {name} is empty; pass at least one item."
            raise InputError(msg)
        if self.similarity.by_position:
            return found
        like = self.items[getattr(self.similarity, "given", 0) if others else 0]
        for t, item in enumerate(found):
            if not looks_like(item, like):
                msg = (
                    f"{call}: {name}[{t}] is {item!r:.60}, of type "
                    f"{type(item).__name__}; the fitted items are of type "
                    f"{type(like).__name__}, such as {like!r:.60}."
                )
                raise InputError(msg)
        return found


def _shape(item: Any) -> tuple[int, ...] | None:
    try:
        return tuple(np.shape(item))
    except ValueError:  # lists of different lengths
        return None


def looks_like(item: Any, fitted: Any) -> bool:
    """Tell whether an item is of the kind that a fitted one is."""
    numbers = (int, float, np.number)
    if isinstance(fitted, numbers) or isinstance(item, numbers):
        return isinstance(fitted, numbers) and isinstance(item, numbers)
    if isinstance(fitted, np.ndarray) or isinstance(item, np.ndarray):
        return _shape(item) == _shape(fitted)
    texts = (str, list, tuple)
    if isinstance(fitted, texts):  # some similarities take texts or lists of words
        return isinstance(item, texts)
    return isinstance(item, type(fitted)) or isinstance(fitted, type(item))
