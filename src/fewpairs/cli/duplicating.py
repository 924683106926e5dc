"""The command duplicates: pairs above a threshold, every one of them evaluated."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fewpairs.answers.equal import count_equal, equal_pairs
from fewpairs.answers.matches import Matches
from fewpairs.answers.matches_receipt import missed_in_words
from fewpairs.answers.matching import find_matches
from fewpairs.cli import certainty, options
from fewpairs.cli.folder import open_run
from fewpairs.cli.inputs import Input
from fewpairs.cli.output import Out, progress_bar, shown
from fewpairs.cli.recipes import check_threshold, make_similarity
from fewpairs.cli.running import run_approximation
from fewpairs.cli.tables import Rows, check_file, kind_of_output, write_rows
from fewpairs.cli.texts import prior_of, read_texts
from fewpairs.errors import InputError
from fewpairs.matrix.budget import DEFAULT_BUDGET
from fewpairs.result.approximation import Approximation
from fewpairs.result.bill import duration
from fewpairs.run import jobs
from fewpairs.run.job import AUTO
from fewpairs.similarity.base import Similarity
from fewpairs.types import Indices

__all__ = ["duplicates"]

_LISTED = 20
_MOST_EQUAL = 1_000_000  # pairs of equal texts that are listed one by one
_QUICK = 60.0  # seconds within which reading everything is worth a hint


@options.spelled_out
def duplicates(
    source: options.RunOrFile,
    *,
    threshold: Annotated[
        float,
        typer.Option("--threshold", "-t", help="Report pairs at least this similar."),
    ],
    similarity: options.SimilarityOfFile = None,
    text_options: options.TextOptions,
    budget: options.JobBudget = AUTO,
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
    recall: certainty.Recall = None,
    confidence: certainty.Confidence = "95%",
    guarantee: certainty.Guarantee = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write all pairs: .csv, .tsv, .jsonl or .parquet."
        ),
    ] = None,
    store: options.Store = None,
    prior: options.PriorNames = None,
    method: options.MethodName = "auto",
    seed: options.Seed = 0,
    raw: options.Raw = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Find pairs above a threshold; every pair that is reported has been evaluated.

    Of a file, all pairs are compared where that takes less than a minute, or less than
    approximating them: a timed sample tells, and the command says which way it takes.
    Else, candidates are what the approximation predicts above the threshold less a
    margin, and equal texts. Candidates that were not read yet are evaluated, and
    counted. The command then says how many pairs it may have missed.

    For example:

    fewpairs duplicates titles.csv --column title --similarity levenshtein -t 0.8

    fewpairs duplicates titles.csv --column title --similarity ratio -t 0.8 --recall 95%

    fewpairs duplicates run --threshold 0.75 --out pairs.csv

    fewpairs duplicates run --threshold 0.9 --json
    """
    say = Out(as_json=as_json)
    if out is not None:
        check_file(out, force=force)
        kind_of_output(out)
    approx: Approximation | None = None
    asked = certainty.asked(recall, confidence, guarantee=guarantee)
    plain = method == "auto" and margin is None and most is None
    if asked and (similarity is None or not plain):
        msg = (
            "--recall and --guarantee go with a file and its --similarity, without "
            "--margin, --most and --method."
        )
        raise InputError(msg)
    if similarity is None:
        if Path(source).is_file():
            msg = f"{source} is a file. Pass --similarity, or the folder of a run."
            raise InputError(msg)
        run = open_run(Path(source))
        run.check_one_set("duplicates", "Use `fewpairs match LEFT RIGHT`.")
        check_threshold(threshold, make_similarity(run.spec))
        given, equal = run.given, _few_equal(run.texts)
        approx = run.with_similarity()
    else:
        how = text_options.reading()
        spec = text_options.spec(similarity)
        recipe = make_similarity(spec)
        check_threshold(threshold, recipe)
        options.as_job_budget(budget)
        options.as_method_name(method)
        given = read_texts(source, how, say)
        if plain:
            found = _of_file(
                given, recipe, threshold, say, budget=budget, seed=seed,
                store=store and str(store), **asked, **prior_of(prior, given),
            )  # fmt: skip
        else:
            equal = _few_equal(given.texts)  # too many: an error before it is paid
            approx = run_approximation(
                given, spec, say, budget=_approximated(budget), prior=prior,
                method=method, seed=seed, store=store,
            )  # fmt: skip
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
        say.wrote(f"{len(found.left):,} pairs", out, guarded)
    say.document(_facts(found, approx, given))


def _approximated(budget: str) -> str:
    return DEFAULT_BUDGET if options.as_job_budget(budget) is None else budget


def _few_equal(texts: list[str]) -> tuple[Indices, Indices]:
    """Return all pairs of equal texts: no approximation is needed to find them."""
    number = count_equal(texts)
    if number > _MOST_EQUAL:
        msg = (
            f"{number:,} pairs of texts are equal. Drop repeated rows first, "
            "or use `fewpairs cluster`."
        )
        raise InputError(msg)
    return equal_pairs(texts)


def _of_file(
    given: Input,
    recipe: Similarity,
    threshold: float,
    say: Out,
    **options: Any,
) -> Matches:
    """Find pairs by whichever way is quicker, and say which it is."""
    found = jobs.duplicates(
        given.texts, recipe, threshold, progress=progress_bar(say), **options
    )
    say.note(f"{found.way}")
    return found


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
            found.left[:_LISTED], found.right[:_LISTED], found.similarity[:_LISTED],
            strict=True,
        )
    ]  # fmt: skip
    if rows:
        more = f", the first {_LISTED}" if len(found.left) > _LISTED else ""
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
    rows_hit = len(np.unique(np.concatenate([found.left, found.right])))
    summary = (
        f"{len(found):,} pair{'' if len(found) == 1 else 's'} at least "
        f"{found.threshold:g} similar, among {rows_hit:,} of {n:,} texts"
    )
    if _all_read(found, approx):
        say.say(f"{summary}; all of them exact")
        say.say("missed: none, all pairs were read")
        return
    say.say(
        f"{summary}; all of them exact: {found.known:,} read before, "
        f"{len(found) - found.known:,} among {found.checked:,} candidates evaluated now"
    )
    say.say(f"missed: {missed_in_words(found)}")
    for words in found.certificate.words() if found.way is not None else ():
        say.say(f"found: {words}")
    proven = max(found.excluded, found.certificate.excluded)
    if proven:
        say.say(f"excluded: {proven:,} pairs cannot reach it, by proof")
    exact = np.inf if approx is None else _exact_seconds(approx)
    if exact < _QUICK:
        say.note(
            f"hint: this similarity is quick, all pairs take about {duration(exact)}; "
            "`fewpairs duplicates FILE --budget 100%` misses nothing"
        )


def _all_read(found: Matches, approx: Approximation | None) -> bool:
    if found.way is not None:
        return found.way.exact
    return approx is not None and not approx.certificate.unread


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
        for i, j, value in zip(found.left, found.right, found.similarity, strict=True)
    ]


_NAMES = ["row", "other_row", "similarity", "text", "other_text"]


def _facts(
    found: Matches, approx: Approximation | None, given: Input
) -> dict[str, Any]:
    n = len(given.texts)
    whole = n * (n - 1) // 2
    exact = found.way is not None and found.way.exact
    paid = found.evaluations - found.checked if approx is None else approx.evaluations
    return {
        "texts": n,
        "threshold": found.threshold,
        "margin": found.candidate_margin,
        "way": None if found.way is None else asdict(found.way),
        "evaluations": {
            "approximation": 0 if exact else paid,
            "checking": found.evaluations if exact else found.checked,
            "all_pairs": whole if approx is None else approx.bill.everything,
        },
        "missed": None
        if found.missed is None or _all_read(found, approx)
        else found.missed._asdict(),
        "certificate": certainty.facts(found),
        "pairs": [
            dict(zip(_NAMES, record, strict=True)) for record in _records(found, given)
        ],
    }
