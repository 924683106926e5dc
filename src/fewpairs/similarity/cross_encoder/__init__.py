"""Cross-encoders: a transformer that reads both texts at once."""

from fewpairs.similarity.cross_encoder.scorer import CrossEncoder

__all__ = ["CrossEncoder"]
