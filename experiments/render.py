"""Write docs/lab/reproduction.md and its figures from the results, and nothing else."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from experiments.cells import Results
from experiments.data import HASHES, SOURCES
from experiments.manifest import MANIFEST, RESULTS, Entry

__all__ = ["render"]

DOCS = Path(__file__).parent.parent / "docs" / "lab"
HEAD = """# The paper, reproduced

Ray, Monath, McCallum & Musco, "Sublinear time approximation of text similarity
matrices", AAAI 2022: every table and figure on real data. Three columns: the paper, its
methods as implemented here, and the default of fewpairs at the same number of
evaluations. `python -m experiments render` writes this page and its figures from
`experiments/results`; nothing on it is typed in by hand but the paper's own figures
(`experiments/paper.py`) and the words around the numbers.

`make reproduce` runs everything, `make reproduce-NAME` one part. Runs are resumable:
every finished cell is a line in `experiments/results/NAME.jsonl`. The data are looked
for in the folder that `FEWPAIRS_DATA` names; their sources and hashes are at the end.

Unless said otherwise, errors are ‖K − K̃‖ / ‖K‖ in the Frobenius norm over all entries.
The paper's methods are measured by their formula as printed, as in the paper; fewpairs
returns entries that were read exactly, for these methods too, and "returned" is the
error of that. "Default" is the answer of `fewpairs.approximate` without a student, at
the price of s columns of a symmetric matrix, certificate included; "prior" means that
it was given the items' embeddings.
"""


def render(results: Path = RESULTS, docs: Path = DOCS) -> None:
    """Write the page and all its figures."""
    parts = [HEAD, _manifest(results)]
    for one in MANIFEST:
        found = Results(results / one.result.name)
        parts.append(_section(one, found, docs / "figures"))
    parts.append(_data())
    text = "\n".join(part.rstrip() + "\n" for part in parts)
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "reproduction.md").write_text(text, encoding="utf-8")


def _manifest(results: Path) -> str:
    lines = [
        "## Manifest\n",
        "| what | name | script | seeds | state | made |",
        "|---|---|---|---|---|---|",
    ]
    for one in MANIFEST:
        found = Results(results / one.result.name)
        script = f"`experiments/{one.script.name}`"
        state = _state(found)
        lines.append(
            f"| {one.paper} | [{one.name}](#{one.name}) | {script} | {one.seeds} | "
            f"{state} | {found.made()} |"
        )
    return "\n".join(lines) + "\n"


def _state(found: Results) -> str:
    if not len(found):
        return "not run yet"
    return "complete" if found.complete else f"in part: {len(found)} cells so far"


def _section(one: Entry, found: Results, figures: Path) -> str:
    head = f"## {one.name}\n\n{one.paper}. Command: `{one.command}`.\n"
    if not len(found):
        return f"{head}\nNot run yet.\n"
    if not found.complete:
        head += (
            "\nNot finished: what follows is of the cells that are done, and the same "
            "command goes on from there.\n"
        )
    module, _, name = one.section.partition(":")
    write: Callable[[Results, Path], str] = getattr(import_module(module), name)
    return head + "\n" + write(found, figures)


def _data() -> str:
    lines = ["## Data\n", "| folder | source |", "|---|---|"]
    lines += [f"| `{name}` | {source} |" for name, source in SOURCES.items()]
    lines += ["", "| file | SHA-256 |", "|---|---|"]
    lines += [f"| `{name}` | `{value}` |" for name, value in HASHES.items()]
    return "\n".join(lines) + "\n"
