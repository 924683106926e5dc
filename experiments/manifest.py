"""What of the paper is reproduced where: one entry a table or figure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from experiments.cells import Cell
from experiments.corpora import wmd_files
from experiments.matrices import files

__all__ = ["MANIFEST", "RESULTS", "Entry", "entry"]

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Entry:
    """A table or figure of the paper.

    Attributes
    ----------
    name
        In ``make reproduce-NAME`` and in ``results/NAME.jsonl``.
    paper
        Which tables or figures it is about.
    cells
        ``module:function`` that yields the cells.
    seeds
        Which seeds are run, in words.
    files
        Data that it reads, checked against their hashes.
    figures
        Files in docs/figures.
    section
        ``module:function`` that writes its part of docs/lab/reproduction.md.
    """

    name: str
    paper: str
    cells: str
    seeds: str
    files: tuple[str, ...]
    section: str
    figures: tuple[str, ...] = field(default=())

    @property
    def script(self) -> Path:
        """The file that produces the results."""
        module = self.cells.partition(":")[0].removeprefix("experiments.")
        return Path(__file__).parent / f"{module.replace('.', '/')}.py"

    @property
    def command(self) -> str:
        """What to type for it."""
        return f"make reproduce-{self.name}"

    @property
    def result(self) -> Path:
        """The file of its results."""
        return RESULTS / f"{self.name}.jsonl"

    def all_cells(self, data: Path, *, toy: bool) -> Iterator[Cell]:
        """Yield its cells."""
        function: Callable[..., Iterator[Cell]] = _load(self.cells)
        return function(data, toy=toy)


def _load(where: str) -> Callable[..., Iterator[Cell]]:
    module, _, name = where.partition(":")
    loaded: Callable[..., Iterator[Cell]] = getattr(import_module(module), name)
    return loaded


MANIFEST = (
    Entry(
        "spectra",
        "Figure 1",
        "experiments.spectra:cells",
        "none",
        files("tweets", "stsb", "mrpc"),
        "experiments.render_matrices:spectra",
        ("spectra.svg",),
    ),
    Entry(
        "cores",
        "Figure 2",
        "experiments.spectra:core_cells",
        "0–49, one a draw",
        files("tweets", "stsb", "mrpc"),
        "experiments.render_matrices:cores",
        ("cores.svg",),
    ),
    Entry(
        "errors",
        "Figure 3",
        "experiments.errors:cells",
        "0–9, one a trial",
        files("tweets", "stsb", "mrpc"),
        "experiments.render_matrices:errors",
        ("errors.svg", "errors-evaluations.svg"),
    ),
    Entry(
        "glue",
        "Tables 4 and 5",
        "experiments.glue:cells",
        "0–49, one a run; 0–2 with a student",
        files("stsb", "mrpc", "rte"),
        "experiments.render_glue:tables",
        ("glue.svg",),
    ),
    Entry(
        "coreference",
        "Figures 4 and 5",
        "experiments.coreference:cells",
        "0–9, one a run; the model is trained with seed 0",
        ("ecbplus/ecbplus.tar.xz",),
        "experiments.render_coreference:curves",
        ("coreference.svg", "coreference-rescaled.svg"),
    ),
    Entry(
        "ablations",
        "Figure 8, and ablations of our own",
        "experiments.ablations:cells",
        "0–4, one a trial",
        files("stsb", "mrpc", "rte"),
        "experiments.render_matrices:ablations",
        ("ablations.svg",),
    ),
    Entry(
        "classification",
        "Table 2, ranks and run times, Figures 6 and 7",
        "experiments.classification:cells",
        "0–4, one a split; 0 for the search, 1000–1019 for the test, one a run",
        tuple(
            dict.fromkeys(
                file
                for name in ("twitter", "ohsumed", "recipe", "20news")
                for file in wmd_files(name)
            )
        ),
        "experiments.render_classification:tables",
        ("validation.svg",),
    ),
)


def entry(name: str) -> Entry:
    """Return the entry of this name."""
    for one in MANIFEST:
        if one.name == name:
            return one
    msg = f"no experiment {name!r}; there are {', '.join(e.name for e in MANIFEST)}."
    raise KeyError(msg)
