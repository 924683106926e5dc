"""A pass over all pairs: what is found on the way, in memory that n² does not enter."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.near_misses import NearMisses
from fewpairs.errors import InputError
from fewpairs.fingerprint import fingerprint
from fewpairs.kernels.linalg.top_lists import TopLists
from fewpairs.ledger.pass_records import PassRecords
from fewpairs.matrix.moments import Moments
from fewpairs.matrix.tiles import Tile, count_excluded
from fewpairs.memory import available_memory, gibibytes
from fewpairs.reading.oracle import Oracle
from fewpairs.types import Indices

__all__ = ["AllPairs", "level_of"]

_MANY = 1 << 20  # pairs above a threshold from which on their memory is looked at
_EACH = 48  # bytes of a pair above a threshold, while they are sorted


def level_of(threshold: float, precision: np.dtype[Any]) -> float:
    """Return the number from which on a value of some precision is at a threshold.

    In single precision 0.9 is a little less than 0.9, and means 0.9.

    >>> level_of(0.9, np.dtype(np.float32)) < 0.9 == level_of(0.9, np.dtype(float))
    True
    """
    with np.errstate(over="ignore"):  # what no value reaches is infinite
        return float(np.asarray(threshold).astype(precision))


class AllPairs:
    """Every item's k most similar others, the pairs above a threshold, the moments.

    Evaluations: all n(n−1)/2 pairs, but for those that are known and those that cannot
    reach what is wanted, by proof (``Scorer.may_reach``); the diagonal is not looked
    at. Memory: of order n·k and the pairs above the threshold. Tiles are taken in a
    fixed order, whoever evaluates them, so the answer does not depend on that. With a
    ledger on disk, what was found is written down as the pass goes on, with the number
    of tiles that it is from; one that is started again goes on from there, and comes to
    the same answer.

    Parameters
    ----------
    oracle
        Reads a symmetric matrix.
    records
        Of the oracle's ledger.
    dtype
        The precision of the values.
    k
        Most similar others that are kept of each item; ``None``: none.
    threshold
        Pairs that are kept; ``None``: none.
    band
        How far below the threshold pairs are of interest: the nearest are kept.
    moments
        Whether number, sum and sum of squares of all values are wanted. Without, and
        without k, similarities that can stop early below the band do.

    Attributes
    ----------
    done, k
        Tiles that were taken; others that are kept of each item.
    excluded
        Pairs that were not read, because they provably lie below the band.
    """

    def __init__(
        self,
        oracle: Oracle,
        records: PassRecords,
        dtype: np.dtype[Any],
        *,
        k: int | None = None,
        threshold: float | None = None,
        band: float = 0.0,
        moments: bool = True,
    ) -> None:
        self._oracle, self._records, self._dtype = oracle, records, dtype
        self._lists = None if k is None else TopLists(oracle.n, k, dtype)
        self._level = None if threshold is None else level_of(threshold, dtype)
        self._threshold, self.k = threshold, k
        self._floor = None if threshold is None else level_of(threshold - band, dtype)
        self._near = NearMisses(np.inf if self._floor is None else self._floor)
        self._found: list[tuple[Indices, Indices, NDArray[Any]]] = []
        self._number, self._looked_at = 0, 0
        self._moments = np.zeros(2) if moments else None
        self.done = self.excluded = 0
        side = oracle.tiles.side
        self.name = fingerprint([oracle.n, side, k, threshold, band, moments])[:16]
        self._resume(records.read(self.name))

    @property
    def least(self) -> float | None:
        """What alone is wanted of a value, where the rest need not be known."""
        whole = self._lists is not None or self._moments is not None
        return None if whole or self._floor == -np.inf else self._floor

    @property
    def pairs(self) -> int:
        """All pairs of the items."""
        return self._oracle.cost.pairs

    @property
    def left(self) -> int:
        """Evaluations that it will take from here on, at most."""
        cost = self._oracle.cost
        return (cost.pairs - self._looked_at) * cost.calls

    def run(self, ready: Mapping[Tile, NDArray[Any]] | None = None) -> None:
        """Go on to the end; ``ready`` are values of tiles that were read before."""
        if not self.left:
            return
        tiles = islice(iter(self._oracle.tiles), self.done, None)
        try:
            self._oracle.stream(tiles, self._take, least=self.least, ready=ready)
        finally:
            self._write()

    def neighbors(self) -> tuple[Indices, NDArray[Any]]:
        """Return (n, k) positions and similarities, the most similar first."""
        if self._lists is None:
            msg = "AllPairs.neighbors: no k was given"
            raise AssertionError(msg)
        return self._lists.result()

    def above(self) -> tuple[Indices, Indices, NDArray[np.float64]]:
        """Return i < j of the pairs above the threshold, the most similar first.

        What the precision cannot tell from the threshold has the threshold's value.
        """
        if self._threshold is None:
            msg = "AllPairs.above: no threshold was given"
            raise AssertionError(msg)
        i, j, found = self._joined()
        values = np.maximum(found.astype(np.float64), self._threshold)
        order = np.lexsort((j, i, -values))
        return i[order], j[order], values[order]

    def near(self) -> Pairs:
        """Return the pairs nearest below the threshold, the most similar first."""
        return self._near.pairs()

    def moments(self) -> Moments:
        """Return number, sum and sum of squares of all similarities."""
        if self._moments is None:
            msg = "AllPairs.moments: they were not asked for"
            raise AssertionError(msg)
        return Moments(self._looked_at, *map(float, self._moments))

    # --- tile by tile -----------------------------------------------------------

    def _take(self, tile: Tile, values: NDArray[Any]) -> None:
        if self._lists is not None:
            self._lists.add(values, tile.top, tile.left)
        if self._level is not None:
            self._take_high(tile, values, self._level)
        if self._moments is not None:
            once = values[np.isfinite(values)] if tile.triangle else values.ravel()
            once = once.astype(np.float64, copy=False)
            with np.errstate(over="ignore", under="ignore"):
                # Not by BLAS, whose threads would wait for each other.
                self._moments += once.sum(), np.einsum("i,i->", once, once)
        if self.least is not None:
            self.excluded += count_excluded(tile, values)
        self._looked_at += tile.pairs
        self.done += 1
        if self._number > _MANY:
            self._check_memory()
        if self._records.due:
            self._write()

    def _take_high(self, tile: Tile, values: NDArray[Any], level: float) -> None:
        """Keep what is at the threshold, and look at what comes near it."""
        if tile.triangle:  # −∞ is no pair
            values = np.where(np.isneginf(values), np.nan, values)
        hit = np.flatnonzero(values >= min(level, self._near.floor))
        if not len(hit):
            return
        row, column = np.divmod(hit, values.shape[1])
        found = values[row, column].astype(self._dtype, copy=False)
        i, j = row + tile.top, column + tile.left
        high = found >= level
        if not high.all():
            low = ~high
            self._near.add(i[low], j[low], found[low])
            i, j, found = i[high], j[high], found[high]
        if len(found):
            self._found.append((i, j, found))
            self._number += len(found)

    def _check_memory(self) -> None:
        """Refuse a threshold that more pairs reach than can be listed."""
        pairs = self._oracle.cost.pairs
        size = _EACH * self._number * pairs / self._looked_at
        free = available_memory()
        if len(self._found) % 64 == 0 and free is not None and size > free:
            expected = self._number * pairs // self._looked_at
            msg = (
                f"about {expected:,} pairs are at least {self._threshold:g} similar; "
                f"listing them takes {gibibytes(size)} of memory, and "
                f"{gibibytes(free)} are available. Raise the threshold; or ask for "
                "neighbors, which takes k of each item."
            )
            raise InputError(msg)

    # --- records ----------------------------------------------------------------

    def _joined(self) -> tuple[Indices, Indices, NDArray[Any]]:
        none = np.empty(0, dtype=np.int64)
        parts = [(none, none, np.empty(0, dtype=self._dtype)), *self._found]
        i, j, values = (np.concatenate(side) for side in zip(*parts, strict=True))
        self._found = [(i, j, values)]
        return i, j, values

    def _write(self) -> None:
        arrays: dict[str, NDArray[Any]] = {
            "done": np.array([self.done, self._looked_at, self.excluded])
        }
        if self._lists is not None:
            partner, value = self._lists.result()
            arrays |= {"partner": partner, "value": value}
        if self._level is not None:
            i, j, values = self._joined()
            near = self._near.pairs()
            arrays |= {"i": i, "j": j, "similarity": values}
            arrays |= {f"near_{name}": part for name, part in near._asdict().items()}
        if self._moments is not None:
            arrays["moments"] = self._moments
        self._records.write(self.name, arrays)

    def _resume(self, found: dict[str, NDArray[Any]] | None) -> None:
        if found is None:
            return
        counts = (*(int(t) for t in found["done"]), 0)  # 0.1 excluded nothing
        self.done, self._looked_at, self.excluded = counts[:3]
        if self._lists is not None:
            self._lists.partner = found["partner"].copy()
            self._lists.value = found["value"].copy()
        if self._level is not None:
            self._found = [(found["i"], found["j"], found["similarity"])]
            self._number = len(found["i"])
            self._near.add(*(found[f"near_{name}"] for name in Pairs._fields))
        if self._moments is not None:
            self._moments = found["moments"].copy()
