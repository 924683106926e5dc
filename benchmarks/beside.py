"""Two checkouts side by side: `python -m benchmarks beside OLD overhead tiny`.

Each benchmark runs in a process of its own, in the other checkout and in this one by
turns, with that checkout's `src` on the path. Of every figure the best of all rounds
is kept, for both: the least, or the most where the goal is at least something.
`--rounds` says how many; `--runs` replaces a benchmark's own number of runs within a
round.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
FIGURE = re.compile(r"^  +(\S.*?) {2,}(-?[\d.]+(?:e-?\d+)?)(?: s|   goal (.*))?$")


def run(options: Sequence[str] = ()) -> None:
    """Print the figures of both checkouts."""
    asked = _options(options)
    best: dict[str, list[float | None]] = {}
    with tempfile.TemporaryDirectory() as compiled:
        for _ in range(asked.rounds):
            for name in asked.names:
                for side, checkout in enumerate((asked.checkout, HERE)):
                    text = _run(checkout, name, asked.runs, compiled)
                    for what, figure, better in _figures(text):
                        both = best.setdefault(f"{name}: {what}", [None, None])
                        known = both[side]
                        both[side] = figure if known is None else better(known, figure)
    title = f"the best of {asked.rounds} rounds, by turns"
    print(f"\n{title:<78}{'before':>9}{'now':>9}")
    for what, both in best.items():
        shown = ("–" if figure is None else f"{figure:.3g}" for figure in both)
        print(f"  {what:<76.76}{''.join(f'{figure:>9}' for figure in shown)}")


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks beside")
    parser.add_argument("checkout", type=Path, help="the folder of the other checkout")
    parser.add_argument("names", nargs="+", help="benchmarks that both have")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, help="instead of the benchmark's own RUNS")
    return parser.parse_args(options)


def _run(checkout: Path, name: str, runs: int | None, compiled: str) -> str:
    """Return what a benchmark of a checkout prints.

    Bytecode is kept, as an installed package's is: a checkout on a read-only or
    uncached path would otherwise be compiled at every import.
    """
    setting = "" if runs is None else f"b.RUNS = {runs}; "
    code = f"import benchmarks.{name} as b; {setting}b.run()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])}
    environment |= {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        cwd=checkout,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout


def _figures(text: str) -> Iterator[tuple[str, float, Callable[..., float]]]:
    """Yield what, figure and which of two is better, from the printed tables."""
    seconds, group = None, ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if "seconds" in cells:
            seconds = cells.index("seconds")
        elif seconds is not None and line[:1] == "|" and cells[seconds][:1].isdigit():
            yield f"{' '.join(cells[:3])}, seconds", float(cells[seconds]), min
        elif found := FIGURE.match(line):
            if line[2] != " ":
                group = found[1].partition(":")[0]
            what = found[1] if line[2] != " " else f"{group}, {found[1]}"
            yield what, float(found[2]), max if (found[3] or "")[:1] == "≥" else min
