"""Write docs/retrieval.md and its pictures from the results, and nothing else."""

from pathlib import Path

import numpy as np
from experiments.cells import Results

from benchmarks.retrieval.command import BUDGETS
from benchmarks.retrieval.picture import draw

__all__ = ["LINES", "TITLES", "mean_of", "render"]

DOCS = Path(__file__).parents[2] / "docs"
TITLES = {
    "stsb": "STS-B, 1,500 × 1,500",
    "mrpc": "MRPC, 408 × 408",
    "rte": "RTE, 277 × 277",
}
LINES = {
    "default, trained": "default, trained",
    "default": "default",
    "prior's best re-ranked": "reranked",
    "ANNCUR": "anncur",
    "ADACUR": "adacur",
    "Axn": "axn",
}
FIGURES = {
    "recall": "recall@10",
    "top1": "top-1",
    "partner": "labelled partner among the ten",
}
HEAD = """# Retrieval: two sets, few evaluations per query

First sentences of labelled pairs are queries, second sentences documents: how many of
every query's ten most similar documents are found, for so many evaluations per query.
`python -m benchmarks retrieval` runs what is missing of
`benchmarks/results/retrieval.jsonl` and writes this page and its picture from it.

<figure markdown="span">
  ![Recall@10 and top-1](images/retrieval-light.svg#only-light)
  ![Recall@10 and top-1](images/retrieval-dark.svg#only-dark)
  <figcaption>Against evaluations per query, everything that was read included.
  </figcaption>
</figure>

- **Data.** Scores of cross-encoders that were trained for the task, in the order (first
  sentence, second sentence); MiniLM embeddings of both are the prior. The default's
  settings for two sets (shares of random pairs, ridges, turns) were chosen by looking
  at all three, without training, which favors it here; the rivals' were not tuned.
- **Truth.** The ten documents that the cross-encoder scores highest; what is as similar
  as the tenth counts as one of them. *Top-1*: the first of what is found is the most
  similar. *Partner*: of queries whose labelled partner people take for the same
  (STS-B: 4 and more of 5), those whose partner is among the ten.
- **Everything is paid for**, by all: rows of anchor queries, random pairs, and of the
  default also its certificate and its guard.
- **Rivals** read through one counter that refuses a pair beyond the budget.
  *Re-ranking* reads the prior's best (Nogueira and Cho 2019). *ANNCUR* joins fixed
  anchors' columns and rows, and re-ranks (Yadav et al. 2022), a third of the budget
  each. *ADACUR* takes every query's own best so far as its anchors, in five rounds
  (Yadav et al. 2023), after a third of the budget for rows of anchor queries. *Axn*
  fits a ridge per query to what was read of it, in five rounds (Yadav et al. 2024).
- Means of three seeds; of the default with training (`Auto(student=True)`), one, and
  three of MRPC at 5.
"""


def render(results: Results, docs: Path = DOCS) -> None:
    """Write the page and its pictures, light and dark."""
    parts = [HEAD]
    for data, title in TITLES.items():
        if results.find(data=data):
            parts.append(_section(data, title, results))
    parts.append(_behind(results))
    for ground in ("light", "dark"):
        path = docs / "images" / f"retrieval-{ground}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        values = {
            (data, figure): {
                line: [mean_of(results, name, data, b, figure) for b in BUDGETS]
                for line, name in LINES.items()
            }
            for data in TITLES
            for figure in ("recall", "top1")
        }
        path.write_text(draw(values, TITLES, ground), encoding="utf-8")
    text = "\n".join(part.rstrip() + "\n" for part in parts)
    (docs / "retrieval.md").write_text(text, encoding="utf-8")


def mean_of(
    results: Results, contender: str, data: str, each: int, figure: str
) -> float | None:
    """Return a figure's mean over the seeds that were run."""
    key = {"data": data, "per item": each, "contender": contender}
    found = [value[figure] for _, value in results.find(**key)]
    return float(np.mean(found)) if found else None


def _behind(results: Results) -> str:
    """Return where a rival is ahead of the default, with and without training."""
    rivals = [name for line, name in LINES.items() if not line.startswith("default")]
    ours = ("default", "default, trained")
    rows = []
    for data, title in TITLES.items():
        for figure in ("recall", "top1"):
            for each in BUDGETS:
                found = {
                    name: mean_of(results, name, data, each, figure) or 0.0
                    for name in (*rivals, *ours)
                }
                best = max(rivals, key=lambda name: found[name])
                if found[best] > min(found[name] for name in ours):
                    numbers = " | ".join(f"{found[name]:.3f}" for name in (*ours, best))
                    what = f"{title}, {FIGURES[figure]}, {each} per query"
                    rows.append(f"| {what} | {numbers} ({best}) |")
    if not rows:
        return ""
    head = ["## Where a rival is ahead\n", "| | default | trained | best rival |"]
    return "\n".join([*head, "|---|---|---|---|", *rows, ""])


def _section(data: str, title: str, results: Results) -> str:
    lines = [f"## {title}\n"]
    for figure, words in FIGURES.items():
        head = " | ".join(map(str, BUDGETS))
        lines += [f"| {words}, evaluations per query | {head} |"]
        lines += ["|---" * (1 + len(BUDGETS)) + "|"]
        for line, name in LINES.items():
            found = [mean_of(results, name, data, b, figure) for b in BUDGETS]
            cells = ["" if number is None else f"{number:.3f}" for number in found]
            lines += [f"| {line} | {' | '.join(cells)} |"]
        lines += [""]
    return "\n".join(lines)
