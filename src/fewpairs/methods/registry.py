"""The methods by name, and what a method is given before it runs."""

from dataclasses import replace
from typing import Any

from fewpairs.errors import InputError
from fewpairs.methods.auto.auto import Auto
from fewpairs.methods.base import Method
from fewpairs.methods.nystrom import Nystrom
from fewpairs.methods.optimal import Optimal
from fewpairs.methods.regularized import Regularized
from fewpairs.methods.sicur import SiCUR
from fewpairs.methods.skeleton import Skeleton
from fewpairs.methods.sms import SMSNystrom
from fewpairs.methods.stacur import StaCUR
from fewpairs.similarity.priors import Prior

__all__ = ["BY_NAME", "as_method", "with_prior"]

BY_NAME: dict[str, type[Method]] = {
    "auto": Auto,
    "nystrom": Nystrom,
    "sms": SMSNystrom,
    "skeleton": Skeleton,
    "sicur": SiCUR,
    "stacur": StaCUR,
    "regularized": Regularized,
    "optimal": Optimal,
}


def as_method(method: str | Method) -> Method:
    """Return a method by name, or the one given."""
    if isinstance(method, Method):
        return method
    if isinstance(method, str) and method in BY_NAME:
        return BY_NAME[method]()
    cure = f"Pass one of {', '.join(map(repr, BY_NAME))}, or fewpairs.Nystrom(...)."
    if isinstance(method, type) and issubclass(method, Method):
        cure = f"Make an instance: fewpairs.{method.__name__}()."
    msg = f"fewpairs.approximate: method is {method!r:.60}. {cure}"
    raise InputError(msg)


def with_prior(method: Method, prior: Prior | None, call: str) -> Method:
    """Return a method that knows a prior, or say that it takes none."""
    if prior is None:
        return method
    if not method.takes_prior:
        msg = (
            f"{call}: {type(method).__name__} takes no prior. Use method='auto' or "
            "'regularized', or leave prior= out."
        )
        raise InputError(msg)
    given: Any = method  # its class has such a field
    told: Method = replace(given, prior=prior)
    return told
