"""Measuring: interleaved, best of several, in one run."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence

__all__ = ["best_of", "peak_memory", "table"]


def best_of(runs: int, *functions: Callable[[], object]) -> list[float]:
    """Return the least seconds of each function; runs alternate between them."""
    best = [float("inf")] * len(functions)
    for _ in range(runs):
        for t, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[t] = min(best[t], time.perf_counter() - start)
    return best


def peak_memory(code: str) -> int:
    """Return the bytes by which the second half of a program raises its memory.

    ``code`` runs in a process of its own and calls ``mark()`` when its inputs stand;
    the peak is counted from there. Linux only.
    """
    program = (
        "from pathlib import Path\n"
        "def memory(name):\n"
        "    lines = Path('/proc/self/status').read_text().splitlines()\n"
        "    return [int(l.split()[1]) for l in lines if l.startswith(name)][0]\n"
        "def mark():\n"
        "    Path('/proc/self/clear_refs').write_text('5')  # resets the peak\n"
        "    print(memory('VmRSS'))\n"
        f"{code}\nprint(memory('VmHWM'))\n"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    before, after = map(int, done.stdout.split())
    return 1024 * (after - before)


def table(title: str, rows: Sequence[tuple[str, float, str]]) -> None:
    """Print rows of what, ratio and goal."""
    print(f"\n{title}")
    for what, ratio, goal in rows:
        print(f"  {what:<64} {ratio:>8.2f}   goal {goal}")
