"""Nearest neighbors by a cross-encoder, with embeddings that say where to look."""

import numpy as np
import pandas as pd

import fewpairs as fp

frame = pd.read_csv("titles.csv")
model = fp.CrossEncoder("model", symmetric=True)
embeddings = np.load("embeddings.npy")
options = {"column": "title", "ids": "id", "empty": "drop", "budget": "20/item"}
found = fp.neighbors(frame, model, 3, prior=embeddings, store="paid", **options)
found.to_pandas().to_csv("neighbors.csv", index=False)
