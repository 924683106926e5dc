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
            Reached(1, (0.324, 0.326), (0.426, 0.456), (0.000245, 0.002122)),
            Reached(2, (0.389, 0.408), (0.556, 0.577), (0.000218, 0.003662)),
            Reached(5, (0.564, 0.57), (0.757, 0.759), (0.000614, 0.00679)),
            Reached(10, (0.609, 0.612), (0.801, 0.824), (0.000325, 0.010945)),
            Reached(20, (0.652, 0.714), (0.834, 0.839), (0.000389, 0.018032)),
            Reached(50, (0.814, 0.86), (0.868, 0.888), (0.000534, 0.024904)),
            Reached(100, (0.911, 0.911), (0.881, 0.881), (0.000796, 0.000796)),
        ),
    ),
    Measured(
        "tweets",
        3_108,
        (
            Reached(1, (0.344, 0.344), (0.825, 0.825), (0.00018, 0.00018)),
            Reached(2, (0.355, 0.355), (0.842, 0.842), (0.000176, 0.000176)),
            Reached(5, (0.38, 0.437), (0.848, 0.877), (0.000213, 0.007556)),
            Reached(10, (0.417, 0.485), (0.843, 0.885), (0.000218, 0.0107)),
            Reached(20, (0.493, 0.562), (0.849, 0.897), (0.000253, 0.017663)),
            Reached(50, (0.647, 0.726), (0.881, 0.924), (0.000487, 0.020553)),
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
            Reached(10, (0.406, 0.5), (0.824, 0.852), (0.001194, 0.004761)),
            Reached(20, (0.269, 0.269), (0.811, 0.811), (0.001593, 0.001593)),
            Reached(50, (0.441, 0.441), (0.834, 0.834), (0.001124, 0.001124)),
            Reached(100, (0.77, 0.879), (0.85, 0.908), (0.001118, 0.008807)),
        ),
    ),
    Measured(
        "sentences",
        24_654,
        (
            Reached(5, (0.576, 0.576), (0.817, 0.817), (0.000311, 0.000311)),
            Reached(10, (0.732, 0.732), (0.84, 0.84), (0.000321, 0.000321)),
            Reached(100, (0.985, 0.985), (0.923, 0.923), (0.001818, 0.001818)),
        ),
    ),
)
