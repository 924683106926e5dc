"""Word mover's distance against POT, on the same pairs, everything included.

"1 core" is one thread, BLAS too. "Plain arithmetic" is what two threads of nothing but
multiplications reach on the machine in the same minutes: no more can be asked of WMD.
"""

import json
import os
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.measure import best_of, table
from fewpairs.similarity.wmd.word_vectors import word_vectors

RUNS = 7
EXACT = (100, 200)  # documents whose distances are all compared with POT


def tweets(data: Path) -> list[str]:
    """Return all tweets."""
    lines = (data / "twitter" / "twitter.txt").read_text(encoding="utf-8").splitlines()
    return [line.split("\t", 1)[1] for line in lines]


def recipes(data: Path) -> list[str]:
    """Return the ingredients of 4,000 recipes."""
    with zipfile.ZipFile(data / "recipe" / "train.json.zip") as file:
        listed = json.loads(file.read(file.namelist()[0]))
    return [" ".join(recipe["ingredients"]) for recipe in listed[:4_000]]


def posts(data: Path) -> list[list[str]]:
    """Return the first 210 words of every 18th post of 20 Newsgroups, no headers."""
    out: list[list[str]] = []
    with tarfile.open(data / "20news" / "20news-bydate.tar.xz") as file:
        for member in [m for m in file if m.isfile()][::18]:
            text = file.extractfile(member).read().decode("latin-1")  # type: ignore[union-attr]
            body = text.partition("\n\n")[2]
            out.append(fp.similarity.wmd.split_words(body)[:210])
    return out


CORPORA: dict[str, tuple[Callable[[Path], list[Any]], tuple[int, int], str]] = {
    "tweets": (tweets, (16, 400), "≥ 25"),
    "recipes": (recipes, (14, 400), "≥ 12"),
    "20news": (posts, (10, 250), "≥ 4"),
}


def run() -> None:
    """Print the ratios, or why there are none."""
    folder = os.environ.get("FEWPAIRS_DATA")
    if not folder:
        print("\nWMD: skipped, FEWPAIRS_DATA does not name the folder of data sets")
        return
    try:
        import ot
    except ImportError:
        print('\nWMD: skipped, POT is not installed (pip install "fewpairs[test]")')
        return
    data = Path(folder)
    vectors = word_vectors(data / "glove" / "vectors.npy")
    rows = []
    for name, (load, shape, goal) in CORPORA.items():
        rows += _corpus(name, load(data), vectors, shape, goal, ot)
    table("WMD block, 1 core, everything included", rows)


def _ceiling() -> float:
    """Return what plain arithmetic gains from a second thread right now."""
    from fewpairs.kernels.linalg.blas_threads import spread

    steps = [20_000_000] * 2
    _multiply(1)
    single, double = best_of(
        RUNS, lambda: spread(_multiply, steps, 1), lambda: spread(_multiply, steps, 2)
    )
    return single / double


@njit(nogil=True)  # type: ignore[misc,unused-ignore]
def _multiply(steps: int) -> float:
    x = 1.0
    for _ in range(steps):
        x = x * 1.0000001 + 1e-9
    return x


def _corpus(  # noqa: PLR0917
    name: str,
    texts: list[Any],
    vectors: Any,
    shape: tuple[int, int],
    goal: str,
    ot: Any,
) -> list[tuple[str, float, str]]:
    one = fp.WMD(vectors, empty="zero", threads=1, stop_words=()).bind(texts)
    two = fp.WMD(vectors, empty="zero", threads=2).bind(texts)
    rng = np.random.default_rng(7)
    kept = rng.permutation(np.flatnonzero(~one._empty))
    ours, theirs = kept[: shape[0]], kept[shape[0] : sum(shape)]
    pairs = [(i, j) for i in ours for j in theirs]
    documents = {d: _bag(one, d) for d in {*ours, *theirs}}
    few = pairs[:: max(1, len(pairs) // 400)]  # POT is slow: the same pairs, fewer

    def pot(solve: Callable[..., float]) -> Callable[[], object]:
        def loop() -> list[float]:
            return [_pot(solve, *documents[i], *documents[j]) for i, j in few]

        return loop

    solve = ot.lp.emd_c if hasattr(ot.lp, "emd_c") else ot.lp.emd_wrap.emd_c
    seconds = best_of(
        RUNS,
        lambda: one.distances(ours, theirs),
        pot(ot.emd2),
        pot(lambda a, b, M: solve(a, b, M, 10**6, 1)[1]),
    )
    each = [seconds[0] / len(pairs), seconds[1] / len(few), seconds[2] / len(few)]
    wide = kept[: 4 * shape[0]]
    single, double = best_of(
        RUNS, lambda: one.distances(wide, theirs), lambda: two.distances(wide, theirs)
    )
    words = np.diff(one._corpus.bags.start)[kept].mean()
    print(
        f"  {name}: {words:.0f} words, {1e6 * each[0]:.1f} µs a pair", file=sys.stderr
    )
    return [
        (f"{name}: a loop over ot.emd2 / fewpairs", each[1] / each[0], goal),
        (f"{name}: POT's C core / fewpairs", each[2] / each[0], "≥ 3.5"),
        (f"{name}: 1 core / 2 cores", single / double, "≥ 1.8"),
        ("    plain arithmetic at the same time", _ceiling(), "none"),
        (f"{name}: largest relative deviation", _deviation(two, kept, ot), "≤ 1e-9"),
    ]


def _deviation(scorer: Any, kept: NDArray[Any], ot: Any) -> float:
    """Return the largest relative deviation from POT on 20,000 pairs."""
    rows, columns = kept[: EXACT[0]], kept[EXACT[0] : sum(EXACT)]
    documents = {d: _bag(scorer, d) for d in {*rows, *columns}}
    theirs = np.array(
        [[_pot(ot.emd2, *documents[i], *documents[j]) for j in columns] for i in rows]
    )
    ours = scorer.distances(rows, columns)
    return float(np.max(np.abs(ours - theirs) / np.maximum(theirs, 1e-12)))


def _bag(scorer: Any, d: int) -> tuple[NDArray[Any], NDArray[Any]]:
    vectors, _, bags, _ = scorer._corpus
    part = slice(bags.start[d], bags.start[d + 1])
    return vectors[bags.word[part]], bags.mass[part]


def _pot(
    solve: Callable[..., float],
    x: NDArray[Any],
    a: NDArray[Any],
    y: NDArray[Any],
    b: NDArray[Any],
) -> float:
    from scipy.spatial.distance import cdist

    return solve(a, b, cdist(x, y))


if __name__ == "__main__":
    run()
