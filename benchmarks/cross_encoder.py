"""A cross-encoder on blocks of STS-B sentences, against sentence-transformers.

Theirs is ``CrossEncoder.predict`` on the same pairs and device, at its best batch size:
on a CPU in float32, on a GPU in the same half precision as ours. Ours starts from bound
texts, as in every run: texts are tokenized once, and blocks are read many times.
"""

import importlib.util
import logging
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import fewpairs as fp
from benchmarks.measure import best_of, table

RUNS = 2
CPU_BATCHES, GPU_BATCHES = (32, 64), (32, 128, 512, 2_048)


def run() -> None:
    """Print the ratios, or why there are none."""
    title = "cross-encoder, STS-B dev sentences"
    reason = why_not()
    if reason:
        print(f"\n{title}\n  skipped: {reason}")
        return
    import torch

    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    ratio, speed = _measure("cpu", 500, 20, CPU_BATCHES)
    small, speed_small, deviation = _int8()
    rows = [
        (f"CPU, 500 × 20 block, {speed:,.0f} pairs/s: predict / ours", ratio, "≥ 2"),
        (f"    dtype='int8', 50 × 20, {speed_small:,.0f} pairs/s", small, "none"),
        ("    its largest deviation from float32", deviation, "none"),
    ]
    table(f"{title}, best of {RUNS}", rows)
    if not torch.cuda.is_available():
        print("  GPU, 3000 × 40 block: skipped, torch sees no GPU")
        return
    ratio, speed = _measure("cuda:0", 3_000, 40, GPU_BATCHES)
    rows = [
        ("GPU, 3000 × 40 block: predict / ours", ratio, "≥ 30"),
        ("GPU, thousand pairs a second", speed / 1_000, "≥ 300"),
    ]
    table(f"{title}, best of {RUNS}", rows)


def _measure(
    device: str, rows: int, columns: int, sizes: tuple[int, ...]
) -> tuple[float, float]:
    """Return how many times as fast ours is, and its pairs a second."""
    texts = np.random.default_rng(0).permutation(_sentences())
    # Where there are too few sentences, rows and columns share some of them.
    a, b = np.arange(rows) % len(texts), -1 - np.arange(columns) + len(texts)
    scorer, theirs = both(device, texts.tolist())
    pairs = [(str(texts[i]), str(texts[j])) for i in a for j in b]
    check = np.abs(
        scorer.block(a[:20], b).ravel() - theirs.predict(pairs[: 20 * columns])
    )
    limit = 1e-5 if device == "cpu" else 2e-2
    assert check.max() < limit, f"they differ by {check.max()}"
    functions: list[Any] = [lambda: scorer.block(a, b)]
    functions += [
        lambda size=size: theirs.predict(pairs, batch_size=size) for size in sizes
    ]
    mine, *others = best_of(RUNS, *functions)
    return min(others) / mine, rows * columns / mine


def _int8() -> tuple[float, float, float]:
    """Return the same of the int8 option on a part of the block, and its deviation."""
    texts = np.random.default_rng(0).permutation(_sentences()).tolist()
    a, b = np.arange(50), -1 - np.arange(20) + len(texts)
    exact, theirs = both("cpu", texts)
    ours = fp.CrossEncoder(exact._similarity.path, device="cpu", dtype="int8")
    scorer = ours.bind(texts)
    pairs = [(texts[i], texts[j]) for i in a for j in b]
    mine, other = best_of(
        RUNS, lambda: scorer.block(a, b), lambda: theirs.predict(pairs)
    )
    deviation = np.abs(scorer.block(a, b) - exact.block(a, b)).max()
    return other / mine, len(pairs) / mine, float(deviation)


def both(device: str, texts: list[str]) -> tuple[Any, Any]:
    """Return our scorer of these texts, and the encoder of sentence-transformers."""
    import torch
    from sentence_transformers import CrossEncoder

    folder = str(_models() / "stsb-cross-encoder")
    ours = fp.CrossEncoder(folder, device=device)
    dtype = getattr(torch, ours.dtype)
    theirs = CrossEncoder(folder, device=device, model_kwargs={"dtype": dtype})
    return ours.bind(texts), theirs


def _sentences() -> list[str]:
    file = Path(os.environ["FEWPAIRS_DATA"]) / "stsb" / "sts-dev.csv"
    lines = file.read_text("utf-8").rstrip("\n").split("\n")
    return list(dict.fromkeys(t for line in lines for t in line.split("\t")[5:7]))


def _models() -> Path:
    beside = Path(os.environ.get("FEWPAIRS_DATA", ".")).resolve().parent / "models"
    return Path(os.environ.get("FEWPAIRS_MODELS", beside))


def why_not() -> str | None:
    """Return what this benchmark lacks, or nothing."""
    for library in ("torch", "sentence_transformers"):
        if importlib.util.find_spec(library) is None:
            return f'needs {library}, pip install "fewpairs[torch]"'
    if not os.environ.get("FEWPAIRS_DATA"):
        return "set FEWPAIRS_DATA to the folder of data sets"
    if not (_models() / "stsb-cross-encoder").is_dir():
        return "set FEWPAIRS_MODELS to the folder that has stsb-cross-encoder"
    return None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run()
