"""Shares: how much of a budget random pairs get."""

import math

__all__ = ["random_share", "share_of_entries"]

# Random pairs per item: so many, and a share of the budget, up to another share.
_RANDOM = {
    "balanced": (3.0, 0.1, 0.75),
    "neighbors": (4.0, 0.05, 0.75),
    "entries": (3.0, 0.6, 0.9),
    "across": (1.2, 0.08, 0.25),  # of two sets, where hubs are read beside (`hubs`)
    "across, entries": (2.0, 0.6, 0.9),
}
# Without training, pairs per item from which on that of entries falls, and how steeply:
# items' effects are known by then, and exact values tell more.
_KNOWN, _STEEP = 20.0, 0.3
# Pairs per item from which to twice which the share grows, with their root.
_LARGE = 30.0
# The same where the prior alone does not say much: one more up to so many pairs per
# item, falling to none at twice as many; the share grows by more, and may be larger.
_MORE, _GROWTH, _UNTOLD = 16.0, 1.2, 0.9


def random_share(purpose: str, per_item: float, *, told: bool = True) -> float:
    """Return the share of a budget that random pairs get.

    They pin down the prior's curve and the items' effects, which takes some four per
    item whatever the budget; the rest is better spent on what looks most similar.
    Where there is not enough for that, and the prior has not ``told`` much by itself,
    a student does not know what looks most similar either.
    """
    number, share, most = _RANDOM[purpose]
    large = min(max(1.0, per_item / _LARGE), 2.0)
    if told or purpose != "balanced":
        share *= math.sqrt(large)
    else:
        number += min(max(0.0, 2 - per_item / _MORE), 1.0)
        share *= 1 + _GROWTH * (large - 1)
    if not told and not purpose.startswith("across"):
        most = max(most, _UNTOLD)
    return min(most, number / max(per_item, 1e-9) + share)


def share_of_entries(per_item: float) -> float:
    """Return what random pairs and columns get where entries are all that counts.

    Without training; with large budgets less.
    """
    number, share, most = _RANDOM["entries"]
    share *= float(min(1.0, _KNOWN / max(per_item, 1e-9)) ** _STEEP)
    return min(most, number / max(per_item, 1e-9) + share)
