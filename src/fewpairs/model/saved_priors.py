"""Saved priors: what makes a prior's embeddings of new items, beside the embeddings."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.similarity.lexical import Lexical
from fewpairs.similarity.priors import Alike, Prior

__all__ = ["read_prior", "weighed_as", "write_prior"]

Put = Callable[[str, NDArray[Any]], None]
Get = Callable[[str], NDArray[Any]]


def write_prior(prior: Prior, name: str, put: Put) -> dict[str, Any]:
    """Hand over the arrays of a prior by name, and return the facts.

    None of them where it is nothing but embeddings, as in folders from before.
    """
    if prior.embeddings is not None:
        put(name, prior.embeddings)
    facts: dict[str, Any] = {}
    if prior.alike is not None:
        put(f"{name}-means", prior.alike.means)
        if prior.alike.directions is not None:
            put(f"{name}-directions", prior.alike.directions)
    if prior.lexical is not None:
        facts["lexical"] = prior.lexical.write(name, put)
    if prior.parts:
        facts["weights"] = list(prior.weights)
    if prior.parts and prior.embeddings is not None:
        facts["parts"] = [
            _write_part(part, f"{name}-part-{t}", put)
            for t, part in enumerate(prior.parts)
        ]
    return facts


def _write_part(part: Prior, name: str, put: Put) -> dict[str, Any]:
    width = 0 if part.embeddings is None else part.embeddings.shape[1]
    lexical = None if part.lexical is None else part.lexical.write(name, put)
    return {"name": part.name, "width": width, "lexical": lexical}


def read_prior(
    facts: dict[str, Any], name: str, get: Get, alike: Alike | None = None
) -> Prior:
    """Return a prior whose embeddings were written."""
    unit = get(name)
    if "lexical" in facts:
        return Prior.of_texts(Lexical.read(name, facts["lexical"], get), unit)
    if "parts" not in facts:
        return Prior.of_embeddings(unit, alike)
    parts, start = [], 0
    for t, part in enumerate(facts["parts"]):
        # A part that does not count has no columns among the embeddings.
        width = part["width"] if facts["weights"][t] > 0 else 0
        own = np.asarray(unit[:, start : start + width])
        start += width
        if part["lexical"] is None:
            parts.append(Prior.of_embeddings(own))
        else:
            made = Lexical.read(f"{name}-part-{t}", part["lexical"], get)
            parts.append(Prior.of_texts(made, own))
    return Prior.of_parts(parts, facts["weights"], unit)


def weighed_as(prior: Prior, facts: dict[str, Any]) -> Prior:
    """Return several priors, passed again, with the weights that were written."""
    weights = facts.get("weights", ())
    fits = len(weights) == len(prior.parts) > 0
    return Prior.of_parts(prior.parts, weights) if fits else prior
