"""What the default reached, as a table. Do not edit.

Written by ``python -m benchmarks few --render`` from benchmarks/results/few.jsonl.
"""

from typing import NamedTuple

__all__ = ["CURVES", "Measured", "Reached"]


class Reached(NamedTuple):
    """Lowest and highest that was measured, training and not.

    Pairs per item; recall@10, R² and seconds of computing per item.
    """

    per_item: float
    recall: tuple[float, float]
    r2: tuple[float, float]
    computing: tuple[float, float]


class Measured(NamedTuple):
    """A data set, its number of items, and what was reached with a prior."""

    name: str
    items: int
    points: tuple[Reached, ...]


CURVES = (
    Measured(
        "STS-B",
        3_000,
        (
            Reached(1, (0.316, 0.324), (0.426, 0.45), (0.000245, 0.003766)),
            Reached(2, (0.389, 0.416), (0.556, 0.578), (0.000218, 0.005446)),
            Reached(5, (0.562, 0.564), (0.759, 0.762), (0.000614, 0.00991)),
            Reached(10, (0.609, 0.612), (0.802, 0.824), (0.000325, 0.015462)),
            Reached(20, (0.652, 0.73), (0.834, 0.839), (0.000389, 0.023584)),
            Reached(50, (0.814, 0.858), (0.868, 0.886), (0.000534, 0.027272)),
            Reached(100, (0.911, 0.939), (0.881, 0.914), (0.000796, 0.044681)),
        ),
    ),
    Measured(
        "tweets",
        3_108,
        (
            Reached(1, (0.344, 0.382), (0.825, 0.828), (0.00018, 0.003984)),
            Reached(2, (0.355, 0.412), (0.842, 0.859), (0.000176, 0.00587)),
            Reached(5, (0.38, 0.435), (0.848, 0.877), (0.000213, 0.010117)),
            Reached(10, (0.417, 0.484), (0.843, 0.884), (0.000218, 0.015836)),
            Reached(20, (0.493, 0.561), (0.849, 0.893), (0.000253, 0.022481)),
            Reached(50, (0.647, 0.727), (0.881, 0.921), (0.000487, 0.026777)),
            Reached(100, (0.794, 0.794), (0.902, 0.902), (0.000586, 0.000586)),
        ),
    ),
    Measured(
        "recipes",
        39_774,
        (
            Reached(1, (0.001, 0.001), (0, 0), (1e-06, 1e-06)),
            Reached(2, (0.001, 0.001), (0, 0), (1e-06, 1e-06)),
            Reached(5, (0.001, 0.001), (0, 0), (4e-06, 4e-06)),
            Reached(10, (0.406, 0.499), (0.824, 0.856), (0.001194, 0.002845)),
            Reached(20, (0.269, 0.269), (0.811, 0.811), (0.001593, 0.001593)),
            Reached(50, (0.441, 0.441), (0.834, 0.834), (0.001124, 0.001124)),
            Reached(100, (0.77, 0.872), (0.85, 0.91), (0.001118, 0.005767)),
        ),
    ),
    Measured(
        "sentences",
        24_654,
        (
            Reached(1, (0.295, 0.295), (0.35, 0.35), (0.000213, 0.000213)),
            Reached(2, (0.393, 0.393), (0.581, 0.581), (0.000224, 0.000224)),
            Reached(5, (0.651, 0.651), (0.822, 0.822), (0.000237, 0.000237)),
            Reached(10, (0.757, 0.757), (0.86, 0.86), (0.000283, 0.000283)),
            Reached(20, (0.819, 0.819), (0.876, 0.876), (0.000642, 0.000642)),
            Reached(50, (0.95, 0.95), (0.913, 0.913), (0.001188, 0.001188)),
            Reached(100, (0.992, 0.992), (0.929, 0.929), (0.001277, 0.001277)),
        ),
    ),
)
