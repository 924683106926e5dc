"""Find near-duplicates in a column of a CSV file; write the rows that stay."""

import pandas as pd

import fewpairs as fp

frame = pd.read_csv("titles.csv")
ratio = fp.StringSimilarity("token_sort_ratio")
found = fp.duplicates(frame, ratio, 0.9, column="title", empty="drop")
print(found)
copies = set(found.to_pandas()["right"])
frame[~frame.index.isin(copies)].to_csv("clean.csv", index=False)
