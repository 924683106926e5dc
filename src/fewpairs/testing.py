"""Contract checks for similarities and methods, also those of third parties."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.matrix.budget import Budget
from fewpairs.methods.base import Method
from fewpairs.reading.opening import open_oracle
from fewpairs.reading.oracle import Oracle
from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.binding import bind
from fewpairs.similarity.items import as_items
from fewpairs.similarity.matrix import from_matrix

__all__ = ["check_method", "check_similarity", "matrix_with_spectrum"]

_ATOL = 1e-6


def matrix_with_spectrum(
    eigenvalues: ArrayLike, n: int, *, seed: int = 0
) -> NDArray[np.float64]:
    """Return a random symmetric n×n matrix with these eigenvalues and zeros.

    Examples
    --------
    >>> import numpy as np
    >>> K = matrix_with_spectrum([3.0, -1.0], n=20)
    >>> np.linalg.eigvalsh(K)[[0, -1]].round(6).tolist()
    [-1.0, 3.0]
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((n, len(values))))
    K = (Q * values) @ Q.T
    return np.asarray((K + K.T) / 2)


def check_similarity(similarity: Similarity, items: Iterable[Any]) -> None:
    """Assert that a similarity keeps the contract on these items.

    Checks shapes and types, that ``pairs`` and ``block`` agree, that values do not
    depend on how requests are cut, and every declared fact: symmetry, diagonal,
    bounds, positive semidefiniteness.

    Examples
    --------
    >>> import fewpairs as fp
    >>> from fewpairs.testing import check_similarity
    >>> check_similarity(fp.StringSimilarity("jaro"), ["a", "ab", "b c", ""])
    """
    call = "fewpairs.testing.check_similarity"
    listed = as_items(items, call)
    scorer = bind(listed, similarity, call)
    n = len(listed) if scorer.kept is None else len(scorer.kept)
    everything = np.arange(n)
    K = np.asarray(scorer.block(everything, everything))
    assert isinstance(scorer, Scorer), "bind() must return a Scorer"
    assert scorer.n == n, f"the scorer has {scorer.n} items of {n}"
    assert K.shape == (n, n), f"block() returned shape {K.shape}, expected {(n, n)}"
    assert K.dtype.kind in "biuf", f"block() returned dtype {K.dtype}"
    assert scorer.dtype in (np.float32, np.float64), f"dtype is {scorer.dtype}"
    assert np.isfinite(K).all(), "block() returned NaN or infinity"
    assert scorer.chunk >= 1, f"chunk is {scorer.chunk}"
    atol = _ATOL * max(1.0, float(np.abs(K).max()))

    _check_pairs(scorer, K, atol)
    again = np.asarray(similarity.bind(listed).block(everything, everything))
    assert np.allclose(K, again, rtol=0, atol=atol), "binding again changed values"
    if similarity.symmetric:
        assert np.allclose(K, K.T, rtol=0, atol=atol), "declared symmetric, but is not"
    if similarity.diagonal is not None:
        off = np.abs(np.diagonal(K) - similarity.diagonal).max()
        assert off <= atol, f"the declared diagonal is off by {off}"
    if similarity.bounds is not None:
        low, high = similarity.bounds
        assert K.min() >= low - atol, f"{K.min()} is below the bound {low}"
        assert K.max() <= high + atol, f"{K.max()} is above the bound {high}"
    if similarity.psd:
        lowest = float(np.linalg.eigvalsh((K + K.T) / 2)[0])
        assert lowest >= -n * atol, f"declared psd, but has the eigenvalue {lowest}"


def _check_pairs(scorer: Scorer, K: NDArray[Any], atol: float) -> None:
    """``pairs`` gives the entries of ``block``, however requests are cut."""
    rng = np.random.default_rng(0)
    n = scorer.n
    i, j = rng.integers(n, size=(2, 3 * n))
    values = np.asarray(scorer.pairs(i, j))
    assert values.shape == i.shape, f"pairs() returned shape {values.shape}"
    assert np.allclose(values, K[i, j], rtol=0, atol=atol), "pairs() is not block()"
    rows, columns = rng.permutation(n)[: n // 2 + 1], rng.permutation(n)[: n // 3 + 1]
    part = np.asarray(scorer.block(rows, columns))
    assert part.shape == (len(rows), len(columns)), f"block() gave shape {part.shape}"
    expected = K[np.ix_(rows, columns)]
    assert np.allclose(part, expected, rtol=0, atol=atol), "a part differs"
    nothing = np.empty(0, dtype=np.int64)
    assert np.asarray(scorer.pairs(nothing, nothing)).shape == (0,), "no pairs"


def check_method(method: Method, *, n: int = 60, seed: int = 0) -> None:
    """Assert that a method with given landmarks keeps the contract.

    Checks the factors' shapes, that it spends at most its price, that the same seed
    gives the same result, and that it never reads past its budget.

    Examples
    --------
    >>> import fewpairs as fp
    >>> from fewpairs.testing import check_method
    >>> check_method(fp.SiCUR(landmarks=12))
    """
    spectrum = [9.0, 5.0, -4.0, 3.0, -1.0, *np.linspace(0.5, -0.5, n - 5)]
    K = matrix_with_spectrum(spectrum, n, seed=seed)
    similarity = from_matrix(K, symmetric=True)

    def fitted(budget: int | None) -> tuple[Oracle, Any]:
        scorer = similarity.bind(range(n))
        oracle = open_oracle(
            scorer, similarity, budget=Budget.of(budget, "check_method: budget")
        )
        resolved = method.resolve(oracle.cost, oracle.remaining)
        return oracle, resolved.fit(oracle, np.random.default_rng(seed))

    oracle, model = fitted(None)
    price = method.resolve(oracle.cost, None).price(oracle.cost)
    assert oracle.evaluations <= price, f"spent {oracle.evaluations}, price {price}"
    assert model.left.shape == model.right.shape, "left and right differ in shape"
    assert model.left.shape[0] == n, f"left has {model.left.shape[0]} rows of {n}"
    assert model.features.shape[0] == n, "features have not one row per item"
    assert np.isfinite(model.left).all(), "left has NaN or infinity"
    assert np.isfinite(model.right).all(), "right has NaN or infinity"
    assert len(np.unique(model.landmarks)) == len(model.landmarks), "landmarks recur"
    assert model.words, "the method does not say what it did"
    again = fitted(oracle.evaluations)[1]
    assert np.array_equal(again.left, model.left), "the same seed gave another result"
    assert np.array_equal(again.right, model.right), "the same seed, another result"
