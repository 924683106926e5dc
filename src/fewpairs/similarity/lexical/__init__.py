"""Lexical: a prior that any collection of texts has, made of their characters."""

from fewpairs.similarity.lexical.recipe import Lexical
from fewpairs.similarity.lexical.texts import texts_of

__all__ = ["Lexical", "texts_of"]
