"""Facts that a caller declares of a similarity, checked."""

from numbers import Real
from typing import Any

from fewpairs.checks import check_flag, check_number, check_text, refuse
from fewpairs.errors import InputError

__all__ = ["check_facts"]


def check_facts(
    call: str,
    *,
    symmetric: Any,
    diagonal: Any,
    bounds: Any,
    psd: Any = False,
    name: Any = None,
) -> None:
    """Refuse declared facts that cannot be true."""
    check_flag(call, "symmetric", symmetric, none=True)
    check_number(call, "diagonal", diagonal, none=True)
    check_flag(call, "psd", psd)
    check_text(call, "name", name, none=True)
    if bounds is None:
        return
    if not (
        isinstance(bounds, (tuple, list))
        and len(bounds) == 2
        and all(isinstance(b, Real) and not isinstance(b, bool) for b in bounds)
        and bounds[0] <= bounds[1]
    ):
        raise refuse(call, "bounds", bounds, "(smallest, largest), or None")
    if diagonal is not None and not bounds[0] <= diagonal <= bounds[1]:
        msg = (
            f"{call}: diagonal is {diagonal:g}, and bounds is {tuple(bounds)}: it lies "
            "outside. Mend one of them."
        )
        raise InputError(msg)
