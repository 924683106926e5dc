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
            Reached(1, (0.314, 0.33), (0.38, 0.452), (0.000292, 0.002257)),
            Reached(2, (0.351, 0.441), (0.554, 0.574), (0.000356, 0.002887)),
            Reached(5, (0.552, 0.562), (0.751, 0.753), (0.000403, 0.005546)),
            Reached(10, (0.596, 0.652), (0.771, 0.789), (0.000423, 0.009369)),
            Reached(20, (0.651, 0.714), (0.799, 0.832), (0.000409, 0.015148)),
            Reached(50, (0.77, 0.856), (0.843, 0.883), (0.00054, 0.01744)),
            Reached(100, (0.889, 0.889), (0.87, 0.87), (0.000852, 0.000852)),
        ),
    ),
    Measured(
        "tweets",
        3_108,
        (
            Reached(1, (0.008, 0.008), (0, 0), (7e-06, 7e-06)),
            Reached(2, (0.008, 0.008), (0, 0), (2e-05, 2e-05)),
            Reached(5, (0.008, 0.008), (0.001, 0.001), (9e-06, 9e-06)),
            Reached(10, (0.39, 0.39), (0.806, 0.806), (0.000725, 0.000725)),
            Reached(20, (0.405, 0.405), (0.84, 0.84), (0.000678, 0.000678)),
            Reached(50, (0.472, 0.472), (0.885, 0.885), (0.000691, 0.000691)),
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
            Reached(10, (0.254, 0.254), (0.802, 0.802), (0.001576, 0.001576)),
            Reached(20, (0.269, 0.269), (0.811, 0.811), (0.001593, 0.001593)),
            Reached(50, (0.441, 0.441), (0.834, 0.834), (0.001124, 0.001124)),
            Reached(100, (0.59, 0.59), (0.861, 0.861), (0.001138, 0.001138)),
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
