"""A cross-encoder on blocks of STS-B sentences, against sentence-transformers.

Theirs is ``CrossEncoder.predict`` on the same pairs and device, at its best batch size:
on a CPU in float32, on a GPU in the same half precision as ours. Ours starts from bound
texts, as in every run: texts are tokenized once, and blocks are read many times.
"""

import argparse
import importlib.util
import logging
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fewpairs as fp
from benchmarks import fp8, reranker_speed
from benchmarks.measure import best_of, table

RUNS = 3
CPU_BATCHES, GPU_BATCHES = (32, 64), (128, 512, 2_048)


def run(arguments: Sequence[str] = ()) -> None:
    """Print the ratios, or why there are none."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks cross_encoder", description=__doc__
    )
    parser.add_argument("--part", choices=("fp8",), help="everything unless given")
    title = "cross-encoder, STS-B dev sentences"
    if parser.parse_args(arguments).part == "fp8":
        _fp8()
        return
    reason = why_not()
    if reason:
        print(f"\n{title}\n  skipped: {reason}")
        return
    import torch

    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    if torch.cuda.is_available():
        mine, _, theirs = _measure("cuda:0", 3_000, 40, GPU_BATCHES)
        rows = [
            ("GPU, 3000 × 40 block: predict / ours", theirs / mine, "≥ 30"),
            ("GPU, thousand pairs a second", 120 / mine, "≥ 400"),
            *_profile(),
        ]
    else:
        mine, small, theirs = _measure("cpu", 500, 20, CPU_BATCHES)
        largest, usual = _int8_deviation()
        rows = [
            ("CPU, 500 × 20 block: predict / ours", theirs / mine, "≥ 2"),
            ("    ours, pairs a second", 10_000 / mine, "none"),
            ("    predict / ours with dtype='int8'", theirs / small, "none"),
            ("    its largest deviation from float32, ‰", 1_000 * largest, "none"),
            ("    its root mean square, ‰", 1_000 * usual, "none"),
        ]
    table(f"{title}, best of {RUNS}", rows)
    lengths = tokens_of(sentences())
    if torch.cuda.is_available():
        reranker_speed.gpu(lengths)
        _fp8()
    else:
        print("  GPU, 3000 × 40 block: skipped, torch sees no GPU")
        reranker_speed.cpu(lengths)


def _fp8() -> None:
    """Print 8-bit products beside 16 bits, with what data there is."""
    if (
        not (models() / "stsb-cross-encoder").is_dir()
        or "FEWPAIRS_DATA" not in os.environ
    ):
        fp8.run(None, None, None)
        return
    texts = sentences()
    fp8.run(tokens_of(texts), str(models() / "stsb-cross-encoder"), texts)


def _profile() -> list[tuple[str, float, str]]:
    """Return what the card does while a block is scored."""
    texts = np.random.default_rng(0).permutation(sentences()).tolist()
    scorer, _ = both("cuda:0", texts)
    a, b = np.arange(3_000) % len(texts), -1 - np.arange(40) + len(texts)
    return reranker_speed.profile(lambda: scorer.block(a, b))


def _measure(
    device: str, rows: int, columns: int, sizes: tuple[int, ...]
) -> tuple[float, float, float]:
    """Return the seconds of ours, of ours in int8 (on a CPU), and of predict."""
    texts = np.random.default_rng(0).permutation(sentences())
    # Where there are too few sentences, rows and columns share some of them.
    a, b = np.arange(rows) % len(texts), -1 - np.arange(columns) + len(texts)
    scorer, theirs = both(device, texts.tolist())
    small = _int8(texts.tolist()) if device == "cpu" else scorer
    pairs = [(str(texts[i]), str(texts[j])) for i in a for j in b]
    check = np.abs(
        scorer.block(a[:20], b).ravel() - theirs.predict(pairs[: 20 * columns])
    )
    limit = 1e-5 if device == "cpu" else 2e-2
    assert check.max() < limit, f"they differ by {check.max()}"
    # Of a GPU's block predict gets a tenth, every tenth pair.
    share = 1 if device == "cpu" else 10
    functions: list[Any] = [lambda: scorer.block(a, b), lambda: small.block(a, b)]
    functions += [
        lambda size=size: theirs.predict(pairs[::share], batch_size=size)
        for size in sizes
    ]
    mine, mine_small, *others = best_of(RUNS, *functions)
    return mine, mine_small, share * min(others)


def _int8(texts: list[str]) -> Any:
    folder = str(models() / "stsb-cross-encoder")
    return fp.CrossEncoder(folder, device="cpu", dtype="int8").bind(texts)


def _int8_deviation() -> tuple[float, float]:
    """Return the largest and the root mean square deviation of int8, of 1,000 pairs."""
    texts = np.random.default_rng(0).permutation(sentences()).tolist()
    a, b = np.arange(50), -1 - np.arange(20) + len(texts)
    exact, _ = both("cpu", texts)
    error = _int8(texts).block(a, b) - exact.block(a, b)
    return float(np.abs(error).max()), float(np.sqrt((error**2).mean()))


def both(device: str, texts: list[str]) -> tuple[Any, Any]:
    """Return our scorer of these texts, and the encoder of sentence-transformers."""
    import torch
    from sentence_transformers import CrossEncoder

    folder = str(models() / "stsb-cross-encoder")
    ours = fp.CrossEncoder(folder, device=device)
    dtype = getattr(torch, ours.dtype)
    theirs = CrossEncoder(folder, device=device, model_kwargs={"dtype": dtype})
    return ours.bind(texts), theirs


def tokens_of(texts: list[str]) -> list[int]:
    """Return how many tokens the model makes of each text."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(models() / "stsb-cross-encoder")
    return [len(ids) for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]]


def sentences() -> list[str]:
    """Return the sentences of STS-B's development set, each once."""
    file = Path(os.environ["FEWPAIRS_DATA"]) / "stsb" / "sts-dev.csv"
    lines = file.read_text("utf-8").rstrip("\n").split("\n")
    return list(dict.fromkeys(t for line in lines for t in line.split("\t")[5:7]))


def models() -> Path:
    """Return the folder of models."""
    beside = Path(os.environ.get("FEWPAIRS_DATA", ".")).resolve().parent / "models"
    return Path(os.environ.get("FEWPAIRS_MODELS", beside))


def why_not() -> str | None:
    """Return what this benchmark lacks, or nothing."""
    for library in ("torch", "sentence_transformers"):
        if importlib.util.find_spec(library) is None:
            return f'needs {library}, pip install "fewpairs[torch]"'
    if not os.environ.get("FEWPAIRS_DATA"):
        return "set FEWPAIRS_DATA to the folder of data sets"
    if not (models() / "stsb-cross-encoder").is_dir():
        return "set FEWPAIRS_MODELS to the folder that has stsb-cross-encoder"
    return None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run()
