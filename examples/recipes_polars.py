"""Cluster recipes by word mover's distance of their ingredients."""

import polars as pl

import fewpairs as fp

frame = pl.read_json("recipes.json")
wmd = fp.WMD("vectors.txt", gamma=2.0, empty="drop")
print("without a vector:", wmd.lost(frame["ingredients"]).most_common(5))
approx = fp.approximate(frame, wmd, column="ingredients", ids="id", budget="20/item")
print(approx.thresholds())
labels = approx.cluster(n_clusters=3, by="spectral")
labels.to_polars().write_csv("clusters.csv")
