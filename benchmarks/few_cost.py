"""What the default without training computes, with few evaluations per item.

Seconds of `approximate` less those of evaluating, and of `neighbors(10)`, of 3,000 and
of 20,000 made-up items: effects, hidden vectors, noise of the pairs, and a noisy view
of the vectors as the prior. By the clock, and of all cores together. Beside an older
checkout: copy this file to its `benchmarks`, and
`python -m benchmarks beside OLD few_cost`.
"""

import time

import numpy as np

import fewpairs as fp
from benchmarks.measure import table

SIZES = {3_000: (10, 20, 50, 100), 20_000: (10, 30, 100)}  # and pairs per item
RUNS = 3


def run() -> None:
    """Print the seconds, the best of several runs."""
    rows = []
    for n, budgets in SIZES.items():
        rng = np.random.default_rng(0)
        hidden = rng.standard_normal((n, 24), dtype=np.float32)
        effects = rng.standard_normal(n, dtype=np.float32)
        noise = rng.standard_normal((n, 64), dtype=np.float32)
        view = rng.standard_normal((24, 64), dtype=np.float32)
        prior = hidden @ view + 4 * noise
        K = np.maximum(hidden @ hidden.T / 8, 0) ** 2
        K += effects[:, None] + effects
        K += rng.standard_normal(K.shape, dtype=np.float32) / 4
        K += K.T.copy()
        similarity = fp.from_matrix(K, symmetric=True)
        for per_item in budgets:
            found = [
                _seconds(similarity, prior, per_item * n // 2) for _ in range(RUNS)
            ]
            clock, processor = (min(part) for part in zip(*found, strict=True))
            said = f"{n:,} items, {per_item} per item: seconds"
            rows += [(said, clock, "none"), (f"{said} of all cores", processor, "none")]
    table("the default without training, outside the similarity", rows)


def _seconds(
    similarity: fp.Similarity, prior: np.ndarray, budget: int
) -> tuple[float, float]:
    """Return seconds by the clock, and of all cores."""
    clock, processor = time.perf_counter(), time.process_time()
    method = fp.Auto(student=False)
    approx = fp.approximate(None, similarity, method=method, budget=budget, prior=prior)
    approx.neighbors(10)
    evaluating = approx.bill.evaluating
    return (
        time.perf_counter() - clock - evaluating,
        time.process_time() - processor - evaluating,
    )


if __name__ == "__main__":
    run()
