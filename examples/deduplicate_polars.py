"""Find near-duplicates in a column of a CSV file; write the rows that stay."""

import polars as pl

import fewpairs as fp

frame = pl.read_csv("titles.csv")
ratio = fp.StringSimilarity("token_sort_ratio")
found = fp.duplicates(frame, ratio, 0.9, column="title", empty="drop")
print(found)
copies = set(found.to_polars()["right"])
frame.filter(~pl.arange(len(frame)).is_in(copies)).write_csv("clean.csv")
