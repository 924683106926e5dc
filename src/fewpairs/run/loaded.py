"""Loaded: a run that goes on from what was saved, with its items and its similarity."""

from dataclasses import fields, replace
from functools import partial
from typing import Any

from fewpairs.answers.sides import Side, side_of
from fewpairs.ledger.larger import larger_ledger
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.opening import as_ledger, identity_of
from fewpairs.ledger.subject import FingerprintOnce
from fewpairs.methods import BY_NAME, Method, with_prior
from fewpairs.progress import Silence
from fewpairs.reading.run_entries import ReadSoFar
from fewpairs.result.approximation import Approximation
from fewpairs.run.run import Run
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.given_priors import as_prior
from fewpairs.similarity.items import Items
from fewpairs.similarity.priors import Prior

__all__ = ["facts_of", "run_of"]

_PLAIN = (bool, int, float, str, tuple, type(None))  # what JSON can hold of an option


def facts_of(approx: Approximation) -> dict[str, Any] | None:
    """Return what a run needs to go on, as JSON can hold it; ``None``: it cannot.

    Methods of third parties are not known by name. How landmarks were sampled is left
    out: the next ones are drawn uniformly.
    """
    run = approx.source
    if not isinstance(run, Run):
        return None
    name = next((n for n, kind in BY_NAME.items() if kind is type(run.method)), None)
    if name is None:
        return None
    method: Any = run.method
    options = {part.name: getattr(method, part.name) for part in fields(method)}
    plain = {key: value for key, value in options.items() if isinstance(value, _PLAIN)}
    plain.pop("prior", None)
    return {
        "method": name,
        "options": plain,
        "seed": run.seed,
        "symmetrize": run.symmetrize,
        "own prior": run.own_prior,
        "per item": run.per_item,
        **({} if run.per_other is None else {"per other": run.per_other}),
    }


def run_of(
    approx: Approximation,
    facts: dict[str, Any] | None,
    recipe: Similarity,
    *,
    scorer: Scorer,
    items: Items | None,
    symmetric: bool,
    prior: Any,
    store: Any,
    given: Any = None,
) -> Run:
    """Return the run that an approximation was saved by.

    ``facts`` are those of `facts_of`; without them, as in folders from before, it is a
    run of the default.
    """
    call = "fewpairs.load"
    facts = facts or {"method": "auto", "options": {}, "seed": 0, "own prior": True}
    made: Any = BY_NAME[facts["method"]]
    options = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in facts["options"].items()
    }
    method: Method = made(**options)
    if method.takes_prior:
        own = bool(facts["own prior"]) and not recipe.by_position
        left = getattr(recipe, "given", None)  # of two sets
        told = _prior(approx, prior, items, scorer, own=own, left=left)
        method = with_prior(method, told, call)
    identity = FingerprintOnce(partial(identity_of, recipe, items))
    ledger = as_ledger(store, call)
    return Run(
        recipe=recipe,
        scorer=scorer,
        method=method,
        seed=int(facts["seed"]),
        symmetrize=approx.known.symmetric,
        store=_ledger_of(approx, ledger, identity),
        progress=Silence(),
        identity=identity,
        items=items,
        dropped=0 if items is None else len(items) - scorer.n,
        reading=ReadSoFar(approx.known, symmetric),
        own_prior=bool(facts["own prior"]),
        per_item=facts.get("per item"),
        sides=_sides(recipe, scorer, given, items),
        per_other=facts.get("per other"),
    )


def _sides(
    recipe: Similarity, scorer: Scorer, given: Any, items: Items | None
) -> tuple[Side, Side] | None:
    """Return how the rows of one set are called; of two, by position."""
    if recipe.split is not None or items is None:
        return None
    side = side_of(given, items, scorer.n, kept=scorer.kept)
    if not getattr(side.names, "is_unique", True):
        side = replace(side, names=None)
    return side, side


def _ledger_of(
    approx: Approximation, ledger: Ledger | None, identity: FingerprintOnce
) -> Ledger | None:
    """Return the ledger of these items: beside the first, where some were added."""
    if ledger is None or not approx.bill.old_items:
        return ledger
    return larger_ledger(ledger, identity()[1])


def _prior(
    approx: Approximation,
    given: Any,
    items: Items | None,
    scorer: Scorer,
    *,
    own: bool,
    left: int | None,
) -> Prior | None:
    """Return the prior that is passed again, or was saved, or is made of texts."""
    how: dict[str, Any] = {"kept": scorer.kept, "given": left}
    if given is not None:
        return as_prior(given, items, scorer.n, "fewpairs.load", **how)
    saved = approx.model.prior
    if saved is not None and saved.alike is None:
        if not saved.parts:
            return saved
        pairs = zip(saved.parts, saved.weights, strict=True)
        used = [part for part, weight in pairs if weight > 0]
        return used[0] if len(used) == 1 else Prior.of_parts(used)
    if not own:
        return None
    return as_prior("auto", items, scorer.n, "fewpairs.load", **how)
