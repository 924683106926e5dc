"""Memory: whether what is asked for can be held, found out before it is paid for."""

import os
from contextlib import suppress
from pathlib import Path

from fewpairs.errors import InputError

__all__ = ["available_memory", "check_fits", "gibibytes"]

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")  # the limit of a container


def available_memory() -> int | None:
    """Return the bytes that can be had without swapping; ``None``: it cannot be told.

    Files that the system keeps in memory make way, so they count as available.
    """
    found = [size for size in (_of_machine(), _of_container()) if size is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):  # not every system has them
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _of_container() -> int | None:
    with suppress(OSError, ValueError):  # no container, or "max"
        limit = int((_CGROUP / "memory.max").read_text(encoding="ascii"))
        used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
        lines = (_CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        facts = dict(line.split() for line in lines)
        return max(0, limit - used + int(facts.get("inactive_file", 0)))
    return None


def gibibytes(size: float) -> str:
    """Return a number of bytes in words."""
    return f"{size / 2**30:,.1f} GiB"


def check_fits(call: str, size: int, what: str, cure: str) -> None:
    """Refuse what takes more memory than there is; ``cure`` is a way that works."""
    free = available_memory()
    if free is not None and size > free:
        msg = (
            f"{call}: {what} take {gibibytes(size)} of memory, and {gibibytes(free)} "
            f"are available. {cure}"
        )
        raise InputError(msg)
