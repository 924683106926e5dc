"""The page about other libraries."""

from typing import Any

from experiments.cells import Results, Value
from experiments.peers import TASKS

__all__ = ["page"]

WHAT = {
    "strings": "STS-B sentences by RapidFuzz's token set ratio, no prior.",
    "documents": "Tweets by exp(−WMD) with GloVe vectors; centroids are the prior.",
    "cross-encoder": "STS-B sentences by a cross-encoder, both orders averaged; "
    "MiniLM's embeddings are the prior and the bi-encoder.",
}
WANTED = 0.9  # recall@10 that "seconds to" is about


def page(found: Results) -> str:
    """Return docs/peers.md."""
    lines = [
        "# Beside other libraries\n",
        (
            "`make bench-peers` runs every library on the same items in one process and "
            "writes this page. fewpairs and scikit-learn get the same number of "
            "evaluations; the others compute all pairs, or re-rank what a bi-encoder "
            "proposes. The truth is the exact, symmetrized matrix. Recall@10: the share "
            "of every item's ten most similar that was found. One run each.\n"
        ),
    ]
    for name in TASKS:
        cells_of = found.find(task=name)
        if not cells_of:
            lines.append(f"## {name}\n\nNot run yet: `make bench-peers`.\n")
            continue
        n = cells_of[0][1]["n"]
        lines += [
            f"## {name}, {n:,} items\n",
            f"{WHAT[name]} {_circumstances(cells_of)}\n",
            (
                "| library | evaluations | share of pairs | relative error | recall@10 | "
                "seconds | memory, MB |"
            ),
            "|---|---|---|---|---|---|---|",
        ]
        for key, value in cells_of:
            share = value["evaluations"] / (n * (n - 1) / 2)
            error = "" if value["error"] is None else f"{value['error']:.4f}"
            lines.append(
                f"| {key['library']} | {value['evaluations']:,} | {share:.1%} | {error} "
                f"| {value['recall']:.3f} | {value['seconds']:.1f} | "
                f"{value['memory']:.0f} |"
            )
        lines += ["", *_soonest(cells_of), *_behind(cells_of)]
        lines.append("")
    return "\n".join(lines) + "\n"


def _soonest(cells_of: list[tuple[dict[str, Any], Value]]) -> list[str]:
    """Say how soon each library reaches the recall that is asked for."""
    words = []
    for name in dict.fromkeys(key["library"] for key, _ in cells_of):
        own = [value for key, value in cells_of if key["library"] == name]
        reached = [v["seconds"] for v in own if v["recall"] >= WANTED]
        words.append(f"{name} {min(reached):.1f}" if reached else f"{name} never")
    return [f"Seconds to recall@10 of {WANTED}: {'; '.join(words)}."]


def _behind(cells_of: list[tuple[dict[str, Any], Value]]) -> list[str]:
    """Say where another library finds more neighbors for as many evaluations."""
    words = []
    for key, value in cells_of:
        if key["library"] != "fewpairs":
            continue
        better = [
            f"{other['library']} {theirs['recall']:.3f}"
            for other, theirs in cells_of
            if other["share"] == key["share"] and theirs["recall"] > value["recall"]
        ]
        if better:
            words.append(f"at {key['share']:.0%} {', '.join(better)}")
    where = "; ".join(words) or "nowhere"
    return [f"Recall ahead of fewpairs at equal evaluations: {where}."]


def _circumstances(cells_of: list[tuple[dict[str, Any], Value]]) -> str:
    """Say on what machines and with which versions the figures were made."""
    machine, versions = (
        "; ".join(dict.fromkeys(value[name] for _, value in cells_of))
        for name in ("machine", "versions")
    )
    return f"Machine: {machine}. Versions: {versions}."
