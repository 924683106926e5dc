"""fewpairs: the whole similarity matrix from a few of its pairs."""

from fewpairs.approximating import approximate
from fewpairs.approximation import Approximation
from fewpairs.certificate import Certificate
from fewpairs.errors import (
    BudgetError,
    FewpairsError,
    FewpairsWarning,
    InputError,
    MissingExtraError,
    SimilarityError,
)
from fewpairs.landmarks import KMeansMedoids, Uniform
from fewpairs.ledger import Ledger
from fewpairs.methods import (
    Nystrom,
    Optimal,
    Regularized,
    SiCUR,
    Skeleton,
    SMSNystrom,
    StaCUR,
)
from fewpairs.persistence import load
from fewpairs.planning import Plan, plan
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

__version__ = "0.1.0"

__all__ = [
    "WMD",
    "Approximation",
    "BudgetError",
    "Certificate",
    "Cosine",
    "FewpairsError",
    "FewpairsWarning",
    "InputError",
    "KMeansMedoids",
    "Ledger",
    "MissingExtraError",
    "Nystrom",
    "Optimal",
    "Plan",
    "Regularized",
    "SMSNystrom",
    "Scorer",
    "SiCUR",
    "Similarity",
    "SimilarityError",
    "Skeleton",
    "StaCUR",
    "StringSimilarity",
    "TokenOverlap",
    "Uniform",
    "approximate",
    "from_function",
    "from_matrix",
    "load",
    "plan",
]
