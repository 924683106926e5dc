"""Saving a model: arrays by name, and facts that JSON can hold."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.pair_network import network as pair_network
from fewpairs.model.blend import Blend
from fewpairs.model.correction import Correction, Fade, Form
from fewpairs.model.curve import Curve
from fewpairs.model.guard import Guard
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.row_maps import RowMap
from fewpairs.model.saved_priors import read_prior, weighed_as, write_prior
from fewpairs.model.student import Student
from fewpairs.similarity.priors import Alike, Prior

__all__ = ["as_json", "as_number", "read_model", "write_model"]

Put = Callable[[str, NDArray[Any]], None]
Get = Callable[[str], NDArray[Any]]

_CORRECTION = (
    "base_knots",
    "base_levels",
    "cheap_knots",
    "cheap_levels",
    "levels",
    "features",
    "vectors",
)


def write_model(model: Model, put: Put) -> dict[str, Any]:
    """Hand over every array by name, and return the facts."""
    low_rank = model.low_rank
    own_features = model.features is not model.left
    put("left", model.left)
    put("landmarks", model.landmarks)
    if low_rank.signature is not None:
        put("signature", low_rank.signature)
    if low_rank.other is not None:
        put("right", low_rank.other)
    if own_features:
        put("features", model.features)
    return {
        "method": model.words,
        "exact": model.exact,
        "layers": None if model.is_low_rank else _write_components(model, put),
        "maps": _write_maps(low_rank, put),
        "has": {
            "right": low_rank.other is not None,
            "features": own_features,
            "signature": low_rank.signature is not None,
        },
    }


def read_model(facts: dict[str, Any], get: Get, prior: Prior | None) -> Model:
    """Return a model that was written; ``prior``: one that could not be saved."""
    n, has, components = facts["n"], facts["has"], facts.get("layers")
    low_rank = LowRank(
        get("left"),
        signature=get("signature") if has["signature"] else None,
        other=get("right") if has["right"] else None,
        **_read_maps(facts.get("maps", {}), get),
    )
    left, other, signs = low_rank.left, low_rank.other, low_rank.signature
    rank = left.shape[1] if signs is None else len(signs)
    if left.shape != (n, rank) or (other is not None and other.shape != left.shape):
        msg = f"factors of shape {left.shape} for n = {n} and rank {rank}"
        raise ValueError(msg)
    return Model(
        low_rank,
        landmarks=get("landmarks"),
        words=facts["method"],
        features=get("features") if has["features"] else left,
        exact=facts["exact"],
        **({} if components is None else _read_components(components, get, prior)),
    )


def _write_maps(low_rank: LowRank, put: Put) -> dict[str, Any]:
    """Write what makes rows of the low rank for new items."""
    sides: dict[str, Any] = {"averaged": low_rank.averaged}
    for name, side in (("left", low_rank.left_map), ("right", low_rank.right_map)):
        if side is None:
            continue
        put(f"{name}-map-landmarks", side.landmarks)
        put(f"{name}-map-core", side.core)
        if side.effects is not None:
            put(f"{name}-map-effects", side.effects)
        sides[name] = {
            "effects": side.effects is not None,
            "zeros": side.zeros,
            "constant": float(side.constant),
            "kept": float(side.kept),
            "spread": float(side.spread),
        }
    return sides


def _read_maps(sides: dict[str, Any], get: Get) -> dict[str, Any]:
    """Return what makes rows of the low rank for new items."""

    def side(name: str) -> RowMap | None:
        if name not in sides:
            return None
        facts = dict(sides[name])
        effects = get(f"{name}-map-effects") if facts.pop("effects") else None
        landmarks, core = get(f"{name}-map-landmarks"), get(f"{name}-map-core")
        if core.ndim != 2 or len(core) != len(landmarks):
            msg = f"a core of shape {core.shape} for {len(landmarks)} landmarks"
            raise ValueError(msg)
        return RowMap(landmarks, core, effects=effects, **facts)

    return {
        "left_map": side("left"),
        "right_map": side("right"),
        "averaged": sides.get("averaged", False),
    }


def _write_alike(prior: Prior | None) -> dict[str, Any] | None:
    if prior is None or prior.alike is None:
        return None
    has = prior.alike.directions is not None
    return {"scale": prior.alike.scale, "directions": has}


def _read_alike(facts: dict[str, Any] | None, get: Get) -> Alike | None:
    if facts is None:
        return None
    directions = get("prior-directions") if facts["directions"] else None
    return Alike(facts["scale"], get("prior-means"), directions)


def _write_components(model: Model, put: Put) -> dict[str, Any]:
    """Write what a model has besides its low rank."""
    prior, curve, student = model.prior, model.curve, model.student
    made_by = {} if prior is None else write_prior(prior, "prior", put)
    proposer = model.proposer
    apart = proposer is not None and proposer is not prior
    proposed_by = {}
    if apart and proposer is not None:
        proposed_by = write_prior(proposer, "proposer", put)
    if model.ceilings is not None:
        put("ceilings", model.ceilings)
    if model.feature_signs is not None:
        put("feature-signs", model.feature_signs)
    if student is not None:
        for name, array in pair_network.arrays(student.network).items():
            put(f"student-{name}", array)
    return {
        "guard": _write_guard(model.guard or Guard()),
        "prior": None if prior is None else prior.name,
        "embeddings": prior is not None and prior.embeddings is not None,
        "alike": _write_alike(prior),
        **({"made by": made_by} if made_by else {}),
        "proposer": {
            "is prior": proposer is not None and not apart,
            "embeddings": bool(apart and proposer and proposer.embeddings is not None),
            **({"made by": proposed_by} if proposed_by else {}),
        },
        "curve": None
        if curve is None
        else [curve.center, curve.scale, *map(float, curve.coefficients)],
        "ceilings": model.ceilings is not None,
        "feature signs": model.feature_signs is not None,
        **_write_blend(model.blend),
        **_write_correction(model.correction, put),
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


def _write_guard(guard: Guard) -> list[Any]:
    """Return its numbers, those of a knee where it has one: 0.1 knew of none."""
    known = guard if guard.knee < np.inf else guard[:4]
    return [as_json(float(part)) for part in known]


def _write_blend(blend: Blend | None) -> dict[str, Any]:
    """Return its facts, none where there is none: folders from before have none."""
    if blend is None:
        return {}
    return {"blend": [blend.edges.tolist(), blend.shares.tolist()]}


def _write_correction(correction: Correction | None, put: Put) -> dict[str, Any]:
    """Write it, if there is one: folders from before have none."""
    if correction is None:
        return {}
    for name in _CORRECTION:
        put(f"correction-{name.replace('_', '-')}", getattr(correction, name))
    facts: dict[str, Any] = {"rise": correction.rise}
    if correction.curve is not None:
        curve = correction.curve
        facts["curve"] = [curve.center, curve.scale, curve.coefficients.tolist()]
        facts["mixed"] = correction.mixed
    for name in ("fade", "slopes", "bulk"):
        if getattr(correction, name) is not None:
            facts[name] = list(getattr(correction, name))
    facts["form"] = correction.form is not None
    if correction.form is not None:
        put("correction-form-features", correction.form.features)
        put("correction-form-weights", correction.form.weights)
    return {"correction": facts}


def _read_correction(facts: dict[str, Any] | None, get: Get) -> Correction | None:
    if facts is None:
        return None
    arrays = {name: get(f"correction-{name.replace('_', '-')}") for name in _CORRECTION}
    curve = None
    if facts.get("curve") is not None:
        center, scale, coefficients = facts["curve"]
        curve = Curve(center, scale, np.array(coefficients))
    slopes, form = facts.get("slopes"), None
    fade, bulk = (
        None if facts.get(name) is None else Fade(*facts[name])
        for name in ("fade", "bulk")
    )
    if facts.get("form"):  # folders from before have none
        parts = ("features", "weights")
        form = Form(*(get(f"correction-form-{part}") for part in parts))
    return Correction(
        **arrays,
        rise=facts["rise"],
        curve=curve,
        mixed=facts.get("mixed", 0.0),
        fade=fade,
        bulk=bulk,
        slopes=None if slopes is None else tuple(slopes),
        form=form,
    )


def _read_components(
    facts: dict[str, Any], get: Get, prior: Prior | None
) -> dict[str, Any]:
    """Return what a model has besides its low rank."""
    given = prior
    made_by = facts.get("made by", {})
    if facts["embeddings"]:
        prior = read_prior(made_by, "prior", get, _read_alike(facts.get("alike"), get))
    elif facts["prior"] is not None and prior is None:
        msg = (
            f"fewpairs.load: this approximation needs its prior, {facts['prior']}, "
            "which is a recipe and not saved. Pass prior= and items=."
        )
        raise InputError(msg)
    elif prior is not None:
        prior = weighed_as(prior, made_by)
    curve, student, blend = facts["curve"], facts["student"], facts.get("blend")
    proposed = facts.get("proposer", {})
    proposer = given and weighed_as(given, proposed.get("made by", {}))  # a recipe
    if proposed.get("embeddings"):
        proposer = read_prior(proposed.get("made by", {}), "proposer", get)
    elif proposed.get("is prior"):
        proposer = prior
    return {
        "proposer": proposer,
        "prior": prior if facts["prior"] is not None else None,
        "curve": curve and Curve(curve[0], curve[1], np.array(curve[2:])),
        "guard": Guard(*(as_number(part) for part in facts["guard"])),
        "ceilings": get("ceilings") if facts["ceilings"] else None,
        "feature_signs": get("feature-signs") if facts["feature signs"] else None,
        "blend": blend and Blend(*map(np.array, blend)),
        "correction": _read_correction(facts.get("correction"), get),
        "student": student
        and Student(
            pair_network.from_arrays(
                {name: get(f"student-{name}") for name in student["arrays"]}
            ),
            *student["scales"],
        ),
    }


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: no tuples, no NaN, no infinity."""
    if isinstance(value, tuple):
        return [as_json(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(float(value))
    return value.item() if isinstance(value, np.generic) else value


def as_number(value: Any) -> Any:
    """Return what was written as a text for want of such a number in JSON."""
    return float(value) if isinstance(value, str) else value
