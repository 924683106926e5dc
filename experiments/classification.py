"""Table 2, ranks and run times: documents classified by features of WMD.

Features of all documents are made without labels, from landmarks among the training
documents. γ, s and C are chosen by optuna on cross-validation inside the training
split; then the features are drawn anew 20 times, and a linear machine that is trained
on the training documents is scored on the test documents.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from experiments.cells import Cell, Value
from experiments.corpora import Corpus, centroids, corpus, glove
from experiments.distances import StoredWMD, all_distances
from experiments.errors import price

__all__ = ["METHODS", "RANKS", "cells"]

RUNS = 20
FOLDS = 10
TRIALS = 30
METHODS = ("wme", "sms", "stacur", "sicur", "optimal", "default")
LARGE = {"twitter": 1500, "recipe": 4096, "ohsumed": 2500, "20news": 4096}
RANKS = {"small": (100, 550), "large": (900, 0)}
GAMMA = (0.1, 30.0)  # word vectors have length 1, so distances are below 2
PENALTY = (1e-2, 1e6)


@dataclass(frozen=True)
class Plan:
    """How much is done."""

    runs: int
    folds: int
    trials: int
    ranks: tuple[int, int]


def cells(data: Path, *, toy: bool) -> Iterator[Cell]:
    """Yield, a corpus and rank: a search, the test, and the time, a method."""
    for name in ("twitter",) if toy else ("twitter", "ohsumed", "recipe", "20news"):
        for size in ("small",) if toy else ("small", "large"):
            low, high = RANKS[size]
            plan = Plan(RUNS, FOLDS, TRIALS, (low, high or LARGE[name]))
            if toy:
                plan = Plan(1, 2, 2, (8, 16))
            for method in METHODS:
                case = {"corpus": name, "rank": size, "method": method}
                task = _Task(data, name, method, plan, toy)
                yield Cell({**case, "what": "accuracy"}, task.run)
                if method in ("wme", "sms"):
                    yield Cell({**case, "what": "seconds"}, task.time)
        if name != "20news":  # 18,846²/2 distances of long posts: see the page
            kernel = _Task(data, name, "kernel", plan, toy)
            case = {"corpus": name, "method": "kernel", "what": "accuracy"}
            yield Cell(case, kernel.run)


@dataclass(frozen=True)
class _Task:
    data: Path
    name: str
    method: str
    plan: Plan
    toy: bool

    def run(self) -> Value:
        """Search, then test with features drawn anew."""
        best, history = _searched(self)
        texts = corpus(self.data, self.name)
        found = [
            self._test(texts, best, seed)
            for seed in range(self.plan.runs if self._drawn else 1)
        ]
        return {"accuracy": found, "runs": len(found), "best": best, "tried": history}

    @property
    def _drawn(self) -> bool:
        """Whether seeds make a difference."""
        return self.method not in ("kernel", "optimal")

    def _test(self, texts: Corpus, best: dict[str, Any], seed: int) -> float:
        if self.method == "kernel":
            K = self._kernel(best["gamma"])
            machine = _kernel_machine(best["C"])
            machine.fit(K[np.ix_(texts.train, texts.train)], texts.labels[texts.train])
            inside = K[np.ix_(texts.test, texts.train)]
        else:
            Z = self.features(np.arange(len(texts.words)), best, 1_000 + seed)
            machine = _machine(best["C"])
            machine.fit(Z[texts.train], texts.labels[texts.train])
            inside = Z[texts.test]
        return 100 * float(np.mean(machine.predict(inside) == texts.labels[texts.test]))

    def time(self) -> Value:
        """Make the features of the best parameters from nothing."""
        best, _ = _searched(self)
        words = corpus(self.data, self.name).words
        wmd = fp.WMD(glove(self.data), gamma=best["gamma"])
        wmd.bind(words[:2]).prepare(lambda _: None)
        start = time.perf_counter()
        if self.method == "wme":
            _wme(wmd, words, best, 0)
        else:
            fp.approximate(
                words, wmd, method=fp.SMSNystrom(landmarks=best["s"]), budget=None
            ).embedding()
        return {"seconds": time.perf_counter() - start, "runs": 1, "s": best["s"]}

    def validation(self, best: dict[str, Any]) -> float:
        """Return the cross-validated accuracy inside the training split."""
        from sklearn.model_selection import StratifiedKFold, cross_val_score

        texts = corpus(self.data, self.name)
        y = texts.labels[texts.train]
        folds = StratifiedKFold(self.plan.folds, shuffle=True, random_state=0)
        if self.method == "kernel":
            K = self._kernel(best["gamma"])[np.ix_(texts.train, texts.train)]
            reached = cross_val_score(_kernel_machine(best["C"]), K, y, cv=folds)
        else:
            Z = self.features(texts.train, best, 0)
            reached = cross_val_score(_machine(best["C"]), Z, y, cv=folds)
        return float(np.mean(reached))

    def features(
        self, where: NDArray[np.int64], best: dict[str, Any], seed: int
    ) -> NDArray[Any]:
        """Return features of some documents; landmarks are training documents."""
        texts = corpus(self.data, self.name)
        if self.method == "wme":
            wmd = fp.WMD(glove(self.data), gamma=best["gamma"])
            return _wme(wmd, [texts.words[t] for t in where], best, seed)
        D = all_distances(self.data, self.name, toy=self.toy)
        similarity = StoredWMD(D, best["gamma"])
        s = min(best["s"], len(texts.train) // 2)
        if self.method == "optimal":
            return self._optimal(where, best["gamma"], s)
        rng = np.random.default_rng(seed)
        inside = np.flatnonzero(np.isin(where, texts.train))
        landmarks = np.sort(rng.permutation(inside)[:s]).tolist()
        prior = None
        budget: int | None = None
        method: Any
        if self.method == "default":
            method, prior = fp.Regularized(landmarks=landmarks), _prior(self, where)
            budget = price(len(where), s) + 5_000
        else:
            kinds = {"sms": fp.SMSNystrom, "stacur": fp.StaCUR, "sicur": fp.SiCUR}
            method = kinds[self.method](landmarks=landmarks)
        approx = fp.approximate(
            where.tolist(),
            similarity,
            method=method,
            budget=budget,
            prior=prior,
            seed=seed,
        )
        return np.asarray(approx.embedding())

    def _kernel(self, gamma: float) -> NDArray[Any]:
        D = all_distances(self.data, self.name, toy=self.toy)
        return np.asarray(np.exp(-gamma * np.asarray(D, dtype=np.float32)))

    def _optimal(self, where: NDArray[Any], gamma: float, s: int) -> NDArray[Any]:
        """Return the leading eigenvectors, scaled: needs all distances."""
        from scipy.sparse.linalg import eigsh

        K = self._kernel(gamma)[np.ix_(where, where)]
        values, vectors = eigsh(K, k=min(s, len(where) - 2), which="LM")
        return np.asarray(vectors * np.sqrt(np.abs(values)))


@cache
def _searched(task: _Task) -> tuple[dict[str, Any], list[list[float]]]:
    """Return the best parameters, and every try: γ, s, C and accuracy."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: Any) -> float:
        picked = {
            "gamma": trial.suggest_float("gamma", *GAMMA, log=True),
            "C": trial.suggest_float("C", *PENALTY, log=True),
        }
        if task.method != "kernel":
            picked["s"] = trial.suggest_int("s", *task.plan.ranks)
        if task.method == "wme":
            picked["longest"] = trial.suggest_int("longest", 2, 21)
        return task.validation(picked)

    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=task.plan.trials)
    history = [
        [t.params["gamma"], t.params.get("s", 0), t.params["C"], t.value]
        for t in study.trials
    ]
    return dict(study.best_params), history


@cache
def _centers(data: Path, name: str) -> NDArray[Any]:
    return centroids(data, corpus(data, name).words)


def _prior(task: _Task, where: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(_centers(task.data, task.name)[where])


def _wme(wmd: Any, words: Any, best: dict[str, Any], seed: int) -> NDArray[Any]:
    from fewpairs.similarity.wme import WordMoversEmbedding

    longest = best.get("longest", 6)
    made = WordMoversEmbedding(wmd, dim=best["s"], longest=longest, seed=seed)
    return np.asarray(made.features(words))


def _machine(C: float) -> Any:
    """Return LIBLINEAR with a squared hinge, primal: its option -s 2 -e 1e-4."""
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C, dual=False, tol=1e-4, max_iter=2_000)


def _kernel_machine(C: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=C, kernel="precomputed")
