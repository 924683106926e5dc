"""The folder of a run: the input, the approximation, and how they came about."""

import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from fewpairs import __version__
from fewpairs.cli.inputs import Input, Reading, parse
from fewpairs.cli.recipes import Spec, make_pair_priors, make_priors, make_similarity
from fewpairs.errors import InputError
from fewpairs.result.approximation import Approximation
from fewpairs.result.saved_folder import read_index
from fewpairs.result.saving import load
from fewpairs.similarity.base import Similarity

__all__ = ["SavedRun", "check_free", "open_run", "place", "write_run"]

_INDEX = "run.json"
_FORMAT = "fewpairs run"
_VERSION = 1
# What the commands write into the folder of a run, and --force may remove.
_OURS = (
    _INDEX,
    "approximation",
    "input.*",
    "others.*",
    "clusters.*",
    "neighbors.*",
    "embedding.npy",
    "similarities.npy",
    "report.html",
)


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A finished run: everything that the other commands ask."""

    path: Path
    facts: dict[str, Any]
    given: Input
    spec: Spec
    others: Input | None = None

    @property
    def texts(self) -> list[str]:
        """The texts that were compared, in the order of the matrix."""
        return self.given.texts

    @property
    def partners(self) -> list[str]:
        """The texts that they were compared with: of two sets, those of the second."""
        return self.texts if self.others is None else self.others.texts

    def check_one_set(self, command: str, cure: str) -> None:
        """Refuse a run of two sets where a command is for one."""
        if self.others is not None:
            msg = (
                f"{self.path} is a run of two sets, and `fewpairs {command}` is for "
                f"one. {cure}"
            )
            raise InputError(msg)

    @property
    def name(self) -> str:
        """What the run is about, in a few words."""
        return Path(self.facts["input"]["name"]).name

    @property
    def reading(self) -> Reading:
        """How the input was read."""
        return _reading(self.facts["input"])

    @cached_property
    def approx(self) -> Approximation:
        """The approximation, loaded when it is first asked for."""
        return self._loaded(None)

    def with_similarity(self, store: str | None = None) -> Approximation:
        """Return the approximation with its similarity, for exact values.

        ``store``: the folder that keeps what is paid for.
        """
        return self._loaded(make_similarity(self.spec), store)

    def _loaded(
        self, similarity: Similarity | None, store: str | None = None
    ) -> Approximation:
        prior = self.facts["prior"] or []
        names = [prior] if isinstance(prior, str) else prior  # one, in older runs
        try:
            layers = read_index(self.path / "approximation").get("layers")
            needs = layers and layers["prior"] is not None and not layers["embeddings"]
        except Exception:  # noqa: BLE001 - load says what is wrong with it
            needs = False
        items = needs or similarity is not None
        return load(
            self.path / "approximation",
            prior=self._priors(names) if needs and names else None,
            items=self.texts if items else None,
            others=self.others.texts if items and self.others is not None else None,
            similarity=similarity,
            store=store,
        )

    def _priors(self, names: list[str]) -> Any:
        if self.others is None:
            return make_priors(names, self.given)
        return make_pair_priors(names, self.given, self.others)


def check_free(path: Path, *, force: bool) -> None:
    """Refuse a folder that exists, unless it is a run that may be replaced."""
    _bring_back(path)
    if not path.exists():
        return
    if not (path / _INDEX).is_file():
        msg = f"{path} exists and is no run of fewpairs. Choose another --out."
        raise InputError(msg)
    if not force:
        msg = f"{path} exists. Pass --force to replace it, or another --out."
        raise InputError(msg)
    foreign = sorted(
        entry.name
        for entry in path.iterdir()
        if not any(entry.match(name) for name in _OURS)
    )
    if foreign:
        msg = (
            f"{path} holds {foreign[0]}, which is none of fewpairs' files; --force "
            "would remove it. Move it first, or choose another --out."
        )
        raise InputError(msg)


def place(file: str) -> Path:
    """Return the folder that a run gets when none is named.

    >>> str(place("data/titles.csv.gz")), str(place("-"))
    ('titles.fewpairs', 'stdin.fewpairs')
    """
    stem = "stdin" if file == "-" else Path(file).name
    for suffix in (".gz", ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".txt"):
        stem = stem.removesuffix(suffix)
    return Path(f"{stem}.fewpairs")


def write_run(
    path: Path,
    approx: Approximation,
    given: Input,
    how: Reading,
    facts: dict[str, Any],
    *,
    force: bool,
    others: tuple[Input, Reading] | None = None,
) -> None:
    """Write all of a run, or nothing; a run that it replaces is there until then."""
    check_free(path, force=force)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        draft.chmod(0o755)
        sources = {"input": _kept(draft, "input", given, how)}
        if others is not None:
            sources["others"] = _kept(draft, "others", *others)
        approx.save(draft / "approximation")
        index = {
            "format": _FORMAT,
            "version": _VERSION,
            "fewpairs": __version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            **sources,
            **facts,
        }
        text = json.dumps(index, indent=2, ensure_ascii=False)
        # Names of files need not be Unicode; what says so reads them only.
        (draft / _INDEX).write_text(
            text + "\n", encoding="utf-8", errors="backslashreplace"
        )
        _put(draft, path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _kept(draft: Path, name: str, given: Input, how: Reading) -> dict[str, Any]:
    """Copy an input to a run, and return how it is read again."""
    copy = f"{name}.{'txt' if given.kind == 'lines' else given.kind}"
    (draft / copy).write_bytes(given.data)
    return {
        "name": given.name,
        "file": copy,
        "rows": len(given.table.rows),
        "texts": len(given.texts),
        **asdict(how),
        "kind": given.kind,
    }


def _put(draft: Path, path: Path) -> None:
    """Give the draft its name; what had it goes once the draft is there.

    No two folders change their names at one time. A run that was killed between the
    two steps is found aside by the next command, and brought back.
    """
    aside = _aside(path)
    if path.exists():
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
    try:
        draft.rename(path)
    except BaseException:
        _bring_back(path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _bring_back(path: Path) -> None:
    """Undo a replacement that was not finished."""
    aside = _aside(path)
    if (aside / _INDEX).is_file() and not path.exists():
        aside.rename(path)


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}-replaced")


def open_run(path: Path) -> SavedRun:
    """Open the folder of a run."""
    _bring_back(path)
    index = path / _INDEX
    if not index.is_file():
        what = "is a file" if path.is_file() else "is no run of fewpairs"
        if not path.exists():
            what = "does not exist"
        msg = (
            f"{path} {what}. Pass the folder that `fewpairs approximate FILE --out "
            f"DIR` wrote."
        )
        raise InputError(msg)
    try:
        facts = json.loads(index.read_text(encoding="utf-8"))
        if facts["format"] != _FORMAT or facts["version"] > _VERSION:
            msg = (
                f"{path} holds {facts['format']!r}, version {facts['version']}; this "
                f"fewpairs reads versions up to {_VERSION}. Install a newer one."
            )
            raise InputError(msg)
        given = _read_again(path, facts["input"])
        others = _read_again(path, facts["others"]) if "others" in facts else None
        return SavedRun(path, facts, given, Spec(**facts["similarity"]), others)
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        msg = (
            f"{path} is damaged ({type(error).__name__}: {error}). Run `fewpairs "
            "approximate` again."
        )
        raise InputError(msg) from error


def _read_again(path: Path, source: dict[str, Any]) -> Input:
    data = (path / source["file"]).read_bytes()
    return parse(data, source["kind"], source["name"], _reading(source))


def _reading(source: dict[str, Any]) -> Reading:
    names = [name for name in Reading.__dataclass_fields__ if name in source]
    options = {name: source[name] for name in names}  # older ones have fewer
    options["columns"] = tuple(options["columns"])
    return Reading(**options)
