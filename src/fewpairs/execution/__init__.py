"""Execution: where the similarity is called."""

import re
import sys
from concurrent import futures
from typing import Any

from fewpairs.errors import InputError
from fewpairs.execution.crew import Crew, Serial, Site
from fewpairs.execution.pools import PoolCrew, gpus, processes, threads

__all__ = ["Crew", "Serial", "Site", "assemble", "check_executor"]

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


def assemble(executor: Any, site: Site) -> Crew:
    """Return those who do the work."""
    if executor is None:
        return Serial(site)
    if isinstance(executor, futures.Executor):
        return PoolCrew(executor, site)
    if isinstance(executor, str):
        named = _NAMED.fullmatch(executor)
        if named is None:
            from fewpairs.execution.dask_cluster import DaskCrew, connect

            return DaskCrew(connect(executor), site, own=True)
        kind, count = named.groups()
        if kind == "serial":
            return Serial(site)
        return _KINDS[kind](site, None if count is None else int(count))
    from fewpairs.execution.dask_cluster import DaskCrew

    return DaskCrew(executor, site, own=False)


def _is_client(executor: Any) -> bool:
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(executor, distributed.Client)
