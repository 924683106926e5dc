"""Tightness: how much `recall_at_least` says of lists that are nearly complete.

Whole matrices, 5 % of the list's evaluations for the sample, δ = .05. Goal: where the
true recall is .97 or more, of 500 matches or more, its median is .90 or more on stsb
and tweets. Beside it, from the same sample: Clopper and Pearson's bound of uniform
draws from what was not read, and BARGAIN's of uniform draws from all pairs.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from benchmarks.certificates.parallel import in_parallel
from benchmarks.certificates.populations import (
    FRONT,
    SAMPLE,
    Population,
    fit,
    population,
)
from benchmarks.certificates.rivals import bargain, clopper_pearson
from benchmarks.certificates.simulated import simulate

__all__ = ["run"]

_NUMBERS = (500, 2_000, 20_000)
_DELTA = 0.05
_LARGEST = 3_000
_SHARES = {"good": "15 %", "mediocre": "5 %"}
_AIM, _COMPLETE = 0.90, 0.97


def run(data: Sequence[str], *, runs: int, fits: int) -> None:
    """Print medians."""
    print(f"\nMedians of {runs:,} runs, δ = {_DELTA}; {min(fits, 2)} fits")
    print("\n| data | pairs read | matches | recall | recall_at_least |", end=" ")
    print("guaranteed | Clopper–Pearson | BARGAIN | |")
    print("|---|---|---|---|---|---|---|---|---|")
    names = [name for name in data if name in ("stsb", "tweets")]
    tasks = [(name, model, min(fits, 2)) for name, model in product(names, _SHARES)]
    wanted = [(*task, number, runs) for task in tasks for number in _NUMBERS]
    for row in in_parallel(_one, wanted):
        print(row, flush=True)


def _one(task: tuple[str, str, int, int, int]) -> str:
    name, model, fits, number, runs = task
    fitted = [fit(name, model, seed, _LARGEST) for seed in range(fits)]
    people = [population(one, number, model) for one in fitted]
    return f"| {name} | {_SHARES[model]} | {number:,} {_row(people, runs)}"


def _row(people: list[Population], runs: int) -> str:
    rng = np.random.default_rng(5)
    done = []
    for t in range(runs):
        one = people[t % len(people)]
        done.append([*simulate(one, _DELTA, rng, whole=True), *_others(one, rng)])
    truth, strict, assumed, uniform, betting = np.median(done, axis=0)
    good = ""
    if truth >= _COMPLETE:
        good = "reached" if assumed >= _AIM else "MISSED"
    figures = " | ".join(f"{x:.3f}" for x in (truth, assumed, strict, uniform, betting))
    return f"| {figures} | {good} |"


def _others(people: Population, rng: np.random.Generator) -> tuple[float, float]:
    """Return what others would say with the list, and a sample of the same size."""
    length, drawn = int(FRONT * people.budget), int(SAMPLE * people.budget)
    unread, matches = len(people.hit) - length, int(people.hit[length:].sum())
    found = people.total - matches
    hits = int(rng.hypergeometric(matches, unread - matches, drawn))
    uniform = clopper_pearson(unread, drawn, hits, found + hits, _DELTA)
    everything = people.pairs
    positives = rng.hypergeometric(people.total, everything - people.total, drawn)
    listed = rng.random(int(positives)) < found / people.total
    return uniform, bargain(listed, _DELTA)
