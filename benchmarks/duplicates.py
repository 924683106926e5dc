"""5,000 titles of a CSV file, deduplicated by one command."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import fewpairs as fp
from benchmarks.titles import titles_with_copies, write_titles
from fewpairs.evaluation import exact_matrix

_THRESHOLD = 0.8
_PROGRAM = "from fewpairs.cli import main; main()"


def run() -> None:
    """Print seconds, and how many of all pairs above the threshold are found."""
    titles, known = titles_with_copies(5_000)
    print("\nduplicates: 5,000 titles from a CSV file by one command, two cores")
    for name in ("levenshtein", "token-sort-ratio"):
        scorer = fp.StringSimilarity(name.replace("-", "_"))
        K = np.triu(exact_matrix(titles, scorer), 1)
        true = {(int(i), int(j)) for i, j in np.argwhere(K >= _THRESHOLD)}
        for budget in ("5%", "100%"):
            seconds, facts = _deduplicated(titles, name, budget)
            pairs = {
                (row["row"] - 1, row["other_row"] - 1): row["similarity"]
                for row in facts["pairs"]
            }
            exact = all(K[pair] == value for pair, value in pairs.items())
            planted = [pair for pair in known if pair in true]
            missed = facts["missed"]
            said = (
                "nothing is unread"
                if missed is None
                else f"said: {missed['found']} of {missed['hidden']} in hidden rows"
            )
            print(
                f"  {name:<17} {budget:>5}  {seconds:5.1f} s (goal < 60)  "
                f"all exact: {exact}  found {len(set(pairs) & true):,} of {len(true):,}"
                f", of changed copies {len(set(planted) & set(pairs)):,} of "
                f"{len(planted):,}; {said}"
            )


def _deduplicated(titles: list[str], name: str, budget: str) -> tuple[float, dict]:  # type: ignore[type-arg]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "titles.csv"
        write_titles(path, titles)
        words = ["duplicates", str(path), "-c", "title", "-s", name, "-b", budget]
        started = time.perf_counter()
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _PROGRAM, *words, "-t", str(_THRESHOLD), "--json"],
            check=True,
            capture_output=True,
            text=True,
        )
        return time.perf_counter() - started, json.loads(done.stdout)


if __name__ == "__main__":
    run()
