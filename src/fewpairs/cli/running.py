"""The command that spends, and show, which says what was spent."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fewpairs.cli import options
from fewpairs.cli.folder import check_free, open_run, place, write_run
from fewpairs.cli.inputs import Input, Reading
from fewpairs.cli.output import Out, doing, progress_bar
from fewpairs.cli.recipes import Spec, make_similarity
from fewpairs.cli.texts import (
    LeftColumns,
    OthersColumns,
    prior_of,
    read_texts,
    read_two,
)
from fewpairs.errors import InputError
from fewpairs.matrix.budget import DEFAULT_BUDGET
from fewpairs.result.approximation import Approximation
from fewpairs.run import approximate as run_approximate

__all__ = [
    "approximate",
    "facts_of",
    "run_approximation",
    "show",
]


@options.spelled_out
def approximate(
    file: options.InputFile,
    similarity: options.SimilarityName,
    *,
    others: Annotated[
        str | None,
        typer.Option(
            help="A second file: two sets. Rows of FILE, LEFT, are compared with its "
            "rows, RIGHT, and with no others."
        ),
    ] = None,
    left_column: LeftColumns = None,
    others_column: OthersColumns = None,
    text_options: options.TextOptions,
    budget: options.BudgetText = DEFAULT_BUDGET,
    prior: options.PriorNames = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder of the result; FILE.fewpairs if not given."
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps every evaluation as it is made: a run that was "
            "stopped goes on from there."
        ),
    ] = None,
    method: options.MethodName = "auto",
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Approximate all similarities of the texts, and keep the result in a folder.

    Of one file, those of its texts with each other; of two, of either with the other.

    For example:

    fewpairs approximate titles.csv --column title --similarity levenshtein --out run

    fewpairs approximate notes.txt -s token-sort-ratio -b 10% --store paid -o notes

    fewpairs approximate queries.txt -s ratio --others documents.csv --right-column text

    cat notes.txt | fewpairs approximate - -s scoring:shared_words -b 20000 -o words
    """
    say = Out(as_json=as_json)
    how = text_options.reading()
    spec = text_options.spec(similarity)
    folder = out or place(file)
    check_free(folder, force=force)
    options.as_budget(budget)
    second: tuple[Input, Reading] | None = None
    if others is not None:
        columns = left_column, others_column
        (given, how), second = read_two((file, others), how, columns, say)
    elif left_column or others_column:
        word = "--left-column" if left_column else "--others-column"
        msg = f"{word} is given without --others. Name the second file too."
        raise InputError(msg)
    else:
        given = read_texts(file, how, say)
    approx = run_approximation(
        given, spec, say, budget=budget, prior=prior, method=method, seed=seed,
        store=store, others=second and second[0],
    )  # fmt: skip
    facts = {
        "similarity": asdict(spec),
        "prior": prior and [_absolute(name) for name in prior],
        "budget": budget,
        "method": method,
        "seed": seed,
    }
    with doing(say, f"writing {folder}"):
        write_run(folder, approx, given, how, facts, force=force, others=second)
    say.say(str(approx))
    say.note(f"kept in {folder}; look at it by: fewpairs report {folder}")
    say.document({"folder": str(folder), **facts_of(approx)})


def run_approximation(
    given: Input,
    spec: Spec,
    say: Out,
    *,
    budget: str,
    prior: list[str] | None,
    method: str,
    seed: int,
    store: Path | None = None,
    others: Input | None = None,
) -> Approximation:
    """Check everything that can be checked, then pay; ``others``: the second set."""
    allowed = options.as_budget(budget)
    options.as_method_name(method)
    with doing(say, "loading the similarity"):
        recipe = make_similarity(spec)
    with doing(say, "preparing the prior"):
        told = prior_of(prior, given, others)
    kept: Any = None if store is None else str(store)
    approx = run_approximate.approximate(
        given.texts,
        recipe,
        others=None if others is None else others.texts,
        method=method,
        budget=allowed,
        seed=seed,
        **told,
        store=kept,
        progress=progress_bar(say),
    )
    with doing(say, "comparing with the held-out pairs"):
        approx.certificate  # noqa: B018 - worked out when it is first asked for
    return approx


def show(folder: options.Folder, *, as_json: options.AsJson = False) -> None:
    """Show the receipt of a run: what was paid, and how far to trust it.

    For example:

    fewpairs show run

    fewpairs show run --json
    """
    out = Out(as_json=as_json)
    run = open_run(folder)
    approx = run.approx
    out.say(str(approx))
    for name in ("input", "others"):
        source = run.facts.get(name)
        if source is not None:
            out.say(f"  {name:<11} {source['name']}, {source['texts']:,} texts")
    out.say(
        f"  {'made':<11} {run.facts['created']} by fewpairs {run.facts['fewpairs']}"
    )
    out.document({"folder": str(folder), "run": run.facts, **facts_of(approx)})


def facts_of(approx: Approximation) -> dict[str, Any]:
    """Return what a receipt says, for programs."""
    certificate = approx.certificate
    return {
        "items": approx.shape[0],
        **({} if approx.known.sides is None else {"others": approx.shape[1]}),
        "method": approx.method,
        "landmarks": len(approx.landmarks),
        "rank": approx.left.shape[1],
        "bill": asdict(approx.bill),
        "certificate": {
            "relative_error": certificate.relative_error,
            "interval": certificate.interval,
            "r2": certificate.r2,
            "held_out_pairs": certificate.pairs,
            "unread": certificate.unread,
            "worth": certificate.worth,
            "doubt": certificate.doubt or None,
        },
    }


def _absolute(prior: str) -> str:
    """Return a path that holds wherever the next command is run."""
    return str(Path(prior).resolve()) if Path(prior).exists() else prior
