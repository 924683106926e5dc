"""Real texts that are on every machine, some with every score of a model."""

from fewpairs.datasets.stdlib import Texts, stdlib_docstrings

__all__ = ["Texts", "stdlib_docstrings"]
