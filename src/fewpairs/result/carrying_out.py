"""Carrying out: a verb names its function, in a folder above, imported when called."""

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

__all__ = ["carried_out_by", "implementation", "verbs_of"]

P = ParamSpec("P")
R = TypeVar("R")


def carried_out_by(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let the function ``module:function`` carry out a method; imported when called.

    The method states signature, defaults and documentation; its body is empty. The
    function gets the approximation and every argument, in the method's order.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(method)

        @functools.wraps(method)
        def verb(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            result: R = implementation(name)(*bound.args, **bound.kwargs)
            return result

        verb.carried_out_by = name  # type: ignore[attr-defined]
        return verb

    return decorate


def implementation(name: str) -> Callable[..., Any]:
    """Import ``module:function``."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def verbs_of(kind: type) -> dict[str, Any]:
    """Return the verbs of a class: doctest does not look for decorated methods."""
    return {
        name: verb
        for one in reversed(kind.__mro__)
        for name, verb in vars(one).items()
        if hasattr(verb, "carried_out_by")
    }
