"""Rerankers of real shapes with random weights: families, rates, shared prefixes.

On a GPU the rate of an encoder is put beside that of the card's own matrix product,
measured in the same run; on a CPU each family is put beside ``predict``.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fewpairs as fp
from benchmarks import random_models
from benchmarks.measure import best_of, table

RUNS = 3
TOKENS = 128  # of a pair, of those whose rate is measured
SIZES = (128, 512)  # of predict's batches on a GPU

Row = tuple[str, float, str]


def gpu(lengths: list[int]) -> None:
    """Print the rows of a GPU; ``lengths`` are those of STS-B's sentences."""
    rate = matmul_rate()
    rows: list[Row] = [("the card's matrix product, TFLOP/s", rate / 1e12, "none")]
    with tempfile.TemporaryDirectory() as folder:
        for shape, goal in (("base", "≥ 0.45"), ("large", "≥ 0.45")):
            rows += _rates(Path(folder) / shape, shape, rate, goal)
        table(f"XLM-RoBERTa, pairs of {TOKENS} tokens, float16", rows)
        causal(Path(folder) / "qwen3", lengths)
        rows = []
        for family in random_models.FAMILIES:
            path = Path(folder) / family
            rows += _family(path, family, lengths, device="cuda:0")
        table("families, MiniLM-L6's shape, STS-B's lengths: predict / ours", rows)


def cpu(lengths: list[int]) -> None:
    """Print the rows of a CPU."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for family in random_models.FAMILIES:
            path = Path(folder) / family
            rows += _family(path, family, lengths, device="cpu")
    table("families on a CPU, 4 layers of 256, STS-B's lengths: predict / ours", rows)


def matmul_rate(n: int = 8_192) -> float:
    """Return operations per second of a large product in half precision."""
    import torch

    a, b = torch.randn(2, n, n, device="cuda").half()

    def products() -> None:
        for _ in range(20):
            torch.mm(a, b)
        torch.cuda.synchronize()

    products()
    (seconds,) = best_of(RUNS, products)
    return 20 * 2 * n**3 / seconds


def _rates(folder: Path, shape: str, rate: float, goal: str) -> list[Row]:
    """Return the share of the card's rate that an encoder reaches."""
    layers, width, _, _ = random_models.SHAPES[shape]
    path = random_models.save_classifier(folder, "xlm-roberta", shape, length=512)
    each = (TOKENS - 4) // 2  # four tokens are special
    texts = random_models.texts(np.full(256, each))
    count = 128 if shape == "base" else 48
    a, b = np.arange(256), np.arange(count)
    scorer = fp.CrossEncoder(path, device="cuda:0").bind(texts)
    some = [(texts[i], texts[j]) for i in a for j in b[:8]]
    theirs = _predict(path, "cuda:0", some)
    scorer.block(a, b)
    mine, *others = best_of(RUNS, lambda: scorer.block(a, b), *theirs(SIZES))
    pairs = len(a) * count
    # Every layer: 12·width² weights a token, and attention to all tokens of the pair.
    work = pairs * TOKENS * layers * (24 * width**2 + 4 * TOKENS * width)
    name = f"{layers} layers of {width}"
    return [
        (f"{name}: share of the matrix product's rate", work / mine / rate, goal),
        (f"{name}: predict / ours", min(others) * count / 8 / mine, "none"),
        (f"{name}: thousand pairs a second", pairs / mine / 1e3, "none"),
    ]


def _family(folder: Path, family: str, lengths: list[int], *, device: str) -> list[Row]:
    """Return how many times as long predict takes, by turns."""
    on_cpu = device == "cpu"
    shape, size, share = (
        ("small", (20, 10), 1) if on_cpu else ("MiniLM-L6", (1_000, 40), 20)
    )
    path = random_models.save_classifier(folder, family, shape, length=256)
    texts = random_models.texts(lengths)
    a, b = np.arange(size[0]), np.arange(size[1]) + size[0]
    scorer = fp.CrossEncoder(path, device=device).bind(texts)
    pairs = [(texts[i], texts[j]) for i in a for j in b]
    # Of a GPU's block predict gets a twentieth, every so many pairs.
    theirs = _predict(path, device, pairs[::share])
    sides = [lambda: scorer.block(a, b), *theirs((32,) if on_cpu else SIZES)]
    off = np.abs(sides[0]().ravel()[::share] - sides[1]()).max()
    assert off < (1e-5 if on_cpu else 2e-2), f"{family}: they differ by {off}"
    both = np.array([[_timed(side) for side in sides] for _ in range(5)])
    times, processor = both[..., 0], both[..., 1]
    ratio = float(np.median(share * times[:, 1:].min(axis=1) / times[:, 0]))
    rows: list[Row] = [(f"{family}, {scorer.backend}", ratio, "≥ 1")]
    if on_cpu:  # where other programs hold the cores, this still says something
        work = float(np.median(processor[:, 1] / processor[:, 0]))
        rows.append((f"    {family}, in processor time", work, "≥ 1"))
    else:
        speed = len(pairs) / times[:, 0].min() / 1e3
        rows.append((f"    {family}, thousand pairs a second", speed, "none"))
    return rows


def _predict(
    path: str, device: str, pairs: list[tuple[str, str]]
) -> Callable[[tuple[int, ...]], list[Callable[[], Any]]]:
    """Return sentence-transformers' predict at several batch sizes."""
    import torch
    from sentence_transformers import CrossEncoder

    dtype = torch.float32 if device == "cpu" else torch.float16
    theirs = CrossEncoder(path, device=device, model_kwargs={"dtype": dtype})

    def at(sizes: tuple[int, ...]) -> list[Callable[[], Any]]:
        return [
            lambda size=size: theirs.predict(
                pairs, batch_size=size, show_progress_bar=False
            )
            for size in sizes
        ]

    return at


def causal(
    folder: Path, lengths: list[int], *, device: str = "cuda:0", layers: int = 28
) -> None:
    """Print shared prefixes beside the same model run prompt by prompt."""
    path = random_models.save_qwen3(folder, layers=layers)
    similarity = fp.CausalReranker(path, device=device, dtype="bfloat16")
    queries, known = np.array(lengths)[-16:], np.array(lengths)[:1_024]
    rows: list[Row] = []
    for what, some, goal in (
        ("documents as STS-B's sentences", known, "≥ 4"),
        ("documents of 128 tokens", np.full(1_024, 128), "none"),
    ):
        texts = random_models.texts(np.concatenate([queries, some]))
        rows += _shared(similarity, texts, what, goal)
    table(f"Qwen3-0.6B's shape, {layers} layers, 16 × 64 documents, bfloat16", rows)


def _shared(similarity: Any, texts: list[str], what: str, goal: str) -> list[Row]:
    """Return rows of 16 queries with 64 documents each."""
    scorer = similarity.bind(texts)
    i, j = np.repeat(np.arange(16), 64), 16 + np.arange(1_024)
    prompts = [scorer._prompts.prompt(a, b) for a, b in zip(i, j, strict=True)]
    whole = _whole(similarity, prompts)
    off = float(np.abs(scorer.pairs(i, j) - whole(256)).max())
    assert off < 3e-2, f"they differ by {off}"
    sizes = (64, 256, 512)
    seconds, *others = best_of(
        RUNS,
        lambda: scorer.pairs(i, j),
        *(lambda size=size: whole(size) for size in sizes),
    )
    return [
        (f"{what}: pair by pair / shared prefixes", min(others) / seconds, goal),
        ("    pairs a second", len(i) / seconds, "none"),
        ("    pairs a second, pair by pair", len(i) / min(others), "none"),
        ("    mean tokens of a prompt", np.mean([len(p) for p in prompts]), "none"),
        ("    largest deviation, ‰", 1e3 * off, "none"),
    ]


def _whole(similarity: Any, prompts: list[list[int]]) -> Callable[[int], Any]:
    """Return the model's own forward pass in padded batches, sorted by length."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(
        similarity.path, dtype=torch.bfloat16
    )
    device = similarity._devices[0]
    model = model.to(device).eval()
    order = np.argsort([len(prompt) for prompt in prompts])

    def run(size: int) -> Any:
        out = np.empty(len(prompts))
        for start in range(0, len(order), size):
            where = order[start : start + size]
            longest = max(len(prompts[t]) for t in where)
            ids = np.zeros((len(where), longest), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, t in enumerate(where):  # padded on the left
                ids[row, longest - len(prompts[t]) :] = prompts[t]
                mask[row, longest - len(prompts[t]) :] = 1
            with torch.inference_mode():
                logits = model(
                    input_ids=torch.from_numpy(ids).to(device),
                    attention_mask=torch.from_numpy(mask).to(device),
                    logits_to_keep=1,
                    use_cache=False,
                ).logits[:, -1, similarity._tokens]
                out[where] = logits.float().softmax(1)[:, 1].cpu().numpy()
        return out

    return run


def profile(function: Callable[[], Any]) -> list[Row]:
    """Return how busy the card is, and how many kernels are launched."""
    import torch
    from torch.profiler import ProfilerActivity

    function()
    with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as found:
        function()
        torch.cuda.synchronize()
    spans = [e for e in found.key_averages() if str(e.device_type).endswith("CUDA")]
    busy = sum(e.self_device_time_total for e in spans) / 1e6
    (wall,) = best_of(RUNS, function)
    most = sorted(spans, key=lambda e: -e.self_device_time_total)[:10]
    for e in most:
        share = e.self_device_time_total / 1e4 / busy
        print(f"    {share:5.1f}% {e.count:6d} × {e.key[:80]}")
    return [
        ("    share of the time in which kernels run", busy / wall, "none"),
        ("    kernels launched", float(sum(e.count for e in spans)), "none"),
    ]


def _timed(function: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds that a call takes, and those of all processors."""
    start, used = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - start, time.process_time() - used


if __name__ == "__main__":  # the families on a CPU alone
    from benchmarks.cross_encoder import sentences, tokens_of

    cpu(tokens_of(sentences()))
