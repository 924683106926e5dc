"""Where Lanczos overtakes LAPACK for the smallest eigenvalue of a core."""

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import eigsh

from benchmarks.measure import best_of, table
from fewpairs.testing import matrix_with_spectrum


def run() -> None:
    """Print LAPACK's time over that of Lanczos, by size."""
    rows = []
    for n in (250, 500, 1_000, 1_500, 2_000, 3_000):
        rng = np.random.default_rng(n)
        # A few large eigenvalues over a bulk of both signs, as cross-encoders have.
        bulk = rng.standard_normal(n - 3) * np.sqrt(n) / 30
        W = matrix_with_spectrum([n / 8, -n / 40, n / 60, *bulk], n)
        start = rng.standard_normal(n)
        lapack, lanczos = best_of(
            3,
            lambda W=W: linalg.eigh(W, eigvals_only=True, subset_by_index=[0, 0]),
            lambda W=W, v=start: eigsh(
                W, k=1, which="SA", v0=v, return_eigenvectors=False
            ),
        )
        rows.append((f"λmin of {n:,} × {n:,}: LAPACK / Lanczos", lapack / lanczos))
    table("smallest eigenvalue", [(w, r, "> 1 from 1,500 on") for w, r in rows])


if __name__ == "__main__":
    run()
