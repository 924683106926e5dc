"""All pairs: strings beside RapidFuzz's own, plans beside what then happens."""

import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import JaroWinkler, Levenshtein

import fewpairs as fp
from benchmarks.measure import best_of, table
from benchmarks.titles import titles_with_copies

SCORERS: dict[str, Callable[..., Any]] = {
    "levenshtein": Levenshtein.normalized_similarity,
    "jaro_winkler": JaroWinkler.normalized_similarity,
    "ratio": fuzz.ratio,
    "token_sort_ratio": fuzz.ratio,  # of sorted texts they are the same
    "token_set_ratio": fuzz.token_set_ratio,
    "wratio": fuzz.WRatio,
}
_SIDE = 512
_REPEATED = 3
_THRESHOLD = 0.9


def run(options: list[str] | None = None) -> None:
    """Print ratios with their goals.

    ``--items N`` takes so many recipes, ``--runs N`` goes through them so often;
    ``--only blocks``, ``plans`` or ``recipes`` is that part alone.
    """
    words = options or []
    given = dict(pairwise(words))
    if "--memory" in given:
        _one_pass(int(given["--memory"]))
        return
    items, runs = int(given.get("--items", 0)) or None, int(given.get("--runs", 2))
    parts: dict[str, Callable[[], None]] = {
        "blocks": blocks,
        "plans": plans,
        "recipes": lambda: recipes(items, runs),
    }
    for name, part in parts.items():
        if given.get("--only", name) == name:
            part()


def blocks() -> None:
    """Print a block of each scorer people use, beside `cdist` of sorted texts."""
    texts = titles_with_copies(2 * _SIDE)[0]
    ordered = [" ".join(sorted(text.split())) for text in texts]
    rows, columns = np.arange(_SIDE), np.arange(_SIDE, 2 * _SIDE)
    found = []
    for name, function in SCORERS.items():
        scorer = fp.StringSimilarity(name).bind(ordered)
        plain, ours = best_of(
            9,
            lambda function=function: process.cdist(
                ordered[:_SIDE],
                ordered[_SIDE:],
                scorer=function,
                dtype=np.float32,
                workers=-1,
            ),
            lambda scorer=scorer: scorer.block(rows, columns),
        )
        each = plain / _SIDE**2 * 1e9
        words = f"{name}: block / cdist of sorted texts, {each:.0f} ns a pair"
        found.append((words, ours / plain, "≤ 1.3"))
    table("exact: blocks of strings", found)


def plans() -> None:
    """Print what plans say, beside what then happens."""
    titles = titles_with_copies(4_000)[0]
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((8_000, 64)).astype(np.float32)
    cases: list[tuple[str, Any, Any]] = [
        (name, titles, fp.StringSimilarity(name))
        for name in SCORERS
        if name != "wratio"
    ]
    cases += [
        ("jaccard", titles, fp.TokenOverlap("jaccard")),
        ("cosine", vectors, fp.Cosine()),
        ("a function", titles[:1_000], fp.from_function(_shared, symmetric=True)),
    ]
    found = []
    for name, items, similarity in cases:
        said, happened = [], []
        for _ in range(_REPEATED):  # in turn: other work on the machine meets both
            plan = fp.plan(items, similarity)
            started = time.perf_counter()
            fp.neighbors(items, similarity, budget=1.0)
            exact = time.perf_counter() - started
            spent = fp.approximate(items, similarity).bill.evaluating
            said.append((plan.exact_seconds, plan.seconds))
            happened.append((exact, spent))
        planned, taken = np.median(said, axis=0), np.median(happened, axis=0)
        for t, what in enumerate(("all pairs", "50/item")):
            words = f"{name}, {len(items):,} items: {what}, {taken[t]:.3g} s / plan"
            found.append((words, taken[t] / planned[t], "0.67–1.5"))
    table("exact: what happens / what the plan said", found)


def recipes(items: int | None, runs: int) -> None:
    """Print all pairs of recipes ≥ 0.9, beside a bare loop over `cdist` blocks."""
    if not os.environ.get("FEWPAIRS_DATA"):
        print(
            "\nexact: no recipes, FEWPAIRS_DATA does not name the folder of data sets"
        )
        return
    texts = _recipes()[:items]
    done: dict[str, Any] = {}

    def ours() -> None:
        similarity = fp.StringSimilarity("token_sort_ratio")
        done["ours"] = fp.duplicates(texts, similarity, _THRESHOLD, budget=1.0)

    def bare() -> None:
        done["bare"] = _bare(texts)

    plain, taken = best_of(runs, bare, ours)
    found = done["ours"]
    same = done["bare"] == {
        *zip(found.left.tolist(), found.right.tolist(), strict=True)
    }
    command = [sys.executable, "-m", "benchmarks", "exact", "--memory", str(len(texts))]
    memory = int(subprocess.check_output(command, text=True).split()[-1])  # noqa: S603
    table(
        f"exact: {len(texts):,} recipes, token_sort_ratio ≥ {_THRESHOLD}, {found.way}",
        [
            (f"all pairs, {taken:.1f} s / bare loop, {plain:.1f} s",
             taken / plain, "≤ 1.5"),
            (f"the same {len(found):,} pairs", float(same), "1"),
            ("peak memory above the texts, MB", memory / 1e6, "≤ 600"),
        ],
    )  # fmt: skip


def _bare(texts: list[str]) -> set[tuple[int, int]]:
    """Return the pairs by a loop over blocks, stopping early as RapidFuzz can."""
    ordered = [" ".join(sorted(text.split())) for text in texts]
    out: set[tuple[int, int]] = set()
    for top in range(0, len(texts), _SIDE):
        for left in range(top, len(texts), _SIDE):
            block = process.cdist(
                ordered[top : top + _SIDE],
                ordered[left : left + _SIDE],
                scorer=fuzz.ratio,
                score_cutoff=100 * _THRESHOLD,
                dtype=np.float32,
                workers=-1,
            )
            i, j = np.nonzero(block >= 100 * _THRESHOLD)
            ahead = i + top < j + left
            pairs = zip((i + top)[ahead], (j + left)[ahead], strict=True)
            out.update((int(a), int(b)) for a, b in pairs)
    return out


def _one_pass(items: int) -> None:
    """Print the bytes that a pass takes at its peak, in a process of its own."""
    texts = _recipes()[:items]
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew; Linux alone
    similarity = fp.StringSimilarity("token_sort_ratio")
    fp.duplicates(texts, similarity, _THRESHOLD, budget=1.0)
    print(_memory("VmHWM") - before)


def _memory(name: str) -> int:
    """Return what the system says of this process, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(t.split()[1]) for t in lines if t.startswith(name))


def _recipes() -> list[str]:
    (path,) = (Path(os.environ["FEWPAIRS_DATA"]) / "recipe").glob("*.zip")
    with zipfile.ZipFile(path) as archive:
        found = json.loads(archive.read(archive.namelist()[0]))
    return [" ".join(recipe["ingredients"]) for recipe in found]


def _shared(a: str, b: str) -> float:
    one, other = set(a.split()), set(b.split())
    return len(one & other) / len(one | other)


if __name__ == "__main__":
    run()
