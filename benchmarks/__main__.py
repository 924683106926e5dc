"""Run all benchmarks, or those named: `python -m benchmarks overhead imports`."""

import importlib
import sys

ALL = (
    "imports",
    "duplicates",
    "report",
    "eigenvalues",
    "overhead",
    "tiny",
    "wmd",
    "wmd_gpu",
    "pair_mlp",
    "cross_encoder",
    "larger",
    "default_cost",
    "no_explosion",
    "default",
    "student",
    "neighbors",
    "search",
    "clusters",
)

chosen = sys.argv[1:] or ALL
for name in chosen:
    if name not in ALL:
        sys.exit(f"no benchmark {name!r}; there are {', '.join(ALL)}")
for name in chosen:
    importlib.import_module(f"benchmarks.{name}").run()
