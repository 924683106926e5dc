"""The default method, a module per stage."""

from fewpairs.methods.auto.auto import Auto

__all__ = ["Auto"]
