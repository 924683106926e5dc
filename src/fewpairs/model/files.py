"""Layer files: what a model has besides its low rank, as arrays and facts."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.pair_network import network as pair_network
from fewpairs.model.curve import Curve
from fewpairs.model.factors import Factors
from fewpairs.model.layered import Guard, Layered
from fewpairs.model.row_maps import RowMap
from fewpairs.model.student import Student
from fewpairs.similarity.priors import Alike, Prior

__all__ = [
    "as_json",
    "as_number",
    "read_layers",
    "read_maps",
    "write_layers",
    "write_maps",
]


def write_maps(
    factors: Factors, put: Callable[[str, NDArray[Any]], None]
) -> dict[str, Any]:
    """Write what makes rows of the factors for new items."""
    sides: dict[str, Any] = {"averaged": factors.averaged}
    for name, side in (("left", factors.left_map), ("right", factors.right_map)):
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


def read_maps(
    sides: dict[str, Any], get: Callable[[str], NDArray[Any]]
) -> dict[str, Any]:
    """Return what makes rows of the factors for new items."""

    def side(name: str) -> RowMap | None:
        if name not in sides:
            return None
        facts = dict(sides[name])
        effects = get(f"{name}-map-effects") if facts.pop("effects") else None
        landmarks, core = get(f"{name}-map-landmarks"), get(f"{name}-map-core")
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


def _read_alike(
    layers: dict[str, Any], get: Callable[[str], NDArray[Any]]
) -> Alike | None:
    facts = layers.get("alike")
    if facts is None:
        return None
    directions = get("prior-directions") if facts["directions"] else None
    return Alike(facts["scale"], get("prior-means"), directions)


def write_layers(
    factors: Factors, put: Callable[[str, NDArray[Any]], None]
) -> dict[str, Any] | None:
    """Write what a layered model has besides its low rank."""
    if not isinstance(factors, Layered):
        return None
    prior, curve, student = factors.prior, factors.curve, factors.student
    if prior is not None and prior.embeddings is not None:
        put("prior", prior.embeddings)
        if prior.alike is not None:
            put("prior-means", prior.alike.means)
            if prior.alike.directions is not None:
                put("prior-directions", prior.alike.directions)
    proposer = factors.proposer
    apart = proposer is not None and proposer is not prior
    if apart and proposer is not None and proposer.embeddings is not None:
        put("proposer", proposer.embeddings)
    if factors.ceilings is not None:
        put("ceilings", factors.ceilings)
    if factors.feature_signs is not None:
        put("feature-signs", factors.feature_signs)
    if student is not None:
        for name, array in pair_network.arrays(student.network).items():
            put(f"student-{name}", array)
    return {
        "guard": [as_json(float(part)) for part in factors.guard],
        "prior": None if prior is None else prior.name,
        "embeddings": prior is not None and prior.embeddings is not None,
        "alike": _write_alike(prior),
        "proposer": {
            "is prior": proposer is not None and not apart,
            "embeddings": bool(apart and proposer and proposer.embeddings is not None),
        },
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


def read_layers(
    layers: dict[str, Any], get: Callable[[str], NDArray[Any]], prior: Prior | None
) -> dict[str, Any]:
    """Return what makes a layered model of its low rank."""
    given = prior
    if layers["embeddings"]:
        prior = Prior.of_embeddings(get("prior"), _read_alike(layers, get))
    elif layers["prior"] is not None and prior is None:
        msg = (
            f"fewpairs.load: this approximation needs its prior, {layers['prior']}, "
            "which is a recipe and not saved. Pass prior= and items=."
        )
        raise InputError(msg)
    curve, student = layers["curve"], layers["student"]
    facts = layers.get("proposer", {})
    proposer = given  # a recipe cannot be saved
    if facts.get("embeddings"):
        proposer = Prior.of_embeddings(get("proposer"))
    elif facts.get("is prior"):
        proposer = prior
    return {
        "proposer": proposer,
        "prior": prior if layers["prior"] is not None else None,
        "curve": curve and Curve(curve[0], curve[1], np.array(curve[2:])),
        "guard": Guard(*(as_number(part) for part in layers["guard"])),
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
