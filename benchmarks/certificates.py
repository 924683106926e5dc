"""Certificates of lists: how often their two statements hold, on real matrices.

`python -m benchmarks certificates --runs 20` draws items of each matrix anew for every
run, looks for the pairs above a threshold with a part of the evaluations, samples until
the budget ends, and compares both statements with the truth. Models: good (embeddings,
15 % of the pairs), mediocre (embeddings, 5 %), useless (embeddings of other items, 5 %)
and adversarial: the good one, with all unread matches put last in its ranking. Goal:
`guaranteed` holds in at least 1 − δ of the runs everywhere, `recall_at_least` too, but
against the adversary; two standard errors are allowed.
"""

import argparse
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from experiments.data import folder
from numpy.typing import NDArray

import fewpairs as fp
from fewpairs.answers.ladder import Steps, UnreadRanking

__all__ = ["run"]

ITEMS, DELTA = 600, 0.2
MATRICES = ("stsb", "mrpc", "rte")
BUDGETS = {"good": 0.15, "mediocre": 0.05, "useless": 0.05}
NUMBERS = (20, 200, 2_000)  # of matches


@cache
def _whole(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    path = folder() / "matrices"
    K = np.load(path / f"{name}.npy", mmap_mode="r")
    return K, np.load(path / f"{name}_embeddings.npy")


def _drawn(name: str, seed: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    K, embeddings = _whole(name)
    rng = np.random.default_rng(seed)
    items = np.sort(rng.permutation(len(K))[:ITEMS])
    part = np.asarray(K[np.ix_(items, items)], dtype=np.float64)
    return (part + part.T) / 2, embeddings[items]


def _held(name: str, model: str, number: int, seed: int) -> tuple[bool, bool, float]:
    """Return whether either statement holds, and the one under the assumption."""
    K, embeddings = _drawn(name, seed)
    if model == "useless":
        embeddings = embeddings[np.random.default_rng(seed).permutation(ITEMS)]
    values = K[np.triu_indices(ITEMS, 1)]
    threshold = float(np.sort(values)[-number])
    found = fp.duplicates(
        None,
        K,
        threshold,
        budget=BUDGETS[model],
        prior=embeddings,
        recall=0.9999,
        delta=DELTA,
        seed=seed,
    )
    truth = len(found) / int((values >= threshold).sum())
    made = found.certificate
    return made.guaranteed <= truth, made.recall_at_least <= truth, made.recall_at_least


def _against_an_adversary(name: str, number: int, seed: int) -> bool:
    """Return whether the assumption's statement holds if unread matches come last."""
    K, embeddings = _drawn(name, seed)
    i, j = np.triu_indices(ITEMS, 1)
    threshold = np.sort(K[i, j])[-number]
    approx = fp.approximate(
        None, K, budget=BUDGETS["good"], prior=embeddings, seed=seed
    )
    unread = ~approx.known.lookup(i, j)[0]
    hit = np.sort(K[i, j][unread] >= threshold)  # those that match last
    whole = len(hit) // 20
    read = (int((~unread).sum()), number - int(hit.sum()))
    nowhere = np.arange(len(hit))
    ranking = UnreadRanking(
        nowhere, nowhere, -nowhere.astype(float), whole, hit[:whole], 0, len(hit), read
    )
    steps = Steps(ranking, np.random.default_rng(seed))
    return steps.missing_at_most(DELTA) >= hit.sum()


def run(options: Sequence[str] = ()) -> None:
    """Print how often both statements hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks certificates")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--data", nargs="*", default=MATRICES)
    given = parser.parse_args(options)
    print(f"\nδ = {DELTA}, {given.runs} runs: share that holds; median of the latter")
    print(f"  {'':<36} guaranteed  recall_at_least  median")
    for name in given.data:
        for number in NUMBERS:
            for model in BUDGETS:
                done = [_held(name, model, number, seed) for seed in range(given.runs)]
                strict, assumed, least = np.array(done, dtype=float).T
                label = f"{name}, {number:,} matches, {model}"
                middle = f"{assumed.mean():>15.2f}  {np.median(least):.3f}"
                print(f"  {label:<36} {strict.mean():>10.2f}  {middle}", flush=True)
            last = [
                _against_an_adversary(name, number, seed) for seed in range(given.runs)
            ]
            label = f"{name}, {number:,} matches, adversarial"
            print(f"  {label:<36} {'':>10}  {np.mean(last):>15.2f}", flush=True)
