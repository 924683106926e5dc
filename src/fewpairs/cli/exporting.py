"""The command export: the result for other programs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from xml.sax.saxutils import escape

import numpy as np
import typer

from fewpairs.cli import options
from fewpairs.cli.folder import SavedRun, open_run
from fewpairs.cli.neighboring import Near, nearest
from fewpairs.cli.output import Out, progress_bar
from fewpairs.cli.tables import Rows, check_file, write_rows
from fewpairs.errors import InputError

__all__ = ["export"]

_BLOCK = 1 << 22  # entries written at once
_ROOM = 8 << 30  # bytes that a file may take unasked


def export(
    folder: options.Folder,
    *,
    to: Annotated[
        Literal["npy", "embedding", "parquet", "graph"],
        typer.Option(
            help="npy: the whole matrix; embedding: features of the items, .npy; "
            "parquet: a table of neighbors; graph: the same as GraphML."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File; in DIR if not given.")
    ] = None,
    k: Annotated[
        int, typer.Option("-k", min=1, help="Neighbors per item: parquet, graph.")
    ] = 10,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Write the result for other programs.

    For example:

    fewpairs export run --to npy --out similarities.npy

    fewpairs export run --to graph -k 5 --out neighbors.graphml

    fewpairs export run --to parquet
    """
    say = Out(as_json=as_json)
    names = {
        "npy": "similarities.npy",
        "embedding": "embedding.npy",
        "parquet": "neighbors.parquet",
        "graph": "neighbors.graphml",
    }
    run = open_run(folder)
    path = out or folder / names[to]
    check_file(path, force=force)
    k = min(k, len(run.partners) - (run.others is None))
    if to == "npy":
        _write_matrix(run, path, force=force)
    elif to == "embedding":
        found = run.approx.embedding()
        with path.open("wb") as file:  # of two sets, left items first
            both = np.vstack(found) if isinstance(found, tuple) else found
            np.save(file, both, allow_pickle=False)
    elif to == "parquet":
        lists = nearest(run, k, None, progress_bar(say, "items"))
        edges = [[i, j, value, read] for i, near in lists for j, value, read in near]
        table = Rows(["source", "target", "similarity", "exact"], edges)
        write_rows(table, "parquet", path)
    else:
        _write_graph(run, path, nearest(run, k, None, progress_bar(say, "items")))
    size = path.stat().st_size
    say.say(f"{path}: {size / 2**20:,.1f} MiB")
    say.document({"file": str(path), "to": to, "bytes": size})


def _write_matrix(run: SavedRun, path: Path, *, force: bool) -> None:
    """Write the matrix row by row: it is never in memory as a whole."""
    m, n = len(run.texts), len(run.partners)
    if 4 * m * n > _ROOM and not force:
        msg = (
            f"the {m:,} × {n:,} matrix takes {4 * m * n / 2**30:.0f} GiB. Pass --force "
            "for that, or --to embedding or graph."
        )
        raise InputError(msg)
    whole = np.lib.format.open_memmap(path, "w+", dtype=np.float32, shape=(m, n))
    step = max(1, _BLOCK // n)
    for start in range(0, m, step):
        rows = np.arange(start, min(m, start + step))
        whole[rows] = run.approx.block(rows, slice(None))
    whole.flush()


def _write_graph(run: SavedRun, path: Path, found: Iterator[Near]) -> None:
    """Write GraphML, as networkx, igraph and Gephi read it.

    Of two sets, nodes of the second come after those of the first.
    """
    first = 0 if run.others is None else len(run.texts)
    nodes = run.texts if run.others is None else [*run.texts, *run.partners]
    with path.open("w", encoding="utf-8") as file:
        file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
            '<key id="text" for="node" attr.name="text" attr.type="string"/>\n'
            '<key id="weight" for="edge" attr.name="weight" attr.type="double"/>\n'
            '<key id="exact" for="edge" attr.name="exact" attr.type="boolean"/>\n'
            '<graph edgedefault="undirected">\n'
        )
        for i, text in enumerate(nodes):
            legal = "".join(c for c in text if c in "\t\n\r" or c >= " ")
            file.write(
                f'<node id="n{i}"><data key="text">{escape(legal)}</data></node>\n'
            )
        written = set()
        for i, near in found:
            for j, value, exact in near:
                ends = (min(i, first + j), max(i, first + j))
                if ends not in written:
                    written.add(ends)
                    file.write(
                        f'<edge source="n{ends[0]}" target="n{ends[1]}">'
                        f'<data key="weight">{value:.8g}</data>'
                        f'<data key="exact">{json.dumps(exact)}</data></edge>\n'
                    )
        file.write("</graph>\n</graphml>\n")
