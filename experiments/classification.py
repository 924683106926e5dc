"""Table 2, ranks and run times: documents classified by features of WMD.

Features of all documents are made without labels, from landmarks among the training
documents; the default draws its own among all of them. γ, s and C are chosen by optuna
on cross-validation inside the training split; then the features are drawn anew, once a
run, and a linear machine that is trained on the training documents is scored on the
test documents.

The default's features are the leading directions of what the default answers, at the
price of s columns; ``vectors`` are the mean word vectors of the documents:

    approx = fp.approximate(
        texts, wmd, method=fp.Auto(student=False), budget=evaluations, prior=vectors
    )
    values, directions = np.linalg.eigh(approx.dense())

They take all n² answers, though not one evaluation more. Where n² is too many, there
is the embedding of its landmarks, ``approx.embedding()`` of ``fp.Regularized``. Where
distances are those of a pool, the default's landmarks are from it, and the other pairs
that it reads are solved.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from experiments.cells import Cell, Value
from experiments.corpora import Corpus, centroids, corpus, glove
from experiments.distances import (
    Distances,
    Everything,
    Pool,
    StoredWMD,
    distinct,
    on_gpu,
)
from experiments.errors import price
from experiments.machine import Machine, Principal, leading, tensor
from fewpairs.methods.landmarks import Sampling

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DEAR", "EXTRA", "KERNELS", "METHODS", "PLANS", "POOL", "Plan", "cells"]

METHODS = ("wme", "sms", "stacur", "sicur", "optimal", "embedding", "default")
# What the parts of the default do, on the smallest corpus.
EXTRA = ("embedding and vectors", "vectors")
KERNELS = ("kernel", "kernel, LIBSVM")
# Methods that take their landmarks from us.
DRAWN: dict[str, Any] = {
    "sms": fp.SMSNystrom,
    "stacur": fp.StaCUR,
    "sicur": fp.SiCUR,
    "embedding": fp.Regularized,
    "embedding and vectors": fp.Regularized,
}
GAMMA = (0.1, 5.0)  # word vectors have length 1, so distances are below 2
PENALTY = (0.1, 30.0)  # of features whose variance is 1
WORDS = (3, 6, 12)  # most words of WME's random documents
SEARCHED, TESTED = 0, 1_000  # seeds: that of the search, and the first of the test
ROWS = 2_048  # of answers that are made at once
# Set to anything, it runs what takes hours too.
DEAR = "FEWPAIRS_DEAR"

Array = NDArray[Any]


@dataclass(frozen=True)
class Plan:
    """How much is done for a corpus and rank.

    Attributes
    ----------
    ranks
        The range of s.
    folds, trials, runs
        Of the cross-validation, of the search, and of the test.
    slow
        Trials of WME, Optimal, the default and the kernels, which take more than
        columns; runs of WME, which solves new distances in every one; runs of the
        default, whose features take n² answers and n³ or n²·s operations.
    splits
        How often the corpus is split anew, each time with a search of its own: 932
        test documents have a standard error of 1.4 points. The runs are theirs in turn.
    methods
        Which ones.
    dear
        Whether it is left out unless asked for.
    timed
        s of the run time, if not the largest.
    """

    ranks: tuple[int, int]
    folds: int
    trials: int
    runs: int
    slow: tuple[int, int, int]
    methods: tuple[str, ...] = METHODS
    splits: int = 1
    dear: bool = False
    timed: int | None = None


# Landmarks from a pool of so many where there is no GPU: all pairs take hours.
POOL = {"recipe": {"small": 1_100}, "20news": {"small": 1_100}}
PLANS = {
    ("twitter", "small"): Plan(
        (100, 550), 5, 20, 20, (8, 20, 20), (*METHODS, *EXTRA), 5
    ),
    ("recipe", "small"): Plan((100, 550), 3, 6, 20, (3, 20, 5)),
    ("ohsumed", "small"): Plan((100, 550), 5, 12, 20, (6, 20, 5)),
    ("twitter", "large"): Plan((900, 1_500), 5, 4, 20, (3, 20, 20), splits=5),
    ("20news", "small"): Plan((100, 550), 3, 6, 20, (4, 20, 5)),
    ("ohsumed", "large"): Plan((900, 2_500), 3, 4, 20, (3, 20, 20)),
    ("recipe", "large"): Plan((900, 4_096), 3, 4, 20, (3, 20, 1), dear=True),
    ("20news", "large"): Plan(
        (900, 4_096), 3, 4, 20, (3, 20, 1), dear=True, timed=1_500
    ),
}
FULL = {
    "twitter": Plan((0, 0), 5, 8, 5, (8, 0, 0), splits=5),
    "ohsumed": Plan((0, 0), 5, 8, 1, (8, 0, 0)),
    "recipe": Plan((0, 0), 3, 4, 1, (4, 0, 0), dear=True),
    "20news": Plan((0, 0), 3, 4, 1, (4, 0, 0), dear=True),
}
TOY = Plan((8, 16), 2, 2, 2, (2, 2, 2), (*METHODS, *EXTRA), 2)


def cells(data: Path, *, toy: bool) -> Iterator[Cell]:
    """Yield, a corpus and rank: a search with its test, and the time, a method."""
    dear = bool(os.environ.get(DEAR))
    plans = {("twitter", "small"): TOY} if toy else PLANS
    full = {"twitter": TOY} if toy else FULL
    for (name, size), plan in plans.items():
        if plan.dear and not dear:
            continue
        for method in plan.methods:
            case = {"corpus": name, "rank": size, "method": method}
            task = _Task(data, name, size, method, plan, toy)
            if method == "optimal" and task.pool and not dear:
                continue  # it takes all distances
            yield Cell({**case, "what": "accuracy"}, task.run)
            if method in ("wme", "sms"):
                yield Cell({**case, "what": "seconds"}, task.time)
        if size == "small" and name in full and (dear or not full[name].dear):
            for method in KERNELS:
                task = _Task(data, name, "all", method, full[name], toy)
                case = {"corpus": name, "method": method, "what": "accuracy"}
                yield Cell(case, task.run)


@dataclass(frozen=True)
class _Task:
    data: Path
    name: str
    size: str
    method: str
    plan: Plan
    toy: bool

    def run(self) -> Value:
        """Search in every split, then test with features drawn anew."""
        found, best, tried = [], [], []
        for split in range(self.plan.splits):
            texts = _split(self.data, self.name, split)
            chosen, history = _searched(self.searching, split)
            best.append(chosen)
            tried += history if self.searching is self else []
            found += [
                (run, self._test(texts, chosen, TESTED + run))
                for run in range(split, self.runs, self.plan.splits)
            ]
        return {
            "accuracy": [reached for _, reached in sorted(found)],
            "runs": len(found),
            "splits": self.plan.splits,
            "pool": self.pool,
            "folds": self.plan.folds,
            "best": best,
            "tried": tried,
        }

    @property
    def searching(self) -> "_Task":
        """Whose search it goes by.

        The default takes new distances in every try where there is a pool of some, and
        minutes a try at large rank of the large corpora: there it has γ, s and C of the
        regularized method, its own first half. LIBSVM has γ and C that the other
        machine found for the kernels of these corpora: on Recipe-L a fit takes minutes.
        """
        if self.method == "default" and (self.pool or self.plan.dear):
            return replace(self, method="embedding")
        if self.method == "kernel, LIBSVM" and self.plan.dear:
            return replace(self, method="kernel")
        return self

    @property
    def pool(self) -> int | None:
        """How many documents landmarks are drawn from, if not from all."""
        return None if on_gpu() else POOL.get(self.name, {}).get(self.size)

    @property
    def trials(self) -> int:
        """How often the search tries."""
        return (
            self.plan.trials if self.method in (*DRAWN, *EXTRA) else self.plan.slow[0]
        )

    @property
    def runs(self) -> int:
        """How often the test is run: once a split where nothing is drawn."""
        if self.method in ("optimal", "vectors", *KERNELS):
            return self.plan.splits
        own = {"wme": self.plan.slow[1], "default": self.plan.slow[2]}
        return own.get(self.method, self.plan.runs)

    def time(self) -> Value:
        """Make features of all documents from nothing, with the largest s."""
        s, longest = self.plan.timed or self.plan.ranks[1], WORDS[1]
        words = corpus(self.data, self.name).words
        wmd = fp.WMD(glove(self.data))
        wmd.bind(words[:2]).prepare(lambda _: None)
        start = time.perf_counter()
        if self.method == "wme":
            _embedding(wmd, words, s, longest, SEARCHED)
        else:
            method = fp.SMSNystrom(landmarks=s)
            fp.approximate(words, wmd, method=method, budget=None).embedding()
        return {"seconds": time.perf_counter() - start, "runs": 1, "s": s}

    def validation(self, texts: Corpus, best: dict[str, Any]) -> float:
        """Return the cross-validated accuracy inside the training split."""
        from sklearn.model_selection import cross_val_score

        y = texts.labels[texts.train]
        folds = _folds(texts, self.plan.folds)
        if self.method == "kernel, LIBSVM":
            K = self._kernel(best["gamma"], texts.train, texts.train).cpu().numpy()
            return float(np.mean(cross_val_score(_libsvm(best["C"]), K, y, cv=folds)))
        basis = self._basis(texts.train, texts.train, best, SEARCHED)[0]
        # Test documents are no landmarks, whose similarity to themselves is a feature.
        judged = np.ones(len(y), dtype=bool)
        if self.method in DRAWN:  # the same ones whatever s is
            most = min(self.plan.ranks[1], len(y) // 2)
            drawn = self._landmarks(texts.train, texts.train, {"s": most}, SEARCHED)
            judged[drawn] = False
        return Machine(basis, y, best["C"]).validate(folds, judged)

    def _test(self, texts: Corpus, best: dict[str, Any], seed: int) -> float:
        y = texts.labels[texts.train]
        if self.method == "kernel, LIBSVM":
            K = self._kernel(best["gamma"], texts.train, texts.train)
            machine = _libsvm(best["C"]).fit(K.cpu().numpy(), y)
            K = self._kernel(best["gamma"], texts.test, texts.train)
            said = machine.predict(K.cpu().numpy())
        else:
            everyone = np.arange(len(texts.words))
            basis, rows = self._basis(everyone, texts.train, best, seed)
            judged = rows[tensor(texts.test)]
            said = Machine(basis, y, best["C"]).fit().predict(judged)
        return 100 * float(np.mean(said == texts.labels[texts.test]))

    def _basis(
        self, where: Array, train: Array, best: dict[str, Any], seed: int
    ) -> tuple[Principal, "Tensor"]:
        """Return the features of training documents, and those of ``where``."""
        inside = tensor(np.flatnonzero(np.isin(where, train)))
        if self.method == "kernel":
            K = self._kernel(best["gamma"], where, train)
            return Principal.of_kernel(K[inside]), K
        Z = _standard(tensor(self.features(where, train, best, seed)), inside)
        return Principal.of(Z[inside]), Z

    def features(
        self, where: Array, train: Array, best: dict[str, Any], seed: int
    ) -> Array:
        """Return features of some documents."""
        vectors = _vectors(self.data, self.name)[where]
        if self.method == "wme":
            # A search tries prefixes of what is solved once; a test needs no more.
            dim = self.plan.ranks[1] if seed == SEARCHED else best["s"]
            far = _random_distances(self, dim, best["longest"], seed)
            far = far[where, : best["s"]]
            return np.asarray(np.exp(-best["gamma"] * far) / np.sqrt(best["s"]))
        if self.method == "vectors":
            return vectors
        if self.method == "optimal":
            return leading(self._kernel(best["gamma"], where, where), best["s"])
        similarity = StoredWMD(self._known(), best["gamma"])
        items = where.tolist()
        if self.method == "default":
            budget = price(len(items), best["s"])
            allowed = np.flatnonzero(np.isin(where, self._known().landmarks))
            method = fp.Auto(sampling=_Among(allowed), student=False)
            approx = fp.approximate(
                items,
                similarity,
                method=method,
                budget=budget,
                prior=vectors,
                seed=seed,
            )
            return leading(_answers(approx), best["s"])
        kind = DRAWN[self.method]
        landmarks = self._landmarks(where, train, best, seed)
        approx = fp.approximate(
            items,
            similarity,
            method=kind(landmarks=landmarks),
            budget=None,
            prior=vectors if kind is fp.Regularized else None,
            seed=seed,
        )
        made = np.asarray(approx.embedding())
        together = self.method == "embedding and vectors"
        return np.hstack([made, vectors]) if together else made

    def _landmarks(
        self, where: Array, train: Array, best: dict[str, Any], seed: int
    ) -> list[int]:
        """Draw landmarks among the training documents: positions in ``where``."""
        allowed = np.intersect1d(self._known().landmarks, train)
        inside = np.flatnonzero(np.isin(where, allowed))
        drawn = np.random.default_rng(seed).permutation(inside)[: best["s"]]
        return [int(t) for t in np.sort(drawn)]

    def _known(self) -> Distances:
        if self.pool is None:
            return _everything(self.data, self.name, self.toy)
        return _pool(self.data, self.name, self.pool, self.toy)

    def _kernel(self, gamma: float, rows: Array, columns: Array) -> "Tensor":
        known = _everything(self.data, self.name, self.toy)
        return known.tensor(rows, columns).mul_(-gamma).exp_()


@cache
def _split(data: Path, name: str, seed: int) -> Corpus:
    texts = corpus(data, name)
    return texts.split(seed) if seed else texts


def _folds(texts: Corpus, count: int) -> list[tuple[Array, Array]]:
    """Return who is trained on and who is judged, all training documents in turn.

    Copies of a document under other labels stay together: in the other part they would
    teach that its label is wrong, the better the more closely the features fit.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    y = texts.labels[texts.train]
    if not texts.copied:
        parts = StratifiedKFold(count, shuffle=True, random_state=0).split(y, y)
    else:
        own = distinct(texts)[1][texts.train]
        drawn = StratifiedGroupKFold(count, shuffle=True, random_state=0)
        parts = drawn.split(y, y, own)
    return list(parts)


@cache
def _searched(task: _Task, split: int) -> tuple[dict[str, Any], list[list[float]]]:
    """Return the best parameters, and every try: γ, s, C and accuracy."""
    import optuna

    texts = _split(task.data, task.name, split)

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: Any) -> float:
        picked = {
            "gamma": trial.suggest_float("gamma", *GAMMA, log=True),
            "C": trial.suggest_float("C", *PENALTY, log=True),
        }
        if task.method not in (*KERNELS, "vectors"):
            picked["s"] = trial.suggest_int("s", *task.plan.ranks)
        if task.method == "wme":
            picked["longest"] = trial.suggest_categorical("longest", WORDS)
        return task.validation(texts, picked)

    first = {"gamma": 1.0, "C": 1.0, "s": task.plan.ranks[1], "longest": WORDS[1]}
    sampler = optuna.samplers.TPESampler(seed=split, n_startup_trials=task.trials // 3)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.enqueue_trial(first)
    study.optimize(objective, n_trials=task.trials)
    history = [
        [t.params["gamma"], t.params.get("s", 0), t.params["C"], t.value]
        for t in study.trials
    ]
    return dict(study.best_params), history


@dataclass(frozen=True, eq=False)
class _Among(Sampling):
    """Landmarks drawn uniformly from some of the items: those of a pool."""

    allowed: Array

    def draw(self, n: int, size: int, rng: np.random.Generator) -> Array:
        del n
        return np.asarray(self.allowed[rng.permutation(len(self.allowed))[:size]])


def _answers(approx: fp.Approximation) -> Array:
    """Return all answers in single precision, rows by rows: they may be gigabytes."""
    out = np.empty(approx.shape, dtype=np.float32)
    for start in range(0, len(out), ROWS):
        out[start : start + ROWS] = approx.block(
            slice(start, start + ROWS), slice(None)
        )
    return out


def _standard(Z: "Tensor", train: "Tensor") -> "Tensor":
    """Center features and scale their variance to 1, so that C means the same for all.

    Those of WME are nearly constant: unscaled, they need a C of 10⁶ and more.
    """
    Z = Z.double() - Z[train].double().mean(dim=0)
    size = float((Z[train] ** 2).sum(dim=1).mean().sqrt())
    return (Z / (size or 1.0)).float()


@cache
def _everything(data: Path, name: str, toy: bool) -> Everything:
    return Everything(data, name, toy=toy)


@cache
def _pool(data: Path, name: str, size: int, toy: bool) -> Pool:
    return Pool(data, name, size, toy=toy)


@cache
def _vectors(data: Path, name: str) -> Array:
    """Return the mean word vectors, of length 1."""
    means = centroids(data, corpus(data, name).words).astype(np.float32)
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))


@lru_cache(maxsize=3)
def _random_distances(task: _Task, dim: int, longest: int, seed: int) -> Array:
    """Return distances to random documents: γ, C and fewer features cost nothing."""
    words = corpus(task.data, task.name).words
    wmd = fp.WMD(glove(task.data), device="cuda" if on_gpu() else None)
    made = _embedding(wmd, words, dim, longest, seed)
    return np.asarray(-np.log(made * np.sqrt(dim)), dtype=np.float32)


def _embedding(wmd: Any, words: Any, dim: int, longest: int, seed: int) -> Array:
    from experiments.word_movers_embedding import WordMoversEmbedding

    made = WordMoversEmbedding(wmd, dim=dim, longest=longest, seed=seed)
    return np.asarray(made.features(words))


def _libsvm(C: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=C, kernel="precomputed")
