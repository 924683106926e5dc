"""Larger collections: how the default grows with n, and a million × 200 landmarks.

`python -m benchmarks larger` runs both parts, `--part growth` or `--part landmarks`
one; `--render` writes docs/scale.md. Every size of the first part runs in a process of
its own, on a made-up similarity (`benchmarks.hidden`). Seconds outside the similarity
are those of `approximate` and `neighbors(10)`, less those of evaluating. Processor
seconds, of all cores together, say more where other programs run. Memory is the largest
that the process ever had, items and embeddings included.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from experiments.cells import Results

from benchmarks.measure import table
from benchmarks.scale_page import PAGE, exponent, render

__all__ = ["run"]

SIZES = (10_000, 100_000, 1_000_000)
PER_ITEM = 20
RESULTS = Path(__file__).parent / "results" / "larger.jsonl"


def run(arguments: Sequence[str] = ()) -> None:
    """Print both parts, or the one that is asked for."""
    parser = argparse.ArgumentParser("python -m benchmarks larger", description=__doc__)
    say = parser.add_argument
    say("--part", choices=("growth", "landmarks"), help="both unless given")
    say("--sizes", nargs="+", type=int, default=list(SIZES))
    say("--per-item", type=int, default=PER_ITEM, help="pairs per item")
    say("--student", action=argparse.BooleanOptionalAction, help="the default's")
    say("--machine", default="two cores", help="how the results call this one")
    say("--again", action="store_true", help="also sizes that have a line")
    say("--results", type=Path, default=RESULTS)
    say("--render", action="store_true", help="write docs/scale.md, and run nothing")
    say("--page", type=Path, default=PAGE)
    options = parser.parse_args(list(arguments))
    if options.render:
        render(options.results, options.page)
        return
    if options.part != "landmarks":
        growth(options)
    if options.part != "growth":
        from benchmarks.landmarks import run as run_landmarks

        run_landmarks()


def growth(options: argparse.Namespace) -> None:
    """Run the sizes that have no line yet, and print all with their exponents."""
    results = Results(options.results)
    found: dict[int, dict[str, Any]] = {}
    for size in sorted(options.sizes):
        key = {
            "items": size,
            "per item": options.per_item,
            "student": options.student,
            "machine": options.machine,
        }
        if options.again or key not in results:
            value = _in_a_process(size, options)
            results.add(key, value, value["total"])
        found[size] = results.one(**key) or {}
        print(f"{size:,}: {found[size]}", flush=True)
    if len(found) > 1:
        _print(found, options)


def _in_a_process(size: int, options: argparse.Namespace) -> dict[str, Any]:
    student = "" if options.student is None else str(options.student)
    words = [str(size), str(options.per_item), student]
    command = [sys.executable, "-m", "benchmarks.hidden", *words]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    value: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return value


def _print(found: dict[int, dict[str, Any]], options: argparse.Namespace) -> None:
    rows: list[tuple[str, float, str]] = []
    for size, value in found.items():
        goal = ("≤ 3600", "≤ 8") if size == SIZES[-1] else ("none", "none")
        rows += [
            (f"{size:,} items: seconds, everything", value["total"], goal[0]),
            ("    outside the similarity", value["outside"], "none"),
            ("    of it neighbors(10)", value["neighbors"], "none"),
            ("    processor seconds, everything", value["processor"], "none"),
            ("    peak memory, GB", value["memory"] / 1e9, goal[1]),
            ("    recall@10", value["recall"], "none"),
            ("        the prior's own", value["prior's recall"], "none"),
            ("    R²", value["r2"], "none"),
        ]
    for a, b in pairwise(found):
        grown = exponent(found, a, b, "outside")
        rows.append((f"exponent, {a:,} to {b:,}", grown, "none"))
    first, last = min(found), max(found)
    grown = exponent(found, first, last, "outside")
    rows.append(("exponent of n, first to last", grown, "≤ 1.15"))
    cores = exponent(found, first, last, "processor")
    rows.append(("    that of processor seconds", cores, "none"))
    words = f"growth of the default, {options.per_item} pairs per item"
    table(f"{words}, {options.machine}", rows)
