"""Objects: files of a folder, or of any store that fsspec knows."""

import contextlib
import shutil
from pathlib import Path
from typing import Any, Protocol

from fewpairs.errors import StoreError
from fewpairs.ledger.locking import FolderLock, Lock, ObjectLock

__all__ = ["Folder", "Objects", "Remote", "objects_at"]

_OWN = ("added", "prior")  # ledgers of their own, with their own locks


class Objects(Protocol):
    """Files by name, below one place."""

    url: str
    folder: Path | None
    lock: Lock

    def prepare(self) -> None:
        """Make the place; refuse one that holds something else."""

    def sweep(self) -> None:
        """Remove what a killed writer had not renamed yet."""

    def zarr_store(self) -> Any:
        """Return the place as zarr knows it."""

    def names(self, prefix: str) -> list[str]:
        """Return the names of all files below a prefix."""

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file."""

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file, or ``None`` if it does not exist."""

    def write(self, name: str, data: bytes) -> None:
        """Write a file: all of it, or nothing."""

    def remove(self, prefix: str) -> None:
        """Remove a file, or all files below a prefix."""


def objects_at(url: str) -> Objects:
    """Return a folder, or what fsspec finds at a URL."""
    url = url.removeprefix("file://")
    return Remote(url) if "://" in url else Folder(Path(url))


class Folder:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.url = str(folder)
        self.folder: Path | None = folder
        self.lock: Lock = FolderLock(folder)
        self._folder = folder

    def prepare(self) -> None:
        """Make the folder; refuse one that holds something else."""
        self._folder.mkdir(parents=True, exist_ok=True)
        ours = {"lock", "zarr.json", "columns", "rows", "pairs", "runs", "prior"}
        ours |= {"copies", "damaged", "passes", "queries", "added", "answers"}
        others = {path.name for path in self._folder.iterdir()} - ours
        if others and not (self._folder / "zarr.json").exists():
            msg = (
                f"{self._folder} is a folder of something else: it holds "
                f"{sorted(others)[0]}. Pass a path that is new, empty or a ledger."
            )
            raise StoreError(msg)

    def sweep(self) -> None:
        """Remove what a killed writer had not renamed yet."""
        for path in self._folder.rglob("*.partial"):
            if path.relative_to(self._folder).parts[0] not in _OWN:
                path.unlink(missing_ok=True)

    def zarr_store(self) -> Any:
        """Return the folder as zarr knows it."""
        from zarr.storage import LocalStore

        return LocalStore(self._folder)

    def names(self, prefix: str) -> list[str]:
        """Return the names of all files below a prefix."""
        return [
            path.relative_to(self._folder).as_posix()
            for path in (self._folder / prefix).rglob("*")
            if path.is_file()
        ]

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return (self._folder / name).is_file()

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""
        (self._folder / new).parent.mkdir(parents=True, exist_ok=True)
        (self._folder / old).rename(self._folder / new)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file, or ``None`` if it does not exist."""
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file: all of it, or nothing."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.partial")
        draft.write_bytes(data)
        draft.replace(path)

    def remove(self, prefix: str) -> None:
        """Remove a file, or all files below a prefix."""
        path = self._folder / prefix
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


class Remote:
    """Objects of a store that fsspec knows."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url
        self.folder: Path | None = None
        try:
            self._fs, self._root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            msg = f"the ledger {url} cannot be reached: {error}"
            raise StoreError(msg) from error
        self.lock: Lock = ObjectLock(url, self._fs, self._root)

    def prepare(self) -> None:
        """Do nothing: there are no folders, and objects are put as a whole."""

    def sweep(self) -> None:
        """Do nothing: objects are put as a whole."""

    def zarr_store(self) -> Any:
        """Return the place as zarr knows it."""
        from zarr.storage import FsspecStore

        return FsspecStore.from_url(self.url)

    def names(self, prefix: str) -> list[str]:
        """Return the names of all objects below a prefix."""
        self._fs.invalidate_cache()
        try:
            found = self._fs.find(f"{self._root}/{prefix}")
        except FileNotFoundError:
            return []
        skip = len(self._fs._strip_protocol(self._root)) + 1
        return [self._fs._strip_protocol(path)[skip:] for path in found]

    def exists(self, name: str) -> bool:
        """Tell whether there is such an object."""
        return bool(self._fs.exists(f"{self._root}/{name}"))

    def rename(self, old: str, new: str) -> None:
        """Give an object another name."""
        self._fs.mv(f"{self._root}/{old}", f"{self._root}/{new}")

    def read(self, name: str) -> bytes | None:
        """Return the bytes of an object, or ``None`` if it does not exist."""
        self._fs.invalidate_cache()
        try:
            return bytes(self._fs.cat_file(f"{self._root}/{name}"))
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Put an object, as a whole."""
        self._fs.pipe_file(f"{self._root}/{name}", data)

    def remove(self, prefix: str) -> None:
        """Remove an object, or all objects below a prefix."""
        self._fs.invalidate_cache()
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm(f"{self._root}/{prefix}", recursive=True)
