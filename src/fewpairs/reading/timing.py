"""Timing: what an evaluation takes, in tiles and pair by pair, from a small sample."""

import time
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.kernels.linalg.top_lists import TopLists
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.tiles import Tile, count_excluded
from fewpairs.reading.oracle import Oracle
from fewpairs.types import Indices

__all__ = ["TILES", "Rates", "keep_tiles", "time_pairs", "time_tiles"]

_SECONDS = 0.2  # a sample that took this long says enough
_GROWTH = 4
_LONGEST = 1.0  # seconds that one tile may take, as its pairs alone would say
_PROBE = 64  # rows and columns of a block that tells whether a tile is quick
_TAKEN = 5  # tiles that tell what looking at a value takes
TILES = 16  # that are timed, at most


class Rates(NamedTuple):
    """Seconds that an evaluation takes: in blocks, and in lists of pairs.

    And in a pass over all pairs, where along the diagonal blocks are smaller; and what
    looking at a value takes there.

    In tiles, and with several workers, as a clock on the wall says: calls, threads and
    transfers included.
    """

    tile: float
    pair: float
    all_pairs: float
    taking: float = 4e-9


def time_pairs(
    oracle: Oracle,
    most: int,
    rng: np.random.Generator,
    *,
    within: Tile | None = None,
) -> float:
    """Read random pairs, more and more at once; return what one takes in the last.

    Small requests are dominated by the overhead of a call. Evaluations: at most
    ``most``, or one; they are kept like any others. ``within`` a tile, they are those
    of its first rows and columns: the rest of it, and all others, stay whole blocks.
    """
    left = max(1, most // oracle.cost.calls)
    places = None if within is None else _corner(within, left, rng)
    size, spent = 1, 0.0
    rates = [oracle.seconds / max(1, oracle.evaluations)]
    while size <= left and spent < _SECONDS:
        if places is None:
            i, j = oracle.read.sample_unknown(size, rng)
        else:
            (i, j), places = places[:, :size], places[:, size:]
        if not len(i):
            break
        took, done = _timed(oracle, i, j)
        spent, left = spent + took, left - size
        if done and _GROWTH * size <= left and took < _SECONDS / _GROWTH**2:
            size, rates = _GROWTH * size, [took / done]
        elif done:  # several of the largest: one may have been held up
            rates.append(took / done)
    return float(np.mean(rates[1:] or rates))


def _timed(oracle: Oracle, i: Indices, j: Indices) -> tuple[float, int]:
    """Read pairs; return seconds and evaluations."""
    before, inside = oracle.evaluations, oracle.seconds
    started = time.perf_counter()
    oracle.pairs(i, j)
    took = time.perf_counter() - started
    if oracle.width == 1:  # looking up and keeping a value is computing
        took = oracle.seconds - inside
    return took, oracle.evaluations - before


def _corner(tile: Tile, most: int, rng: np.random.Generator) -> Indices:
    """Return the pairs of the first rows and columns of a tile, shuffled."""
    side = min(tile.bottom - tile.top, max(1, isqrt(most)))
    i, j = np.divmod(rng.permutation(side * side), side)
    return np.stack([i + tile.top, j + tile.left])


def time_tiles(
    oracle: Oracle,
    pair: float,
    tiles: list[Tile],
    *,
    k: int | None,
    least: float | None = None,
) -> tuple[Rates, dict[Tile, NDArray[Any]]]:
    """Read whole tiles; return what an evaluation takes, and the tiles' values.

    The first ones warm up threads and caches. ``pair`` is what one takes by itself:
    where blocks are no faster than pairs, or a tile would take more than a second, it
    is the answer. The tiles are not kept by the oracle, see `keep_tiles`.
    """
    values: dict[Tile, NDArray[Any]] = {}
    if not oracle.has_blocks or not tiles:
        return Rates(pair, pair, pair), values
    each = pair * oracle.cost.calls
    if each * tiles[-1].pairs > _LONGEST and each * _PROBE * _PROBE < _LONGEST:
        last = tiles[-1]
        rows, columns = last.rows[-_PROBE:], last.columns[-_PROBE:]
        before, inside = oracle.evaluations, oracle.seconds
        oracle.block(rows, columns)
        done = max(1, oracle.evaluations - before)
        each = (oracle.seconds - inside) / done * oracle.cost.calls
    if each * tiles[0].pairs > _LONGEST:
        each /= oracle.cost.calls
        return Rates(each, pair, each), values
    took: list[tuple[float, int]] = []

    def read(some: list[Tile]) -> tuple[float, int]:
        before, started = oracle.evaluations, time.perf_counter()
        oracle.stream(some, values.__setitem__, least=least)
        seconds, done = time.perf_counter() - started, oracle.evaluations - before
        if least is not None:  # what is out of reach takes its time, too
            done += sum(count_excluded(tile, values[tile]) for tile in some)
        return seconds, done

    waiting = tiles[:-1] or tiles
    while waiting and sum(seconds for seconds, _ in took) < 2 * _SECONDS:
        some, waiting = waiting[: oracle.width], waiting[oracle.width :]
        took.append(read(some))
    timed = [(seconds, done) for seconds, done in took[1:] or took if done]
    if not timed:
        each /= oracle.cost.calls
        return Rates(each, pair, each), values
    # The mean: a machine that is busy now and then is so during the rest, too.
    rate = sum(t for t, _ in timed) / sum(done for _, done in timed)
    through = rate
    crossing = oracle.tiles.crossing(tiles[0].top)
    if crossing:  # along the diagonal blocks are smaller, and there are single pairs
        seconds, done = read(crossing)
        share = min(1.0, oracle.tiles.side / oracle.n)
        through += share * (seconds / max(1, done) - rate)
    return Rates(rate, pair, through, _time_taking(values, k)), values


def _time_taking(tiles: dict[Tile, NDArray[Any]], k: int | None) -> float:
    """Return what looking at a value takes: whether it is among k best of two items.

    Tiles are looked at twice, and the second time counts: nearly all tiles of a pass
    meet items that have k others already.
    """
    each = []
    squares = [pair for pair in tiles.items() if not pair[0].triangle]
    for tile, values in squares[:_TAKEN]:
        height, width = values.shape
        lists = TopLists(height + width, min(k or 1, height, width), values.dtype)
        lists.add(values, 0, height)
        lists.merge()
        started = time.perf_counter()
        if k is None:
            np.flatnonzero(values >= lists.floor[0])
        else:  # and the moments
            lists.add(values, 0, height)
            np.square(values, dtype=np.float64).sum()
        each.append((time.perf_counter() - started) / tile.pairs)
    return float(np.mean(each)) if each else Rates(0, 0, 0).taking


def keep_tiles(
    entries: Entries, tiles: dict[Tile, NDArray[Any]], least: float | None = None
) -> None:
    """Enter values of tiles as known, those that are values."""
    for tile, values in tiles.items():
        level = -np.inf if least is None else least
        i, j = np.nonzero(np.isfinite(values) & (values >= level))
        entries.add_pairs(i + tile.top, j + tile.left, values[i, j])
