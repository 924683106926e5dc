"""Readers of STS-B, MRPC and RTE: pairs of sentences with labels."""

from pathlib import Path
from typing import NamedTuple

__all__ = ["TASKS", "Pairs", "read_task"]


class Pairs(NamedTuple):
    """Two sentences a line, and a label from 0 to 1."""

    first: list[str]
    second: list[str]
    labels: list[float]


TASKS = ("stsb", "mrpc", "rte")


def read_task(data: Path, task: str, split: str) -> Pairs:
    """Return the ``train`` or ``dev`` pairs of a task. Quotes mean nothing in it."""
    name = f"sts-{split}.csv" if task == "stsb" else f"{split}.tsv"
    lines = (data / task / name).read_text(encoding="utf-8-sig").split("\n")
    rows = [line.rstrip("\r").split("\t") for line in lines if line.strip()]
    if task == "stsb":
        picked = [(row[5], row[6], float(row[4]) / 5) for row in rows]
    elif task == "mrpc":
        picked = [(row[3], row[4], float(row[0])) for row in rows[1:]]
    else:
        yes = "entailment"
        picked = [(row[1], row[2], float(row[3] == yes)) for row in rows[1:]]
    first, second, labels = zip(*picked, strict=True)
    return Pairs(list(first), list(second), list(labels))
