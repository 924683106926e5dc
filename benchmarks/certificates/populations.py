"""Populations: what a fit leaves unread, in the order of its predictions.

A fit of a part of a real matrix takes seconds; what is random in a certificate beside
it, the sample, takes none. So a population is kept: which of the unread pairs match, in
the order in which the model predicts them. Many runs share it, and draw anew.
"""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from experiments.data import folder
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.matrices import MATRICES

__all__ = [
    "BUDGETS",
    "DATA",
    "MODELS",
    "Fit",
    "Population",
    "fit",
    "population",
    "whole",
]

DATA = {  # and how many items are drawn for a fit
    "stsb": 1_000,
    "docstrings": 1_000,
    "tweets": 1_000,
    "mrpc": 700,
    "rte": 500,
}
_NAMES = {"tweets": "tweets, exp(−WMD)", "docstrings": "docstrings, Levenshtein"}
BUDGETS = {"good": 0.15, "mediocre": 0.05, "useless": 0.05, "adversarial": 0.15}
MODELS = tuple(BUDGETS)
# Shares of a budget, as in `fewpairs.duplicates` with a recall.
FITTED, FRONT, SAMPLE = 0.6, 0.35, 0.05


class Fit(NamedTuple):
    """A matrix that was fitted: values of pairs that the fit read, and of the others.

    Attributes
    ----------
    read
        Values that the fit read, without those that were held out.
    values
        All others, those predicted highest first.
    held
        How many of these were held out.
    budget
        Evaluations of the list.
    """

    read: NDArray[np.float32]
    values: NDArray[np.float32]
    held: int
    budget: int


class Population(NamedTuple):
    """The matches of a fit at a threshold.

    Attributes
    ----------
    known
        Matches that the fit read.
    hit
        Which of the others match, in order.
    held, budget
        As of the fit.
    pairs
        All pairs.
    """

    known: int
    hit: NDArray[np.bool_]
    held: int
    budget: int
    pairs: int

    @property
    def total(self) -> int:
        """All matches."""
        return self.known + int(self.hit.sum())


@cache
def whole(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a matrix, and embeddings of its items; what takes long is kept."""
    kept = Path(__file__).parents[1] / "work" / f"certificates_{name}.npz"
    if kept.exists():
        with np.load(kept) as saved:
            return saved["K"], saved["embeddings"]
    known = MATRICES[_NAMES.get(name, name)](Path(folder()))
    embeddings = known.embeddings
    if embeddings is None:
        embeddings = _lexical(len(known.K))
    K = known.K.astype(np.float16)  # as cross-encoders' scores are given
    kept.parent.mkdir(exist_ok=True)
    np.savez(kept, K=K, embeddings=embeddings.astype(np.float32))
    return K, embeddings


def _lexical(n: int) -> NDArray[Any]:
    """Return what character n-grams say of the docstrings."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from fewpairs.datasets import stdlib_docstrings

    texts = list(stdlib_docstrings(n).texts)
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    found = TruncatedSVD(128, random_state=0).fit_transform(grams.fit_transform(texts))
    return np.asarray(found)


def fit(name: str, model: str, seed: int, items: int | None = None) -> Fit:
    """Fit items drawn from a matrix; of the useless model, to embeddings of others."""
    K, embeddings = whole(name)
    rng = np.random.default_rng([seed, 7])
    drawn = np.sort(rng.permutation(len(K))[: items or DATA[name]])
    part = np.asarray(K[np.ix_(drawn, drawn)], dtype=np.float64)
    prior = embeddings[drawn]
    n = len(part)
    if model == "useless":
        prior = prior[rng.permutation(n)]
    i, j = np.triu_indices(n, 1)
    budget = int(BUDGETS[model] * len(i))
    approx = fp.approximate(
        None, part, budget=int(FITTED * budget), prior=prior, seed=seed
    )
    held: Any = approx.evidence
    place = np.zeros((n, n), dtype=bool)
    place[held.i, held.j] = place[held.j, held.i] = True
    apart = place[i, j]
    guess = approx.dense()[i, j]
    guess[apart] = approx.model.pairs(i[apart], j[apart])
    read = approx.known.lookup(i, j)[0] & ~apart
    values = part[i, j].astype(np.float32)
    order = np.argsort(-guess[~read], kind="stable")
    return Fit(values[read], values[~read][order], int(apart.sum()), budget)


def population(fitted: Fit, number: int, model: str) -> Population:
    """Return the matches at the threshold that so many pairs reach."""
    both = np.concatenate([fitted.read, fitted.values])
    threshold = np.partition(both, len(both) - number)[len(both) - number]
    hit = fitted.values >= threshold
    if model == "adversarial":
        hit = np.sort(hit)  # all that match are predicted lowest
    known = int((fitted.read >= threshold).sum())
    return Population(known, hit, fitted.held, fitted.budget, len(both))
