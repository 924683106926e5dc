"""The command line."""

import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from fewpairs import __version__
from fewpairs.cli import (
    adding,
    clustering,
    duplicating,
    exporting,
    matching,
    neighboring,
    planning,
    reporting,
    running,
)
from fewpairs.cli.output import visible
from fewpairs.errors import (
    BudgetError,
    FewpairsError,
    FewpairsWarning,
    InputError,
    MissingExtraError,
)

__all__ = ["app", "main"]

# Exit codes: the input can be mended, something failed, stopped by Ctrl-C.
_BAD_INPUT, _FAILURE, _STOPPED = 2, 1, 130

app = typer.Typer(
    help="The whole similarity matrix from a few of its pairs.",
    epilog="Start with: fewpairs plan FILE --similarity levenshtein",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Approximate the whole similarity matrix of your texts from a few of its pairs."""


def _stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """Let Ctrl-C end a command in one line."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                warnings.showwarning = _note_warning
                command(*arguments, **options)
        except KeyboardInterrupt:
            store = options.get("store")
            kept = (
                f"What was paid for is in {store}: the same command goes on from there."
                if store
                else "Nothing was written; --store DIR keeps what is paid for."
                if "store" in options
                else ""
            )
            _complain(f"stopped. {kept}".strip())
            raise typer.Exit(_STOPPED) from None

    return run


for _command in (
    planning.plan,
    running.approximate,
    adding.add,
    running.show,
    neighboring.neighbors,
    clustering.cluster,
    duplicating.duplicates,
    matching.match,
    exporting.export,
    reporting.report,
    reporting.demo,
):
    app.command()(_stoppable(_command))


def main() -> None:
    """Run the command; problems end in one line on stderr, never a traceback.

    ``--debug`` may stand anywhere on the line.
    """
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        app(args=arguments, prog_name="fewpairs")
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_FAILURE) from None
    except (Exception, GeneratorExit) as error:
        if debug:
            raise
        _complain(_in_words(error))
        wrong = isinstance(error, (InputError, BudgetError, MissingExtraError))
        raise SystemExit(_BAD_INPUT if wrong else _FAILURE) from None


def _in_words(error: BaseException) -> str:
    words = " ".join(str(error).split())
    if isinstance(error, FewpairsError):
        return words
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{where}."
    if isinstance(error, MemoryError):
        return (
            f"not enough memory ({words or 'no more is to be had'}). Pass a smaller "
            "--budget; `fewpairs neighbors FILE` and `fewpairs duplicates FILE` "
            "compare all pairs without holding them."
        )
    if isinstance(error, GeneratorExit):  # of a similarity that wants to end it all
        return f"stopped by the similarity: GeneratorExit {words}".strip() + "."
    return (
        f"{type(error).__name__}: {words} This is a mistake in fewpairs: run it again "
        "with --debug and report what it shows."
    )


def _note_warning(message: Warning | str, category: type, *_: Any, **__: Any) -> None:
    """Show a warning of fewpairs in one line; others are for developers."""
    if issubclass(category, FewpairsWarning):
        words = " ".join(str(message).split())
        note = Text(f"note: {visible(words)}", style="yellow")
        Console(stderr=True, highlight=False).print(note, soft_wrap=True)


def _complain(words: str) -> None:
    line = Text("error: ", style="bold red") + Text(visible(words), style="default")
    Console(stderr=True, highlight=False).print(line, soft_wrap=True)
