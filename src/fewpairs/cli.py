"""The command line."""

from typing import Annotated

import typer
from rich.console import Console

from fewpairs import __version__, demo
from fewpairs.errors import FewpairsError

__all__ = ["app", "main"]

app = typer.Typer(
    help="The whole similarity matrix from a few of its pairs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fewpairs {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and end.",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Approximate the whole similarity matrix from a few of its pairs."""


@app.command("demo")
def show_demo(
    *,
    limit: Annotated[
        int | None,
        typer.Option(min=100, help="How many docstrings; all of them if not given."),
    ] = None,
) -> None:
    """Approximate the similarities of the standard library's docstrings.

    Needs no download: the texts are on every machine that has Python.

    Example: fewpairs demo --limit 1000
    """
    demo.run(Console(), limit=limit)


def main() -> None:
    """Run the command; problems end in one line on stderr, never a traceback."""
    try:
        app()
    except FewpairsError as error:
        Console(stderr=True).print(f"[red]error:[/red] {error}", highlight=False)
        raise SystemExit(1) from None
