"""Word mover's distance on a GPU against all cores, the same documents."""

import os
from pathlib import Path

import numpy as np

import fewpairs as fp
from benchmarks.measure import best_of, table
from benchmarks.wmd import posts, recipes, tweets
from fewpairs.similarity.wmd.word_vectors import word_vectors

RUNS = 3
# Rows of a block on the cores, and of one on the GPU, so that it is busy for a while.
CORPORA = {
    "tweets": (tweets, 100, 1_500),
    "recipes": (recipes, 50, 2_000),
    "20news": (posts, 20, 800),
}


def run() -> None:
    """Print the ratios, or why there are none."""
    folder = os.environ.get("FEWPAIRS_DATA")
    if not folder:
        print(
            "\nWMD, GPU: skipped, FEWPAIRS_DATA does not name the folder of data sets"
        )
        return
    data = Path(folder)
    vectors = word_vectors(data / "glove" / "vectors.npy")
    try:
        fp.WMD(vectors, device="cuda")
    except fp.FewpairsError as error:
        print(f"\nWMD, GPU: skipped ({error})")
        return
    rows = []
    for name, (load, few, many) in CORPORA.items():
        texts = load(data)
        cores = fp.WMD(vectors, empty="zero").bind(texts)
        gpu = fp.WMD(vectors, empty="zero", device="cuda").bind(texts)
        kept = np.random.default_rng(7).permutation(np.flatnonzero(~cores._empty))
        far = np.abs(
            gpu.distances(kept[:20], kept) - cores.distances(kept[:20], kept)
        ).max()
        pairs = kept[:few], kept
        more = kept[:many], kept
        slow, fast = best_of(
            RUNS,
            lambda b=cores, p=pairs: b.distances(*p),
            lambda b=gpu, p=more: b.distances(*p),
        )
        rate = many * len(kept) / fast
        rows += [
            (
                f"{name}: pairs a second, GPU / all cores",
                rate * slow / (few * len(kept)),
                "—",
            ),
            (f"{name}: million pairs a second on the GPU", rate / 1e6, "—"),
            (f"{name}: largest difference of distances", far, "≤ 1e-6"),
        ]
    table(f"WMD on a GPU, against {os.cpu_count()} cores", rows)
