"""Proposer: partners that may be among the most similar, without all n² pairs.

What a model answers is nearly a product of vectors: the low rank, with the prior's
embeddings scaled by the slope of its curve beside it. The largest products of these
vectors, and those of the embeddings alone, are candidates; what the model itself says
of them decides. So an answer found this way is the model's own, and what can be missed
is a pair that neither product ranks high and that was never read.
"""

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.spectral import largest_magnitude
from fewpairs.kernels.linalg.top_products import (
    EXACT,
    ProductSearch,
    gpu,
    product_search,
    searched_by,
)
from fewpairs.model.model import Model
from fewpairs.model.product_vectors import product_vectors
from fewpairs.result.approximation import Approximation
from fewpairs.types import Indices

__all__ = ["Proposer", "View", "candidates_of", "chunks", "is_large", "views"]

_PAIRS = 1 << 21  # candidates at once
_IN_RANGE = 1e-15, 1e15  # sizes that single precision can square safely
_PER_VIEW = 2  # the second view proposes so many times fewer


class View(NamedTuple):
    """Vectors whose products stand for similarities: those of ``asked`` with ``held``.

    Attributes
    ----------
    held
        (n, d) array.
    signs
        ±1 for each column, where asked = held · signs; ``None`` for +1.
    other
        ``asked``, where it is an array of its own.
    """

    held: NDArray[Any]
    signs: NDArray[Any] | None = None
    other: NDArray[Any] | None = None

    def asked(self, rows: Indices) -> NDArray[np.float32]:
        """Return the vectors of items that look for partners."""
        side = self.held if self.other is None else self.other
        found = side[rows].astype(np.float32)
        return found if self.signs is None else found * self.signs.astype(np.float32)

    def in_range(self) -> "View":
        """Return the same, divided by its size where float32 cannot square it.

        The largest products stay the largest.
        """
        other = None if self.other is None else _in_range(self.other)
        return View(_in_range(self.held), self.signs, other)


def is_large(n: int) -> bool:
    """Tell whether n items are too many for blocks of all pairs."""
    return n > EXACT


def views(model: Model) -> list[View]:
    """Return the vectors that propose for a model.

    With K ≈ F diag(±1) Fᵀ the signs go to the side that asks, so an indefinite low rank
    needs no other index. Low ranks of CUR are searched for rows of ``left`` among those
    of ``right``. A prior without embeddings has no vectors and proposes nothing.
    """
    found = []
    signs = model.signature
    if signs is None:
        found.append(View(model.right, other=model.left))
    elif _sloped(model):
        found.append(View(*product_vectors(model)))
    elif model.features.shape[1]:
        found.append(View(model.features, signs))
    prior = model.proposer or model.prior
    if prior is not None and prior.vectors is not None:
        falling = model.curve is not None and model.curve.slope < 0
        d = prior.vectors.shape[1]
        found.append(View(prior.vectors, np.full(d, -1.0) if falling else None))
    return found


def _sloped(model: Model) -> bool:
    """Tell whether a correction answers, and says how much prior and low rank count.

    A student's most similar are found better by what counts among all pairs: on the
    recipes .76 of the true ten are among 128, .68 by the slopes.
    """
    bent = model.correction
    return model.student is None and bent is not None and bent.slopes is not None


class Proposer:
    """Proposes partners of items, by the largest products of their vectors.

    Memory: n·d for every view.

    Parameters
    ----------
    views
        Of the same n items, the best first.
    by
        ``"blocks"``, ``"index"`` or ``"cuda"``; ``None``: as the size and the machine
        say.
    """

    def __init__(self, views: list[View], *, by: str | None = None) -> None:
        self.n = len(views[0].held) if views else 0
        self._views = [view.in_range() for view in views]
        if by is None:
            by = searched_by(self.n, self.n, gpu() if is_large(self.n) else None)
        self._by = by
        self._made: dict[int, ProductSearch] = {}
        self._building = threading.Lock()  # an index is built by one thread

    def of(self, rows: Indices, count: int) -> Indices:
        """Return (len(rows), c) positions: ``count`` by the first view, then others.

        The items themselves and doubles may be among them; −1 stands for none.
        """
        nothing = np.empty((len(rows), 0), dtype=np.int64)
        found = [
            self._search(t, rows, max(1, count // (1 if t == 0 else _PER_VIEW)))
            for t in range(len(self._views))
        ]
        return np.hstack([nothing, *found])

    def in_turn(
        self, parts: Iterable[Indices], count: int
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield parts of the items, each with what `of` returns for it.

        A GPU looks for the next part while this one is being used.
        """
        if self._by != "cuda":
            for rows in parts:
                yield rows, self.of(rows, count)
            return
        with ThreadPoolExecutor(1) as beside:
            ahead: deque[tuple[Indices, Future[Indices]]] = deque()
            for rows in parts:
                ahead.append((rows, beside.submit(self.of, rows, count)))
                if len(ahead) > 1:
                    before, found = ahead.popleft()
                    yield before, found.result()
            for before, found in ahead:
                yield before, found.result()

    def by_prior(self, vectors: NDArray[Any], count: int) -> Indices:
        """Return (len(vectors), count) positions for new items, by the last view.

        ``vectors`` are their embeddings; the last view is the prior's.
        """
        signs = self._views[-1].signs
        asked = vectors if signs is None else vectors * signs
        return self._near(
            len(self._views) - 1, asked.astype(np.float32), min(count, self.n)
        )

    def _search(self, which: int, rows: Indices, count: int) -> Indices:
        count = min(count + 1, self.n)  # the item itself is among them
        return self._near(which, self._views[which].asked(rows), count)

    def _near(self, which: int, asked: NDArray[np.float32], count: int) -> Indices:
        with self._building:
            if which not in self._made:
                held = self._views[which].held
                self._made[which] = product_search(held, self._by)
        return self._made[which].search(asked, count)[0]


def candidates_of(approx: Approximation, by: str | None = None) -> Proposer:
    """Return what proposes for an approximation, made once."""
    key = f"candidates by {by}"
    made = Proposer(views(approx.model), by=by)  # builds nothing yet
    found: Proposer = approx.indexes.setdefault(key, made)
    return found


def chunks(n: int, width: int) -> Iterator[Indices]:
    """Cut items into parts whose candidates fit in memory at once."""
    step = max(1, _PAIRS // width)
    return (np.arange(start, min(start + step, n)) for start in range(0, n, step))


def _in_range(side: NDArray[Any]) -> NDArray[Any]:
    largest = largest_magnitude(side)
    safe = largest == 0 or _IN_RANGE[0] < largest < _IN_RANGE[1]
    return side if safe else side / side.dtype.type(largest)
