"""Passes of an encoder over packed tokens, on a GPU and in plain torch."""
