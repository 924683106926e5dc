"""Every public callable and method, with arguments that work."""

import inspect
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fewpairs as fp
from fewpairs.evaluation import exact_matrix, quality

N = 30
TEXTS = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(N // 3)]
LABELS = [text.split()[0] for text in TEXTS]
X = np.random.default_rng(0).standard_normal((N, 4))
K = np.tanh(X @ X.T / 4)
LEVENSHTEIN = fp.StringSimilarity("levenshtein", workers=1)
WORDS = sorted({word for text in TEXTS for word in text.split()})
VECTORS = np.random.default_rng(1).standard_normal((len(WORDS), 3))
LAYERS = [(np.ones((2, 12)) / 9, np.zeros(2)), (np.ones((1, 2)), np.zeros(1))]


async def judge(a, b):
    return 0.5


def same(a, b):
    return float(a == b)


class PublicCall(NamedTuple):
    """A call that works with ``given``; ``arguments`` are to be replaced."""

    name: str
    call: Callable[..., Any]
    given: dict[str, Any]
    arguments: list[str]


def every_argument(name, call, *, leave=(), use=None, **given) -> PublicCall:
    """A call with all its arguments but some; ``use`` does something with the result.

    Options of methods and similarities may be found wanting when they are used.
    """
    parameters = inspect.signature(call).parameters.values()
    names = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    called = call if use is None else lambda **options: use(call(**options))
    return PublicCall(name, called, given, [n for n in names if n not in leave])


def public_calls(folder: Path) -> Iterator[PublicCall]:
    """All of them; what they write goes to a folder."""
    approx = fp.approximate(TEXTS, LEVENSHTEIN, method="nystrom", budget=0.5)
    approx.save(folder / "run")
    yield from runs(folder)
    yield from methods()
    yield from similarities(folder)
    yield from answers(approx, folder)
    yield from ledgers()
    yield from estimators()


def runs(folder):
    options = {"method": "nystrom", "budget": 0.5}
    for verb in (fp.approximate, fp.plan, exact_matrix):
        given = {"items": TEXTS, "similarity": LEVENSHTEIN}
        more = {} if verb is exact_matrix else options
        yield every_argument(verb.__name__, verb, **given, **more)
    given = {"items": TEXTS, "similarity": LEVENSHTEIN}
    yield every_argument("neighbors", fp.neighbors, **given)
    yield every_argument("duplicates", fp.duplicates, **given, threshold=0.8)
    given = {"left": TEXTS[:20], "right": TEXTS[20:], "similarity": LEVENSHTEIN}
    yield every_argument("match", fp.match, **given, one_to_one=False, k=1)
    yield every_argument(
        "approximate by auto",
        fp.approximate,
        leave=("items", "similarity", "method", "store"),
        items=X,
        similarity=fp.Cosine(),
        budget=0.6,
    )
    given = {"items": TEXTS, "similarity": LEVENSHTEIN, "path": folder / "run"}
    yield every_argument("load", fp.load, **given)


def methods():
    def run(method):
        return fp.approximate(None, K, method=method, budget=1.0)

    for kind in (fp.Nystrom, fp.SMSNystrom, fp.Skeleton, fp.SiCUR, fp.StaCUR):
        yield every_argument(kind.__name__, kind, use=run, landmarks=6)
    yield every_argument("Regularized", fp.Regularized, use=run, landmarks=6)
    yield every_argument("Optimal", fp.Optimal, use=run)
    yield every_argument("Auto", fp.Auto, use=run, student_seconds=0.2)
    rng = np.random.default_rng(0)
    medoids, draw = fp.KMeansMedoids, {"n": N, "size": 5, "rng": rng}
    yield every_argument(
        "KMeansMedoids", medoids, use=lambda s: s.draw(**draw), embeddings=X
    )
    yield every_argument("KMeansMedoids.draw", medoids(X).draw, **draw)
    yield every_argument("Uniform.draw", fp.Uniform().draw, **draw)


def similarities(folder):
    def scored(similarity):
        return fp.approximate(TEXTS, similarity, method="nystrom", budget=0.6).dense()

    def bound(similarity):
        return similarity.bind(TEXTS)

    words = (WORDS, VECTORS)
    yield every_argument("StringSimilarity", fp.StringSimilarity, use=scored)
    yield every_argument("TokenOverlap", fp.TokenOverlap, use=scored)
    yield every_argument("Cosine", fp.Cosine, use=scored, embeddings=X)
    yield every_argument("WMD", fp.WMD, use=bound, vectors=words)
    facts = {"function": same, "symmetric": True}
    yield every_argument("from_function", fp.from_function, use=scored, **facts)
    yield every_argument("from_matrix", fp.from_matrix, use=scored, matrix=K)
    facts = {"function": judge, "symmetric": True, "retries": 0}
    yield every_argument(
        "from_async", fp.from_async, use=scored, leave=("rate",), **facts
    )
    yield PublicCall("from_async", fp.from_async, facts, ["rate"])
    yield every_argument(
        "Judge", fp.Judge, use=lambda s: (s.bind(["a", "b"]), repr(s)), model="m"
    )
    cheap = fp.StringSimilarity("ratio")
    yield every_argument("paid", fp.paid, leave=("budget", "prior"), similarity=cheap)
    mlp = fp.PairMLP(LAYERS)
    yield every_argument("PairMLP", fp.PairMLP, use=lambda s: s.bind(X), layers=LAYERS)
    mlp.save(folder / "mlp")
    yield every_argument("PairMLP.save", mlp.save, path=folder / "mlp")
    read = fp.PairMLP.from_safetensors
    yield every_argument("PairMLP.from_safetensors", read, path=folder / "mlp")
    bare = (LEVENSHTEIN, fp.TokenOverlap(), fp.Cosine(), fp.from_function(same))
    for similarity in (*bare, fp.Cosine(X), fp.from_matrix(K), mlp, fp.WMD(words)):
        name = f"{type(similarity).__name__}.bind"
        yield PublicCall(name, similarity.bind, {}, ["items"])
    pairs = np.column_stack([np.arange(20), np.arange(20)[::-1]])
    yield every_argument(
        "train_pair_mlp",
        fp.train_pair_mlp,
        vectors=X,
        pairs=pairs,
        labels=np.arange(20) % 2,
        hidden=(4,),
        epochs=2,
    )


def answers(approx, folder):
    numbers = count()

    def save(**options):
        path = options.pop("path", folder / f"saved-{next(numbers)}")
        return approx.save(path, **options)

    new = {"new_items": ["red 3"]}
    given = {
        "pairs": {"i": 0, "j": [1, 2]},
        "block": {"rows": [0], "columns": [1]},
        "row": {"i": 0},
        "dense": {},
        "embedding": {},
        "neighbors": {"k": 3},
        "duplicates": {"threshold": 0.8},
        "search": {"query": "red 3", "k": 3, "evaluations": 20},
        "project": new,
        "transform": new,
        "grow": {"budget": 0.7},
        "cluster": {"threshold": 0.5},
        "linkage": {},
        "graph": {"k": 3},
    }
    for name, arguments in given.items():
        verb = getattr(approx, name)
        yield every_argument(f"Approximation.{name}", verb, **arguments)
    two = fp.approximate(TEXTS[:12], LEVENSHTEIN, others=TEXTS[12:], budget=0.6)
    yield every_argument("Approximation.match", two.match, k=1)
    yield PublicCall("Approximation.save", save, {}, ["path", "overwrite"])
    yield PublicCall("Approximation @", lambda x: approx @ x, {}, ["x"])
    yield every_argument("Projection.block", approx.project(["red 3"]).block)
    yield every_argument("quality", quality, approx=approx, truth=K)
    vectors = fp.approximate(X, fp.Cosine(), prior=X, budget=0.6)
    new = {"new_items": X[:1] + 1, "prior": X[:1]}
    asked = {"query": X[:1] + 1, "k": 3, "evaluations": 20, "prior": X[:1]}
    yield every_argument("search of vectors", vectors.search, **asked)
    yield every_argument("project of vectors", vectors.project, **new)


def ledgers():
    ledger = fp.Ledger()
    fp.approximate(TEXTS, LEVENSHTEIN, method="nystrom", budget=0.5, store=ledger)
    yield every_argument("Ledger", fp.Ledger)
    given = {"function": np.sqrt, "similarity": LEVENSHTEIN}
    yield every_argument("Ledger.transformed", ledger.transformed, **given)


def estimators():
    for name in ("SimilarityEmbedder", "SimilarityClassifier", "SimilarityClusterer"):
        kind = getattr(fp.sklearn, name)

        def fit(X=TEXTS, y=LABELS, kind=kind):
            return kind(LEVENSHTEIN).fit(X, y)

        yield every_argument(
            name, kind, use=lambda e: e.fit(TEXTS, LABELS), similarity=LEVENSHTEIN
        )
        yield PublicCall(f"{name}.fit", fit, {}, ["X", "y"])
        for verb in ("transform", "predict", "decision_function"):
            if hasattr(kind, verb):
                yield PublicCall(f"{name}.{verb}", getattr(fit(), verb), {}, ["X"])
