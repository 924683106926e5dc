"""Saving and loading: a folder of JSON and .npy files, nothing pickled."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.approximation import Approximation
from fewpairs.certificate import Certificate
from fewpairs.entries import Axis, Entries
from fewpairs.errors import InputError
from fewpairs.kernels import pair_network
from fewpairs.methods.base import Factors
from fewpairs.methods.layered import Guard, Layered
from fewpairs.methods.residual import Curve
from fewpairs.methods.student import Student
from fewpairs.priors import Prior, as_prior
from fewpairs.receipt import Bill

__all__ = ["load", "save"]

_FORMAT = "fewpairs approximation"
_VERSION = 2
_INDEX = "approximation.json"
_AXES: tuple[Axis, Axis] = ("columns", "rows")


def save(approx: Approximation, path: Path, *, overwrite: bool = False) -> None:
    """Write ``approx`` to the folder ``path``, all of it or nothing."""
    if path.exists() and not (overwrite and (path / _INDEX).is_file()):
        cure = (
            "Pass overwrite=True to replace it."
            if (path / _INDEX).is_file()
            else "It is no saved approximation: choose another path."
        )
        msg = f"Approximation.save: {path} exists. {cure}"
        raise InputError(msg)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        index = json.dumps(_write(approx, draft), indent=2, allow_nan=False)
        (draft / _INDEX).write_text(index + "\n", encoding="utf-8")
        if path.exists():
            shutil.rmtree(path)
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o777 & ~mask)  # mkdtemp makes folders for their owner alone
        draft.rename(path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def load(
    path: str | Path,
    *,
    mmap: bool = False,
    prior: Any = None,
    items: Sequence[Any] | None = None,
) -> Approximation:
    """Read what :meth:`Approximation.save` wrote.

    Parameters
    ----------
    path
        The folder.
    mmap
        Leave the arrays on disk and read them as they are needed.
    prior, items
        The prior again, with its items, where it was a :class:`~fewpairs.Similarity`:
        a recipe cannot be saved. Embeddings are saved.

    Examples
    --------
    >>> import tempfile, numpy as np, fewpairs as fp
    >>> K = np.random.default_rng(0).random((50, 3)) @ np.ones((3, 50))
    >>> approx = fp.approximate(None, K @ K.T, budget=0.3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     approx.save(f"{folder}/run")
    ...     again = fp.load(f"{folder}/run")
    >>> bool((again.dense() == approx.dense()).all())
    True
    """
    folder = Path(path)
    try:
        index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
        if index["format"] != _FORMAT or index["version"] > _VERSION:
            msg = (
                f"fewpairs.load: {folder} holds {index['format']!r}, version "
                f"{index['version']}; this fewpairs reads versions up to {_VERSION}."
            )
            raise InputError(msg)
        return _read(index, _reader(folder, mmap=mmap), prior, items)
    except InputError:
        raise
    except Exception as error:  # whatever a damaged file makes of its reader
        msg = (
            f"fewpairs.load: {folder} is not a whole saved approximation "
            f"({type(error).__name__}: {error}). Pass the folder that "
            "Approximation.save wrote."
        )
        raise InputError(msg) from error


def _write(approx: Approximation, folder: Path) -> dict[str, Any]:
    factors, known = approx.factors, approx.known

    def put(name: str, array: NDArray[Any]) -> None:
        np.save(folder / f"{name}.npy", array, allow_pickle=False)

    put("left", factors.left)
    put("landmarks", factors.landmarks)
    if factors.signature is not None:
        put("signature", factors.signature)
    own_features = factors.features is not factors.left
    if factors.other is not None:
        put("right", factors.other)
    if own_features:
        put("features", factors.features)
    keys, values = known.scattered()
    put("scattered-keys", keys)
    put("scattered-values", values)
    blocks = {"columns": len(known.columns), "rows": len(known.rows)}
    for axis, lines in zip(_AXES, (known.columns, known.rows), strict=True):
        for t, block in enumerate(lines):
            put(f"{axis}-{t}-indices", block.indices)
            put(f"{axis}-{t}-values", block.values)
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "n": known.n,
        "symmetric": known.symmetric,
        "diagonal": None if known.diagonal is None else float(known.diagonal),
        "method": factors.words,
        "exact": factors.exact,
        "layers": _write_layers(factors, put),
        "has": {
            "right": factors.other is not None,
            "features": own_features,
            "signature": factors.signature is not None,
        },
        "lines": blocks,
        "certificate": _plain(asdict(approx.certificate)),
        "bill": _plain(asdict(approx.bill)),
    }


def _write_layers(
    factors: Factors, put: Callable[[str, NDArray[Any]], None]
) -> dict[str, Any] | None:
    """Write what a layered model has besides its low rank."""
    if not isinstance(factors, Layered):
        return None
    prior, curve, student = factors.prior, factors.curve, factors.student
    if prior is not None and prior.embeddings is not None:
        put("prior", prior.embeddings)
    if factors.ceilings is not None:
        put("ceilings", factors.ceilings)
    if factors.feature_signs is not None:
        put("feature-signs", factors.feature_signs)
    if student is not None:
        for name, array in pair_network.arrays(student.network).items():
            put(f"student-{name}", array)
    return {
        "guard": [_json(float(part)) for part in factors.guard],
        "prior": None if prior is None else prior.name,
        "embeddings": prior is not None and prior.embeddings is not None,
        "curve": None
        if curve is None
        else [curve.center, curve.scale, *map(float, curve.coefficients)],
        "ceilings": factors.ceilings is not None,
        "feature signs": factors.feature_signs is not None,
        "student": None
        if student is None
        else {
            "scales": [
                student.center,
                student.scale,
                student.cheap_center,
                student.cheap_scale,
            ],
            "arrays": sorted(pair_network.arrays(student.network)),
        },
    }


def _read_layers(
    layers: dict[str, Any], get: Callable[[str], NDArray[Any]], prior: Prior | None
) -> dict[str, Any]:
    """Return what makes a layered model of its low rank."""
    if layers["embeddings"]:
        prior = Prior.of_embeddings(get("prior"))
    elif layers["prior"] is not None and prior is None:
        msg = (
            f"fewpairs.load: this approximation needs its prior, {layers['prior']}, "
            "which is a recipe and not saved. Pass prior= and items=."
        )
        raise InputError(msg)
    curve, student = layers["curve"], layers["student"]
    return {
        "prior": prior if layers["prior"] is not None else None,
        "curve": curve and Curve(curve[0], curve[1], np.array(curve[2:])),
        "guard": Guard(*(_number(part) for part in layers["guard"])),
        "ceilings": get("ceilings") if layers["ceilings"] else None,
        "feature_signs": get("feature-signs") if layers["feature signs"] else None,
        "student": student
        and Student(
            pair_network.from_arrays(
                {name: get(f"student-{name}") for name in student["arrays"]}
            ),
            *student["scales"],
        ),
    }


def _read(
    index: dict[str, Any],
    get: Callable[[str], NDArray[Any]],
    prior: Any,
    items: Sequence[Any] | None,
) -> Approximation:
    n, has = index["n"], index["has"]
    left = get("left")
    layers = index.get("layers")
    kind: type[Factors] = Factors
    more: dict[str, Any] = {}
    if layers is not None:
        given = as_prior(prior, items, n, "fewpairs.load")
        kind, more = Layered, _read_layers(layers, get, given)
    factors = kind(
        left=left,
        landmarks=get("landmarks"),
        words=index["method"],
        signature=get("signature") if has["signature"] else None,
        other=get("right") if has["right"] else None,
        features=get("features") if has["features"] else left,
        exact=index["exact"],
        **more,
    )
    rank = len(factors.signature) if factors.signature is not None else left.shape[1]
    if left.shape != (n, rank) or (
        factors.other is not None and factors.other.shape != left.shape
    ):
        msg = f"factors of shape {left.shape} for n = {n} and rank {rank}"
        raise ValueError(msg)
    known = Entries(n, symmetric=index["symmetric"], diagonal=index["diagonal"])
    keys, values = get("scattered-keys"), get("scattered-values")
    if len(keys) != len(values) or keys.min(initial=0) < 0 or (keys >= n * n).any():
        msg = f"{len(values)} scattered values at {len(keys)} places of {n} × {n}"
        raise ValueError(msg)
    known.add_pairs(keys // n, keys % n, values)
    for axis in _AXES:
        for t in range(index["lines"][axis]):
            indices, lines = get(f"{axis}-{t}-indices"), get(f"{axis}-{t}-values")
            distinct = len(np.unique(indices)) == len(indices)
            if lines.shape != (len(indices), n) or not distinct:
                msg = f"{axis} of shape {lines.shape} for {len(indices)} lines"
                raise ValueError(msg)
            known.add_lines(indices, lines, axis)
    certificate = {name: _number(v) for name, v in index["certificate"].items()}
    certificate["interval"] = tuple(_number(v) for v in certificate["interval"])
    return Approximation(
        factors, known, Certificate(**certificate), Bill(**index["bill"])
    )


def _reader(folder: Path, *, mmap: bool) -> Callable[[str], NDArray[Any]]:
    mode: Any = "r" if mmap else None

    def get(name: str) -> NDArray[Any]:
        array = np.load(folder / f"{name}.npy", mmap_mode=mode, allow_pickle=False)
        return np.asanyarray(array)

    return get


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts as JSON has them: no tuples, no NaN, no infinity."""
    return {name: _json(value) for name, value in facts.items()}


def _json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_json(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(float(value))
    return value.item() if isinstance(value, np.generic) else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value
