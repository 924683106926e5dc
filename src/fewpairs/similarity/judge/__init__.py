"""A language model behind a chat endpoint, as a similarity."""

from fewpairs.similarity.judge.judge import Judge

__all__ = ["Judge"]
