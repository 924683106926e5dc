"""Targets: `recall=0.95, delta=0.05` ends with a recall of .95, as often as it says.

`fewpairs.duplicates` itself, on items drawn anew for every run, until its certificate
holds or the budget ends. Goal: of all runs that certify, 95 % have a recall of .95 or
more; two standard errors are allowed.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

import fewpairs as fp
from benchmarks.certificates.parallel import in_parallel
from benchmarks.certificates.populations import DATA, whole

__all__ = ["run"]

_RECALL, _DELTA = 0.95, 0.05
_ITEMS = 400
_CELLS = ((200, 0.3), (1_000, 0.3), (1_000, 0.6), (4_000, 0.6))  # matches, budget
_PRIORS = ("good", "useless")


def run(data: Sequence[str], *, runs: int, fits: int) -> None:
    """Print how many runs certify, and how many of these hold."""
    del fits  # every run has its own
    print(f"\n{runs:,} runs, {_ITEMS} items; recall={_RECALL}, delta={_DELTA}")
    print("\n| data | prior | runs | certified | of these, true | true recall, all |")
    print("|---|---|---|---|---|---|")
    share = -(-runs // (len(data) * len(_PRIORS)))
    tasks = [
        (name, prior, seed)
        for name, prior in product(data, _PRIORS)
        for seed in range(share)
    ]
    done = np.array(list(in_parallel(_one, tasks)))
    for start in range(0, len(tasks), share):
        name, prior, _ = tasks[start]
        print(f"| {name} | {prior} {_row(done[start : start + share])}")
    print(f"| all | {_row(done)}", flush=True)


def _row(done: np.ndarray) -> str:
    certified, truth = done[:, 0] > 0, done[:, 1]
    right = float((truth[certified] >= _RECALL).mean()) if certified.any() else 1.0
    return (
        f"| {len(done)} | {int(certified.sum())} | {right:.3f} | "
        f"{np.median(truth):.3f} |"
    )


def _one(task: tuple[str, str, int]) -> tuple[bool, float]:
    name, prior, seed = task
    K, embeddings = whole(name)
    number, budget = _CELLS[seed % len(_CELLS)]
    rng = np.random.default_rng([seed, len(DATA), 9])
    drawn = np.sort(rng.permutation(len(K))[:_ITEMS])
    part = np.asarray(K[np.ix_(drawn, drawn)], dtype=np.float64)
    given = embeddings[drawn if prior == "good" else rng.permutation(drawn)]
    values = part[np.triu_indices(_ITEMS, 1)]
    threshold = float(np.sort(values)[-number])
    found = fp.duplicates(
        None,
        part,
        threshold,
        budget=budget,
        prior=given,
        recall=_RECALL,
        delta=_DELTA,
        seed=seed,
    )
    truth = len(found) / int((values >= threshold).sum())
    return found.certificate.certified, truth
