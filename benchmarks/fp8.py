"""8-bit floating point beside 16 bits, on a GPU that multiplies it.

Weights are random and of real shapes, but for the one real model, which says how far
scores are put off. By `python -m benchmarks cross_encoder --part fp8`.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fewpairs as fp
from benchmarks import random_models
from benchmarks.measure import best_of, table

RUNS = 3
ROWS = 1 << 16  # tokens of a batch
DTYPES = ("float16", "bfloat16", "fp8")
SAMPLE = 400, 50  # rows and columns of the block whose scores are compared
LENGTHS = np.random.default_rng(0).integers(
    6, 25, size=1_040
)  # where there is no STS-B

Row = tuple[str, float, str]


def run(lengths: list[int] | None, real: str | None, texts: list[str] | None) -> None:
    """Print all tables; ``real`` is the folder of a model, for pairs of ``texts``."""
    import torch

    if not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 9):
        print("  fp8: skipped, needs a GPU of compute capability 8.9 or above")
        return
    some = LENGTHS if lengths is None else np.array(lengths)
    products()
    with tempfile.TemporaryDirectory() as folder:
        rows: list[Row] = []
        for shape, count in (("MiniLM-L6", 40), ("base", 128), ("large", 48)):
            rows += _encoder(Path(folder) / shape, shape, count, some)
        table(f"encoders, random weights, best of {RUNS}", rows)
        for name, layers, width in (("0.6B's", 28, 1_024), ("4B's", 8, 2_560)):
            path = random_models.save_qwen3(
                Path(folder) / f"qwen3-{width}", layers=layers, width=width
            )
            title = f"Qwen3-{name} shape, {layers} layers, 16 × 64 documents"
            table(title, _causal(path, some))
    if real is not None and texts is not None:
        table("the cross-encoder of STS-B, against float32", _real(real, texts))


def products() -> None:
    """Print the rates of products as encoders have them, and what quantizing takes."""
    import torch

    from fewpairs.kernels.encoder import eight_bits

    rows: list[Row] = []
    for width, out in (
        (384, 1_536),
        (768, 3_072),
        (1_024, 3_072),
        (1_024, 4_096),
        (4_096, 1_024),
    ):
        x = torch.randn(ROWS, width, device="cuda", dtype=torch.bfloat16)
        w = torch.randn(out, width, device="cuda", dtype=torch.bfloat16)
        (a, a_scales), (b, b_scales) = eight_bits.quantize(x), eight_bits.quantize(w)
        one = torch.ones((), device="cuda")
        half, whole = x.half(), w.half()

        def scaled(
            left: Any, right: Any, a: Any = a, b: Any = b, *, fast: bool = True
        ) -> Callable[[], Any]:
            return lambda: torch._scaled_mm(
                a,
                b.t(),
                scale_a=left,
                scale_b=right,
                out_dtype=torch.bfloat16,
                use_fast_accum=fast,
            )

        columns = b_scales.t().contiguous()
        ways = {
            "float16": lambda half=half, whole=whole: torch.mm(half, whole.t()),
            "a scale per row": scaled(a_scales, columns),
            "a scale per row, exact sums": scaled(a_scales, columns, fast=False),
            "one scale": scaled(one, one),
        }
        work = 2 * ROWS * width * out
        for name, way in ways.items():
            rate = work / _seconds(way) / 1e12
            rows.append((f"{width} × {out}: {name}, TFLOP/s", rate, "none"))
        took = 1e6 * _seconds(lambda x=x: eight_bits.quantize(x))
        rows.append((f"    quantizing {width} columns, µs", took, "none"))
        wide = torch.randn(ROWS, out, device="cuda", dtype=torch.bfloat16)
        took = 1e6 * _seconds(lambda x=wide: eight_bits.quantize(x, gelu=True))
        rows.append((f"    GELU and quantizing {out} columns, µs", took, "none"))
    table(f"products of {ROWS:,} rows", rows)


def _seconds(function: Callable[[], Any], times: int = 20) -> float:
    """Return the seconds of a call, of the best of several runs of many."""
    import torch

    def many() -> None:
        for _ in range(times):
            function()
        torch.cuda.synchronize()

    many()
    return best_of(RUNS, many)[0] / times


def _encoder(folder: Path, shape: str, count: int, lengths: Any) -> list[Row]:
    """Return the speed of an encoder in each precision."""
    layers, width, *_ = random_models.SHAPES[shape]
    small = shape == "MiniLM-L6"
    family, length = ("bert", 256) if small else ("xlm-roberta", 512)
    path = random_models.save_classifier(folder, family, shape, length=length)
    texts = random_models.texts(lengths[:1_000] if small else np.full(256, 62))
    a, b = np.arange(len(texts)), np.arange(count)
    tokens = "STS-B's lengths" if small else "128 tokens"
    name = f"{layers} layers of {width}, {tokens}"
    scorers = {
        dtype: fp.CrossEncoder(path, device="cuda:0", dtype=dtype).bind(texts)
        for dtype in DTYPES
    }
    return _compared(name, scorers, lambda scorer: scorer.block(a, b))


def _causal(path: str, lengths: Any) -> list[Row]:
    i, j = np.repeat(np.arange(16), 64), 16 + np.arange(1_024)
    rows: list[Row] = []
    kinds = ("bfloat16", "fp8")
    models = {
        dtype: fp.CausalReranker(path, device="cuda:0", dtype=dtype) for dtype in kinds
    }
    for name, some in (
        ("documents as STS-B's sentences", np.resize(lengths, 1_024)),
        ("documents of 128 tokens", np.full(1_024, 128)),
    ):
        texts = random_models.texts(np.concatenate([lengths[-16:], some]))
        scorers = {dtype: model.bind(texts) for dtype, model in models.items()}
        rows += _compared(name, scorers, lambda scorer: scorer.pairs(i, j))
    return rows


def _compared(name: str, scorers: Any, score: Callable[[Any], Any]) -> list[Row]:
    """Return the speed of all scorers, by turns."""
    for scorer in scorers.values():
        scorer.prepare(len)  # tells nobody
        values = score(scorer)
    seconds = best_of(RUNS, *(lambda s=scorer: score(s) for scorer in scorers.values()))
    took = dict(zip(scorers, seconds, strict=True))
    best = min(took[dtype] for dtype in took if dtype != "fp8")
    deviation = scorers["fp8"].deviation
    return [
        (f"{name}: fp8 over the best of 16 bits", best / took["fp8"], "> 1"),
        *(
            (f"    {dtype}, thousand pairs a second", values.size / s / 1e3, "none")
            for dtype, s in took.items()
        ),
        ("    fp8, mean deviation as told, ‰", 1e3 * deviation.mean, "none"),
        ("    fp8, largest deviation as told, ‰", 1e3 * deviation.largest, "none"),
    ]


def _real(folder: str, texts: list[str]) -> list[Row]:
    """Return how far scores of a trained model are from those in float32."""
    texts = np.random.default_rng(0).permutation(texts).tolist()
    a = np.arange(SAMPLE[0])
    b = SAMPLE[0] + np.arange(SAMPLE[1])
    blocks, rows, told = {}, [], None
    for dtype in ("float32", *DTYPES):
        scorer = fp.CrossEncoder(folder, device="cuda:0", dtype=dtype).bind(texts)
        blocks[dtype] = scorer.block(a, b)
        told = scorer.deviation or told
    for dtype in DTYPES:
        off = np.abs(blocks[dtype] - blocks["float32"])
        rows += [
            (f"{dtype}: mean deviation, ‰", 1e3 * float(off.mean()), "none"),
            (f"    {dtype}: largest deviation, ‰", 1e3 * float(off.max()), "none"),
        ]
        both = np.stack([blocks[dtype].ravel(), blocks["float32"].ravel()])
        share = float(np.corrcoef(both)[0, 1])
        rows.append((f"    {dtype}: correlation", share, "none"))
    assert told is not None
    return [
        *rows,
        ("fp8: mean deviation as told of 128 pairs, ‰", 1e3 * told.mean, "none"),
        ("    largest as told, ‰", 1e3 * told.largest, "none"),
    ]
