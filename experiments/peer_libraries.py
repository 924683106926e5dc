"""How each library is asked for the neighbors of all items."""

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp

if TYPE_CHECKING:
    from experiments.peers import Answer, Task

__all__ = [
    "all_pairs",
    "fewpairs",
    "gensim",
    "pot",
    "rapidfuzz",
    "rerank",
    "sklearn_nystroem",
]

NEAR = 10


def _answer(guess: NDArray[Any], evaluations: int) -> "Answer":
    from experiments.peers import Answer

    off = np.array(guess, dtype=np.float32)
    np.fill_diagonal(off, -np.inf)
    near = np.argsort(-off, axis=1, kind="stable")[:, :NEAR]
    return Answer(near, guess, evaluations)


def fewpairs(task: "Task", budget: int) -> "Answer":
    """Run the default within the budget."""
    from experiments.peers import Answer

    approx = fp.approximate(
        task.items, task.similarity, budget=budget, prior=task.prior
    )
    near, _ = approx.neighbors(NEAR)
    return Answer(near, approx.dense(), approx.evaluations)


def sklearn_nystroem(task: "Task", budget: int) -> "Answer":
    """Run Nystroem with a callable: as many components as the budget pays for."""
    from sklearn.kernel_approximation import Nystroem

    n = len(task.items)
    calls = 0

    def kernel(a: NDArray[Any], b: NDArray[Any]) -> float:
        nonlocal calls
        calls += 1
        return task.single(int(a[0]), int(b[0]))

    components = max(1, budget // n)  # it reads n·s entries, and the core once more
    where = np.arange(n, dtype=np.float64)[:, None]
    model = Nystroem(kernel=kernel, n_components=components, random_state=0)
    Z = model.fit_transform(where)
    return _answer(Z @ Z.T, calls)


def rapidfuzz(task: "Task", budget: int) -> "Answer":
    """Run cdist on all pairs, all cores."""
    from rapidfuzz import fuzz, process

    del budget
    scores = process.cdist(
        task.items,
        task.items,
        scorer=fuzz.token_set_ratio,
        dtype=np.float32,
        workers=-1,
    )
    n = len(task.items)
    return _answer(scores / 100, n * (n - 1) // 2)


def gensim(task: "Task", vectors: tuple[list[str], NDArray[Any]]) -> "Answer":
    """Run wmdistance on all pairs."""
    from gensim.models import KeyedVectors

    names, array = vectors
    model = KeyedVectors(array.shape[1])
    model.add_vectors(names, array.astype(np.float32))
    model.fill_norms()
    n = len(task.items)
    K = np.eye(n, dtype=np.float32)
    for i, j in combinations(range(n), 2):
        far = model.wmdistance(task.items[i], task.items[j], norm=True)
        K[i, j] = K[j, i] = np.exp(-far)
    return _answer(K, n * (n - 1) // 2)


def pot(task: "Task", vectors: tuple[list[str], NDArray[Any]]) -> "Answer":
    """Run emd2 on all pairs, bags of words made once."""
    import ot
    from scipy.spatial.distance import cdist

    names, array = vectors
    place = {word: t for t, word in enumerate(names)}
    bags = []
    for words in task.items:
        own, counts = np.unique([place[w] for w in words], return_counts=True)
        bags.append((array[own], counts / counts.sum()))
    n = len(bags)
    K = np.eye(n, dtype=np.float32)
    for i, j in combinations(range(n), 2):
        (x, a), (y, b) = bags[i], bags[j]
        K[i, j] = K[j, i] = np.exp(-ot.emd2(a, b, cdist(x, y)))
    return _answer(K, n * (n - 1) // 2)


def all_pairs(task: "Task", model: str) -> "Answer":
    """Run sentence-transformers' CrossEncoder on all pairs, both orders."""
    import torch
    from sentence_transformers import CrossEncoder

    encoder = CrossEncoder(model, activation_fn=torch.nn.Identity())
    n = len(task.items)
    pairs = [(a, b) for a in task.items for b in task.items]
    scores = encoder.predict(pairs, show_progress_bar=False)
    K = np.asarray(scores, dtype=np.float32).reshape(n, n)
    return _answer((K + K.T) / 2, n * (n - 1) // 2)


def rerank(task: "Task", budget: int) -> "Answer":
    """Take as many neighbors by embeddings as the budget re-scores, and rank those."""
    from experiments.peers import Answer

    n = len(task.items)
    if task.prior is None:
        msg = "re-ranking needs embeddings"
        raise ValueError(msg)
    E = task.prior / np.linalg.norm(task.prior, axis=1, keepdims=True)
    cheap = E @ E.T
    np.fill_diagonal(cheap, -np.inf)
    ranked = np.argsort(-cheap, axis=1, kind="stable")
    keys = _distinct(ranked, 1)
    for k in range(2, n):  # a pair that both items propose is paid once
        more = _distinct(ranked, k)
        if len(more) > budget:
            break
        keys = more
    i, j = np.divmod(keys, n)
    exact = task.similarity.bind(task.items).pairs(i, j)
    score = cheap - 1e3  # what was not re-scored comes after what was
    score[i, j] = score[j, i] = exact
    near = np.argsort(-score, axis=1, kind="stable")[:, :NEAR]
    return Answer(near, None, len(keys))


def _distinct(ranked: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the pairs of all items with their first k, each once."""
    n = len(ranked)
    rows, columns = np.repeat(np.arange(n), k), ranked[:, :k].ravel()
    return np.unique(np.minimum(rows, columns) * n + np.maximum(rows, columns))
