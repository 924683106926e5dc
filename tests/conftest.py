"""Fixtures: matrices whose truth is known by construction, and the real data."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import fewpairs as fp
from fewpairs.matrix.budget import Budget
from fewpairs.reading.opening import open_oracle
from fewpairs.reading.oracle import Oracle

# A shell's background jobs ignore Ctrl-C and hand that down; tests send it to children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every machine, however slow it is.
settings.register_profile("fewpairs", deadline=None, derandomize=True)
settings.load_profile("fewpairs")


@pytest.fixture
def data_folder() -> Path:
    """The folder of real data sets; the test is skipped where there is none."""
    folder = os.environ.get("FEWPAIRS_DATA")
    if not folder:
        pytest.skip("needs the real data sets: set FEWPAIRS_DATA to their folder")
    return Path(folder).resolve()


@pytest.fixture
def stsb(data_folder: Path) -> np.ndarray:
    """The symmetrized STS-B cross-encoder matrix, 3000 × 3000."""
    K = np.load(data_folder / "matrices" / "stsb.npy").astype(np.float64)
    return (K + K.T) / 2


class Counting:
    """A function that knows how often it was called, and with which pairs."""

    def __init__(self, K: np.ndarray) -> None:
        self.K = K
        self.calls: list[tuple[int, int]] = []

    def __call__(self, a: int, b: int) -> float:
        self.calls.append((a, b))
        return float(self.K[a, b])


class Failing(Counting):
    """One that answers so many pairs and then raises, until it is mended."""

    def __init__(self, K: np.ndarray, after: int, error: BaseException) -> None:
        super().__init__(K)
        self.after, self.error = after, error

    def __call__(self, a: int, b: int) -> float:
        if len(self.calls) == self.after:
            raise self.error
        return super().__call__(a, b)

    def mend(self) -> None:
        """Answer from now on."""
        self.after = -1


def never(a: object, b: object) -> float:
    """A similarity of arguments that are refused before anything is paid for."""
    pytest.fail("paid for before everything was checked")


class Told:
    """A progress that remembers what it was told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, float]] = []
        self.done, self.finished = 0, False

    def start(self, what: str, total: float) -> None:
        self.stages.append((what, total))
        self.done = 0

    def advance(self, evaluations: int) -> None:
        self.done += evaluations

    def finish(self) -> None:
        self.finished = True


def best_of(rows: np.ndarray, k: int) -> np.ndarray:
    """The k best columns of every row, best first."""
    return np.argsort(-rows, axis=1, kind="stable")[:, :k]


def nearest(K: np.ndarray, k: int) -> np.ndarray:
    """The k best other items of every item, best first."""
    return best_of(K - np.diag(np.full(len(K), np.inf)), k)


def shared(one: np.ndarray, other: np.ndarray) -> float:
    """The share of what one list of every row has that the other has too."""
    return float((one[:, :, None] == other[:, None, :]).any(axis=2).mean())


def oracle_of(K: np.ndarray, *, symmetric: bool | None = None, **options) -> Oracle:
    """An oracle that reads K, through the public similarity."""
    facts = {k: options.pop(k) for k in ("diagonal",) if k in options}
    similarity = fp.from_matrix(K, symmetric=symmetric, **facts)
    if "budget" in options:
        options["budget"] = Budget.of(options["budget"], "budget")
    return open_oracle(similarity.bind(range(len(K))), similarity, **options)


def random_matrix(n: int, *, symmetric: bool, seed: int = 0) -> np.ndarray:
    """A full-rank matrix with no structure to lean on."""
    K = np.random.default_rng(seed).standard_normal((n, n))
    return (K + K.T) / 2 if symmetric else K


def in_groups(n, seed=0):
    """Return n vectors in tight groups of ten."""
    rng = np.random.default_rng(seed)
    centers = rng.standard_normal((n // 10, 8))
    return np.repeat(centers, 10, axis=0) + 0.1 * rng.standard_normal((n, 8))


@pytest.fixture
def large(monkeypatch):
    """Make five hundred items too many for blocks of all pairs."""
    monkeypatch.setattr("fewpairs.kernels.linalg.top_products.EXACT", 500)
    monkeypatch.setattr("fewpairs.answers.candidates.EXACT", 500)
