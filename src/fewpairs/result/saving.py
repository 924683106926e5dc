"""Saving and loading: a folder of JSON and .npy files, nothing pickled."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import check_flag, check_path
from fewpairs.errors import InputError
from fewpairs.fingerprint import fingerprint
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.lines import Axis
from fewpairs.matrix.moments import Moments
from fewpairs.model.model import Model
from fewpairs.model.saved_priors import read_prior, write_prior
from fewpairs.model.saving import as_json, as_number, read_model, write_model
from fewpairs.result.approximation import Approximation
from fewpairs.result.bill import Bill
from fewpairs.result.carrying_out import implementation
from fewpairs.result.certificate import Certificate, HeldOut
from fewpairs.result.saved_arrays import check_saved_facts, checked_arrays
from fewpairs.result.saved_folder import (
    INDEX,
    Put,
    array_reader,
    read_index,
    write_folder,
)
from fewpairs.similarity.answered import prior_of_answers
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.binding import as_similarity, bind, listed
from fewpairs.similarity.given_priors import as_prior
from fewpairs.similarity.items import Items
from fewpairs.similarity.priors import Prior
from fewpairs.similarity.two_sets import joined_items, of_two_sets
from fewpairs.types import Indices

__all__ = ["load", "save"]

_AXES: tuple[Axis, Axis] = ("columns", "rows")
_INNER = "answers"  # names an approximation that is the prior of another


def save(approx: Approximation, path: str | Path, *, overwrite: bool) -> None:
    """Write ``approx`` to the folder ``path``, all of it or nothing."""
    path = Path(check_path("Approximation.save", "path", path))
    overwrite = check_flag("Approximation.save", "overwrite", overwrite)
    if path.exists() and not (overwrite and (path / INDEX).is_file()):
        cure = (
            "Pass overwrite=True to replace it."
            if (path / INDEX).is_file()
            else "It is no saved approximation: choose another path."
        )
        msg = f"Approximation.save: {path} exists. {cure}"
        raise InputError(msg)
    write_folder(path, partial(_describe, approx))


def load(
    path: str | Path,
    *,
    mmap: bool = False,
    verify: bool = True,
    prior: Any = None,
    items: Iterable[Any] | None = None,
    others: Iterable[Any] | None = None,
    similarity: Any = None,
    store: Any = None,
) -> Approximation:
    """Read what :meth:`Approximation.save` wrote.

    Parameters
    ----------
    path
        The folder.
    mmap
        Leave the arrays on disk and read them as they are needed.
    verify
        Compare every array with its checksum: its file is read through once, in small
        pieces, also with ``mmap``. ``False`` leaves that out; the facts in
        ``approximation.json`` are compared always. What fewpairs 0.1 saved has no
        checksums.
    prior, items
        The prior again, with its items, where it was a :class:`~fewpairs.Similarity`:
        a recipe cannot be saved. Embeddings are saved, and so is one that was paid for.
    items, similarity
        The items and the similarity again, for what takes evaluations: new items,
        searches, exact merges, ``grow`` and ``add``. They cannot be saved; without them
        everything else works.
    others
        The second of two sets, where there were two.
    store
        The store of the run again, for what is paid for from here on.

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
    folder = Path(check_path("fewpairs.load", "path", path))
    mmap = check_flag("fewpairs.load", "mmap", mmap)
    verify = check_flag("fewpairs.load", "verify", verify)
    try:
        index = read_index(folder)
        scorer = recipe = None
        fitted = listed(items, None, "fewpairs.load")
        second = listed(others, None, "fewpairs.load", name="others")
        if similarity is not None:
            recipe = as_similarity(similarity, "fewpairs.load")
            if index.get("split") is not None:
                recipe, fitted = of_two_sets(fitted, second, recipe, "fewpairs.load")
            scorer = bind(fitted, recipe, "fewpairs.load")
            recipe = recipe.bound_by(scorer)
            _check_same(index, scorer, fitted)
        elif fitted is not None and second is not None:
            fitted = joined_items(fitted, second)
        kept = None if scorer is None else scorer.kept
        approx = _read(
            index,
            array_reader(folder, index, mmap=mmap, verify=verify),
            prior,
            fitted,
            kept,
        )
        if scorer is None or recipe is None:
            return approx
        again = {"prior": prior, "store": store, "given": items}
        source = _source(approx, index, recipe, scorer, fitted, **again)
        return replace(approx, source=source)
    except InputError:
        raise
    except Exception as error:  # whatever a damaged file makes of its reader
        msg = (
            f"fewpairs.load: {folder} is not a whole saved approximation "
            f"({type(error).__name__}: {error}). Pass the folder that "
            "Approximation.save wrote."
        )
        raise InputError(msg) from error


def _check_same(index: dict[str, Any], scorer: Scorer, items: Items | None) -> None:
    """Refuse other items than those that were fitted."""
    if scorer.n != index["n"]:
        msg = (
            f"fewpairs.load: {scorer.n:,} items, and the approximation is of "
            f"{index['n']:,}. Pass the items that it was made of, in their order."
        )
        raise InputError(msg)
    before = index.get("items")
    if items is not None and before is not None and fingerprint(items) != before:
        msg = (
            "fewpairs.load: these are not the items that the approximation was made "
            "of, or not in their order. Pass those, or leave items= and similarity= "
            "out."
        )
        raise InputError(msg)


def _source(
    approx: Approximation,
    index: dict[str, Any],
    recipe: Similarity,
    scorer: Scorer,
    items: Items | None,
    **again: Any,
) -> Any:
    """Return what a loaded approximation goes on with."""
    known, n = approx.known, approx.shape[0]
    # Both orders were paid for where everything costs more than each pair once.
    once = n * (n + 1) // 2 if known.sides is None else known.pairs
    averaged = known.symmetric and approx.bill.everything > once
    return implementation("fewpairs.run.loaded:run_of")(
        approx,
        index.get("run"),
        recipe,
        scorer=scorer,
        items=items,
        symmetric=known.symmetric and not averaged,
        **again,
    )


def _describe(approx: Approximation, put: Put) -> dict[str, Any]:
    model, known = approx.model, approx.known
    facts = write_model(model, put)
    keys, values = known.scattered()
    put("scattered-keys", keys)
    put("scattered-values", values)
    facts["has"]["held-out"] = isinstance(approx.evidence, HeldOut)
    if isinstance(approx.evidence, HeldOut):
        put("held-out", np.column_stack([approx.evidence.i, approx.evidence.j]))
    blocks = {"columns": len(known.columns), "rows": len(known.rows)}
    for axis, lines in zip(_AXES, (known.columns, known.rows), strict=True):
        for t, block in enumerate(lines):
            put(f"{axis}-{t}-indices", block.indices)
            put(f"{axis}-{t}-values", block.values)
    for kind, drawn in known.drawn.items():
        put(f"drawn-{kind}", drawn)
    return {
        "n": known.n,
        "symmetric": known.symmetric,
        "diagonal": None if known.diagonal is None else float(known.diagonal),
        **({} if known.sides is None else {"split": known.sides.split}),
        "items": _items_of(approx),
        **_going_on(approx),
        **facts,
        **_answered(model, put),
        "lines": blocks,
        "certificate": _certified(approx.certificate),
        "bill": _billed(approx.bill),
    }


def _going_on(approx: Approximation) -> dict[str, Any]:
    """Return what a run needs to go on; nothing where it cannot, as in 0.1.0."""
    run = implementation("fewpairs.run.loaded:facts_of")(approx)
    drawn = list(approx.known.drawn)
    return ({"run": run} if run else {}) | ({"drawn": drawn} if drawn else {})


def _billed(bill: Bill) -> dict[str, Any]:
    """Return it as 0.1.0 wrote it, and what was kept where items were added."""
    facts = _plain(asdict(bill))
    if not bill.old_items:
        del facts["old_items"], facts["kept"]
    if not bill.old_others:
        del facts["old_others"]
    if bill.prior is not None:
        facts["prior"] = _billed(bill.prior)
    return facts


def _read_bill(facts: dict[str, Any]) -> Bill:
    prior = facts.get("prior")
    return Bill(**{**facts, "prior": None if prior is None else _read_bill(prior)})


def _answered(model: Model, put: Put) -> dict[str, Any]:
    """Write the approximation that is the prior, or one of several: beside this one."""
    priors = [prior for prior in (model.prior, model.proposer) if prior is not None]
    for prior in priors:
        if isinstance(prior.answers, Approximation):
            return {_INNER: _write_answers(prior, _INNER, put)}
        if any(isinstance(part.answers, Approximation) for part in prior.parts):
            parts = [
                _write_answers(part, f"{_INNER}-{t}", put)
                for t, part in enumerate(prior.parts)
            ]
            # A recipe among them cannot be written: all are passed again.
            return {_INNER: {"parts": parts}} if all(parts) else {}
    return {}


def _write_answers(prior: Prior, name: str, put: Put) -> dict[str, Any]:
    """Write an approximation, or embeddings; nothing of what is neither."""
    if isinstance(prior.answers, Approximation):
        facts = _describe(prior.answers, lambda own, array: put(f"{name}-{own}", array))
        return {"name": prior.name, "approximation": facts}
    if prior.embeddings is None:
        return {}
    return {"made by": write_prior(prior, name, put)}


def _read_answered(
    inner: dict[str, Any],
    get: Callable[[str], NDArray[Any]],
    n: int,
    split: int | None,
    name: str = _INNER,
) -> Prior:
    """Return the prior that was written beside what it is a prior of."""
    if "parts" in inner:  # with the weights of the model, see `weighed_as`
        parts = [
            _read_answered(part, get, n, split, f"{name}-{t}")
            for t, part in enumerate(inner["parts"])
        ]
        return Prior.of_parts(parts)
    if "made by" in inner:
        return read_prior(inner["made by"], name, get)
    answers = _read(
        inner["approximation"], lambda own: get(f"{name}-{own}"), None, None, None
    )
    return prior_of_answers(answers, inner["name"], n, split, "fewpairs.load")


def _items_of(approx: Approximation) -> str | None:
    """Return a fingerprint of the items, where they say something."""
    if approx.source is None or approx.source.reader.similarity.by_position:
        return None
    return fingerprint(approx.source.reader.items)


def _read(
    index: dict[str, Any],
    get: Callable[[str], NDArray[Any]],
    prior: Any,
    items: Items | None,
    kept: Indices | None,
) -> Approximation:
    n, given = check_saved_facts(index), None
    split, every = index.get("split"), get
    get = checked_arrays(get, n)
    if index.get("layers") is not None:
        given = as_prior(prior, items, n, "fewpairs.load", kept=kept, given=split)
        if given is None and _INNER in index:
            given = _read_answered(index[_INNER], every, n, split)
    model = read_model(index, get, given)
    known = Entries(
        n,
        symmetric=index["symmetric"],
        diagonal=index["diagonal"],
        split=index.get("split"),
    )
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
    for kind in index.get("drawn", ()):
        known.drawn[kind] = drawn = np.asarray(get(f"drawn-{kind}")).astype(np.int64)
        if not known.lookup(*known.ends(drawn % (n * n)))[0].all():
            msg = f"drawn-{kind} names pairs without a value"
            raise ValueError(msg)
    saved = dict(index["certificate"])
    doubt = saved.pop("doubt", "")  # not in those of 0.1.0
    certificate = {name: as_number(v) for name, v in saved.items()}
    certificate["interval"] = tuple(as_number(v) for v in certificate["interval"])
    certificate["doubt"] = str(doubt)
    verdict = Certificate(**certificate)
    evidence: Certificate | HeldOut = verdict
    if index["has"].get("held-out"):
        evidence = _held_out(get("held-out"), known, verdict)
    return Approximation(model, known, evidence, _read_bill(index["bill"]))


def _held_out(pairs: NDArray[Any], known: Entries, verdict: Certificate) -> HeldOut:
    """Return the pairs that the certificate rests on; their values are entries."""
    i, j = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    found, truth = known.lookup(i, j)
    if not found.all():
        msg = f"{int((~found).sum())} held-out pairs without a value"
        raise ValueError(msg)
    nothing = Moments(0, 0.0, 0.0)
    return HeldOut(i, j, truth, nothing, np.random.default_rng(0), verdict)


def _certified(certificate: Certificate) -> dict[str, Any]:
    """Return it as 0.1.0 wrote it, and its doubt where it has one."""
    facts = _plain(asdict(certificate))
    if not certificate.doubt:
        del facts["doubt"]
    return facts


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: as_json(value) for name, value in facts.items()}
