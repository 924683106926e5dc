"""What `import fewpairs` takes, beside a bare interpreter and numpy with scipy."""

import subprocess
import sys

from benchmarks.measure import best_of

PROGRAMS = {
    "python": "pass",
    "import numpy, scipy.linalg, scipy.sparse": (
        "import numpy, scipy.linalg, scipy.sparse, scipy.sparse.linalg, scipy.special"
    ),
    "import fewpairs": "import fewpairs",
}


def run() -> None:
    """Print the seconds of each program."""
    times = best_of(5, *(lambda code=code: _run(code) for code in PROGRAMS.values()))
    print("\nimport time (goal: import fewpairs within 0.45 s)")
    for name, seconds in zip(PROGRAMS, times, strict=True):
        print(f"  {name:<64} {seconds:8.2f} s")


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


if __name__ == "__main__":
    run()
