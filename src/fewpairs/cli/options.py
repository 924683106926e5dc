"""Options that several commands share, and what their values mean."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fewpairs.cli.inputs import FORMATS, Reading
from fewpairs.cli.recipes import NAMES, Spec
from fewpairs.errors import InputError
from fewpairs.matrix.budget import Budget
from fewpairs.methods import BY_NAME
from fewpairs.run.job import AUTO

__all__ = [
    "AsJson",
    "BudgetText",
    "Folder",
    "Force",
    "InputFile",
    "JobBudget",
    "MethodName",
    "PriorNames",
    "Raw",
    "RunOrFile",
    "Seed",
    "SimilarityName",
    "SimilarityOfFile",
    "Store",
    "TextOptions",
    "as_budget",
    "as_job_budget",
    "as_method_name",
    "spelled_out",
]

_INPUT, _SIMILARITY = "Input", "Similarity"


def _names(incomplete: str) -> list[str]:
    """Complete the name of a similarity in the shell."""
    return [name for name in NAMES if name.startswith(incomplete)]


def _methods(incomplete: str) -> list[str]:
    return [name for name in BY_NAME if name.startswith(incomplete)]


InputFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Texts: lines, or a CSV, TSV, JSONL or Parquet file (also .gz); - is "
        "standard input.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The folder that `fewpairs approximate` wrote."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        "-c",
        help="Column of the text; several are joined by a blank.",
        rich_help_panel=_INPUT,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help=f"{', '.join(FORMATS)}; by the name of the file if not given.",
        rich_help_panel=_INPUT,
    ),
]
Encoding = Annotated[str, typer.Option(help="Of a text file.", rich_help_panel=_INPUT)]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Between the fields of a CSV file.", rich_help_panel=_INPUT),
]
Quotes = Annotated[
    bool,
    typer.Option(
        "--quotes/--no-quotes",
        help="Whether quotes enclose fields of a CSV file; if not, they are letters.",
        rich_help_panel=_INPUT,
    ),
]
Empty = Annotated[
    Literal["error", "drop", "skip"],
    typer.Option(
        help="What becomes of rows without text; skip is drop.", rich_help_panel=_INPUT
    ),
]
MaxLength = Annotated[
    int,
    typer.Option(
        min=1,
        help="Most characters of a text; longer ones are refused.",
        rich_help_panel=_INPUT,
    ),
]
Cut = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Compare the first so many characters alone.",
        rich_help_panel=_INPUT,
    ),
]
SimilarityName = Annotated[
    str,
    typer.Option(
        "--similarity",
        "-s",
        help=f"{', '.join(NAMES)}, or module:function.",
        rich_help_panel=_SIMILARITY,
        autocompletion=_names,
        show_default=False,
    ),
]
Vectors = Annotated[
    str | None,
    typer.Option(
        help="wmd: file of word vectors (word2vec, GloVe, .npy).",
        rich_help_panel=_SIMILARITY,
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        help="wmd: γ of exp(−γ·distance), 1 if not given.",
        rich_help_panel=_SIMILARITY,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        help="cross-encoder: folder or name of the model; judge: its name.",
        rich_help_panel=_SIMILARITY,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        help="cross-encoder: which output counts, if there are several.",
        rich_help_panel=_SIMILARITY,
    ),
]
Characters = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="jaccard, dice, overlap: sets of character n-grams of this length.",
        rich_help_panel=_SIMILARITY,
    ),
]
JudgeUrl = Annotated[
    str | None,
    typer.Option(
        help="judge: server of OpenAI-compatible chat completions.",
        rich_help_panel=_SIMILARITY,
    ),
]
JudgePrompt = Annotated[
    str | None,
    typer.Option(
        help="judge: the question, with {a} and {b}, or a file that holds it.",
        rich_help_panel=_SIMILARITY,
    ),
]
JudgePrice = Annotated[
    str | None,
    typer.Option(
        help="judge: money per million tokens sent and answered, such as 0.25,2.",
        rich_help_panel=_SIMILARITY,
    ),
]
BudgetText = Annotated[
    str,
    typer.Option(
        "--budget",
        "-b",
        help="A hard limit: pairs per item (50/item), a share of the pairs (5%), a "
        "number of evaluations (100000), time (20min) or money ($5).",
    ),
]
RunOrFile = Annotated[
    str,
    typer.Argument(
        metavar="DIR|FILE",
        help="The folder of a run; or a file of texts, with --similarity.",
        show_default=False,
    ),
]
SimilarityOfFile = Annotated[
    str | None,
    typer.Option(
        "--similarity",
        "-s",
        help="For a file: as in `fewpairs approximate`.",
        rich_help_panel="Similarity",
    ),
]
JobBudget = Annotated[
    str,
    typer.Option(
        "--budget",
        "-b",
        help="auto: all pairs where that is quick, else 50/item; or as in `fewpairs "
        "approximate`: 50/item, 5%, 100000, 20min, $5, 100%.",
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(
        help="Folder that keeps what is paid for: a run that was stopped goes on from "
        "there."
    ),
]
PriorNames = Annotated[
    list[str] | None,
    typer.Option(
        "--prior",
        help="What is cheap to know of the texts: lexical (their characters and words, "
        "the default), none; embeddings: minilm, a model's folder, a .npy file, a "
        "column that holds vectors; or the name of a cheap similarity. May be "
        "repeated: what is read tells how much each counts.",
    ),
]
MethodName = Annotated[
    str, typer.Option("--method", help=", ".join(BY_NAME), autocompletion=_methods)
]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same result.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, for scripts.")
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="Write texts that begin with = + - @ as they are; in CSV and TSV files "
        "they get an apostrophe otherwise, so that spreadsheets do not run them.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """The options of every command that reads texts: which, and how they compare."""

    column: Columns = None
    vectors: Vectors = None
    gamma: Gamma = None
    model: Model = None
    label: Label = None
    characters: Characters = None
    judge_url: JudgeUrl = None
    judge_prompt: JudgePrompt = None
    judge_price: JudgePrice = None
    format: Format = None
    encoding: Encoding = "utf-8"
    delimiter: Delimiter = None
    empty: Empty = "error"
    max_length: MaxLength = 100_000
    cut: Cut = None
    quotes: Quotes = True

    def reading(self) -> Reading:
        """Return how the input is read."""
        if self.format is not None and self.format not in FORMATS:
            msg = f"--format is {self.format!r}; pass one of {', '.join(FORMATS)}."
            raise InputError(msg)
        return Reading(
            tuple(self.column or ()),
            self.format,
            self.encoding,
            "\t" if self.delimiter in ("\\t", "tab") else self.delimiter,
            self.empty,
            self.max_length,
            self.cut,
            self.quotes,
        )

    def spec(self, name: str) -> Spec:
        """Return which similarity is meant."""
        return Spec(
            name,
            self.vectors,
            self.gamma,
            self.model,
            self.label,
            self.characters,
            self.judge_url,
            self.judge_prompt,
            self.judge_price,
        )


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options of `TextOptions` into the signature that typer reads."""
    fields = inspect.signature(TextOptions).parameters

    @functools.wraps(command)
    def run(**given: Any) -> None:
        texts = TextOptions(**{name: given.pop(name) for name in fields})
        command(**given, text_options=texts)

    signature = inspect.signature(command)
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters += fields.values() if name == "text_options" else [parameter]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def as_budget(text: str) -> Budget:
    """Return a budget, as the library takes it.

    >>> [as_budget(text).given for text in ("5%", "0.05", "100,000", "100%", "4/item")]
    [0.05, 0.05, 100000, 1.0, '4/item']
    """
    return Budget.of(text, "--budget")


def as_job_budget(text: str) -> Budget | None:
    """Return a budget; ``None``: the clock decides.

    >>> as_job_budget("auto") is None, as_job_budget("5%").given
    (True, 0.05)
    """
    return None if text.strip().lower() == AUTO else as_budget(text)


def as_method_name(name: str) -> str:
    """Return the name of a method, or say which there are."""
    if name not in BY_NAME:
        msg = f"--method is {name!r}; pass one of {', '.join(BY_NAME)}."
        raise InputError(msg)
    return name
