"""Without training: the default beside what is simpler, and how often it is below.

`python -m benchmarks few --losses` runs what is missing and prints the table.
"""

import numpy as np
from experiments.cells import Results

from benchmarks.few.contenders import Setting
from benchmarks.few.tables import BUDGETS, mean_of

__all__ = ["LOSS_SETS", "LOSS_SETTINGS", "losses"]

LOSS_SETS = {
    "stsb": "STS-B",
    "tweets": "tweets",
    "docstrings": "docstrings",
    "recipes-3000": "recipes, 3,000",
    "mrpc": "MRPC",
    "rte": "RTE",
    "subjects": "subject lines, 2,000",
    "posts": "posts, 1,500",
    "rough-3000": "made up, 3,000",
    "rough-30000": "made up, 30,000",
}
OURS = Setting("default", student=False)
OLD = Setting("default 0.1")
LOSS_SETTINGS = (OURS, Setting("reranked"), Setting("curve"))
EQUAL = 0.0005  # what three digits do not show
# What is compared, with whom.
FIGURES = (
    ("recall@10", "recall", (("re-ranked", Setting("reranked")), ("0.1", OLD))),
    ("R²", "r2", (("prior's curve", Setting("curve")),)),
)
HEAD = """## Without training, beside what is simpler

The default without training (`Auto(student=False)`, or by itself where evaluations are
quick) beside re-ranking and fewpairs 0.1 (recall@10), and beside the prior's curve
(R²), at equal evaluations; means of the two or three seeds that were run. Docstrings of
the standard library by Levenshtein similarity, with TF-IDF of characters as the prior;
3,000 of the recipes; subject lines of 20 newsgroups by Jaro and Winkler, with the prior
that texts have by themselves, and 30 words of their posts by exp(−2·WMD); the made-up,
steep similarity of [the page on scale](scale.md).
`python -m benchmarks few --losses` runs what is missing and prints this. A cell in
which the default is below is **bold**.
"""


def losses(results: Results) -> str:
    """Return the table, and in how many of its cells the default is below."""
    lines, lost, cells = [HEAD], 0, 0
    for words, figure, rivals in FIGURES:
        names = " / ".join(["default", *(name for name, _ in rivals)])
        head = " | ".join(f"{budget:g}" for budget in BUDGETS)
        lines += [f"| {words}: {names} | {head} |", "|---" * (1 + len(BUDGETS)) + "|"]
        for data, title in LOSS_SETS.items():
            row = [title]
            for budget in BUDGETS:
                ours = mean_of(results, OURS, data, budget, figure)
                others = [
                    mean_of(results, rival, data, budget, figure) for _, rival in rivals
                ]
                told = [other for other in others if other is not None]
                if ours is None or not told:
                    row.append("")
                    continue
                shown = (ours, *others)
                text = " / ".join("–" if x is None else f"{x:.3f}" for x in shown)
                below = ours < float(np.max(told)) - EQUAL
                row.append(f"**{text}**" if below else text)
                lost += below
                cells += 1
            lines.append(f"| {' | '.join(row)} |")
        lines.append("")
    lines.append(f"Below in {lost} of {cells} cells.")
    return "\n".join(lines) + "\n"
