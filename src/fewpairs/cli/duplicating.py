"""The command duplicates: pairs above a threshold, every one of them evaluated."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fewpairs.answers.matching import Matches, all_matches, find_matches
from fewpairs.cli import options
from fewpairs.cli.folder import open_run
from fewpairs.cli.inputs import Input
from fewpairs.cli.output import Out, progress_bar, shown
from fewpairs.cli.recipes import check_threshold, make_similarity
from fewpairs.cli.running import read_texts, run_approximation
from fewpairs.cli.tables import Rows, check_file, kind_of_output, write_rows
from fewpairs.errors import InputError
from fewpairs.matrix.budget import DEFAULT_BUDGET
from fewpairs.result.approximation import Approximation
from fewpairs.result.bill import duration
from fewpairs.types import Indices

__all__ = ["duplicates"]

_LISTED = 20
_MOST_EQUAL = 1_000_000  # pairs of equal texts that are listed one by one
_ALL_AT_ONCE = 10_000  # items whose pairs can all be held
_QUICK = 60.0  # seconds within which reading everything is worth a hint


def duplicates(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DIR|FILE",
            help="The folder of a run; or a file of texts, with --similarity.",
            show_default=False,
        ),
    ],
    *,
    threshold: Annotated[
        float,
        typer.Option("--threshold", "-t", help="Report pairs at least this similar."),
    ],
    similarity: Annotated[
        str | None,
        typer.Option(
            "--similarity",
            "-s",
            help="For a file: as in `fewpairs approximate`.",
            rich_help_panel="Similarity",
        ),
    ] = None,
    column: options.Columns = None,
    budget: options.BudgetText = DEFAULT_BUDGET,
    margin: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Pairs predicted this far below the threshold are checked too; from "
            "the held-out errors if not given.",
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option("--most", min=0, help="Candidates that may be evaluated at most."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write all pairs: .csv, .tsv, .jsonl or .parquet."
        ),
    ] = None,
    prior: options.PriorName = None,
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
    raw: options.Raw = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Find pairs above a threshold; every pair that is reported has been evaluated.

    Candidates are what the approximation predicts above the threshold less a margin,
    and equal texts. Candidates that were not read yet are evaluated, and counted. The
    command also says how many pairs it may have missed.

    For example:

    fewpairs duplicates titles.csv --column title --similarity levenshtein -t 0.8

    fewpairs duplicates run --threshold 0.75 --out pairs.csv

    fewpairs duplicates run --threshold 0.9 --json
    """
    say = Out(as_json=as_json)
    if out is not None:
        check_file(out, force=force)
        kind_of_output(out)
    approx: Approximation | None
    if similarity is None:
        if Path(source).is_file():
            msg = f"{source} is a file. Pass --similarity, or the folder of a run."
            raise InputError(msg)
        run = open_run(Path(source))
        check_threshold(threshold, make_similarity(run.spec))
        given, equal = run.given, _equal_pairs(run.texts)
        approx = run.with_similarity()
    else:
        how = options.reading_of(
            column, format, encoding, delimiter, empty, max_length, cut, quotes
        )
        spec = options.spec_of(similarity, vectors, gamma, model, label, characters)
        check_threshold(threshold, make_similarity(spec))
        given = read_texts(source, how, say)
        equal = _equal_pairs(given.texts)  # too many are an error before it is paid
        whole = (
            options.as_budget(budget).is_everything(len(given.texts))
            and len(given.texts) <= _ALL_AT_ONCE
        )
        if whole and method == "auto":
            recipe = make_similarity(spec)
            found = all_matches(
                given.texts, recipe, threshold, progress=progress_bar(say)
            )
            approx = None
        else:
            approx = run_approximation(
                given, spec, say, budget=budget, prior=prior, method=method, seed=seed
            )
    if approx is not None:
        found = find_matches(
            approx,
            threshold,
            margin=margin,
            most=most,
            also=equal,
            progress=progress_bar(say),
        )
    _tell(found, approx, given, say)
    if out is not None:
        table = Rows(_NAMES, _records(found, given))
        guarded = write_rows(table, kind_of_output(out), out, raw=raw)
        say.wrote(f"{len(found.i):,} pairs", out, guarded)
    say.document(_facts(found, approx, given))


def _equal_pairs(texts: list[str]) -> tuple[Indices, Indices]:
    """Return all pairs of equal texts: no approximation is needed to find them."""
    groups: dict[str, list[int]] = {}
    for t, text in enumerate(texts):
        groups.setdefault(text, []).append(t)
    i: list[Indices] = []
    j: list[Indices] = []
    for members in groups.values():
        if len(members) > 1:
            a, b = np.triu_indices(len(members), 1)
            at = np.array(members)
            i.append(at[a])
            j.append(at[b])
    if sum(map(len, i)) > _MOST_EQUAL:
        msg = (
            f"{sum(map(len, i)):,} pairs of texts are equal. Drop repeated rows first, "
            "or use `fewpairs cluster`."
        )
        raise InputError(msg)
    nothing = np.empty(0, dtype=np.int64)
    return (np.concatenate([nothing, *i]), np.concatenate([nothing, *j]))


def _tell(
    found: Matches,
    approx: Approximation | None,
    given: Input,
    say: Out,
) -> None:
    rows = [
        (
            f"{value:.4f}",
            str(i),  # as neighbors --item takes it
            shown(given.texts[i]),
            str(j),
            shown(given.texts[j]),
        )
        for i, j, value in zip(
            found.i[:_LISTED], found.j[:_LISTED], found.similarity[:_LISTED],
            strict=True,
        )
    ]  # fmt: skip
    if rows:
        more = f", the first {_LISTED}" if len(found.i) > _LISTED else ""
        say.table(
            f"pairs at least {found.threshold:g} similar{more}",
            [
                ("similarity", True),
                ("item", True),
                ("text", False),
                ("item", True),
                ("text", False),
            ],
            rows,
        )
    n = len(given.texts)
    rows_hit = len(np.unique(np.concatenate([found.i, found.j])))
    say.say(
        f"{len(found.i):,} pair{'' if len(found.i) == 1 else 's'} at least "
        f"{found.threshold:g} similar, among "
        f"{rows_hit:,} of {n:,} texts; all of them exact: {found.known:,} read before, "
        f"{len(found.i) - found.known:,} among {found.checked:,} candidates evaluated "
        "now"
    )
    if approx is None or not approx.certificate.unread:
        say.say("missed: none, all pairs were read")
        return
    say.say(_missed_in_words(found))
    exact = _exact_seconds(approx)
    if exact < _QUICK and n <= _ALL_AT_ONCE:
        say.note(
            f"hint: this similarity is quick, all pairs take about {duration(exact)}; "
            "`fewpairs duplicates FILE --budget 100%` misses nothing"
        )


def _missed_in_words(found: Matches) -> str:
    missed = found.missed
    words = []
    if missed.hidden:
        words.append(
            f"of {missed.hidden:,} such pairs in rows hidden from a smaller fit, "
            f"{missed.found:,} were found ({missed.found / missed.hidden:.0%}; with "
            f"95 % confidence at least {missed.found_at_least:.0%})"
        )
    if missed.held_out:
        words.append(
            f"{missed.above:,} of {missed.held_out:,} held-out pairs were missed: "
            f"about {missed.estimate:,.0f} of all pairs, at most {missed.at_most:,.0f} "
            "(95 %)"
        )
    return "missed: " + ("; ".join(words) or "not known, no pairs were held out")


def _exact_seconds(approx: Approximation) -> float:
    bill = approx.bill
    return bill.evaluating / max(1, bill.evaluations) * bill.everything


def _records(found: Matches, given: Input) -> list[list[Any]]:
    """Return what is written: rows are those of the input file, counted from 1."""
    return [
        [
            given.positions[i] + 1,
            given.positions[j] + 1,
            float(value),
            given.texts[i],
            given.texts[j],
        ]
        for i, j, value in zip(found.i, found.j, found.similarity, strict=True)
    ]


_NAMES = ["row", "other_row", "similarity", "text", "other_text"]


def _facts(
    found: Matches, approx: Approximation | None, given: Input
) -> dict[str, Any]:
    n = len(given.texts)
    unread = approx is not None and approx.certificate.unread > 0
    return {
        "texts": len(given.texts),
        "threshold": found.threshold,
        "margin": found.margin,
        "evaluations": {
            "approximation": 0 if approx is None else approx.evaluations,
            "checking": found.checked,
            "all_pairs": n * (n - 1) // 2 if approx is None else approx.bill.everything,
        },
        "missed": found.missed._asdict() if unread else None,
        "pairs": [
            dict(zip(_NAMES, record, strict=True)) for record in _records(found, given)
        ],
    }
