"""Make the data of the demo: lines of documentation with every score of a model.

`python -m benchmarks.demo_scores lines` chooses summary lines of this Python's standard
library; the list is shipped, since docstrings differ between versions.
`... vectors ENCODER` embeds them with a sentence encoder (a folder or a name) and
keeps 8-bit integers. `... scores CROSS_ENCODER FOLDER` scores all pairs in both orders,
averages the two and writes the upper triangle as 16-bit integers; on one H200 that
takes seconds, on two cores an hour. Without FOLDER everything goes into the package.
`... seconds CROSS_ENCODER` measures what a pair takes here, for about.json.
"""

import os
import re
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fewpairs as fp
from fewpairs.datasets import stdlib_docstrings

PLACE = Path(fp.__file__).parent / "datasets" / "docstring_scores"
LINES = 1_500
STEP = 1e-4  # of a score: far below what the model can tell
# Widgets and what Python is about to drop: hundreds of lines that few people know.
LEFT_OUT = {"tkinter", "turtle", "distutils", "pydoc_data", "telnetlib", "imghdr"}
# Lines that the demo and the docs look at are always among them.
KEPT = {"shutil.copy", "json.dumps", "statistics.mean", "shutil.copyfile", "json.loads"}


def summary(docstring: str) -> str:
    """Return a docstring's first sentence, in one line."""
    first = " ".join(docstring.strip().split("\n\n")[0].split())
    sentence = re.match(r"(.+?[.!])(\s|$)", first)
    return sentence.group(1) if sentence else first


def choose_lines() -> list[tuple[str, str]]:
    """Return names and summary lines: public, readable, no two alike."""
    names, texts = stdlib_docstrings(None, shortest=1)
    found: dict[str, tuple[str, str]] = {}
    for name, text in zip(names, texts, strict=True):
        line = summary(text)
        public = not any(part.startswith("_") for part in name.split("."))
        readable = 25 <= len(line) <= 120 and line.count(" ") >= 3 and line.isascii()
        prose = line[0].isupper() and not re.search(r"->|=>|>>>|::|\t", line)
        if not (public and readable and prose) or name.split(".")[0] in LEFT_OUT:
            continue
        found.setdefault(line.lower().rstrip("."), (name, line))
    every = sorted(found.values())
    kept = [pair for pair in every if pair[0] in KEPT]
    others = [pair for pair in every if pair[0] not in KEPT]
    wanted = min(LINES - len(kept), len(others))
    spread = [others[t * len(others) // wanted] for t in range(wanted)]
    return sorted([*kept, *spread])


def read_lines() -> tuple[list[str], list[str]]:
    """Return the shipped names and lines."""
    text = (PLACE / "lines.tsv").read_text(encoding="utf-8")
    rows = [row.split("\t") for row in text.splitlines()]
    return [row[0] for row in rows], [row[1] for row in rows]


def embed(encoder: str) -> NDArray[np.int8]:
    """Return unit vectors of the lines, in steps of 1/127 of the largest coordinate."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(encoder, device="cpu")
    vectors = model.encode(read_lines()[1], normalize_embeddings=True)
    return np.rint(vectors * (127 / np.abs(vectors).max())).astype(np.int8)


def score(cross_encoder: str, lines: list[str]) -> NDArray[np.int16]:
    """Return all scores above the diagonal, row by row, in steps of ``STEP``."""
    scorer = _bound(cross_encoder, lines)
    i, j = np.triu_indices(len(lines), 1)
    step = scorer.chunk
    parts = [
        scorer.pairs(i[t : t + step], j[t : t + step]) for t in range(0, len(i), step)
    ]
    return np.rint(np.concatenate(parts) / STEP).astype(np.int16)


def seconds_per_pair(cross_encoder: str, pairs: int = 2_000) -> float:
    """Return what a pair takes, both orders, in processor time shared by all cores.

    Processor time, so that what else runs on the machine does not count.
    """
    scorer = _bound(cross_encoder, read_lines()[1], device="cpu")
    i, j = np.random.default_rng(0).integers(scorer.n, size=(2, 2 * pairs))
    scorer.pairs(i[:pairs], j[:pairs])  # compiles
    started = time.process_time()
    scorer.pairs(i[pairs:], j[pairs:])
    cores = len(os.sched_getaffinity(0))
    return (time.process_time() - started) / pairs / cores


def _bound(
    cross_encoder: str, lines: list[str], device: str | None = None
) -> fp.Scorer:
    options = {"activation": "identity", "symmetric": True, "dtype": "float32"}
    return fp.CrossEncoder(cross_encoder, device=device, **options).bind(lines)


def run(words: list[str]) -> None:
    """Carry out one of the steps."""
    what, *rest = words
    place = Path(rest[1]) if len(rest) > 1 else PLACE
    if what == "lines":
        rows = [f"{name}\t{line}\n" for name, line in choose_lines()]
        (PLACE / "lines.tsv").write_text("".join(rows), encoding="utf-8")
    elif what == "vectors":
        np.save(place / "vectors.npy", embed(rest[0]))
    elif what == "scores":
        limit = int(rest[2]) if len(rest) > 2 else None
        scores = score(rest[0], read_lines()[1][:limit])
        np.savez_compressed(place / "scores.npz", scores=scores)
    elif what == "seconds":
        print(f"{seconds_per_pair(rest[0]):.2e}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    run(sys.argv[1:] or ["help"])
