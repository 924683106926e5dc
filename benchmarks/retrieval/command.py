"""`python -m benchmarks retrieval`: run cells that are missing, write the page.

Every finished cell is a line of benchmarks/results/retrieval.jsonl and is not run again
unless `--again` is given; the newest line of a cell counts.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.cells import Results
from experiments.data import DataError, folder

import fewpairs as fp
from benchmarks.retrieval.rivals import RIVALS
from benchmarks.retrieval.sets import (
    NEAREST,
    SETS,
    OverBudgetError,
    Reader,
    TwoSets,
    load,
)

__all__ = ["BUDGETS", "OURS", "run"]

RESULTS = Path(__file__).parents[1] / "results" / "retrieval.jsonl"
BUDGETS = (5, 10, 20, 50, 100)
OURS = {"default": False, "default, trained": True}  # whether it trains a student


def run(arguments: Sequence[str] = ()) -> None:
    """Do what is asked for."""
    options = _parser().parse_args(list(arguments))
    results = Results(options.results)
    try:
        for name in () if options.render else options.data:
            _fill(load(name, folder()), results, options)
    except DataError as error:
        raise SystemExit(str(error)) from error
    if options.results == RESULTS:
        from benchmarks.retrieval.page import render

        render(results)


def _fill(data: TwoSets, results: Results, options: argparse.Namespace) -> None:
    for contender in options.contender:
        for each in options.budgets:
            for seed in options.seed:
                key = {
                    "data": data.name,
                    "per item": each,
                    "contender": contender,
                    "seed": seed,
                }
                if key in results and not options.again:
                    continue
                started = time.perf_counter()
                value = measured(contender, data, each, seed)
                seconds = time.perf_counter() - started
                results.add(key, value, seconds)
                said = " ".join(map(str, key.values()))
                figures = ", ".join(f"{k} {v:.3f}" for k, v in value.items())
                print(f"{seconds:7.1f} s  {said}: {figures}", flush=True)


def measured(contender: str, data: TwoSets, each: int, seed: int) -> dict[str, Any]:
    """Run a contender within its budget, and compare what it found with the truth."""
    m, n = data.K.shape
    evaluations = min(each * m, m * n)
    if contender in RIVALS:
        reader = Reader(data, evaluations)
        found = RIVALS[contender](reader, np.random.default_rng([seed, 77]))
        return {**data.figures(found), "evaluations": reader.evaluations}
    approx = fp.approximate(
        None,
        data.K,
        others=range(n),
        method=fp.Auto(student=OURS[contender]),
        budget=evaluations,
        prior=(data.left, data.right),
        seed=seed,
    )
    if approx.evaluations > evaluations:
        msg = f"{approx.evaluations:,} evaluations of {evaluations:,}"
        raise OverBudgetError(msg)
    found = approx.neighbors(NEAREST).indices
    return {**data.figures(found), "evaluations": approx.evaluations}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks retrieval", description=__doc__
    )
    say = parser.add_argument
    names = [*RIVALS, *OURS]
    say("--data", nargs="+", choices=SETS, default=[*SETS])
    say("--budgets", nargs="+", type=int, default=BUDGETS, help="per left item")
    say("--contender", nargs="+", choices=names, default=names)
    say("--seed", nargs="+", type=int, default=[0])
    say("--again", action="store_true", help="also cells that have a line")
    say("--render", action="store_true", help="run nothing, write the page")
    say("--results", type=Path, default=RESULTS)
    return parser
