"""Tables of results beside what is to be reached."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from experiments.cells import Results

from benchmarks.few.contenders import Setting

__all__ = ["BUDGETS", "TABLES", "Table", "mean_of", "plain", "shown"]

BUDGETS = (1, 2, 5, 10, 20, 50, 100)


class Table(NamedTuple):
    """Budgets per item, settings, and what recall@10 and R² are to reach."""

    budgets: Sequence[float]
    settings: Sequence[Setting]
    floors: dict[str, Sequence[str]]


_OLD = Setting("default 0.1")
_STUDENTS = [
    Setting("default", student=True),
    Setting("default", "neighbors", student=True),
    Setting("default", "entries", student=True),
]
TABLES = {
    "stsb": Table(
        (4, 8, 16, 32, 64),
        [Setting("reranked"), _OLD, Setting("default", student=False), *_STUDENTS],
        {
            "floor": (".38 (.25)", ".57 (.45)", ".67 (.70)", ".78 (.80)", ".86 (.87)"),
            "goal": (".48 (.45)", ".66 (.62)", ".75 (.80)", ".85 (.86)", ".91 (.90)"),
            "floor, neighbors": (".41", ".60", ".70", ".81", ".89"),
            "floor, entries": ("(.58)", "(.72)", "(.83)", "(.86)", "(.90)"),
        },
    ),
    "sentences": Table(
        (5, 10, 30, 100),
        [Setting("reranked"), _OLD, Setting("default"), *_STUDENTS],
        {
            "floor": (".38 (.50)", ".68 (.82)", ".79 (.86)", ".97 (.90)"),
            "goal": (".52 (.80)", ".75 (.89)", ".87 (.92)", ".985 (.94)"),
        },
    ),
    "recipes": Table(
        (10, 30, 100),
        [Setting("reranked"), _OLD, Setting("default"), *_STUDENTS],
        {
            "floor": (".48 (.72)", ".63 (.80)", ".87 (.87)"),
            "goal": (".55", ".72", ".92"),
        },
    ),
}


def mean_of(
    results: Results,
    setting: Setting,
    data: str,
    per_item: float,
    figure: str,
    *,
    seed: int | None = None,
) -> float | None:
    """Return a figure's mean over the seeds that were run, or that of one seed.

    The default that is left to itself does not train where evaluations are as quick as
    all of these are: then what was run without training is the same.
    """
    if setting.contender == "default" and setting.student is None:
        untrained = replace(setting, student=False)
        number = mean_of(results, untrained, data, per_item, figure, seed=seed)
        if number is not None:
            return number
    key = setting.key(data, per_item, seed or 0)
    if seed is None:
        del key["seed"]
    found = [value.get(figure) for _, value in results.find(**key)]
    numbers = [number for number in found if number is not None]
    return float(np.mean(numbers)) if numbers else None


def plain(number: float | None) -> str:
    """Return a number of three digits, or nothing."""
    return "" if number is None else f"{number:.3f}"


def shown(name: str, results: Results) -> str:
    """Return a table: recall@10 (R²) of every setting, and what is to be reached."""
    table = TABLES[name]
    head = [f"{name}, pairs per item", *(f"{b:g}" for b in table.budgets)]
    rows = [head, ["---"] * len(head)]
    for setting in table.settings:
        row = [setting.label]
        for budget in table.budgets:
            recall = mean_of(results, setting, name, budget, "recall")
            r2 = mean_of(results, setting, name, budget, "r2")
            row.append("" if recall is None else f"{plain(recall)} ({plain(r2)})")
        rows.append(row)
    rows += [[word, *values] for word, values in table.floors.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
