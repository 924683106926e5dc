"""Locks: one writer a folder, and no lock that outlives its owner."""

import contextlib
import json
import os
import socket
import weakref
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from fewpairs.errors import StoreError

__all__ = ["FolderLock", "Lock", "ObjectLock"]


class Lock(Protocol):
    """What one writer holds."""

    def acquire(self) -> None:
        """Acquire the lock, or raise an error that names its holder."""

    def release(self) -> None:
        """Give it back."""


# A group of zarr, so that zarr does not wonder about it: its attributes are the owner.
_NAME = "lock/zarr.json"


def _signed() -> bytes:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
    group = {"zarr_format": 3, "node_type": "group", "attributes": owner}
    return json.dumps(group).encode()


def _owner(data: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(data)["attributes"])
    except (ValueError, KeyError, TypeError):
        return {}


def _refusal(where: str, owner: dict[str, Any], cure: str) -> StoreError:
    who = (
        f"process {owner.get('pid', '?')} on {owner.get('host', '?')}, since "
        f"{owner.get('since', '?')}"
    )
    return StoreError(f"the ledger {where} is in use by {who}. {cure}")


class FolderLock:
    """A lock of the operating system, which ends with the process that holds it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / _NAME
        self._held: int | None = None

    def acquire(self) -> None:
        """Acquire the lock, or raise an error that names its holder."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except BlockingIOError as error:
            owner = {}
            with contextlib.suppress(OSError):
                owner = _owner(os.read(handle, 1_000))
            os.close(handle)
            cure = "Wait for it to end, or use another folder."
            raise _refusal(str(self._folder), owner, cure) from error
        except BaseException:
            os.close(handle)
            raise
        os.ftruncate(handle, os.write(handle, _signed()))
        self._held = handle
        _HELD.add(self)

    def release(self) -> None:
        """Give it back."""
        _HELD.discard(self)
        if self._held is not None:
            os.close(self._held)  # which unlocks it
            self._held = None


# A forked child has the handles of its parent, and must not go on holding its locks.
_HELD: "weakref.WeakSet[FolderLock]" = weakref.WeakSet()


def _release_all() -> None:
    for lock in list(_HELD):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_all)


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError as error:
            raise BlockingIOError from error
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class ObjectLock:
    """A lock in an object store, where nothing ends with a process.

    One that a dead process of this machine left behind is taken over; one of another
    machine has to be removed by a person.
    """

    def __init__(self, url: str, fs: Any, root: str) -> None:
        self._url, self._fs, self._name = url, fs, f"{root}/{_NAME}"
        self._held = False

    def acquire(self) -> None:
        """Acquire the lock, or raise an error that names its holder."""
        owner = self._read()
        if owner is not None and not _is_dead(owner):
            cure = f"If that process is gone, remove {self._url}/{_NAME}."
            raise _refusal(self._url, owner, cure)
        mine = _signed()
        self._fs.pipe_file(self._name, mine)
        if self._read() != _owner(mine):  # two at once: the last one has it
            raise _refusal(self._url, self._read() or {}, "Try again.")
        self._held = True

    def release(self) -> None:
        """Give it back."""
        if self._held:
            self._held = False
            with contextlib.suppress(FileNotFoundError):
                self._fs.rm_file(self._name)

    def _read(self) -> dict[str, Any] | None:
        self._fs.invalidate_cache()
        try:
            return _owner(self._fs.cat_file(self._name))
        except FileNotFoundError:
            return None


def _is_dead(owner: dict[str, Any]) -> bool:
    if owner.get("host") != socket.gethostname() or not isinstance(
        owner.get("pid"), int
    ):
        return False
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
