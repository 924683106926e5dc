"""Candidates: for every item, the partners that may be among its most similar."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.entries import Entries
from fewpairs.kernels.blas import in_lanes
from fewpairs.methods.layered import Layered
from fewpairs.similarity.base import Indices

__all__ = ["Candidates", "ceilings", "find"]

_BLOCK = 1 << 21  # entries looked at at once


@dataclass
class Candidates:
    """(n, m) arrays, a row an item.

    Attributes
    ----------
    partner
        Positions of other items.
    score
        How similar they are taken to be; −∞ once a pair has been read.
    base, cheap
        What prior and low rank say, and the prior alone.
    """

    partner: NDArray[np.int32]
    score: NDArray[np.float32]
    base: NDArray[np.float32]
    cheap: NDArray[np.float32] | None

    def choose(
        self, count: int, known: Entries, *, by_prior: bool = False
    ) -> tuple[Indices, Indices]:
        """Return ``count`` unread pairs: every item's best, then its second best.

        By score, or by the prior alone. Pairs once chosen are not offered again. Fewer
        come where fewer are left.
        """
        n, m = self.partner.shape
        score = self.score
        if by_prior and self.cheap is not None:
            score = np.where(np.isfinite(self.score), self.cheap, -np.inf)
        found = np.empty(0, dtype=np.int64)
        while len(found) < count:
            depth = min(m, int(2.2 * (count - len(found)) / n) + 2)
            top = np.argpartition(-score, depth - 1, axis=1)[:, :depth]
            scores = np.take_along_axis(score, top, axis=1)
            order = np.argsort(-scores, axis=1, kind="stable")
            top = np.take_along_axis(top, order, axis=1)
            # By rank first: the best of every item, then the second best of every one.
            item = np.tile(np.arange(n), depth)
            place = top.T.ravel()
            live = np.isfinite(score[item, place])
            item, place = item[live], place[live]
            if not len(item):
                break
            other = self.partner[item, place].astype(np.int64)
            keys = np.minimum(item, other) * n + np.maximum(item, other)
            read = known.lookup(item, other)[0] | np.isin(keys, found)
            _, first = np.unique(keys[~read], return_index=True)
            fresh = keys[~read][np.sort(first)][: count - len(found)]
            found = np.concatenate([found, fresh])
            gone = read | np.isin(keys, fresh)
            self.score[item[gone], place[gone]] = -np.inf
            score[item[gone], place[gone]] = -np.inf
        return found // n, found % n

    def best(self, depth: int) -> tuple[Indices, Indices]:
        """Return rows and places of every item's best candidates."""
        n, m = self.partner.shape
        depth = min(depth, m)
        top = np.argpartition(-self.score, depth - 1, axis=1)[:, :depth]
        rows = np.repeat(np.arange(n), depth)
        places = top.ravel()
        live = np.isfinite(self.score[rows, places])
        return rows[live], places[live]


def find(model: Layered, known: Entries, most: int) -> Candidates:
    """Return every item's candidates by a model's predictions, and by its prior.

    Price: one pass of blockwise products of all rows with all columns; memory
    O(n · most). By the prior alone come half as many again: it knows near-duplicates
    that few landmarks say nothing of.
    """
    n = known.n
    most = max(1, min(most, n - 1))
    extra = 0 if model.prior is None else max(1, min(most // 2, n - 1 - most))
    everything = np.arange(n)
    out = Candidates(
        np.zeros((n, most + extra), dtype=np.int32),
        np.full((n, most + extra), -np.inf, dtype=np.float32),
        np.zeros((n, most + extra), dtype=np.float32),
        None if model.prior is None else np.zeros((n, most + extra), dtype=np.float32),
    )

    def look(rows: Indices) -> None:
        base, cheap = model.base_block(rows, everything)
        score = base.astype(np.float32)
        if model.student is not None:
            score = model.student.block(rows, everything, base, cheap)
        known.hide(score, rows)
        top = np.argpartition(score, n - most, axis=1)[:, n - most :]
        if extra and cheap is not None:
            rest = cheap.copy()
            known.hide(rest, rows)
            np.put_along_axis(rest, top, -np.inf, axis=1)
            more = np.argpartition(rest, n - extra, axis=1)[:, n - extra :]
            top = np.hstack([top, more])
        out.partner[rows] = top
        out.score[rows] = np.take_along_axis(score, top, axis=1)
        out.base[rows] = np.take_along_axis(base, top, axis=1)
        if cheap is not None and out.cheap is not None:
            out.cheap[rows] = np.take_along_axis(cheap, top, axis=1)

    known.scattered()  # settled before several threads look
    known.hide(np.zeros((1, n)), everything[:1])
    step = max(1, _BLOCK // n)
    chunks = [everything[start : start + step] for start in range(0, n, step)]
    in_lanes(look, chunks)
    return out


def ceilings(
    n: int, i: Indices, j: Indices, values: NDArray[Any], share: float = 0.9
) -> NDArray[np.float32]:
    """Return, for every item, the level that ``share`` of its values keep below.

    Items with fewer than three values have none (+∞).
    """
    item = np.concatenate([i, j])
    both = np.concatenate([values, values])
    order = np.lexsort((both, item))
    item, both = item[order], both[order]
    start = np.searchsorted(item, np.arange(n))
    number = np.searchsorted(item, np.arange(n), side="right") - start
    out = np.full(n, np.inf, dtype=np.float32)
    enough = number >= 3
    at = start + np.maximum(np.ceil(share * number).astype(np.int64) - 1, 0)
    out[enough] = both[at[enough]]
    return out
