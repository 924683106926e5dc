"""Similarities: recipes for scoring two items.

This folder knows nothing of oracles, budgets or matrices.
"""

from fewpairs.similarity.base import Scorer, Similarity
from fewpairs.similarity.cosine import Cosine
from fewpairs.similarity.function import from_function
from fewpairs.similarity.matrix import from_matrix
from fewpairs.similarity.strings import StringSimilarity
from fewpairs.similarity.token_overlap import TokenOverlap
from fewpairs.similarity.wmd.scorer import WMD

__all__ = [
    "WMD",
    "Cosine",
    "Scorer",
    "Similarity",
    "StringSimilarity",
    "TokenOverlap",
    "from_function",
    "from_matrix",
]
