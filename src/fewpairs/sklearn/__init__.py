"""Estimators for scikit-learn: features, classes and clusters from a few pairs.

They take numeric arrays, or any list of items that the similarity takes: texts, for
one. ``similarity=None`` compares numeric rows by their Euclidean distance.
"""

from fewpairs.similarity.remembered import Store
from fewpairs.sklearn.clusterer import SimilarityClusterer
from fewpairs.sklearn.embedding import SimilarityClassifier, SimilarityEmbedder

__all__ = [
    "SimilarityClassifier",
    "SimilarityClusterer",
    "SimilarityEmbedder",
    "Store",
]
