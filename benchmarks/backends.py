"""A cross-encoder on a CPU: plain torch on packed pairs, or another engine.

Ours is fewpairs' scorer on bound texts; the others are sentence-transformers'
``CrossEncoder(..., backend=...)`` on the same pairs of STS-B sentences, batch size 32
(it sorts them by length). Ten runs by turns; the gain is the median of a run's ratios.
A backend whose library is not installed is left out, with the reason:
``pip install "optimum-onnx[onnxruntime]" "optimum-intel[openvino]"``.
"""

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fewpairs as fp
from benchmarks import cross_encoder
from benchmarks.measure import table

RUNS = 10
ROWS, COLUMNS = 20, 10
FULL = {"ov_config": {"INFERENCE_PRECISION_HINT": "f32"}}  # its default is bfloat16
BACKENDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "torch": ("torch", "torch", {}),
    "onnx": ("onnx", "onnxruntime", {"export": True}),
    "openvino": ("openvino", "openvino", {"export": True} | FULL),
    "openvino, bfloat16": ("openvino", "openvino", {"export": True}),
}


def run() -> None:
    """Print how many times as long each backend takes, and how far values are off."""
    title = f"cross-encoder on a CPU, {ROWS} × {COLUMNS} STS-B sentences"
    if reason := cross_encoder.why_not():
        print(f"\n{title}\n  skipped: {reason}")
        return
    texts = np.random.default_rng(0).permutation(cross_encoder.sentences()).tolist()
    a, b = np.arange(ROWS), np.arange(ROWS, ROWS + COLUMNS)
    folder = str(cross_encoder.models() / "stsb-cross-encoder")
    scorer = fp.CrossEncoder(folder, device="cpu").bind(texts)
    pairs = [(texts[i], texts[j]) for i in a for j in b]
    sides: dict[str, Callable[[], Any]] = {"ours": lambda: scorer.block(a, b).ravel()}
    for name in BACKENDS:
        if (predict := _predict(name, folder, pairs)) is not None:
            sides[name] = predict
    exact = sides["ours"]()
    off = {name: float(np.abs(side() - exact).max()) for name, side in sides.items()}
    seconds = np.array([[_timed(side) for side in sides.values()] for _ in range(RUNS)])
    rows = [("ours, pairs per second", len(pairs) / seconds[:, 0].min(), "none")]
    for t, name in enumerate(sides):
        if t:
            ratio = float(np.median(seconds[:, t] / seconds[:, 0]))
            rows.append((f"{name} / ours, median of {RUNS}", ratio, "≥ 0.9"))
            best = seconds[:, t].min() / seconds[:, 0].min()
            rows.append((f"    {name} / ours, best of {RUNS}", best, "none"))
            deviation = f"    {name}: largest deviation from ours, ‰"
            rows.append((deviation, 1_000 * off[name], "none"))
    table(title, rows)


def _predict(name: str, folder: str, pairs: list[Any]) -> Callable[[], Any] | None:
    """Return a backend's way to score the pairs, or nothing, and print why."""
    backend, library, options = BACKENDS[name]
    if importlib.util.find_spec(library) is None:
        print(f"\n{name}: skipped, {library} is not installed")
        return None
    from sentence_transformers import CrossEncoder

    theirs = CrossEncoder(folder, device="cpu", backend=backend, model_kwargs=options)
    return lambda: theirs.predict(pairs, batch_size=32, show_progress_bar=False)


def _timed(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


if __name__ == "__main__":
    run()
