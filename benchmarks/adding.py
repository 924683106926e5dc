"""Adding in ten parts beside one run of the same evaluations.

Items come in random order, a tenth at a time; the similarity counts how often each two
are compared. Ways to budget: every part gets the same share of its new pairs, with a
first part of that share or of 50 pairs per item; or as many pairs per new item as the
first part had per item (the default of `add`).

`python -m benchmarks adding` runs what has no line in benchmarks/results/adding.jsonl,
and writes docs/adding.md; `--data stsb --trained` the cells of one data set.
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
CELLS = [
    ("stsb", "50/item, share", False),
    ("stsb", "share", False),
    ("stsb", "per item", False),
    ("mrpc", "50/item, share", False),
    ("stsb", "50/item, share", True),
]
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


def measure(data: str, schedule: str, trained: bool, folder: Path) -> dict[str, Any]:
    """Add nine tenths of a data set to the first, and run it once at that price."""
    known = tweets_wmd(folder, 1.0) if data == "tweets" else glue(folder, data)
    K, E = np.asarray(known.K), np.asarray(known.embeddings)
    order = np.random.default_rng(0).permutation(len(K))
    parts = np.array_split(order, PARTS)
    method = fp.Auto(student=trained)
    share = PER_ITEM / (len(K) - 1)
    by_share = schedule.endswith("share")
    counted = Counted(K)
    similarity = fp.from_function(counted, symmetric=True, batched=True)
    started = time.perf_counter()
    approx = fp.approximate(
        parts[0].tolist(),
        similarity,
        method=method,
        prior=E[parts[0]],
        budget=share if schedule == "share" else f"{PER_ITEM}/item",
    )
    for part in parts[1:]:
        budget = share if by_share else None
        approx = approx.add(part.tolist(), prior=E[part], budget=budget)
    seconds = time.perf_counter() - started
    one = fp.approximate(
        order.tolist(),
        fp.from_function(Counted(K), symmetric=True, batched=True),
        method=method,
        prior=E[order],
        budget=approx.evaluations,
    )
    truth = _nearest(K, order)
    return {
        "data": data,
        "items": len(K),
        "schedule": schedule,
        "trained": trained,
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
    for data, schedule, trained in CELLS:
        have = any(
            (line["data"], line["schedule"], line["trained"])
            == (data, schedule, trained)
            for line in done
        )
        wanted = asked.data is None or (data, trained) == (asked.data, asked.trained)
        if not wanted or (have and asked.data is None):
            continue
        line = measure(data, schedule, trained, folder)
        print(json.dumps(line), flush=True)
        done = [
            *(
                one
                for one in done
                if (one["data"], one["schedule"], one["trained"])
                != (data, schedule, trained)
            ),
            line,
        ]
        RESULTS.write_text("".join(json.dumps(one) + "\n" for one in done), "utf-8")
    if done:
        PAGE.write_text(_page(done), "utf-8")


def _lines() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]


def _page(done: list[dict[str, Any]]) -> str:
    rows = [
        f"| {one['data']} | {'yes' if one['trained'] else 'no'} | {one['schedule']} "
        f"| {one['evaluations']:,} | {one['recall in parts']:.3f} "
        f"| {one['recall in one']:.3f} "
        f"| {one['recall in parts'] - one['recall in one']:+.3f} "
        f"| {one['r2 in parts']:.2f} / {one['r2 in one']:.2f} "
        f"| {one['most times']} |"
        for one in done
    ]
    text = (HERE / "adding_page.md").read_text("utf-8")
    return text.replace("ROWS", "\n".join(rows))
