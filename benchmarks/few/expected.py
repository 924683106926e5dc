"""Write what a plan lets expect: the default's curves, as a module of the package."""

from pathlib import Path
from typing import Any

import numpy as np
from experiments.cells import Results

from benchmarks.few.contenders import Setting
from benchmarks.few.tables import BUDGETS

__all__ = ["MODULE", "expected"]

MODULE = Path(__file__).parents[2] / "src" / "fewpairs" / "run" / "measured.py"
ITEMS = {"STS-B": 3_000, "tweets": 3_108, "recipes": 39_774, "sentences": 24_654}
NAMES = {"STS-B": "stsb"}  # elsewhere the data set's own
# As it is where it was measured, else as it was in the last release.
SETTINGS = (
    (Setting("default"), Setting("default", student=True)),
    (Setting("default 0.1"),),
)
FIGURES = ("recall", "r2", "computing")
START = "CURVES = (\n"  # what comes before it in the module stays


def expected(results: Results) -> str:
    """Return the module's text."""
    curves = []
    for name, items in ITEMS.items():
        lines = [_point(results, name, items, budget) for budget in BUDGETS]
        points = "".join(f"            {line},\n" for line in lines if line)
        if points:
            curves.append(
                f'    Measured(\n        "{name}",\n        {items:_},\n'
                f"        (\n{points}        ),\n    ),\n"
            )
    head = MODULE.read_text("utf-8").partition(START)[0]
    return f"{head}{START}{''.join(curves)})\n"


def _point(results: Results, name: str, items: int, budget: float) -> str | None:
    data = NAMES.get(name, name)
    for settings in SETTINGS:
        found = [
            value
            for setting in settings
            for value in _values(results, setting, data, budget)
        ]
        if found:
            recall, r2, computing = (
                [value[figure] for value in found] for figure in FIGURES
            )
            seconds = _range(np.divide(computing, items), 6)
            return f"Reached({budget}, {_range(recall, 3)}, {_range(r2, 3)}, {seconds})"
    return None


def _values(
    results: Results, setting: Setting, data: str, budget: float
) -> list[dict[str, Any]]:
    key = setting.key(data, budget, 0)
    del key["seed"]
    return [value for _, value in results.find(**key)]


def _range(numbers: Any, digits: int) -> str:
    low, high = round(float(min(numbers)), digits), round(float(max(numbers)), digits)
    return f"({low + 0.0:g}, {high + 0.0:g})"
