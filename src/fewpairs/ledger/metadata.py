"""Metadata: the zarr.json files of a chunk store, each checked, and each with a copy.

Chunks are worth what was paid for them, and nothing without the small files that say
what they are. ``copies/PATH/zarr.json`` has what ``PATH/zarr.json`` has; the folder of
copies is a zarr hierarchy too. Attributes carry a checksum, so that a number that was
changed is no other number but damage. Files of 0.1.0 have neither, and are read as they
are.
"""

import hashlib
import json
from typing import Any

import numpy as np

from fewpairs.errors import DamageError
from fewpairs.fingerprint import checksum_of
from fewpairs.ledger.objects import Objects

__all__ = ["CHECKSUM", "KINDS", "Metadata", "name_of"]

KINDS = ("columns", "rows", "pairs", "runs")
CHECKSUM = "checksum"
_NAME = "zarr.json"
_COPIES = "copies"
_ASIDE = "damaged"
_CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
# Of an array, everything that says how its chunks are read.
_LAYOUT = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value")


class Metadata:
    """What groups and arrays say of themselves.

    Parameters
    ----------
    objects
        Where the files are.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def group(self, path: str) -> dict[str, Any] | None:
        """Return the attributes of a group, or ``None`` if it does not exist."""
        document = self._read(path, _place(path))
        return None if document is None else _attributes(document)

    def version(self) -> Any:
        """Return the version of the ledger, whatever else has become of its file."""
        try:
            return json.loads(self._objects.read(_NAME) or b"")["attributes"]["version"]
        except (ValueError, LookupError, TypeError, RecursionError):
            return None

    def check_array(self, path: str) -> None:
        """Refuse an array whose file is missing, cut off or changed."""
        if self._read(path, _place(path)) is None:
            raise self._damage(path, "it is missing")

    def write_group(self, path: str, facts: dict[str, Any]) -> None:
        """Write the attributes of a group, and the copy."""
        document = {
            "zarr_format": 3,
            "node_type": "group",
            "attributes": {**facts, CHECKSUM: checksum_of(facts)},
        }
        data = json.dumps(document, indent=2).encode()
        above = path.rpartition("/")[0]
        if above and not self._objects.exists(_place(above)):
            self.write_group(above, {})
        self._put(path, data)

    def seal_array(self, path: str) -> None:
        """Give a new array its checksum, and a copy of its file."""
        document = json.loads(self._objects.read(_place(path)) or b"")
        own = {k: v for k, v in document["attributes"].items() if k != CHECKSUM}
        layout = [document[name] for name in _LAYOUT]
        document["attributes"] = {**own, CHECKSUM: checksum_of(own, layout)}
        self._put(path, json.dumps(document, indent=2).encode())

    def complete(self) -> None:
        """Make copies that are missing: of 0.1.0, or of a writer that was killed."""
        have = set(self._objects.names(_COPIES))
        for path in self._paths():
            data = self._objects.read(_place(path))
            if _place(path, _COPIES) not in have and data is not None:
                self._objects.write(_place(path, _COPIES), data)

    def mend(self) -> int:
        """Mend every file from its copy; set aside what has none; return how many."""
        mended = 0
        for path in self._paths():
            try:
                if self._read(path, _place(path)) is not None:
                    continue
            except DamageError:
                pass
            mended += self._restore(path)
        return mended

    # --- inside ------------------------------------------------------------------

    def _paths(self) -> list[str]:
        """Return the paths of all groups and arrays, by whatever is left of them."""
        paths, anything = [], self._objects.exists(_NAME)
        for kind in KINDS:
            found = [name.split("/") for name in self._objects.names(kind)]
            inner = {parts[1] for parts in found if len(parts) > 2}
            paths += [kind] * bool(found) + [f"{kind}/{name}" for name in sorted(inner)]
            anything = anything or bool(found)
        return [""] * anything + paths

    def _read(self, path: str, name: str) -> dict[str, Any] | None:
        """Return what a file says; refuse one that does not say what it should."""
        data = self._objects.read(name)
        if data is None:
            return None
        try:
            document = json.loads(data)
            if not isinstance(document, dict):
                raise ValueError(f"it is a {type(document).__name__}")
            _check(path, document)
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            what = "it is empty" if not data.strip() else str(error)
            raise self._damage(path, what) from error
        return document

    def _put(self, path: str, data: bytes) -> None:
        self._objects.write(_place(path), data)
        self._objects.write(_place(path, _COPIES), data)

    def _restore(self, path: str) -> int:
        try:
            copied = self._read(path, _place(path, _COPIES))
        except DamageError:
            copied = None
        if copied is not None:
            data = self._objects.read(_place(path, _COPIES)) or b""
            self._objects.write(_place(path), data)
        elif not path:
            msg = (
                f"{self._objects.url}/{_NAME} is damaged or missing, and has no copy: "
                "without it nothing says of which items and which similarity the "
                "values are. Bring the file back, or Ledger.forget() to start anew."
            )
            raise DamageError(msg)
        elif path in KINDS:
            self.write_group(path, {})
        else:
            for name in self._objects.names(path):
                self._objects.rename(name, f"{_ASIDE}/{name}")
        return 1

    def _damage(self, path: str, what: str) -> DamageError:
        url = self._objects.url
        return DamageError(
            f"{url}/{_place(path)} is damaged ({what}). fewpairs.Ledger({url!r})"
            ".repair() restores it from its copy; where there is none, it sets aside "
            "what cannot be read, and the next run pays for that again."
        )


def _place(path: str, *above: str) -> str:
    return "/".join([*above, *filter(None, [path]), _NAME])


def _attributes(document: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in document["attributes"].items() if k != CHECKSUM}


def name_of(*parts: Any) -> str:
    """Return the name of an array: a hash of what it holds."""
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        data = part.tobytes() if isinstance(part, np.ndarray) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _check(path: str, document: dict[str, Any]) -> None:
    """Refuse what is not what it should be at this path."""
    kind, _, name = path.partition("/")
    if not isinstance(document.get("attributes"), dict):
        raise TypeError("it has no attributes")
    own, given = _attributes(document), document["attributes"].get(CHECKSUM)
    if not name or kind == "runs":
        if document["node_type"] != "group":
            raise ValueError("it is no group")
        good = checksum_of(own)
    else:
        _check_layout(kind, name, document, own)
        good = checksum_of(own, [document[part] for part in _LAYOUT])
    if given not in (None, good):
        raise ValueError("its checksum does not agree with it")


def _check_layout(
    kind: str, name: str, document: dict[str, Any], own: dict[str, Any]
) -> None:
    """Refuse an array that is none of a ledger, or of other lines than it is called."""
    dtype = document["data_type"]
    types = ("int64",) if kind == "pairs" else ("float32", "float64")
    if document["codecs"] != _CODECS or dtype not in types:
        raise ValueError("it is no array of a ledger")
    if kind != "pairs":
        indices = np.array(own["indices"], dtype=np.int64)
        chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
        code = np.dtype(dtype).newbyteorder("<").str
        if name != name_of(indices, document["shape"][0], code, *chunks):
            raise ValueError("its name is that of other lines")
