"""Word mover's distance of texts."""

from fewpairs.similarity.wmd.scorer import WMD, split_words
from fewpairs.similarity.wmd.word_vectors import word_vectors

__all__ = ["WMD", "split_words", "word_vectors"]
