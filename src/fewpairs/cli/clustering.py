"""The command cluster: texts in groups."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fewpairs.cli import options
from fewpairs.cli.folder import open_run
from fewpairs.cli.output import Out, progress_bar, shown
from fewpairs.cli.tables import check_file, kind_of_output, rows_with, write_rows
from fewpairs.kernels.linalg.average_linkage import in_order

__all__ = ["cluster"]

_LARGEST = 10  # clusters that are listed
_ANSWERED = 10_000  # items whose answers are clustered as they are


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
    run.check_one_set("cluster", "Approximate one file alone to group its texts.")
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
