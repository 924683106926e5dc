"""Texts of a command: those of a file, or of two files that are two sets."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from fewpairs.cli.inputs import Input, Reading, read_input
from fewpairs.cli.output import Out, doing
from fewpairs.cli.recipes import make_pair_priors, make_priors
from fewpairs.errors import InputError

__all__ = [
    "LeftColumns",
    "OthersColumns",
    "RightColumns",
    "prior_of",
    "read_texts",
    "read_two",
]


def _columns_of(file: str, *names: str) -> Any:
    return typer.Option(
        *names,
        help=f"Column of the text in {file}; several are joined by a blank. As "
        "--column if not given.",
        rich_help_panel="Input",
    )


LeftColumns = Annotated[list[str] | None, _columns_of("LEFT", "--left-column")]
RightColumns = Annotated[list[str] | None, _columns_of("RIGHT", "--right-column")]
# As `fewpairs plan` and as `fewpairs match` name it.
OthersColumns = Annotated[
    list[str] | None,
    _columns_of("the second file", "--others-column", "--right-column"),
]


def read_texts(file: str, how: Reading, out: Out) -> Input:
    """Read the input, and say what is odd about it."""
    with doing(out, f"reading {file}"):
        given = read_input(file, how)
    if given.repeated:
        out.note(
            f"note: {given.repeated:,} of {len(given.texts):,} texts repeat another one"
        )
    skipped = len(given.table.rows) - len(given.texts)
    if skipped:
        out.note(f"note: {skipped:,} rows without text are left out")
    return given


def read_two(
    files: tuple[str, str],
    how: Reading,
    columns: tuple[list[str] | None, list[str] | None],
    out: Out,
) -> tuple[tuple[Input, Reading], tuple[Input, Reading]]:
    """Read two files, each with its columns; return how each was read, too."""
    if files == ("-", "-"):
        msg = "LEFT and RIGHT are both -, and there is one standard input. Name a file."
        raise InputError(msg)

    def read(file: str, names: list[str] | None) -> tuple[Input, Reading]:
        own = replace(how, columns=tuple(names or how.columns), fewest=1)
        return read_texts(file, own, out), own

    return read(files[0], columns[0]), read(files[1], columns[1])


def prior_of(
    names: list[str] | None, given: Input, others: Input | None = None
) -> dict[str, Any]:
    """Return the prior as an argument; none where the library's default is meant."""
    if not names:
        return {}
    if others is not None:
        return {"prior": make_pair_priors(names, given, others)}
    return {"prior": make_priors(names, given)}
