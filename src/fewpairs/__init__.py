"""fewpairs: the whole similarity matrix from a few of its pairs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fewpairs.errors import (
    BudgetError,
    FewpairsError,
    FewpairsWarning,
    InputError,
    MissingExtraError,
    SimilarityError,
    StoreError,
)
from fewpairs.ledger.ledger import Ledger
from fewpairs.methods import (
    Auto,
    Nystrom,
    Optimal,
    Regularized,
    SiCUR,
    Skeleton,
    SMSNystrom,
    StaCUR,
)
from fewpairs.methods.landmarks import KMeansMedoids, Uniform
from fewpairs.result.approximation import Approximation
from fewpairs.result.certificate import Certificate
from fewpairs.result.saving import load
from fewpairs.run.approximate import approximate
from fewpairs.run.plan import Plan, plan
from fewpairs.similarity import (
    WMD,
    Cosine,
    Scorer,
    Similarity,
    StringSimilarity,
    TokenOverlap,
    from_function,
    from_matrix,
)

if TYPE_CHECKING:
    from fewpairs import datasets as datasets
    from fewpairs import evaluation as evaluation
    from fewpairs import report as report
    from fewpairs import sklearn as sklearn
    from fewpairs import testing as testing
    from fewpairs.run.jobs import duplicates, neighbors
    from fewpairs.run.match import match
    from fewpairs.similarity.asynchronous import from_async
    from fewpairs.similarity.causal_reranker.scorer import CausalReranker
    from fewpairs.similarity.cross_encoder.scorer import CrossEncoder
    from fewpairs.similarity.judge.judge import Judge
    from fewpairs.similarity.paid import paid
    from fewpairs.similarity.pair_mlp.scorer import PairMLP
    from fewpairs.similarity.pair_mlp.training import train_pair_mlp

__version__ = "0.2.0"

__all__ = [
    "WMD",
    "Approximation",
    "Auto",
    "BudgetError",
    "CausalReranker",
    "Certificate",
    "Cosine",
    "CrossEncoder",
    "FewpairsError",
    "FewpairsWarning",
    "InputError",
    "Judge",
    "KMeansMedoids",
    "Ledger",
    "MissingExtraError",
    "Nystrom",
    "Optimal",
    "PairMLP",
    "Plan",
    "Regularized",
    "SMSNystrom",
    "Scorer",
    "SiCUR",
    "Similarity",
    "SimilarityError",
    "Skeleton",
    "StaCUR",
    "StoreError",
    "StringSimilarity",
    "TokenOverlap",
    "Uniform",
    "approximate",
    "duplicates",
    "from_async",
    "from_function",
    "from_matrix",
    "load",
    "match",
    "neighbors",
    "paid",
    "plan",
    "train_pair_mlp",
]

# Names that need asyncio, answers or the torch extra, found when they are first used.
_LAZY = {
    "duplicates": "fewpairs.run.jobs",
    "match": "fewpairs.run.match",
    "neighbors": "fewpairs.run.jobs",
    "from_async": "fewpairs.similarity.asynchronous",
    "CausalReranker": "fewpairs.similarity.causal_reranker",
    "CrossEncoder": "fewpairs.similarity.cross_encoder",
    "Judge": "fewpairs.similarity.judge",
    "PairMLP": "fewpairs.similarity.pair_mlp",
    "paid": "fewpairs.similarity.paid",
    "train_pair_mlp": "fewpairs.similarity.pair_mlp.training",
}
_MODULES = ("datasets", "evaluation", "report", "sklearn", "testing")


def __getattr__(name: str) -> Any:
    if name in _MODULES:  # some take a while to import
        return import_module(f"fewpairs.{name}")
    if name not in _LAZY:
        msg = f"module 'fewpairs' has no attribute {name!r}"
        raise AttributeError(msg)
    thing = getattr(import_module(_LAZY[name]), name)
    globals()[name] = thing
    return thing


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
