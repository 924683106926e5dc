"""Causal rerankers: language models that are asked for yes or no."""

from fewpairs.similarity.causal_reranker.scorer import CausalReranker

__all__ = ["CausalReranker"]
