"""Arguments of a run, checked."""

from typing import Any

from fewpairs.checks import check_number, check_whole

__all__ = ["check_seed", "check_target"]

_SEED = 1 << 256  # NumPy takes any; a whole number of this size is no accident


def check_seed(seed: Any, call: str) -> int:
    """Return a seed, or say what one is."""
    return int(check_whole(call, "seed", seed, most=_SEED))


def check_target(target: Any, call: str) -> None:
    """Refuse an error that cannot be aimed at."""
    check_number(call, "target_error", target, above=0, none=True)
