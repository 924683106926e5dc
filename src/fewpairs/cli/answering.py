"""Commands that ask a run: neighbors and cluster."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fewpairs.cli import options
from fewpairs.cli.folder import SavedRun, open_run
from fewpairs.cli.output import Out, progress_bar, shown
from fewpairs.cli.tables import Rows, check_file, kind_of_output, rows_with, write_rows
from fewpairs.errors import InputError
from fewpairs.kernels.linalg.average_linkage import in_order
from fewpairs.progress import Progress

__all__ = ["Near", "cluster", "nearest", "neighbors"]

# An item and its neighbors: which, how similar, read or not.
Near = tuple[int, list[tuple[int, float, bool]]]

_LARGEST = 10  # clusters that are listed
_ANSWERED = 10_000  # items whose answers are clustered as they are


def neighbors(
    folder: options.Folder,
    *,
    item: Annotated[
        list[str] | None,
        typer.Option(
            "--item",
            "-i",
            help="A text, a part of one, or its number, counted from 0; all items if "
            "not given.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many.")] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write a table: .csv, .tsv, .jsonl or .parquet."
        ),
    ] = None,
    raw: options.Raw = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """List the most similar texts, of one item or of all.

    Values marked * were read and are exact; the others are predicted.

    For example:

    fewpairs neighbors run --item 12 -k 5

    fewpairs neighbors run --item "the first words of a text"

    fewpairs neighbors run -k 10 --out neighbors.csv
    """
    say = Out(as_json=as_json)
    if out is not None:
        check_file(out, force=force)
    run = open_run(folder)
    n = len(run.texts)
    if k >= n:
        msg = f"-k is {k}, and there are {n:,} texts: each has {n - 1:,} others."
        raise InputError(msg)
    wanted = None if not item else [_find(run, name) for name in item]
    if wanted is None and out is None and not as_json:
        msg = (
            f"this would list {n * k:,} neighbors. Pass --item for one text, --out "
            "FILE for a table of all, or --json."
        )
        raise InputError(msg)
    found = list(nearest(run, k, wanted, progress_bar(say, "items")))
    for i, near in found if wanted is not None and out is None else []:
        say.table(
            f"{i}: {shown(run.texts[i], 100)}",
            [("similarity", True), ("item", True), ("text", False)],
            [
                (f"{value:.4f}{'*' if exact else ' '}", str(j), shown(run.texts[j]))
                for j, value, exact in near
            ],
        )
    records = [
        (i, rank, j, value, exact, run.texts[i], run.texts[j])
        for i, near in found
        for rank, (j, value, exact) in enumerate(near, start=1)
    ]
    names = ["item", "rank", "neighbor", "similarity", "exact", "text", "neighbor_text"]
    if out is not None:
        table = Rows(names, [list(record) for record in records])
        guarded = write_rows(table, kind_of_output(out), out, raw=raw)
        say.wrote(f"{len(records):,} neighbors", out, guarded)
    say.document([dict(zip(names, record, strict=True)) for record in records])


def _find(run: SavedRun, name: str) -> int:
    """Return the item that a number, a text or a part of one names."""
    n = len(run.texts)
    if name in run.texts:
        return run.texts.index(name)
    if name.lstrip("-").isdigit():
        if not 0 <= int(name) < n:
            msg = f"--item is {name}; items are numbered from 0 to {n - 1:,}."
            raise InputError(msg)
        return int(name)
    part = name.lower()
    hits = [t for t, text in enumerate(run.texts) if part in text.lower()]
    if len(hits) == 1:
        return hits[0]
    if not hits:
        msg = f"no text holds {name!r}. Pass a part of a text, or its number."
        raise InputError(msg)
    some = "; ".join(f"{t}: {shown(run.texts[t], 40)}" for t in hits[:5])
    msg = f"{len(hits):,} texts hold {name!r} ({some}). Pass the number of one."
    raise InputError(msg)


def nearest(
    run: SavedRun, k: int, wanted: list[int] | None, progress: Progress
) -> Iterator[Near]:
    """Return every wanted item with its neighbors: which, how similar, read or not."""
    if wanted is None:
        indices, values = run.approx.neighbors(k, progress=progress)
        items: Any = range(len(run.texts))
    else:
        rows = run.approx.block(wanted, slice(None))
        rows[np.arange(len(wanted)), wanted] = -np.inf
        indices = np.argsort(-rows, axis=1, kind="stable")[:, :k]
        values = np.take_along_axis(rows, indices, axis=1)
        items = wanted
    for i, near, similar in zip(items, indices, values, strict=True):
        read, _ = run.approx.known.lookup(np.full(k, i), np.asarray(near, np.int64))
        yield (
            int(i),
            [
                (int(j), float(value), bool(exact))
                for j, value, exact in zip(near, similar, read, strict=True)
            ],
        )


def cluster(
    folder: options.Folder,
    *,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold",
            "-t",
            help="Clusters are merged while their average similarity is above this.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Where the input goes with its cluster column; DIR/clusters.* if not "
            "given.",
        ),
    ] = None,
    raw: options.Raw = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Group the texts, and write the input with a cluster column.

    Average linkage; clusters are numbered from 0, the largest first. Rows that were
    left out because they have no text get no cluster.

    For example:

    fewpairs cluster run --threshold 0.6

    fewpairs cluster run --threshold 0.8 --out grouped.csv --force
    """
    say = Out(as_json=as_json)
    run = open_run(folder)
    kind = run.given.kind
    suffix = {"lines": "tsv"}.get(kind, kind)
    path = out or folder / f"clusters.{suffix}"
    check_file(path, force=force)
    # Of the answers themselves where their blocks fit into memory.
    of = "answers" if len(run.texts) <= _ANSWERED else "factors"
    labels = by_size(
        run.approx.cluster(
            threshold=threshold, of=of, progress=progress_bar(say, "items")
        )
    )
    column: list[Any] = [None if kind in ("jsonl", "parquet") else ""] * len(
        run.given.table.rows
    )
    for row, label in zip(run.given.positions, labels, strict=True):
        column[row] = int(label)
    table = rows_with(run.given.table, "cluster", column)
    delimiter = run.reading.delimiter
    guarded = write_rows(table, kind_of_output(path), path, delimiter, raw=raw)
    sizes = Counter(labels.tolist())
    several = sum(size > 1 for size in sizes.values())
    say.say(
        f"{len(sizes):,} clusters of {len(labels):,} texts at {threshold:g}: "
        f"{several:,} of two or more, {len(sizes) - several:,} texts alone"
    )
    first: dict[int, str] = {}
    for text, label in zip(run.texts, labels.tolist(), strict=True):
        first.setdefault(label, text)
    largest = [(c, size) for c, size in sizes.most_common(_LARGEST) if size > 1]
    if largest:
        say.table(
            "the largest",
            [("cluster", True), ("texts", True), ("for example", False)],
            [(str(c), f"{size:,}", shown(first[c])) for c, size in largest],
        )
    say.wrote("the input with its clusters is", path, guarded)
    say.document(
        {
            "file": str(path),
            "threshold": threshold,
            "clusters": len(sizes),
            "of_two_or_more": several,
            "labels": labels,
        }
    )


def by_size(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return labels that count from 0, the largest first, then by their first member.

    >>> by_size(np.array([5, 2, 2, 9])).tolist()
    [1, 0, 0, 2]
    """
    labels = in_order(labels)
    order = np.argsort(-np.bincount(labels), kind="stable")
    return np.asarray(np.argsort(order)[labels])
