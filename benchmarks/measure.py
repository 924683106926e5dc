"""Measuring: interleaved, best of several, in one run."""

import time
import tracemalloc
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


def peak_memory(function: Callable[[], object]) -> int:
    """Return the bytes of arrays and objects that a call holds at its peak.

    What BLAS keeps as work space (some 15 MB per thread, once per process) is not seen.
    """
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def table(title: str, rows: Sequence[tuple[str, float, str]]) -> None:
    """Print rows of what, ratio and goal."""
    print(f"\n{title}")
    for what, ratio, goal in rows:
        shown = f"{ratio:.1e}" if 0 < abs(ratio) < 1e-3 else f"{ratio:.2f}"
        print(f"  {what:<64} {shown:>8}   goal {goal}")
