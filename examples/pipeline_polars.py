"""Classify a column of texts: similarities as features of a scikit-learn pipeline."""

import polars as pl
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import fewpairs as fp

frame = pl.read_csv("labeled.csv")
ratio = fp.StringSimilarity("token_sort_ratio")
features = fp.sklearn.SimilarityEmbedder(ratio, landmarks=30)
model = make_pipeline(features, LogisticRegression(max_iter=1_000))
scores = cross_val_score(model, frame["text"], frame["kind"], cv=3)
print(f"accuracy {scores.mean():.2f}")
