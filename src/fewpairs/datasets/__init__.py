"""Real texts that are on every machine, some with every score of a model."""

from fewpairs.datasets.scores import DocstringScores, docstring_scores
from fewpairs.datasets.stdlib import Texts, stdlib_docstrings

__all__ = ["DocstringScores", "Texts", "docstring_scores", "stdlib_docstrings"]
