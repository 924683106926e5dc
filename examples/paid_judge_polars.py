"""A judge that costs money, within a budget; killed, it goes on where it stopped."""

import polars as pl
from service import ask  # async def ask(a, b) -> float, a request over the network

import fewpairs as fp

texts = pl.read_csv("titles.csv")["title"]
judge = fp.from_async(ask, concurrency=8, chunk=16, symmetric=True, cost_per_call=0.001)
approx = fp.approximate(texts, judge, budget="10/item", store="paid", empty="drop")
print(approx)  # what was paid is in the folder "paid": run it again after a kill
approx.neighbors(3).to_polars().write_csv("neighbors.csv")
