"""PairMLP on a block of mention pairs, against a plain forward in torch.

The plain way concatenates [a; b; a∘b] for every pair and runs the network on it, in
float32 on the same cores: the whole block at once, as one writes it, and in batches
(the best of three sizes). Splitting the first layer saves two thirds of its
multiplications, and ours spends nearly all its time in the rest of them: against the
best batches about 3 is what float32 arithmetic allows.
"""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

import fewpairs as fp
from benchmarks.measure import best_of, table

SIDE, HIDDEN, RUNS = 300, 1_024, 3
WIDTHS = (1_024, 2_308)
BATCHES = (1_024, 4_096, 16_384)


def run() -> None:
    """Print the ratios."""
    title = f"PairMLP, {SIDE} × {SIDE} block, hidden {HIDDEN:,}, best of {RUNS}"
    if importlib.util.find_spec("torch") is None:
        print(f'\n{title}\n  skipped: needs torch, pip install "fewpairs[torch]"')
        return
    rows = []
    for width in WIDTHS:
        ours, plain = _sides(width)
        difference = np.abs(ours() - plain(BATCHES[0])()).max()
        assert difference < 1e-4, f"they differ by {difference}"
        sizes = (SIDE * SIDE, *BATCHES)
        mine, whole, *batches = best_of(RUNS, ours, *(plain(size) for size in sizes))
        for how, theirs in (("whole block", whole), ("best batches", min(batches))):
            what = f"d = {width:,}: plain torch forward, {how} / PairMLP.block"
            rows.append((what, theirs / mine, "≥ 5"))
    table(title, rows)


def _sides(width: int) -> tuple[Callable[[], Any], Callable[[int], Callable[[], Any]]]:
    """Return both ways to score the block."""
    import torch

    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(3 * width, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 1)
    )
    layers = [
        (layer.weight.detach().numpy(), layer.bias.detach().numpy())
        for layer in (network[0], network[2])
    ]
    X = np.random.default_rng(0).standard_normal((2 * SIDE, width), dtype=np.float32)
    scorer = fp.PairMLP(layers).bind(X)
    rows, columns = np.arange(SIDE), np.arange(SIDE, 2 * SIDE)
    vectors = torch.from_numpy(X)
    i, j = torch.from_numpy(np.stack(np.divmod(np.arange(SIDE * SIDE), SIDE)))

    def plain(batch: int) -> Callable[[], Any]:
        def forward() -> Any:
            out = []
            with torch.inference_mode():
                for start in range(0, len(i), batch):
                    a = vectors[i[start : start + batch]]
                    b = vectors[j[start : start + batch] + SIDE]
                    joined = torch.cat([a, b, a * b], dim=1)
                    out.append(torch.sigmoid(network(joined))[:, 0])
                return torch.cat(out).numpy().reshape(SIDE, SIDE)

        return forward

    return lambda: scorer.block(rows, columns), plain


if __name__ == "__main__":
    run()
