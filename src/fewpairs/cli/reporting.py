"""Commands to look at: report and demo."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fewpairs.cli import demo as showing
from fewpairs.cli import options
from fewpairs.cli.folder import open_run
from fewpairs.cli.output import Out, progress_bar
from fewpairs.cli.tables import check_file
from fewpairs.report import write_report

__all__ = ["demo", "report"]


def report(
    folder: options.Folder,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="HTML file; DIR/report.html if not given."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            "-t",
            help="Color the map by the clusters at this threshold; by broad groups if "
            "not given.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the page.")] = None,
    open_it: Annotated[
        bool, typer.Option("--open", help="Show it in the browser.")
    ] = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Write a page to look at: how far to trust it, a map, neighbors, odd ones out.

    One file without network; it can be sent to others as it is. It holds the texts.

    For example:

    fewpairs report run

    fewpairs report run --threshold 0.7 --title "Titles" --out titles.html
    """
    say = Out(as_json=as_json)
    path = out or folder / "report.html"
    run = open_run(folder)
    # A report in its own folder is ours to renew.
    check_file(path, force=force or out is None)
    write_report(
        run.approx,
        run.texts,
        path,
        others=None if run.others is None else run.partners,
        title=title or run.name,
        threshold=threshold,
        created=run.facts["created"],
        progress=progress_bar(say, "items"),
    )
    size = path.stat().st_size
    say.say(f"{path}: {size / 2**20:.1f} MiB, open it in a browser")
    say.document({"file": str(path), "bytes": size})
    if open_it:
        webbrowser.open(path.resolve().as_uri())


def demo(
    *,
    limit: Annotated[
        int | None,
        typer.Option(min=100, help="How many of the lines; all of them if not given."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="HTML file, the report; replaced.")
    ] = Path("fewpairs-demo.html"),
    open_it: Annotated[
        bool, typer.Option("--open", help="Show the report in the browser.")
    ] = False,
) -> None:
    """Watch a cross-encoder's matrix being found from a few of its pairs.

    1,500 lines of Python's documentation, with every score of a real model shipped:
    nothing is downloaded, and the truth is known.

    For example:

    fewpairs demo --out demo.html

    fewpairs demo --limit 500
    """
    check_file(out, force=True)
    showing.run(Console(), out=out, limit=limit)
    if open_it:
        webbrowser.open(out.resolve().as_uri())
