"""Nearest neighbors by a cross-encoder, with embeddings that say where to look."""

import numpy as np
import polars as pl

import fewpairs as fp

frame = pl.read_csv("titles.csv")
model = fp.CrossEncoder("model", symmetric=True)
embeddings = np.load("embeddings.npy")
options = {"column": "title", "ids": "id", "empty": "drop", "budget": "20/item"}
found = fp.neighbors(frame, model, 3, prior=embeddings, store="paid", **options)
found.to_polars().write_csv("neighbors.csv")
