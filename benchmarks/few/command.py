"""`python -m benchmarks few`: run cells that are missing, write the page.

Every finished cell is a line of benchmarks/results/few.jsonl and is not run again
unless `--again` is given; the newest line of a cell counts. What a plan lets expect
(fewpairs/run/measured.py) is written with the page.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.cells import Results
from experiments.data import DataError, folder

from benchmarks.few.contenders import RIVALS, Setting, evaluations_of
from benchmarks.few.losses import LOSS_SETS, LOSS_SETTINGS, losses
from benchmarks.few.measuring import Truth, figures, truth_of
from benchmarks.few.sets import ON_THE_PAGE, SETS, DataSet, load
from benchmarks.few.tables import BUDGETS, TABLES, shown

__all__ = ["run"]

HERE = Path(__file__).parents[1]
RESULTS = HERE / "results" / "few.jsonl"
WORK = HERE / "work"  # what takes long to make and is not to be published


def run(arguments: Sequence[str] = ()) -> None:
    """Do what is asked for."""
    options = _parser().parse_args(list(arguments))
    try:
        _run(options)
    except DataError as error:
        raise SystemExit(str(error)) from error


def _run(options: argparse.Namespace) -> None:
    if options.pack is not None:
        from benchmarks.few.packing import pack

        size = pack(folder(), options.work, options.pack)
        print(f"{options.pack}: {size / 1e6:.1f} MB")
        return
    results = Results(options.results)
    if not options.render:
        for name, settings, budgets in _chosen(options):
            _fill(name, settings, budgets, results, options)
    if options.show:
        print(shown(options.show, results))
    if options.losses:
        print(losses(results))
    if options.results == RESULTS:
        from benchmarks.few.expected import MODULE, expected
        from benchmarks.few.page import render

        render(results)
        MODULE.write_text(expected(results), encoding="utf-8")


def _chosen(
    options: argparse.Namespace,
) -> Iterator[tuple[str, list[Setting], Sequence[float]]]:
    """Yield data sets with the settings and budgets that are asked for."""
    if options.show:
        table = TABLES[options.show]
        settings = [s for s in table.settings if s.contender in (*RIVALS, "default")]
        yield options.show, _picked(settings, options), options.budgets or table.budgets
        return
    if options.losses:
        for name in options.data or LOSS_SETS:
            yield (
                name,
                _picked(list(LOSS_SETTINGS), options),
                options.budgets or BUDGETS,
            )
        return
    for name in options.data or _on_hand():
        settings = [Setting(rival) for rival in RIVALS]
        settings += [Setting("default"), Setting("default", student=True)]
        if options.purpose or options.student is not None:
            asked = Setting("default", options.purpose or "balanced", options.student)
            settings = [*settings[:-2], asked]
        yield name, _picked(settings, options), options.budgets or BUDGETS


def _picked(settings: list[Setting], options: argparse.Namespace) -> list[Setting]:
    wanted = options.contender
    return [s for s in settings if not wanted or s.contender in wanted]


def _fill(
    name: str,
    settings: list[Setting],
    budgets: Sequence[float],
    results: Results,
    options: argparse.Namespace,
) -> None:
    """Run the cells of a data set that are missing."""
    cells = [
        (filed.key(name, per_item, seed), setting, per_item, seed)
        for setting in settings
        for filed in [_filed(setting, options.filed_as)]
        for per_item in budgets
        for seed in options.seed
    ]
    cells = [cell for cell in cells if options.again or cell[0] not in results]
    if not cells:
        return
    data = _loaded(name, options)
    truth = truth_of(data, options.work if options.packed is None else options.packed)
    for key, setting, per_item, seed in cells:
        started = time.perf_counter()
        value = measured(setting, data, truth, per_item=per_item, seed=seed)
        seconds = time.perf_counter() - started
        results.add(key, value, seconds)
        print(f"{seconds:7.1f} s  {_told(key, value)}", flush=True)


def _filed(setting: Setting, name: str | None) -> Setting:
    ours = setting.contender not in RIVALS
    return replace(setting, contender=name) if name and ours else setting


def measured(
    setting: Setting, data: DataSet, truth: Truth, *, per_item: float, seed: int
) -> dict[str, Any]:
    """Run a contender within its budget and compare its answer with the truth."""
    answer, more = setting.answer(data, evaluations_of(per_item, data.n), seed)
    started = time.perf_counter()
    value = figures(answer, data, truth)
    return {**value, **more, "answering": time.perf_counter() - started}


def _loaded(name: str, options: argparse.Namespace) -> DataSet:
    if options.packed is not None and name == "sentences":
        from benchmarks.few.packing import packed

        return packed(options.packed)
    return load(name, folder(), options.work)


def _told(key: dict[str, Any], value: dict[str, Any]) -> str:
    said = " ".join(str(part) for part in key.values() if part is not None)
    numbers = [
        f"{part} {value[part]:.3f}"
        for part in ("recall", "r2", "labels")
        if part in value
    ]
    return f"{said}: {', '.join(numbers)}, {value['evaluations']:,} evaluations"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks few", description=__doc__)
    say = parser.add_argument
    say("--data", nargs="+", choices=SETS, help="all that run here")
    say("--budgets", nargs="+", type=float, help="pairs per item")
    names = [*RIVALS, "default"]
    say("--contender", nargs="+", choices=names, help="all unless given")
    say("--purpose", choices=("balanced", "neighbors", "entries"), help="the default's")
    say("--student", action=argparse.BooleanOptionalAction, help="the default's")
    say("--seed", nargs="+", type=int, default=[0])
    say("--as", dest="filed_as", help="another name for the default's cells")
    say("--again", action="store_true", help="also cells that have a line")
    say("--show", choices=TABLES, help="fill and print one table with its floors")
    say("--losses", action="store_true", help="untrained, beside what is simpler")
    say("--render", action="store_true", help="run nothing, write the page")
    say("--pack", type=Path, help="write the sentences to a folder that travels")
    say("--packed", type=Path, help="take the sentences from such a folder")
    say("--work", type=Path, default=WORK, help="where slow things are kept")
    say("--results", type=Path, default=RESULTS)
    return parser


def _on_hand() -> list[str]:
    """Return the data sets that run here: the sentences need a GPU."""
    try:
        import torch

        gpu = torch.cuda.is_available()
    except ImportError:
        gpu = False
    return [name for name in ON_THE_PAGE if gpu or name != "sentences"]
