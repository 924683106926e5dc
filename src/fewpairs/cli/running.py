"""Commands that spend: plan, approximate; and show, which says what was spent."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fewpairs.cli import options
from fewpairs.cli.folder import check_free, open_run, place, write_run
from fewpairs.cli.inputs import Input, Reading, read_input
from fewpairs.cli.output import Out, doing, progress_bar
from fewpairs.cli.recipes import Spec, make_prior, make_similarity
from fewpairs.errors import BudgetError
from fewpairs.methods import as_method
from fewpairs.result.approximation import Approximation
from fewpairs.result.bill import duration
from fewpairs.run import approximate as run_approximate
from fewpairs.run import plan as run_plan
from fewpairs.run.budget_split import foresee
from fewpairs.similarity.base import Similarity

__all__ = [
    "approximate",
    "facts_of",
    "plan",
    "read_texts",
    "run_approximation",
    "show",
]

_BUDGETS = ["1%", "2%", "5%", "10%", "20%"]


def plan(
    file: options.InputFile,
    similarity: options.SimilarityName,
    *,
    column: options.Columns = None,
    budget: Annotated[
        list[str] | None,
        typer.Option("--budget", "-b", help="Several may be given: 2%, 5%, 100000."),
    ] = None,
    price: Annotated[
        float | None, typer.Option(min=0.0, help="What one evaluation costs, in money.")
    ] = None,
    currency: Annotated[str, typer.Option(help="Of --price.")] = "$",
    method: options.MethodName = "auto",
    vectors: options.Vectors = None,
    gamma: options.Gamma = None,
    model: options.Model = None,
    label: options.Label = None,
    characters: options.Characters = None,
    format: options.Format = None,  # noqa: A002 - the name of the option
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    empty: options.Empty = "error",
    max_length: options.MaxLength = 100_000,
    cut: options.Cut = None,
    quotes: options.Quotes = True,
    as_json: options.AsJson = False,
) -> None:
    """Say what several budgets cost, before paying: evaluations, time, money, memory.

    A small sample is evaluated and timed, about half a second of it.

    For example:

    fewpairs plan titles.csv --column title --similarity levenshtein

    fewpairs plan titles.csv -c title -s jaccard -b 5% -b 50000 --price 0.001
    """
    out = Out(as_json=as_json)
    how = options.reading_of(
        column, format, encoding, delimiter, empty, max_length, cut, quotes
    )
    asked = [options.as_budget(text) for text in budget or _BUDGETS]
    options.as_method_name(method)
    recipe = make_similarity(
        options.spec_of(similarity, vectors, gamma, model, label, characters)
    )
    given = read_texts(file, how, out)
    bills = _affordable(given, recipe, asked, method, strict=budget is not None)
    rows, facts = [], []
    for bill in bills:
        share = bill.evaluations / bill.exact_evaluations
        cost = None if price is None else price * bill.evaluations
        rows.append(
            (
                f"{bill.evaluations:,}",
                f"{share:.3g}" if share < 0.001 else f"{share:.1%}",
                duration(bill.seconds),
                *([] if cost is None else [f"{currency}{cost:,.2f}"]),
                f"{bill.memory / 2**20:,.0f} MiB",
            )
        )
        facts.append(
            {
                "evaluations": bill.evaluations,
                "share": share,
                "seconds": bill.seconds,
                "money": cost,
                "memory_bytes": bill.memory,
            }
        )
    last = bills[-1]
    money = None if price is None else price * last.exact_evaluations
    rows.append(
        (
            f"{last.exact_evaluations:,}",
            "all",
            duration(last.exact_seconds),
            *([] if money is None else [f"{currency}{money:,.2f}"]),
            "",
        )
    )
    paid = [] if price is None else [("money", True)]
    out.table(
        f"{last.n:,} texts of {given.name}, {recipe.name}",
        [
            ("evaluations", True),
            ("of the pairs", True),
            ("evaluating", True),
            *paid,
            ("memory", True),
        ],
        rows,
    )
    out.say(
        f"measured: {duration(last.seconds_each)} an evaluation, on "
        f"{last.sampled:,} of them"
    )
    out.document(
        {
            "texts": last.n,
            "similarity": recipe.name,
            "seconds_each": last.seconds_each,
            "sampled": last.sampled,
            "budgets": facts,
            "all_pairs": {
                "evaluations": last.exact_evaluations,
                "seconds": last.exact_seconds,
                "money": money,
            },
        }
    )


def _affordable(
    given: Input, recipe: Similarity, budgets: list[Any], method: str, *, strict: bool
) -> list[run_plan.Plan]:
    """Return a plan a budget, all from one timed sample.

    Default budgets that are too small for the method are left out.
    """
    kept: list[tuple[Any, int]] = []
    for budget in budgets:
        try:
            foreseen = foresee(
                as_method(method), recipe, len(given.texts), budget, symmetrize=True
            )
        except BudgetError:
            if strict or (budget == budgets[-1] and not kept):
                raise
            continue
        kept.append((budget, foreseen.evaluations))
    first = run_plan.plan(given.texts, recipe, kept[0][0], method=method)
    # An asymmetric similarity that does not say so costs twice what was foreseen.
    twice = first.evaluations / kept[0][1]
    return [
        replace(
            first,
            evaluations=round(twice * evaluations),
            seconds=first.seconds
            + first.seconds_each * (twice * evaluations - first.evaluations),
            memory=round(first.memory * twice * evaluations / first.evaluations),
        )
        for _, evaluations in kept
    ]


def approximate(
    file: options.InputFile,
    similarity: options.SimilarityName,
    *,
    column: options.Columns = None,
    budget: options.BudgetText = "5%",
    prior: options.PriorName = None,
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
    vectors: options.Vectors = None,
    gamma: options.Gamma = None,
    model: options.Model = None,
    label: options.Label = None,
    characters: options.Characters = None,
    format: options.Format = None,  # noqa: A002 - the name of the option
    encoding: options.Encoding = "utf-8",
    delimiter: options.Delimiter = None,
    empty: options.Empty = "error",
    max_length: options.MaxLength = 100_000,
    cut: options.Cut = None,
    quotes: options.Quotes = True,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Approximate all similarities of the texts, and keep the result in a folder.

    For example:

    fewpairs approximate titles.csv --column title --similarity levenshtein --out run

    fewpairs approximate notes.txt -s token-sort-ratio -b 10% --store paid -o notes

    cat notes.txt | fewpairs approximate - -s scoring:shared_words -b 20000 -o words
    """
    say = Out(as_json=as_json)
    how = options.reading_of(
        column, format, encoding, delimiter, empty, max_length, cut, quotes
    )
    spec = options.spec_of(similarity, vectors, gamma, model, label, characters)
    folder = out or place(file)
    check_free(folder, force=force)
    options.as_budget(budget)
    given = read_texts(file, how, say)
    approx = run_approximation(
        given, spec, say, budget=budget, prior=prior, method=method, seed=seed,
        store=store,
    )  # fmt: skip
    facts = {
        "similarity": asdict(spec),
        "prior": prior if prior is None else _absolute(prior),
        "budget": budget,
        "method": method,
        "seed": seed,
    }
    with doing(say, f"writing {folder}"):
        write_run(folder, approx, given, how, facts, force=force)
    say.say(str(approx))
    say.note(f"kept in {folder}; look at it by: fewpairs report {folder}")
    say.document({"folder": str(folder), **facts_of(approx)})


def run_approximation(
    given: Input,
    spec: Spec,
    say: Out,
    *,
    budget: str,
    prior: str | None,
    method: str,
    seed: int,
    store: Path | None = None,
) -> Approximation:
    """Check everything that can be checked, then pay."""
    allowed = options.as_budget(budget)
    options.as_method_name(method)
    with doing(say, "loading the similarity"):
        recipe = make_similarity(spec)
    with doing(say, "preparing the prior"):
        cheap = None if prior is None else make_prior(prior, given)
    kept: Any = None if store is None else str(store)
    approx = run_approximate.approximate(
        given.texts,
        recipe,
        method=method,
        budget=allowed,
        seed=seed,
        prior=cheap,
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
    source = run.facts["input"]
    out.say(f"  {'input':<11} {source['name']}, {source['texts']:,} texts")
    out.say(
        f"  {'made':<11} {run.facts['created']} by fewpairs {run.facts['fewpairs']}"
    )
    out.document({"folder": str(folder), "run": run.facts, **facts_of(approx)})


def facts_of(approx: Approximation) -> dict[str, Any]:
    """Return what a receipt says, for programs."""
    certificate = approx.certificate
    return {
        "items": approx.shape[0],
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


def _absolute(prior: str) -> str:
    """Return a path that holds wherever the next command is run."""
    return str(Path(prior).resolve()) if Path(prior).exists() else prior
