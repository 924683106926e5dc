"""The command that lets new texts join a run."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fewpairs.cli import options
from fewpairs.cli.folder import SavedRun, check_free, open_run, write_run
from fewpairs.cli.inputs import Input, Reading, parse, place_of
from fewpairs.cli.output import Out, doing, progress_bar
from fewpairs.cli.recipes import make_priors
from fewpairs.cli.running import facts_of
from fewpairs.cli.tables import ABSENT, Rows, written
from fewpairs.cli.texts import read_texts
from fewpairs.errors import InputError

__all__ = ["add"]


def add(
    folder: options.Folder,
    file: options.InputFile,
    *,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            "-b",
            help="For pairs with new texts: pairs per new text (50/item), a share of "
            "them (5%) or a number of evaluations. As many pairs per text as the run "
            "had, if not given.",
        ),
    ] = None,
    prior: options.PriorNames = None,
    identifier: Annotated[
        str | None,
        typer.Option("--id", help="A column that names rows: none may come twice."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the result; DIR if not given."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Folder that keeps every evaluation as it is made."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Let the texts of a file join a run: only pairs with new ones are evaluated.

    The file is read as that of the run was; its rows come after those of the run.

    For example:

    fewpairs add run new.csv

    fewpairs add run new.csv --budget 100/item --id key --out larger
    """
    say = Out(as_json=as_json)
    run = open_run(folder)
    cure = "In Python, fewpairs.load(...).add(new_items, others=...) adds to either."
    run.check_one_set("add", cure)
    place = out or folder
    check_free(place, force=out is None)
    allowed = None if budget is None else options.as_budget(budget)
    new = read_texts(file, replace(run.reading, kind=None, fewest=1), say)
    if identifier is not None:
        _check_distinct(identifier, run.given, new)
    joined, how = _joined(run, new)
    given = _embeddings(prior or run.facts["prior"], new)
    approx = run.with_similarity(None if store is None else str(store))
    larger = approx.add(
        new.texts, budget=allowed, prior=given, progress=progress_bar(say)
    )
    facts = {
        key: run.facts[key]
        for key in ("similarity", "prior", "budget", "method", "seed")
    }
    with doing(say, f"writing {place}"):
        write_run(place, larger, joined, how, facts, force=out is None)
    say.say(str(larger))
    say.note(f"kept in {place}; look at it by: fewpairs report {place}")
    say.document({"folder": str(place), **facts_of(larger)})


def _check_distinct(column: str, old: Input, new: Input) -> None:
    """Refuse rows whose names come twice, among the new ones or in the run."""
    names = [
        [str(given.table.rows[t][place_of(column, given.table, given.name)])
         for t in given.positions]
        for given in (old, new)
    ]  # fmt: skip
    times = Counter(names[1]) + Counter(set(names[0]))
    twice = [name for name in dict.fromkeys(names[1]) if times[name] > 1]
    if twice:
        msg = (
            f"{new.name}: {len(twice):,} of its rows have a {column!r} that comes "
            f"twice, in it or in the run ({', '.join(twice[:5])}). Leave them out."
        )
        raise InputError(msg)


def _embeddings(names: Any, new: Input) -> Any:
    """Return the new texts' embeddings, where the prior of the run is made of some."""
    if not names:
        return None
    made = make_priors([names] if isinstance(names, str) else names, new)
    several = made if isinstance(made, list) else [made]
    given = [one if isinstance(one, np.ndarray) else None for one in several]
    if all(one is None for one in given):
        return None
    return given if len(given) > 1 else given[0]


def _joined(run: SavedRun, new: Input) -> tuple[Input, Reading]:
    """Return the rows of a run and new ones as one input, in the run's format."""
    old, how = run.given, run.reading
    if old.kind == "lines":
        lines = [str(row[0]) for row in (*old.table.rows, *new.table.rows)]
        data = ("\n".join(lines) + "\n").encode()
    else:
        at = {name: t for t, name in enumerate(new.table.columns)}
        missing = ABSENT if old.kind == "jsonl" else None
        rows = [
            [row[at[name]] if name in at else missing for name in old.table.columns]
            for row in new.table.rows
        ]
        data = written(
            Rows(old.table.columns, [*old.table.rows, *rows]), old.kind, how.delimiter
        )
    how = replace(how, encoding="utf-8", quotes=True)
    joined = parse(data, old.kind, old.name, how)
    if joined.texts != [*old.texts, *new.texts]:
        msg = (
            f"{new.name}: its rows cannot be kept as {old.kind} beside those of "
            f"{run.path}. Write them as the input of the run is written."
        )
        raise InputError(msg)
    return joined, how
