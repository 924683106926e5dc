"""Timing: what an evaluation takes, in tiles and pair by pair, from a small sample."""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.matrix.entries import Entries
from fewpairs.matrix.tiles import Tile
from fewpairs.reading.oracle import Oracle

__all__ = ["Rates", "keep_tiles", "time_pairs", "time_tiles"]

_SECONDS = 0.2  # a sample that took this long says enough
_GROWTH = 4
_LONGEST = 1.0  # seconds that one tile may take, as its pairs alone would say
_TILES = 64


class Rates(NamedTuple):
    """Seconds that an evaluation takes: in tiles, and in lists of pairs.

    As a clock on the wall says, whoever evaluates: calls, threads, transfers included.
    """

    tile: float
    pair: float


def time_pairs(oracle: Oracle, most: int, rng: np.random.Generator) -> float:
    """Read random pairs, more and more at once; return what one takes in the last.

    Small requests are dominated by the overhead of a call. Evaluations: at most
    ``most``, or one; they are kept like any others.
    """
    size, each = 1, oracle.seconds / max(1, oracle.evaluations)
    left = max(1, most // oracle.cost.calls)
    while size <= left:
        i, j = oracle.read.sample_unknown(size, rng)
        before, started = oracle.evaluations, time.perf_counter()
        oracle.pairs(i, j)
        took, done = time.perf_counter() - started, oracle.evaluations - before
        if done:
            each = took / done
        if took > _SECONDS or len(i) < size:
            break
        left -= size
        size *= _GROWTH
    return each


def time_tiles(
    oracle: Oracle,
    pair: float,
    rng: np.random.Generator,
    *,
    least: float | None = None,
) -> tuple[float, dict[Tile, NDArray[Any]]]:
    """Read whole tiles; return what an evaluation takes in them, and their values.

    The first ones warm up threads and caches. ``pair`` is what one takes by itself:
    where a tile would take more than a second, or blocks are no faster than pairs, it
    is the answer. The tiles are not kept by the oracle, see `keep_tiles`.
    """
    values: dict[Tile, NDArray[Any]] = {}
    side, calls = oracle.tiles.side, oracle.cost.calls
    if not oracle.has_blocks or pair * side * side * calls > _LONGEST:
        return pair, values
    tiles = oracle.tiles.sample(_TILES, rng)
    took: list[tuple[float, int]] = []
    while tiles and sum(seconds for seconds, _ in took) < 2 * _SECONDS:
        some, tiles = tiles[: oracle.width], tiles[oracle.width :]
        before, started = oracle.evaluations, time.perf_counter()
        oracle.stream(some, values.__setitem__, least=least)
        done = oracle.evaluations - before
        took.append((time.perf_counter() - started, done))
    timed = took[1:] or took
    number = sum(done for _, done in timed)
    if not number:
        return pair, values
    return sum(seconds for seconds, _ in timed) / number, values


def keep_tiles(
    entries: Entries, tiles: dict[Tile, NDArray[Any]], least: float | None = None
) -> None:
    """Enter values of tiles as known, those that are values."""
    for tile, values in tiles.items():
        level = -np.inf if least is None else least
        i, j = np.nonzero(values >= level)
        entries.add_pairs(i + tile.top, j + tile.left, values[i, j])
