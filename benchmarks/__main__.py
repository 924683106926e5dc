"""Run all benchmarks, or those named: `python -m benchmarks overhead imports`.

Options after a single name are its own: `python -m benchmarks few --data stsb`.
What follows `beside` too: `python -m benchmarks beside OTHER_CHECKOUT overhead tiny`.
"""

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
    "few_cost",
    "no_explosion",
    "certificate",
    "default",
    "student",
    "neighbors",
    "search",
    "clusters",
)
# Long: run when named.
LONG = (
    "adding",
    "bounds",
    "certificate_widths",
    "certificates",
    "few",
    "retrieval",
    "index",
    "backends",
    "exact",
    "texts",
    "linking",
)
# Those that take options.
OPTIONS = (
    "adding",
    "certificates",
    "cross_encoder",
    "few",
    "retrieval",
    "larger",
    "exact",
    "texts",
    "linking",
)

if sys.argv[1:2] == ["beside"]:
    importlib.import_module("benchmarks.beside").run(sys.argv[2:])
    sys.exit()
first = next((t for t, word in enumerate(sys.argv) if word[:1] == "-"), len(sys.argv))
chosen, options = sys.argv[1:first] or ALL, sys.argv[first:]
for name in chosen:
    if name not in (*ALL, *LONG):
        sys.exit(f"no benchmark {name!r}; there are {', '.join((*ALL, *LONG))}")
if options and (len(chosen) != 1 or chosen[0] not in OPTIONS):
    sys.exit(f"{' '.join(options)}: one of {', '.join(OPTIONS)} alone takes options")
for name in chosen:
    module = importlib.import_module(f"benchmarks.{name}")
    module.run(options) if options else module.run()
