"""Saved folder: an index in JSON, arrays as .npy files, and a checksum of each.

::

    approximation.json   facts; which file holds which array; checksums
    NAME.npy             an array; NAME-TOKEN.npy where it replaced an earlier one

The index is written last and renamed into its place. What was saved there before is
read until that moment, and the new arrays from then on: there is no time at which a
kill leaves neither.
"""

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.fingerprint import checksum_of

__all__ = ["INDEX", "Put", "array_reader", "read_index", "write_folder"]

FORMAT = "fewpairs approximation"
VERSION = 4
INDEX = "approximation.json"
_PIECE = 1 << 22  # bytes that are read at once
# Writes an array, by name.
Put = Callable[[str, NDArray[Any]], None]


def write_folder(path: Path, describe: Callable[[Put], dict[str, Any]]) -> None:
    """Write what ``describe`` puts and returns, all of it or nothing.

    What was saved at ``path`` before is replaced.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        with _undone_by_errors(path) as token:
            _write(path, f"-{token}", describe)
        return
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        _write(draft, "", describe)
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o777 & ~mask)  # mkdtemp makes folders for their owner alone
        draft.rename(path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


@contextlib.contextmanager
def _undone_by_errors(folder: Path) -> Iterator[str]:
    """Name new files by a token; remove them after an error, else those before."""
    token = secrets.token_hex(4)
    try:
        yield token
    except BaseException:
        _remove(folder.glob(f"*-{token}.npy"))
        raise
    index = json.loads((folder / INDEX).read_bytes())
    mine = {entry["file"] for entry in index["arrays"].values()}
    _remove(file for file in folder.glob("*.npy") if file.name not in mine)


def _remove(files: Any) -> None:
    for file in list(files):
        with contextlib.suppress(OSError):  # Windows: it may be open
            file.unlink()


def _write(
    folder: Path, ending: str, describe: Callable[[Put], dict[str, Any]]
) -> None:
    arrays: dict[str, Any] = {}

    def put(name: str, array: NDArray[Any]) -> None:
        file = folder / f"{name}{ending}.npy"
        np.save(file, array, allow_pickle=False)
        entry = {"file": file.name, "bytes": file.stat().st_size}
        arrays[name] = {**entry, "crc32c": _crc32c(file)}

    facts = {"format": FORMAT, "version": VERSION, **describe(put), "arrays": arrays}
    facts["checksum"] = checksum_of(facts)
    text = json.dumps(facts, indent=2, allow_nan=False) + "\n"
    draft = folder / f"{INDEX}.partial"
    draft.write_text(text, encoding="utf-8")
    draft.replace(folder / INDEX)


def read_index(folder: Path) -> dict[str, Any]:
    """Return the facts of a saved folder; refuse them where they were changed.

    Those of fewpairs 0.1 have no checksum and are taken as they are.
    """
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    if not isinstance(index, dict):
        raise TypeError(f"{INDEX} holds a {type(index).__name__}")
    if index["format"] != FORMAT or index["version"] > VERSION:
        msg = (
            f"fewpairs.load: {folder} holds {index['format']!r}, version "
            f"{index['version']}; this fewpairs reads versions up to {VERSION}."
        )
        raise InputError(msg)
    given = index.pop("checksum", None)
    if given is None and "arrays" not in index:
        return index
    if given != checksum_of(index):
        raise ValueError(f"the checksum of {INDEX} is not that of what it says")
    return index


def array_reader(
    folder: Path, index: dict[str, Any], *, mmap: bool, verify: bool
) -> Callable[[str], NDArray[Any]]:
    """Return what reads an array by name, and refuses one that was changed."""
    mode: Any = "r" if mmap else None
    arrays = index.get("arrays")

    def get(name: str) -> NDArray[Any]:
        file = folder / f"{name}.npy"
        if arrays is not None:
            entry = arrays[name]
            file = folder / Path(entry["file"]).name
            if verify:
                _check(file, entry)
        array = np.load(file, mmap_mode=mode, allow_pickle=False)
        return np.asanyarray(array)

    return get


def _check(file: Path, entry: dict[str, Any]) -> None:
    """Refuse a file that is not the one that was saved; it is read once for that."""
    size = file.stat().st_size
    if size != entry["bytes"]:
        what = f"it has {size:,} bytes, and {entry['bytes']:,} were saved"
    elif _crc32c(file) != entry["crc32c"]:
        what = "its checksum is not that of what was saved"
    else:
        return
    msg = (
        f"fewpairs.load: {file.parent} is not a whole saved approximation: {file.name} "
        f"is damaged, {what}. Bring the folder back from a copy, or save again."
    )
    raise InputError(msg)


def _crc32c(file: Path) -> str:
    """Return the checksum that zarr has for chunks: some GB a second."""
    from google_crc32c import extend

    crc = 0
    with file.open("rb") as stream:
        while piece := stream.read(_PIECE):
            crc = extend(crc, piece)
    return f"{crc:08x}"
