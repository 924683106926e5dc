"""Cells filled by several processes that share the cores."""

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from experiments.cells import Cell, Filler, Key, Value, timed
from experiments.manifest import entry

__all__ = ["in_processes"]


def in_processes(name: str, data: Path, jobs: int) -> Filler:
    """Return a function that fills cells of an experiment in this many processes.

    A cell is a closure, which no process can be sent: it finds the cell by its place
    among all cells.
    """

    def fill(missing: list[Cell]) -> Iterable[tuple[Cell, Value, float]]:
        places = [_place(name, data, cell.key) for cell in missing]
        share = str(max(1, (os.cpu_count() or 1) // jobs))
        for name_of in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
            os.environ[name_of] = share  # read by the libraries of processes to come
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            running = {
                pool.submit(_filled, name, data, place): cell
                for place, cell in zip(places, missing, strict=True)
            }
            for done in as_completed(running):
                yield running[done], *done.result()

    return fill


@cache
def _cells(name: str, data: Path) -> list[Cell]:
    return list(entry(name).all_cells(data, toy=False))


def _place(name: str, data: Path, key: Key) -> int:
    return next(t for t, cell in enumerate(_cells(name, data)) if cell.key == key)


def _filled(name: str, data: Path, place: int) -> tuple[Value, float]:
    return timed(_cells(name, data)[place])
