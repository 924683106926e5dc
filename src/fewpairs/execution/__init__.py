"""Execution: where the similarity is called."""

import re
import sys
from concurrent import futures
from typing import Any

from fewpairs.errors import InputError
from fewpairs.execution.pools import PoolWorkers, gpus, processes, threads
from fewpairs.execution.workers import PortableScorer, Serial, Workers

__all__ = ["PortableScorer", "Serial", "Workers", "assemble", "check_executor"]

_KINDS = {"threads": threads, "processes": processes, "gpus": gpus}
_NAMED = re.compile(r"(serial|threads|processes|gpus)(?::([1-9]\d*))?")
_ADDRESS = re.compile(r"\w+://.+|(?!serial:|threads:|processes:|gpus:)[\w.\-\[\]]+:\d+")


def check_executor(executor: Any, call: str) -> None:
    """Refuse what cannot do any work."""
    named = isinstance(executor, str) and (
        _NAMED.fullmatch(executor) or _ADDRESS.fullmatch(executor)
    )
    if (
        executor is None
        or named
        or isinstance(executor, futures.Executor)
        or _is_client(executor)
    ):
        return
    msg = (
        f"{call}: executor is {executor!r:.60}; pass 'serial', 'threads', 'processes' "
        "or 'gpus' (with a number, if you like: 'processes:4'), an executor of "
        "concurrent.futures, a dask.distributed.Client or a scheduler's address."
    )
    raise InputError(msg)


def assemble(executor: Any, portable: PortableScorer) -> Workers:
    """Return the workers that evaluate."""
    if executor is None:
        return Serial(portable)
    if isinstance(executor, futures.Executor):
        return PoolWorkers(executor, portable)
    if isinstance(executor, str):
        named = _NAMED.fullmatch(executor)
        if named is None:
            from fewpairs.execution.dask_cluster import DaskWorkers, connect

            return DaskWorkers(connect(executor), portable, own=True)
        kind, count = named.groups()
        if kind == "serial":
            return Serial(portable)
        return _KINDS[kind](portable, None if count is None else int(count))
    from fewpairs.execution.dask_cluster import DaskWorkers

    return DaskWorkers(executor, portable, own=False)


def _is_client(executor: Any) -> bool:
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(executor, distributed.Client)
