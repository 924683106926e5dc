"""Titles with near-duplicates that are known, from texts on every machine."""

import csv
import random
import re
from functools import cache
from pathlib import Path

from fewpairs.datasets import stdlib_docstrings

__all__ = ["titles_with_copies", "write_titles"]


def titles_with_copies(
    number: int = 5_000, share: float = 0.15, seed: int = 0
) -> tuple[list[str], list[tuple[int, int]]]:
    """Return titles, shuffled, and the pairs of an original and its changed copy.

    Titles are sentences of the standard library's docstrings. A copy is what people
    make of a title: another case, a typing error or two, a word dropped or added.
    """
    rng = random.Random(seed)  # noqa: S311 - nothing secret
    everything = list(_sentences())
    rng.shuffle(everything)
    copies = round(share * number)
    originals = everything[: number - copies]
    titles = originals + [_changed(text, rng) for text in originals[:copies]]
    order = list(range(number))
    rng.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    pairs = [(place[t], place[number - copies + t]) for t in range(copies)]
    return [titles[t] for t in order], [(min(p), max(p)) for p in pairs]


@cache
def _sentences() -> tuple[str, ...]:
    """Return the different sentences of the docstrings."""
    found: dict[str, None] = {}
    for text in stdlib_docstrings(limit=None).texts:
        for part in re.split(r"(?<=[.!?])\s+|\n\s*\n", text):
            flat = " ".join(part.split())
            if 25 <= len(flat) <= 90:
                found.setdefault(flat)
    return tuple(found)


def _changed(text: str, rng: random.Random) -> str:
    kind = rng.randrange(4)
    if kind == 0:
        return text.rstrip(".").capitalize() + rng.choice(["", "!", " (reprint)"])
    words = text.split()
    if kind == 1 and len(words) > 6:
        del words[rng.randrange(1, len(words))]
        return " ".join(words)
    letters = list(text)
    for _ in range(kind):
        at = rng.randrange(len(letters) - 1)
        letters[at], letters[at + 1] = letters[at + 1], letters[at]
    letters[rng.randrange(len(letters))] = rng.choice("aeinorst")
    return "".join(letters)


def write_titles(path: Path, titles: list[str]) -> None:
    """Write a CSV file with a number and a title a row."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title"])
        writer.writerows([t, title] for t, title in enumerate(titles))
