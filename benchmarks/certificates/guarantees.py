"""Guarantees: what proofs leave of all pairs, and a recall of .9 for any model.

2,000 docstrings by Levenshtein and 2,000 tweets by word mover's distance, at the
threshold that one pair in 10⁴ reaches. Goals: proofs leave at most one pair in 50; a
recall of .9 is guaranteed with at most 10 % of the pairs read.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fewpairs as fp
from fewpairs.datasets import stdlib_docstrings

__all__ = ["run"]

_ITEMS, _RECALL, _BUDGET = 2_000, 0.9, 0.1
_ROWS = 100


def run(data: Sequence[str], *, runs: int, fits: int) -> None:
    """Print a row for docstrings and one for tweets, where they are asked for."""
    del runs, fits  # one run tells it: what it says holds for any model
    print(f"\nguarantee=True, recall={_RECALL}, budget={_BUDGET:.0%} of the pairs\n")
    print("| data | matches | left by proof | guaranteed | read | |")
    print("|---|---|---|---|---|---|")
    for name, made in (("docstrings", _docstrings), ("tweets", _tweets)):
        if name in data:
            print(f"| {name} {_row(*made())}", flush=True)


def _docstrings() -> tuple[list[Any], fp.Similarity]:
    return list(stdlib_docstrings(_ITEMS).texts), fp.StringSimilarity("levenshtein")


def _tweets() -> tuple[list[Any], fp.Similarity]:
    from experiments.corpora import corpus, glove

    data = Path(os.environ["FEWPAIRS_DATA"])
    return corpus(data, "twitter").words[:_ITEMS], fp.WMD(glove(data))


def _row(items: list[Any], similarity: fp.Similarity) -> str:
    scorer, n = similarity.bind(items), len(items)
    everything, pairs = np.arange(n), n * (n - 1) // 2
    upper = np.triu_indices(n, 1)
    threshold = float(
        np.sort(scorer.block(everything, everything)[upper])[-pairs // 10_000]
    )
    left = sum(
        int(np.triu(scorer.may_reach(rows, everything, threshold), rows[0] + 1).sum())
        for rows in np.array_split(everything, n // _ROWS)
    )
    found = fp.duplicates(
        items, similarity, threshold, budget=_BUDGET, recall=_RECALL, guarantee=True
    )
    sure, read = found.certificate.guaranteed, found.evaluations / pairs
    told = (
        "reached" if left <= pairs / 50 and sure >= _RECALL and read <= 0.1 else "not"
    )
    of = f"1 in {pairs / left:.0f}"
    return f"| {len(found):,} | {of} | {sure:.3f} | {read:.1%} | {told} |"
