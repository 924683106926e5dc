"""The command that says what budgets cost, before anything is paid for."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from fewpairs.cli import options
from fewpairs.cli.inputs import Input
from fewpairs.cli.output import Out
from fewpairs.cli.recipes import make_similarity
from fewpairs.cli.running import read_texts
from fewpairs.errors import BudgetError
from fewpairs.methods import as_method
from fewpairs.result.bill import duration
from fewpairs.run import plan as run_plan
from fewpairs.run.budget_split import foresee
from fewpairs.similarity.base import Similarity

__all__ = ["plan"]

_BUDGETS = ["5/item", "10/item", "20/item", "50/item", "100/item"]


def plan(
    file: options.InputFile,
    similarity: options.SimilarityName,
    *,
    column: options.Columns = None,
    budget: Annotated[
        list[str] | None,
        typer.Option("--budget", "-b", help="Several may be given: 20/item, 5%, 9000."),
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

    fewpairs plan titles.csv -c title -s jaccard -b 50/item -b 50000 --price 0.001
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

    Default budgets that are too small for the method are left out, and what is all
    pairs stands once.
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
        if strict or all(foreseen.evaluations != paid for _, paid in kept):
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
