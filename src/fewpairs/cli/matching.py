"""The command match: which rows of two files belong together."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fewpairs.answers.matches import Matches
from fewpairs.answers.matches_receipt import receipt_lines
from fewpairs.answers.matches_table import as_columns
from fewpairs.answers.sides import Side, check_names, listed
from fewpairs.cli import certainty, options
from fewpairs.cli.inputs import Input, place_of
from fewpairs.cli.output import Out, progress_bar, shown
from fewpairs.cli.recipes import check_threshold, make_similarity
from fewpairs.cli.tables import (
    ABSENT,
    Rows,
    check_file,
    distinct_names,
    kind_of_output,
    write_rows,
)
from fewpairs.cli.texts import LeftColumns, RightColumns, prior_of, read_two
from fewpairs.errors import InputError
from fewpairs.report import write_matches_report
from fewpairs.run.job import AUTO
from fewpairs.run.match import match as run_match

__all__ = ["match"]

_LISTED = 20
_INPUT = "Input"


def _file(side: str) -> Any:
    return typer.Argument(
        metavar=side,
        help="Rows: lines, or a CSV, TSV, JSONL or Parquet file (also .gz); one of the "
        "two may be -, standard input.",
        show_default=False,
    )


def _id_of(side: str) -> Any:
    return typer.Option(
        f"--{side}-id",
        help=f"Column that names the rows of {side.upper()} in the result; their "
        "numbers, from 1 on, if not given.",
        rich_help_panel=_INPUT,
    )


@options.spelled_out
def match(
    left: Annotated[str, _file("LEFT")],
    right: Annotated[str, _file("RIGHT")],
    similarity: options.SimilarityName,
    *,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", "-t", help="All pairs at least this similar."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top", "-k", min=1, help="The most similar rows of RIGHT for every LEFT."
        ),
    ] = None,
    one_to_one: Annotated[
        bool,
        typer.Option(
            "--one-to-one", help="Let no row come twice: the best assignment of all."
        ),
    ] = False,
    left_column: LeftColumns = None,
    right_column: RightColumns = None,
    left_id: Annotated[str | None, _id_of("left")] = None,
    right_id: Annotated[str | None, _id_of("right")] = None,
    text_options: options.TextOptions,
    budget: options.JobBudget = AUTO,
    recall: certainty.Recall = None,
    confidence: certainty.Confidence = "95%",
    guarantee: certainty.Guarantee = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write all pairs: .csv, .tsv, .jsonl or .parquet."
        ),
    ] = None,
    unmatched: Annotated[
        bool,
        typer.Option("--unmatched", help="Write rows without a match, too."),
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write a page to look at, one HTML file."),
    ] = None,
    store: options.Store = None,
    prior: options.PriorNames = None,
    seed: options.Seed = 0,
    raw: options.Raw = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Find which rows of two files belong together; every pair has been evaluated.

    All pairs are compared where that takes less than a minute, or less than
    approximating them: a timed sample tells, and the command says which way it takes.

    For example:

    fewpairs match messy.csv clean.csv -c name -s token-sort-ratio --top 1

    fewpairs match a.csv b.parquet --left-column name --right-column title -s ratio
    -t 0.8 --one-to-one --out links.csv --report links.html

    fewpairs match messy.csv clean.csv -c name -s ratio -t 0.8 --recall 95%
    """
    say = Out(as_json=as_json)
    _check_asked(threshold, top, one_to_one=one_to_one)
    wanted = certainty.asked(recall, confidence, guarantee=guarantee)
    if wanted and (threshold is None or one_to_one):
        msg = "--recall and --guarantee go with --threshold, without --one-to-one."
        raise InputError(msg)
    for path in (out, report):
        if path is not None:
            check_file(path, force=force)
    if out is not None:
        kind_of_output(out)
    spec = text_options.spec(similarity)
    recipe = make_similarity(spec)
    if threshold is not None:
        check_threshold(threshold, recipe)
    options.as_job_budget(budget)
    columns = left_column, right_column
    both = read_two((left, right), text_options.reading(), columns, say)
    files = both[0][0], both[1][0]
    ids = ("--left-id", left_id), ("--right-id", right_id)
    sides = [_side(file, *name) for file, name in zip(files, ids, strict=True)]
    found = run_match(
        files[0].texts, files[1].texts, recipe, threshold=threshold, k=top,
        one_to_one=one_to_one, budget=budget, seed=seed, store=store and str(store),
        progress=progress_bar(say), **wanted, **prior_of(prior, *files),
    )  # fmt: skip
    found = replace(found, sides=(sides[0], sides[1]))
    say.note(f"{found.way}")
    _tell(found, say)
    if out is not None:
        guarded = write_rows(
            _rows(found, unmatched=unmatched), kind_of_output(out), out, raw=raw
        )
        say.wrote(f"{len(found):,} pairs", out, guarded)
    if report is not None:
        write_matches_report(found, report, title=f"{files[0].name} × {files[1].name}")
        say.note(f"page written to {report}")
    say.document(_facts(found))


def _check_asked(threshold: float | None, top: int | None, *, one_to_one: bool) -> None:
    if threshold is not None and top is not None:
        msg = "got --threshold and --top. Pass one of them."
        raise InputError(msg)
    if threshold is None and top is None and not one_to_one:
        msg = (
            "what is a match? Pass --threshold 0.8 for all pairs at least so similar, "
            "--top 1 for the best of every row of LEFT, or --one-to-one."
        )
        raise InputError(msg)


def _side(file: Input, option: str, ids: str | None) -> Side:
    """Return the rows of a file with all their columns."""
    rows = [file.table.rows[position] for position in file.positions]
    names: list[Any] = [position + 1 for position in file.positions]
    if ids is not None:
        at = place_of(ids, file.table, file.name)
        names = [None if row[at] is ABSENT else row[at] for row in rows]
    columns = {
        name: [None if row[t] is ABSENT else row[t] for row in rows]
        for t, name in enumerate(distinct_names(file.table.columns))
    }
    side = Side(len(names), names, columns, file.texts)
    check_names(side, option, file.name, ids)
    return side


def _tell(found: Matches, say: Out) -> None:
    some = found.with_pairs(found.pairs.at(slice(_LISTED)), found.others)
    left, right = found.sides
    rows = zip(
        some.similarity, listed(left.called(some.left)), left.texts(some.left),
        listed(right.called(some.right)), right.texts(some.right), strict=True,
    )  # fmt: skip
    cells = [
        (f"{value:.4f}", shown(str(a), 20), shown(one), shown(str(b), 20), shown(other))
        for value, a, one, b, other in rows
    ]
    if cells:
        more = f", the first {_LISTED}" if len(found) > _LISTED else ""
        text = [("similarity", True), ("left", True), ("text", False)]
        text += [("right", True), ("text", False)]
        say.table(f"matches{more}", text, cells)
    for name, line in receipt_lines(found).items():
        if name != "way":  # it was noted before
            say.say(f"{name}: {line}")


def _rows(found: Matches, *, unmatched: bool) -> Rows:
    columns = as_columns(found, unmatched=unmatched)
    # NaN is for those who compute; a table has an empty cell.
    values = [[_cell(cell) for cell in listed(part)] for part in columns.values()]
    rows = [list(row) for row in zip(*values, strict=True)]
    return Rows(list(columns), rows)


def _cell(cell: Any) -> Any:
    return None if isinstance(cell, float) and cell != cell else cell  # noqa: PLR0124


def _facts(found: Matches) -> dict[str, Any]:
    left, right = found.sides
    alone = found.unmatched
    table = _rows(found, unmatched=False)
    return {
        "rows": {"left": left.n, "right": right.n},
        "threshold": found.threshold,
        "top": found.k,
        "one_to_one": found.one_to_one,
        "ties": found.ties,
        "way": None if found.way is None else asdict(found.way),
        "evaluations": found.evaluations,
        "certificate": certainty.facts(found),
        "all_pairs": left.n * right.n,
        "unmatched": {
            "left": listed(left.called(alone.left)),
            "right": listed(right.called(alone.right)),
        },
        "pairs": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
    }
