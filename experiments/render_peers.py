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
            "`make bench-peers` runs every library on the same items and writes this "
            "page. fewpairs and scikit-learn get the same number of evaluations; the "
            "others compute all pairs, or re-rank what a bi-encoder proposes. The truth "
            "is the exact, symmetrized matrix. Recall@10: the share of every item's ten "
            "most similar that was found. Memory: the most that the process had above "
            "what it had before; the first row of a library includes what it loads. One "
            "run each. fewpairs keeps a part of every budget for its certificate and for "
            "landmarks, which answer pairs that re-ranking knows nothing of; where "
            "single evaluations take microseconds, as strings do, all pairs are the "
            "better way.\n"
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
    """Say where another library is ahead for as many evaluations."""
    words = []
    for measure, sign in (("recall", 1), ("error", -1)):
        found = [
            f"{measure} at {key['share']:.0%}, {key['library']}"
            for key, theirs in cells_of
            for ours_key, ours in cells_of
            if ours_key["library"] == "fewpairs" != key["library"]
            and ours_key["share"] == key["share"]
            and theirs[measure] is not None
            and sign * theirs[measure] > sign * ours[measure]
        ]
        words += found
    return [f"\nAhead of fewpairs at equal evaluations: {'; '.join(words) or 'none'}."]


def _circumstances(cells_of: list[tuple[dict[str, Any], Value]]) -> str:
    """Say on what machines and with which versions the figures were made."""
    machine, versions = (
        "; ".join(dict.fromkeys(value[name] for _, value in cells_of))
        for name in ("machine", "versions")
    )
    return f"Machine: {machine}. Versions: {versions}."
