"""Write docs/scale.md from the results of `python -m benchmarks larger`."""

from math import log
from pathlib import Path
from typing import Any

from experiments.cells import Results

__all__ = ["PAGE", "exponent", "render"]

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
TO_REACH = 1.15
HEAD = """# A million items, and ten

What the default takes beside the similarity, and how that grows.
`python -m benchmarks larger --part growth` runs the sizes that have no line in
`benchmarks/results/larger.jsonl`, each in a process of its own; `--render` writes this
page from them. Numbers in the tables are not typed in by hand. A size without a row
was not run.

The similarity is made up, and rough: a steep curve of the cosine of 24 hidden
dimensions, an effect per item, and noise that belongs to the pair. The prior is a noisy
view of the hidden vectors in 64 dimensions. Topics have some 40 items whatever n is, so
that an item has as many rivals near it as there are topics: recall falls as n grows,
the prior's first. Evaluations are quick here, so by itself the default trains no
student.

- *Outside*: seconds of `approximate` and `neighbors(10)`, less those of evaluating.
- *Processor*: seconds of all cores together, evaluating included. It says more than
  the clock where other programs run.
- *Memory*: the most that the process ever had, items and embeddings included.
- *Exponent*: p of n^p between the first row and the last.
"""
HOW = """## What grows how

Up to 20,000 items every item is compared with every other, in blocks. Above that
nothing is of order n²:

| step | work | memory |
|---|---|---|
| random pairs: curve, effects | pairs · 134², once | n · 134 numbers |
| candidates, by an index | 4·n·√n·d + 5,000·n·d | 2·n·d |
| candidates, on a GPU | n²·d products, in blocks | n·d, there |
| a round: neighbors of neighbors | 144 per item, later fewer | n · 24 |
| a round: scores, choice | n · candidates | 16 bytes a candidate |
| what was read | one merge a round | 40 bytes a pair |
| neighbors, duplicates, graph | as candidates | n · k |
| a search | 1,000 items or more of every query | |
| the report | a sample of 25,000 items | |

The index (faiss, inverted lists) looks at 5,000 rows for a query at most, however many
there are: with more items its lists find less, and neighbors of neighbors make up for a
part of it. Without faiss all products are computed, with a warning that says
`pip install 'fewpairs[index]'`. A GPU that torch sees is taken by itself; what found
the candidates is written down with the run, and a run that goes on uses the same. Of
one set, candidates that a GPU found stay there while it has room for 40 bytes each: it
scores and chooses them too, and fits every item's own regression. Reading, and what is
one for all items, is left to the host.

The first candidates come by prior and low rank as random pairs tell them, the next ones
by what these count among the most similar, as a correction has learned it from the
first round, and so do neighbors in the end (`fewpairs.model.product_vectors`). Both are
made of the same embeddings, so vectors are searched in as many dimensions as they span.

A prior that is a similarity without embeddings has no vectors to search: above 20,000
items it is placed by its values at 256 items (`fewpairs.methods.auto.proposals`).
"""
PAPER = """## Ten million, on paper

10⁷ items at 20 per item are 10⁸ evaluations: {minutes:.0f} minutes of a cross-encoder
of MiniLM's size on short sentences and one H200, at the 339,000 pairs a second of
[the notebook](lab/benchmarks.md). Not run; by arithmetic from the rows above and from
what a step takes:

- **One GPU.** Vectors of 67 numbers are 2.7 GB there. All products are 1.3·10¹⁶
  multiplications and additions, some 5 minutes at 50 TFLOP/s in single precision, and
  their maxima by groups 8·10¹⁴ bytes, 3 to 4 minutes at 4 TB/s: some 8 minutes a
  search, of which a run makes three and `neighbors` two. Blocks grow as n², so this is
  about where lists, as the index has them, become cheaper on a GPU too. The host's part
  grows as n: ten times that of a million.
- **Memory.** {memory} Arrays per item are what fills it: candidates, the prior, the low
  rank and its features, and what was read.
- **A Dask cluster** evaluates, and nothing else: `executor="tcp://host:8786"` spreads
  the 10⁸ pairs over its workers in chunks, so that part divides by their number.
  Candidates, training and choosing run where `approximate` was called. With w workers
  of r pairs a second the evaluations take 10⁸/(w·r) seconds: 14 hours for 20 workers at
  100 pairs a second, beside which the computing is small.
"""


def exponent(found: dict[int, dict[str, Any]], a: int, b: int, of: str) -> float:
    """Return p of n^p that takes one figure of a items to that of b."""
    return log(found[b][of] / found[a][of]) / log(b / a)


def render(results: Path, page: Path = PAGE) -> None:
    """Write the page from what was measured."""
    runs: dict[tuple[str, Any, int], dict[int, dict[str, Any]]] = {}
    for key, value in Results(results):
        run = (key["machine"], key["student"], key["per item"])
        runs.setdefault(run, {})[key["items"]] = value
    parts = [HEAD]
    for (machine, student, per_item), found in sorted(runs.items(), key=str):
        trained = {True: ", with a student", False: ", without a student"}
        parts.append(f"## {machine}, {per_item} per item{trained.get(student, '')}\n")
        parts.append(_table(found))
    parts += [HOW, PAPER.format(minutes=1e8 / 339e3 / 60, memory=_memory(runs))]
    page.write_text("\n".join(parts), encoding="utf-8")


def _table(found: dict[int, dict[str, Any]]) -> str:
    rows = [
        "| items | total, s | outside | processor | GB | recall@10 | prior's | R² |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for size, value in sorted(found.items()):
        seconds = [f"{value[name]:.0f}" for name in ("total", "outside", "processor")]
        shares = [f"{value[name]:.3f}" for name in ("recall", "prior's recall", "r2")]
        cells = [f"{size:,}", *seconds, f"{value['memory'] / 1e9:.1f}", *shares]
        rows.append(f"| {' | '.join(cells)} |")
    if len(found) > 1:
        a, b = min(found), max(found)
        by_clock = exponent(found, a, b, "outside")
        by_cores = exponent(found, a, b, "processor")
        rows.append(
            f"\nFrom {a:,} to {b:,} items seconds outside grow as n^{by_clock:.2f}, "
            f"processor seconds as n^{by_cores:.2f} (to reach: {TO_REACH})."
        )
    return "\n".join(rows) + "\n"


def _memory(runs: dict[tuple[str, Any, int], dict[int, dict[str, Any]]]) -> str:
    """Say what an item takes, by the run that goes furthest, and ten million."""
    several = [found for found in runs.values() if len(found) > 1]
    if not several:
        return ""
    found = max(several, key=max)
    a, b = min(found), max(found)
    each = (found[b]["memory"] - found[a]["memory"]) / (b - a)
    return (
        f"{each / 1e3:.1f} kB per item, from {a:,} to {b:,} items: {each / 100:.0f} GB "
        "for ten million."
    )
