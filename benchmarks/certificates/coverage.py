"""Coverage: how often both statements hold, on real matrices.

Models: good (embeddings, 15 % of the pairs), mediocre (embeddings, 5 %), useless
(embeddings of other items, 5 %) and adversarial: the good one, with all unread matches
put last. Reading and sampling stop at random times. Goal: `guaranteed` holds in at
least 1 − δ of the runs everywhere, `recall_at_least` too, but against the adversary;
two standard errors are allowed. Runs of a cell share a few fits, of items drawn anew;
what is drawn in a run is when it stops, the held-out pairs and the sample.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from benchmarks.certificates.parallel import in_parallel
from benchmarks.certificates.populations import MODELS, Population, fit, population
from benchmarks.certificates.simulated import simulate

__all__ = ["run"]

_NUMBERS = (20, 200, 2_000, 20_000)  # of matches
_DELTAS = (0.05, 0.2)


def run(data: Sequence[str], *, runs: int, fits: int) -> None:
    """Print the share of the runs that hold, of each cell."""
    print(f"\nShare of {runs:,} runs, over {fits} fits, in which a statement holds")
    print("\n| data | model | matches | δ | guaranteed | recall_at_least | medians | |")
    print("|---|---|---|---|---|---|---|---|")
    tasks = [(name, model, runs, fits) for name, model in product(data, MODELS)]
    for rows in in_parallel(_rows, tasks):
        print("\n".join(rows), flush=True)


def _rows(task: tuple[str, str, int, int]) -> list[str]:
    name, model, runs, fits = task
    fitted = [fit(name, model, seed) for seed in range(fits)]
    return [
        f"| {name} | {model} | {number:,} | {delta:g} "
        + _row([population(one, number, model) for one in fitted], model, delta, runs)
        for number, delta in product(_NUMBERS, _DELTAS)
    ]


def _row(people: list[Population], model: str, delta: float, runs: int) -> str:
    rng = np.random.default_rng([people[0].total, int(100 * delta), 3])
    each = [people[t % len(people)] for t in range(runs)]
    done = np.array([simulate(one, delta, rng, whole=False) for one in each])
    truth, strict, assumed = done.T
    held = [float((said <= truth + 1e-12).mean()) for said in (strict, assumed)]
    least = 1 - delta - 2 * math.sqrt(delta * (1 - delta) / runs)
    wanted = held[:1] if model == "adversarial" else held
    good = "reached" if min(wanted) >= least else "MISSED"
    medians = " / ".join(f"{np.median(x):.2f}" for x in (truth, strict, assumed))
    return f"| {held[0]:.3f} | {held[1]:.3f} | {medians} | {good} |"
