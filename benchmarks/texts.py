"""Strings without a prior of their own: what the lexical one is worth.

`python -m benchmarks texts` runs the cells that benchmarks/results/texts.jsonl lacks
and writes docs/texts.md; `--render` writes the page alone, `--speed` times the
making of the prior for 100,000 texts. Docstrings and tweets were tuned on.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from experiments.cells import Results
from experiments.data import folder
from numpy.typing import NDArray

import fewpairs as fp
from benchmarks.few.answers import Answer, FromReads, Ours
from benchmarks.few.measuring import figures, truth_of
from benchmarks.few.reader import Reader
from benchmarks.few.reranking import reranked
from benchmarks.few.sets import DataSet
from fewpairs.datasets import stdlib_docstrings
from fewpairs.similarity.lexical import Lexical

__all__ = ["page", "run"]

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "texts.jsonl"
WORK = HERE / "work"
PAGE = HERE.parent / "docs" / "texts.md"
ITEMS, ROWS = 3_000, 300  # and those that are compared with all others
SIMILARITIES = ("token_sort_ratio", "levenshtein", "jaro_winkler")
SHARES = (0.01, 0.02, 0.05)
MANY = 100_000  # texts whose prior is timed
# R² and recall@10 of TF-IDF of character n-grams as prior, measured with fewpairs 0.1.
FLOORS = {
    ("docstrings", "token_sort_ratio"): ((0.85, 0.33), (0.90, 0.45), (0.95, 0.72)),
    ("docstrings", "levenshtein"): ((0.73, 0.22), (0.82, 0.23), (0.84, 0.46)),
}
HEAD = """# Texts without a prior

`python -m benchmarks texts` runs what is missing of
`benchmarks/results/texts.jsonl` and writes this page from it. {items:,} texts each,
similarities of RapidFuzz, R² / recall@10 at 1, 2 and 5 % of the pairs: R² on 200,000
random pairs, recall over {rows} random items, ties of the tenth included. Docstrings of
the standard library and tweets were tuned on; of the sentences of STS-B one thing was
learned, that a prior says much from a quarter of the variance on. One seed.

- *default*: `fp.approximate(texts, similarity, budget=...)`, the lexical prior made by
  itself; *no prior*: the same with `prior=None`.
- *re-ranked*: the lexical prior's top is read, what is left is predicted by a curve of
  the prior. *Mean*: random pairs are read, the others get their mean.
- *before*: TF-IDF of character n-grams reduced to 128 dimensions and passed as prior to
  fewpairs 0.1, where it was measured.
"""


def _tweets() -> list[str]:
    path = folder() / "twitter" / "twitter.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t", 1)[1] for line in lines][:ITEMS]


def _sentences() -> list[str]:
    path = folder() / "matrices" / "stsb.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines][:ITEMS]


SETS: dict[str, Callable[[], list[str]]] = {
    "docstrings": lambda: stdlib_docstrings(limit=ITEMS).texts,
    "tweets": _tweets,
    "sentences": _sentences,
}


def _mean(data: DataSet, evaluations: int, rng: np.random.Generator) -> Answer:
    reader = Reader(data, evaluations)
    _, _, values = reader.draw(reader.left, rng)
    mean = float(np.mean(values))

    def others(rows: Any, k: int) -> Any:  # the next ones: as good as any
        return (np.asarray(rows)[:, None] + 1 + np.arange(k)) % data.n

    return FromReads(reader, lambda i, j: np.full(len(i), mean), others)  # noqa: ARG005


def _ours(prior: Any) -> Callable[[DataSet, int, np.random.Generator], Answer]:
    def answer(data: DataSet, evaluations: int, rng: np.random.Generator) -> Answer:  # noqa: ARG001
        texts = data.items
        return Ours(
            fp.approximate(texts, data.similarity, budget=evaluations, prior=prior)
        )

    return answer


CONTENDERS = {
    "default": _ours("auto"),
    "no prior": _ours(None),
    "re-ranked": reranked,
    "mean": _mean,
}


def run(arguments: Sequence[str] = ()) -> None:
    """Run what is missing, and write the page."""
    parser = argparse.ArgumentParser("python -m benchmarks texts", description=__doc__)
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--again", nargs="+", choices=CONTENDERS, default=[])
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args(list(arguments))
    results = Results(RESULTS)
    if options.speed:
        _time_many(results)
    elif not options.render:
        for name in options.data:
            for similarity in SIMILARITIES:
                _fill(name, similarity, results, options.again)
    PAGE.write_text(page(results), encoding="utf-8")


@cache
def _texts(name: str) -> tuple[list[str], NDArray[np.float32]]:
    texts = SETS[name]()
    lexical = Lexical.fit(texts)
    assert lexical is not None
    return texts, lexical.embed(texts)


def _fill(name: str, similarity: str, results: Results, again: list[str]) -> None:
    cells = [
        ({"data": name, "similarity": similarity, "share": s, "contender": c}, s, c)
        for s in SHARES
        for c in CONTENDERS
    ]
    cells = [cell for cell in cells if cell[0] not in results or cell[2] in again]
    if not cells:
        return
    texts, prior = _texts(name)
    recipe = fp.StringSimilarity(similarity)
    data = DataSet(f"{name}-{similarity}", recipe, texts, prior)
    truth = truth_of(data, WORK, ROWS)
    for key, share, contender in cells:
        started = time.perf_counter()
        evaluations = int(share * data.n * (data.n - 1) / 2)
        rng = np.random.default_rng(0)
        answer = CONTENDERS[contender](data, evaluations, rng)
        value = figures(answer, data, truth)
        seconds = time.perf_counter() - started
        results.add(key, value, seconds)
        said = f"R² {value['r2']:.3f}, recall {value['recall']:.3f}"
        print(f"{seconds:6.1f} s  {' '.join(map(str, key.values()))}: {said}")


def _time_many(results: Results) -> None:
    """Make the prior of many texts: sentences of the docstrings, drawn again."""
    rng = np.random.default_rng(0)
    words = " ".join(stdlib_docstrings(limit=None).texts).split()
    starts = rng.integers(len(words) - 30, size=MANY)
    texts = [" ".join(words[t : t + int(rng.integers(8, 25))]) for t in starts]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, own = time.perf_counter(), time.process_time()
    lexical = Lexical.fit(texts)
    assert lexical is not None
    made = lexical.embed(texts)
    value = {
        "seconds": time.perf_counter() - started,
        "cpu": time.process_time() - own,
        "mebibytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        / 1024,
        "characters": float(np.mean([len(text) for text in texts])),
        "dimensions": made.shape[1],
    }
    results.add({"speed": MANY}, value, value["seconds"])
    print(value)


def page(results: Results) -> str:
    """Return the text of the page."""
    parts = [HEAD.format(items=ITEMS, rows=ROWS)]
    for name in SETS:
        head = " | ".join(f"{share:.0%}" for share in SHARES)
        rows = [f"## {name}\n", f"| similarity | | {head} |", "|---|---|---|---|---|"]
        for similarity in SIMILARITIES:
            rows += _rows(name, similarity, results)
        parts.append("\n".join([*rows, ""]))
    timed = results.one(speed=MANY)
    if timed is not None:
        parts.append(
            f"## Making it\n\n{MANY:,} texts of {timed['characters']:.0f} characters "
            f"on average, {timed['dimensions']:.0f} dimensions: "
            f"{timed['seconds']:.0f} s "
            f"({timed['cpu']:.0f} s of processor time; two cores, much other work "
            f"beside it) and {timed['mebibytes']:,.0f} MiB. The singular vectors are "
            "fitted to 5,000 of the texts, whatever their number.\n"
        )
    return "\n".join(parts)


def _rows(name: str, similarity: str, results: Results) -> list[str]:
    rows = []
    for contender in CONTENDERS:
        cells = [
            results.one(
                data=name, similarity=similarity, share=share, contender=contender
            )
            for share in SHARES
        ]
        if any(cells):
            shown = [f"{c['r2']:.2f} / {c['recall']:.2f}" if c else "" for c in cells]
            rows.append(f"| {similarity} | {contender} | {' | '.join(shown)} |")
    if (name, similarity) in FLOORS and rows:
        shown = [f"{r2:.2f} / {recall:.2f}" for r2, recall in FLOORS[name, similarity]]
        rows.append(f"| {similarity} | before | {' | '.join(shown)} |")
    return rows
