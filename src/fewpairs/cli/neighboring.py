"""The command neighbors: the most similar texts, of a run or of a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fewpairs.answers.way import Way
from fewpairs.cli import options
from fewpairs.cli.folder import SavedRun, open_run
from fewpairs.cli.output import Out, progress_bar, shown
from fewpairs.cli.recipes import make_similarity
from fewpairs.cli.tables import Rows, check_file, kind_of_output, write_rows
from fewpairs.cli.texts import prior_of, read_texts
from fewpairs.errors import InputError
from fewpairs.progress import Progress
from fewpairs.run import jobs
from fewpairs.run.job import AUTO
from fewpairs.similarity.base import Similarity

__all__ = ["Near", "nearest", "neighbors"]

# An item and its neighbors: which, how similar, read or not.
Near = tuple[int, list[tuple[int, float, bool]]]
_NAMES = ["item", "rank", "neighbor", "similarity", "exact", "text", "neighbor_text"]


@options.spelled_out
def neighbors(
    source: options.RunOrFile,
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
    similarity: options.SimilarityOfFile = None,
    text_options: options.TextOptions,
    budget: options.JobBudget = AUTO,
    store: options.Store = None,
    prior: options.PriorNames = None,
    seed: options.Seed = 0,
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

    Of a file, all pairs are compared where that takes less than a minute, or less than
    approximating them: a timed sample tells, and the command says which way it takes.
    Of a run, values marked * were read and are exact; the others are predicted.

    For example:

    fewpairs neighbors run --item 12 -k 5

    fewpairs neighbors run --item "the first words of a text"

    fewpairs neighbors titles.csv -c title -s token-sort-ratio --out neighbors.csv
    """
    say = Out(as_json=as_json)
    if out is not None:
        check_file(out, force=force)
        kind_of_output(out)
    if similarity is None:
        if Path(source).is_file():
            msg = f"{source} is a file. Pass --similarity, or the folder of a run."
            raise InputError(msg)
        run = open_run(Path(source))
        texts, partners, way = run.texts, run.partners, None
        most = len(partners) - (run.others is None)
        wanted = _wanted(texts, item, k, most, listing=out is None and not as_json)
        found = list(nearest(run, k, wanted, progress_bar(say, "items")))
    else:
        how = text_options.reading()
        spec = text_options.spec(similarity)
        recipe = make_similarity(spec)
        options.as_job_budget(budget)
        given = read_texts(source, how, say)
        texts = partners = given.texts
        most = len(texts) - 1
        wanted = _wanted(texts, item, k, most, listing=out is None and not as_json)
        found, way = _of_file(
            texts, recipe, k, wanted, say, budget=budget, seed=seed,
            store=store and str(store), **prior_of(prior, given),
        )  # fmt: skip
        say.note(str(way))
    for i, near in found if wanted is not None and out is None else []:
        _show(texts[i], partners, i, near, say, marked=way is None)
    if way is None and wanted is not None and out is None:
        say.note("values marked * were evaluated, the others are predicted")
    records = [
        (i, rank, j, value, exact, texts[i], partners[j])
        for i, near in found
        for rank, (j, value, exact) in enumerate(near, start=1)
    ]
    if out is not None:
        table = Rows(_NAMES, [list(record) for record in records])
        guarded = write_rows(table, kind_of_output(out), out, raw=raw)
        say.wrote(f"{len(records):,} neighbors", out, guarded)
    say.document([dict(zip(_NAMES, record, strict=True)) for record in records])


def _wanted(
    texts: list[str], names: list[str] | None, k: int, most: int, *, listing: bool
) -> list[int] | None:
    """Return the items that are asked for; ``None``: all of them.

    ``most``: neighbors that each can have.
    """
    n = len(texts)
    if k > most:
        msg = f"-k is {k}, and there are {n:,} texts: each has {most:,} others."
        raise InputError(msg)
    if names:
        return [_find(texts, name) for name in names]
    if listing:
        msg = (
            f"this would list {n * k:,} neighbors. Pass --item for one text, --out "
            "FILE for a table of all, or --json."
        )
        raise InputError(msg)
    return None


def _find(texts: list[str], name: str) -> int:
    """Return the item that a number, a text or a part of one names."""
    n = len(texts)
    if name in texts:
        return texts.index(name)
    if name.lstrip("-").isdigit():
        if not 0 <= int(name) < n:
            msg = f"--item is {name}; items are numbered from 0 to {n - 1:,}."
            raise InputError(msg)
        return int(name)
    part = name.lower()
    hits = [t for t, text in enumerate(texts) if part in text.lower()]
    if len(hits) == 1:
        return hits[0]
    if not hits:
        msg = f"no text holds {name!r}. Pass a part of a text, or its number."
        raise InputError(msg)
    some = "; ".join(f"{t}: {shown(texts[t], 40)}" for t in hits[:5])
    msg = f"{len(hits):,} texts hold {name!r} ({some}). Pass the number of one."
    raise InputError(msg)


def _show(
    text: str, partners: list[str], i: int, near: list[tuple[int, float, bool]],
    say: Out, *, marked: bool,
) -> None:  # fmt: skip
    say.table(
        f"{i}: {shown(text, 100)}",
        [("similarity", True), ("item", True), ("text", False)],
        [
            (
                f"{value:.4f}" + (("*" if exact else " ") if marked else ""),
                str(j),
                shown(partners[j]),
            )
            for j, value, exact in near
        ],
    )


def _of_file(
    texts: list[str],
    recipe: Similarity,
    k: int,
    wanted: list[int] | None,
    say: Out,
    **given: Any,
) -> tuple[list[Near], Way | None]:
    """Find neighbors by whichever way is quicker."""
    found = jobs.neighbors(texts, recipe, k, progress=progress_bar(say), **given)
    exact = found.way is not None and found.way.exact
    items = range(len(texts)) if wanted is None else wanted
    near = [
        (
            int(i),
            [
                (int(j), float(value), exact)
                for j, value in zip(
                    found.indices[i], found.similarities[i], strict=True
                )
            ],
        )
        for i in items
    ]
    return near, found.way


def nearest(
    run: SavedRun, k: int, wanted: list[int] | None, progress: Progress
) -> Iterator[Near]:
    """Return every wanted item with its neighbors: which, how similar, read or not."""
    if wanted is None:
        indices, values = run.approx.neighbors(k, progress=progress)
        items: Any = range(len(run.texts))
    else:
        rows = run.approx.block(wanted, slice(None))
        if run.others is None:
            rows[np.arange(len(wanted)), wanted] = -np.inf
        indices = np.argsort(-rows, axis=1, kind="stable")[:, :k]
        values = np.take_along_axis(rows, indices, axis=1)
        items = wanted
    first = run.approx.known.split or 0  # of two sets, where right items begin
    for i, near, similar in zip(items, indices, values, strict=True):
        at = first + np.asarray(near, np.int64)
        read, _ = run.approx.known.lookup(np.full(k, i), at)
        yield (
            int(i),
            [
                (int(j), float(value), bool(exact))
                for j, value, exact in zip(near, similar, read, strict=True)
            ],
        )
