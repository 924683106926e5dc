"""Measuring against the truth: matrices, clusters of mentions, scores and rankings."""

from fewpairs.evaluation.agreement import (
    Classified,
    accuracy,
    classification,
    f1,
    pearson,
    recall_at_k,
    spearman,
)
from fewpairs.evaluation.coreference import (
    Coreference,
    Score,
    b_cubed,
    ceaf_e,
    conll,
    coreference,
    lea,
    muc,
)
from fewpairs.evaluation.matrices import Quality, quality
from fewpairs.reading.exact import exact_matrix

__all__ = [
    "Classified",
    "Coreference",
    "Quality",
    "Score",
    "accuracy",
    "b_cubed",
    "ceaf_e",
    "classification",
    "conll",
    "coreference",
    "exact_matrix",
    "f1",
    "lea",
    "muc",
    "pearson",
    "quality",
    "recall_at_k",
    "spearman",
]
