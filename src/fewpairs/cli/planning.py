"""The command that says what budgets cost, before anything is paid for."""

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from fewpairs.cli import options
from fewpairs.cli.inputs import Input
from fewpairs.cli.output import Out
from fewpairs.cli.recipes import make_similarity
from fewpairs.cli.texts import prior_of, read_texts
from fewpairs.errors import BudgetError, InputError
from fewpairs.ledger.ledger import Ledger
from fewpairs.matrix.budget import Budget
from fewpairs.methods import as_method
from fewpairs.result.bill import duration
from fewpairs.run import plan as run_plan
from fewpairs.run.budget_split import foresee
from fewpairs.run.expectation import shares
from fewpairs.similarity.base import Similarity
from fewpairs.similarity.two_sets import two_sets

__all__ = ["plan"]

_BUDGETS = ["5/item", "10/item", "20/item", "50/item", "100/item"]


@options.spelled_out
def plan(
    file: options.InputFile,
    similarity: options.SimilarityName,
    *,
    text_options: options.TextOptions,
    budget: Annotated[
        list[str] | None,
        typer.Option("--budget", "-b", help="Several may be given: 20/item, 5%, 9000."),
    ] = None,
    price: Annotated[
        float | None, typer.Option(min=0.0, help="What one evaluation costs, in money.")
    ] = None,
    currency: Annotated[str, typer.Option(help="Of --price.")] = "$",
    others: Annotated[
        str | None,
        typer.Option(
            help="A second file: rows of FILE are compared with its rows, and with no "
            "others."
        ),
    ] = None,
    others_column: Annotated[
        list[str] | None,
        typer.Option(help="Column of its text. As --column if not given."),
    ] = None,
    prior: options.PriorNames = None,
    method: options.MethodName = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Say what several budgets cost, before paying, and what to expect of them.

    A small sample is evaluated and timed, about half a second of it.

    For example:

    fewpairs plan titles.csv --column title --similarity levenshtein

    fewpairs plan titles.csv -c title -s jaccard -b 50/item -b 50000 --price 0.001

    fewpairs plan queries.txt -s levenshtein --others documents.csv --others-column text
    """
    out = Out(as_json=as_json)
    how = text_options.reading()
    asked = [options.as_budget(text) for text in budget or _BUDGETS]
    options.as_method_name(method)
    recipe = make_similarity(text_options.spec(similarity))
    how = how if others is None else replace(how, fewest=1)
    given, second = read_texts(file, how, out), None
    if others is not None:
        columns = tuple(others_column or how.columns)
        second = read_texts(others, replace(how, columns=columns), out)
    elif others_column:
        msg = "--others-column is given without --others. Name the second file too."
        raise InputError(msg)
    told = prior_of(prior, given, second)
    strict = budget is not None
    bills = _affordable(
        given, recipe, asked, method, told, second=second, strict=strict
    )
    last = bills[-1]
    money = None if price is None else [price * bill.evaluations for bill in bills]
    total = None if price is None else price * last.exact_evaluations
    named = None if money is None or total is None else [*money, total]
    out.table(
        f"{last.n:,} texts of {given.name}, "
        f"{'' if second is None else f'{last.others:,} of {second.name}, '}"
        f"{recipe.name}",
        [
            ("evaluations", True),
            ("per item", True),
            ("share", True),
            ("evaluating", True),
            ("computing", True),
            *([] if named is None else [("money", True)]),
            ("memory", True),
        ],
        _rows(bills, None if named is None else [f"{currency}{m:,.2f}" for m in named]),
    )
    out.say(
        f"measured: {duration(last.seconds_each)} per evaluation, on "
        f"{last.sampled:,} of them"
    )
    out.say(f"advice: {last.way}")
    if last.prior_r2 is not None:
        out.say(f"the prior explains {last.prior_r2:.0%} of their differences")
    known = [(bill, bill.expectation) for bill in bills if bill.expectation]
    if known:
        out.table(
            f"what to expect, {known[0][1].source}",
            [
                ("per item", True),
                ("10 most similar found", True),
                ("differences explained", True),
            ],
            [
                (f"{bill.per_item:.3g}", shares(expected.recall), shares(expected.r2))
                for bill, expected in known
            ],
        )
    out.document(
        {
            "texts": last.n,
            "others": last.others,
            "similarity": recipe.name,
            "seconds_each": last.seconds_each,
            "sampled": last.sampled,
            "prior_r2": last.prior_r2,
            "way": asdict(last.way),
            "budgets": [
                _facts(bill, None if money is None else money[t])
                for t, bill in enumerate(bills)
            ],
            "all_pairs": {
                "evaluations": last.exact_evaluations,
                "seconds": last.exact_seconds,
                "money": total,
            },
        }
    )


def _rows(bills: list[run_plan.Plan], money: list[str] | None) -> list[tuple[str, ...]]:
    """Return the table: a line per budget, and one for all pairs."""
    last = bills[-1]
    rows: list[tuple[str, ...]] = []
    for t, bill in enumerate(bills):
        share = bill.evaluations / bill.exact_evaluations
        expected = bill.expectation
        rows.append(
            (
                f"{bill.evaluations:,}",
                f"{bill.per_item:.3g}",
                f"{share:.3g}" if share < 0.001 else f"{share:.1%}",
                duration(bill.seconds),
                "" if expected is None else expected.computing_in_words,
                *([] if money is None else [money[t]]),
                f"{bill.memory / 2**20:,.0f} MiB",
            )
        )
    rows.append(
        (
            f"{last.exact_evaluations:,}",
            f"{last.others or last.n - 1:,}",
            "all",
            duration(last.exact_seconds),
            "",
            *([] if money is None else [money[-1]]),
            "",
        )
    )
    return rows


def _facts(bill: run_plan.Plan, money: float | None) -> dict[str, Any]:
    """Return what a plan says, for programs."""
    expected = bill.expectation
    return {
        "evaluations": bill.evaluations,
        "per_item": bill.per_item,
        "share": bill.evaluations / bill.exact_evaluations,
        "seconds": bill.seconds,
        "money": money,
        "memory_bytes": bill.memory,
        "expected": None if expected is None else asdict(expected),
    }


def _affordable(
    given: Input,
    recipe: Similarity,
    budgets: list[Budget],
    method: str,
    told: dict[str, Any],
    *,
    second: Input | None,
    strict: bool,
) -> list[run_plan.Plan]:
    """Return a plan a budget, all from one timed sample.

    Default budgets that are too small for the method are left out, and what is all
    pairs stands once.
    """
    if any(budget.is_scarce for budget in budgets):  # what they buy is measured
        ledger = Ledger()
        told = {**told, "store": told.get("store") or ledger}
        return [
            run_plan.plan(given.texts, recipe, budget, method=method, **told)
            for budget in budgets
        ]
    kept: list[tuple[Budget, int]] = []
    m, compared = len(given.texts), recipe
    others = None if second is None else second.texts
    if others is not None:
        compared = two_sets(recipe, m)
    n = m + len(others or ())
    for budget in budgets:
        try:
            foreseen = foresee(as_method(method), compared, n, budget, symmetrize=True)
        except BudgetError:
            if strict or (budget == budgets[-1] and not kept):
                raise
            continue
        if strict or all(foreseen.evaluations != paid for _, paid in kept):
            kept.append((budget, foreseen.evaluations))
    first = run_plan.plan(
        given.texts, recipe, kept[0][0], others=others, method=method, **told
    )
    # An asymmetric similarity that does not say so costs twice what was foreseen.
    twice = first.evaluations / kept[0][1]
    return [first.at(round(twice * evaluations)) for _, evaluations in kept]
