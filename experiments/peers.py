"""Other libraries on the same tasks, in one run: `make bench-peers`.

Three tasks. Strings: sentences by RapidFuzz's token set ratio. Documents: tweets by
word mover's distance. Cross-encoder: sentences by a model that reads both. All
libraries get the same items, and as many evaluations where they can be told; the
truth is the exact matrix, made by fewpairs. Results go to
experiments/results/peers.jsonl and docs/peers.md.
"""

import argparse
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from experiments.cells import Cell, Results, Value, run_cells
from experiments.corpora import centroids, corpus, glove
from experiments.data import folder, workshop
from experiments.manifest import RESULTS
from fewpairs.evaluation import recall_at_k

__all__ = ["TASKS", "Answer", "Task", "cells", "main"]

NEAR = 10
SHARES = (0.05, 0.1, 0.2, 0.4)  # of the pairs


class Task(NamedTuple):
    """Items, their exact similarities, and what one evaluation is.

    ``single`` is the fastest way to one pair, for libraries that ask pair by pair.
    """

    items: list[Any]
    K: NDArray[np.float32]
    similarity: Any
    prior: NDArray[Any] | None
    single: Callable[[int, int], float]


class Answer(NamedTuple):
    """What a library gave: neighbors, a matrix if it has one, and its price."""

    neighbors: NDArray[np.int64]
    guess: NDArray[Any] | None
    evaluations: int


def cells(data: Path, *, toy: bool) -> Iterator[Cell]:
    """Yield a cell a task, library and share of the pairs."""
    for name, rivals in _rivals(data).items():
        for label, run in rivals.items():
            # All pairs are all pairs; the others get a few budgets.
            shares = (1.0,) if label.endswith("all pairs") else SHARES
            for share in shares[-1:] if toy else shares:

                def compute(name: str = name, run: Any = run, s: Any = share) -> Value:
                    return _measured(_task(data, name, toy=toy), run, s)

                yield Cell({"task": name, "library": label, "share": share}, compute)


@cache
def _task(data: Path, name: str, *, toy: bool) -> Task:
    return TASKS[name](data, 40 if toy else None)


def _strings(data: Path, most: int | None) -> Task:
    from rapidfuzz.fuzz import token_set_ratio

    texts = _sentences(data, most or 2_000)[0]
    similarity = fp.StringSimilarity("token_set_ratio")
    K = _exact(texts, similarity)

    def single(i: int, j: int) -> float:
        return token_set_ratio(texts[i], texts[j]) / 100

    return Task(texts, K, similarity, None, single)


def _documents(data: Path, most: int | None) -> Task:
    words = corpus(data, "twitter").words[: most or 500]
    similarity = fp.WMD(glove(data), gamma=1.0)
    prior = centroids(data, words)
    K = _exact(words, similarity)
    return Task(words, K, similarity, prior, _one_by_one(words, similarity))


def _pairs(data: Path, most: int | None) -> Task:
    texts, prior = _sentences(data, most or 300)
    model = _cross_encoder(data)
    similarity = fp.CrossEncoder(model, activation="identity", symmetric=True)
    K = _exact(texts, similarity)
    return Task(texts, K, similarity, prior, _one_by_one(texts, similarity))


TASKS: dict[str, Callable[[Path, int | None], Task]] = {
    "strings": _strings,
    "documents": _documents,
    "cross-encoder": _pairs,
}


def _sentences(data: Path, most: int) -> tuple[list[str], NDArray[Any]]:
    """Return sentences of STS-B with their labeled partners, and embeddings."""
    path = data / "matrices" / "stsb.jsonl"
    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    chosen = list(
        dict.fromkeys(t for a in items for t in (items[a["pair"]]["pair"], a["pair"]))
    )
    vectors = np.load(data / "matrices" / "stsb_embeddings.npy").astype(np.float32)
    return [items[t]["text"] for t in chosen[:most]], vectors[chosen[:most]]


def _cross_encoder(data: Path) -> str:
    from experiments.glue_tasks import read_task
    from experiments.glue_training import fine_tune
    from experiments.toy import tiny_encoder

    named = os.environ.get("FEWPAIRS_CROSS_ENCODER", "cross-encoder/stsb-roberta-base")
    if not _is_toy(data):
        return named
    place = workshop(data, toy=True) / "cross-encoder"
    if not place.exists():
        encoder = tiny_encoder(workshop(data, toy=True) / "encoder")
        pairs = read_task(data, "stsb", "train")
        fine_tune(pairs, encoder, place, task="stsb", epochs=1)
    return str(place)


def _is_toy(data: Path) -> bool:
    return not (data / "recipe").exists()


def _one_by_one(items: list[Any], similarity: Any) -> Callable[[int, int], float]:
    scorer = similarity.bind(items)
    return lambda i, j: float(scorer.pairs(np.array([i]), np.array([j]))[0])


def _exact(items: list[Any], similarity: Any) -> NDArray[np.float32]:
    everything = np.arange(len(items))
    K = similarity.bind(items).block(everything, everything)
    return np.asarray((K + K.T) / 2, dtype=np.float32)


# --- libraries ------------------------------------------------------------------------


def _rivals(data: Path) -> dict[str, dict[str, Any]]:
    """Return what runs on which task."""
    from experiments import peer_libraries as peers

    ours: dict[str, Any] = {"fewpairs": peers.fewpairs}
    slow: dict[str, Any] = {"scikit-learn Nystroem": peers.sklearn_nystroem}
    return {
        "strings": {**ours, "RapidFuzz cdist, all pairs": peers.rapidfuzz, **slow},
        "documents": {
            **ours,
            **slow,
            "gensim wmdistance, all pairs": lambda t, _: peers.gensim(t, glove(data)),
            "POT emd2 loop, all pairs": lambda t, _: peers.pot(t, glove(data)),
        },
        "cross-encoder": {
            **ours,
            "bi-encoder + re-rank": peers.rerank,
            "sentence-transformers CrossEncoder, all pairs": (
                lambda t, _: peers.all_pairs(t, _cross_encoder(data))
            ),
            **slow,
        },
    }


# --- measuring ------------------------------------------------------------------------


def _measured(task: Task, run: Callable[[Task, int], Answer], share: float) -> Value:
    K, n = task.K, len(task.K)
    with _PeakMemory() as memory:
        start = time.perf_counter()
        answer = run(task, int(share * n * (n - 1) / 2))
        seconds = time.perf_counter() - start
    off = K.copy()
    np.fill_diagonal(off, -np.inf)
    truth = np.argsort(-off, axis=1, kind="stable")[:, :NEAR]
    recall = recall_at_k(truth, answer.neighbors)
    error = None
    if answer.guess is not None:
        gap = np.asarray(answer.guess, dtype=np.float64) - K
        np.fill_diagonal(gap, 0)
        own = K.astype(np.float64)
        np.fill_diagonal(own, 0)
        error = float(np.linalg.norm(gap) / np.linalg.norm(own))
    return {
        "n": n,
        "runs": 1,
        "evaluations": answer.evaluations,
        "error": error,
        "recall": recall,
        "seconds": seconds,
        "memory": memory.most,
        "machine": _machine(),
        "versions": _versions(),
    }


PEERS = (
    "scikit-learn",
    "gensim",
    "POT",
    "sentence-transformers",
    "RapidFuzz",
    "numpy",
    "torch",
)


def _versions() -> str:
    found = [f"fewpairs {fp.__version__}"]
    for name in PEERS:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return ", ".join(found)


def _machine() -> str:
    import torch

    words = f"{platform.machine()}, {os.cpu_count()} cores"
    return (
        f"{words}, {torch.cuda.get_device_name()}"
        if torch.cuda.is_available()
        else words
    )


class _PeakMemory:
    """The most memory of the process above what it had before, in MB."""

    def __enter__(self) -> "_PeakMemory":
        self._before = self._most = _resident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self._most = max(self._most, _resident())

    @property
    def most(self) -> float:
        """MB at the peak."""
        return (self._most - self._before) / 2**20


def _resident() -> int:
    path = Path("/proc/self/statm")
    if not path.exists():  # no Linux: nothing to watch
        return 0
    return int(path.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


def main() -> None:
    """Run what is not done yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--task", default="", help="only cells with this in their key")
    parser.add_argument("--render", action="store_true", help="only write the page")
    options = parser.parse_args()
    if options.toy:
        import tempfile

        from experiments.toy import make_data

        with tempfile.TemporaryDirectory() as made:
            data = make_data(Path(made) / "data")
            results = Results(Path(made) / "peers.jsonl")
            run_cells(cells(data, toy=True), results, print)
        return
    results = Results(RESULTS / "peers.jsonl")
    if not options.render:
        run_cells(cells(folder(), toy=False), results, print, match=options.task)
    from experiments.render_peers import page

    docs = Path(__file__).parent.parent / "docs"
    (docs / "peers.md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
