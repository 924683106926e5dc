"""Adding in ten parts beside one run of the same evaluations.

Items come in random order, a tenth at a time; the similarity counts how often each two
are compared. Three ways to budget: as many pairs per new item as the first part had per
item, which is the default of `add`; more of them as the set grows, by its square root;
or the same share of the pairs that a part adds.

`python -m benchmarks adding` runs what has no line in benchmarks/results/adding.jsonl,
and writes docs/adding.md; `--data stsb --trained` the cells of one data set, again.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.matrices import glue, tweets_wmd

__all__ = ["run"]

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results" / "adding.jsonl", HERE.parent / "docs" / "adding.md"
PARTS, PER_ITEM, NEIGHBORS = 10, 50, 10
SEEDS = (0, 1, 2)
DEFAULT, ROOT, SHARE = "default of add", "growing", "share"
CELLS = [
    *[
        (data, schedule, False, seed)
        for data, schedule in (
            ("stsb", DEFAULT),
            ("mrpc", DEFAULT),
            ("stsb", ROOT),
            ("mrpc", ROOT),
            ("stsb", SHARE),
        )
        for seed in SEEDS
    ],
    ("stsb", DEFAULT, True, 0),
]
TRAINED_SECONDS = 600.0  # more than training takes: no clock decides anything
Array = NDArray[Any]


class Counted:
    """A matrix as a function of two lists of positions; counts every pair."""

    def __init__(self, K: Array) -> None:
        self.K, self.times = K, np.zeros(K.shape, dtype=np.int32)

    def __call__(self, a: Sequence[int], b: Sequence[int]) -> Array:
        """Return the similarities of a[t] and b[t]."""
        i, j = np.asarray(a), np.asarray(b)
        np.add.at(self.times, (i, j), 1)
        return np.asarray(self.K[i, j])


def measure(
    data: str, schedule: str, trained: bool, seed: int, folder: Path
) -> dict[str, Any]:
    """Add nine tenths of a data set to the first, and run it once at that price."""
    known = tweets_wmd(folder, 1.0) if data == "tweets" else glue(folder, data)
    K, E = np.asarray(known.K), np.asarray(known.embeddings)
    order = np.random.default_rng(seed).permutation(len(K))
    parts = np.array_split(order, PARTS)
    method = fp.Auto(student=trained, student_seconds=TRAINED_SECONDS)
    share = PER_ITEM / (len(K) - 1) if schedule == SHARE else None
    counted = Counted(K)
    similarity = fp.from_function(counted, symmetric=True, batched=True)
    started = time.perf_counter()
    approx = fp.approximate(
        parts[0].tolist(),
        similarity,
        method=method,
        prior=E[parts[0]],
        budget=share or f"{PER_ITEM}/item",
        seed=seed,
    )
    for number, part in enumerate(parts[1:], 2):
        growing = int(PER_ITEM * number**0.5 * len(part))
        budget = growing if schedule == ROOT else share
        approx = approx.add(part.tolist(), prior=E[part], budget=budget)
    seconds = time.perf_counter() - started
    one = fp.approximate(
        order.tolist(),
        fp.from_function(Counted(K), symmetric=True, batched=True),
        method=method,
        prior=E[order],
        budget=approx.evaluations,
        seed=seed,
    )
    truth = _nearest(K, order)
    return {
        "data": data,
        "items": len(K),
        "schedule": schedule,
        "trained": trained,
        "seed": seed,
        "evaluations": approx.evaluations,
        "counted": int(counted.times.sum()),
        "most times": int(counted.times.max()),
        "recall in parts": _recall(approx, truth),
        "recall in one": _recall(one, truth),
        "r2 in parts": approx.certificate.r2,
        "r2 in one": one.certificate.r2,
        "seconds in parts": seconds,
    }


def _nearest(K: Array, order: Array) -> Array:
    hidden = np.array(K[np.ix_(order, order)], dtype=np.float64)
    np.fill_diagonal(hidden, -np.inf)
    return np.argpartition(-hidden, NEIGHBORS, axis=1)[:, :NEIGHBORS]


def _recall(approx: fp.Approximation, truth: Array) -> float:
    found = approx.neighbors(NEIGHBORS).indices
    hits = (found[:, :, None] == truth[:, None, :]).any(axis=2)
    return float(hits.mean())


def run(options: Sequence[str] = ()) -> None:
    """Run the cells that are missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks adding")
    parser.add_argument("--data")
    parser.add_argument("--trained", action="store_true")
    asked = parser.parse_args(options)
    folder = Path(os.environ.get("FEWPAIRS_DATA", "../shared/data"))
    done = _lines()
    for cell in CELLS:
        have = any(_cell(line) == cell for line in done)
        wanted = asked.data is None or cell[::2] == (asked.data, asked.trained)
        if not wanted or (have and asked.data is None):
            continue
        line = measure(*cell, folder)
        print(json.dumps(line), flush=True)
        done = [*(one for one in done if _cell(one) != cell), line]
        done.sort(key=lambda one: CELLS.index(_cell(one)))
        RESULTS.write_text("".join(json.dumps(one) + "\n" for one in done), "utf-8")
    if done:
        PAGE.write_text(_page(done), "utf-8")


def _cell(line: dict[str, Any]) -> tuple[str, str, bool, int]:
    return line["data"], line["schedule"], line["trained"], line["seed"]


def _lines() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    found = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]
    return [line for line in found if _cell(line) in CELLS]


def _page(done: list[dict[str, Any]]) -> str:
    text = (HERE / "adding_page.md").read_text("utf-8")
    kinds = list(dict.fromkeys(_cell(line)[:3] for line in done))
    rows = [_row([one for one in done if _cell(one)[:3] == kind]) for kind in kinds]
    return text.replace("ROWS", "\n".join(rows))


def _row(lines: list[dict[str, Any]]) -> str:
    """Return a row of the table: means over seeds, and the range of the difference."""

    def mean(name: str) -> float:
        return float(np.mean([line[name] for line in lines]))

    behind = [line["recall in parts"] - line["recall in one"] for line in lines]
    wide = "" if len(lines) == 1 else f" ({min(behind):+.3f} to {max(behind):+.3f})"
    first = lines[0]
    return (
        f"| {first['data']} | {'yes' if first['trained'] else 'no'} "
        f"| {first['schedule']} | {len(lines)} | {mean('evaluations'):,.0f} "
        f"| {mean('recall in parts'):.3f} | {mean('recall in one'):.3f} "
        f"| {np.mean(behind):+.3f}{wide} "
        f"| {mean('r2 in parts'):.2f} / {mean('r2 in one'):.2f} "
        f"| {max(line['most times'] for line in lines)} |"
    )
