"""Plotting: axes of Matplotlib, an extra that is imported when something is drawn."""

from typing import Any

from fewpairs.errors import MissingExtraError

__all__ = ["axes_of"]


def axes_of(ax: Any, call: str) -> Any:
    """Return axes to draw on: those that are given, or of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib.pyplot import subplots
    except ImportError as error:
        msg = f'{call}: needs Matplotlib. Run: pip install "fewpairs[plot]"'
        raise MissingExtraError(msg) from error
    return subplots(figsize=(5.5, 4.5), layout="constrained")[1]
