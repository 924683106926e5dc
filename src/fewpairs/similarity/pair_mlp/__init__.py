"""A multilayer perceptron that scores pairs of vectors."""

from fewpairs.similarity.pair_mlp.scorer import PairMLP

__all__ = ["PairMLP"]
