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
            Reached(1, (0.314, 0.326), (0.38, 0.456), (0.000292, 0.002122)),
            Reached(2, (0.351, 0.408), (0.554, 0.577), (0.000356, 0.003662)),
            Reached(5, (0.552, 0.57), (0.751, 0.757), (0.000403, 0.00679)),
            Reached(10, (0.596, 0.609), (0.771, 0.801), (0.000423, 0.010945)),
            Reached(20, (0.651, 0.714), (0.799, 0.834), (0.000409, 0.018032)),
            Reached(50, (0.77, 0.86), (0.843, 0.888), (0.00054, 0.024904)),
            Reached(100, (0.889, 0.889), (0.87, 0.87), (0.000852, 0.000852)),
        ),
    ),
    Measured(
        "tweets",
        3_108,
        (
            Reached(1, (0.008, 0.008), (0, 0), (7e-06, 7e-06)),
            Reached(2, (0.008, 0.008), (0, 0), (2e-05, 2e-05)),
            Reached(5, (0.437, 0.437), (0.877, 0.877), (0.007556, 0.007556)),
            Reached(10, (0.485, 0.485), (0.885, 0.885), (0.0107, 0.0107)),
            Reached(20, (0.562, 0.562), (0.897, 0.897), (0.017663, 0.017663)),
            Reached(50, (0.726, 0.726), (0.924, 0.924), (0.020553, 0.020553)),
            Reached(100, (0.723, 0.723), (0.913, 0.913), (0.008906, 0.008906)),
        ),
    ),
    Measured(
        "recipes",
        39_774,
        (
            Reached(1, (0.001, 0.001), (0, 0), (1e-06, 1e-06)),
            Reached(2, (0.001, 0.001), (0, 0), (1e-06, 1e-06)),
            Reached(5, (0.001, 0.001), (0, 0), (4e-06, 4e-06)),
            Reached(10, (0.5, 0.5), (0.852, 0.852), (0.004761, 0.004761)),
            Reached(20, (0.269, 0.269), (0.811, 0.811), (0.001593, 0.001593)),
            Reached(50, (0.441, 0.441), (0.834, 0.834), (0.001124, 0.001124)),
            Reached(100, (0.866, 0.866), (0.907, 0.907), (0.008033, 0.008033)),
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
