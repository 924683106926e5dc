"""Run experiments: `python -m experiments NAME…`, `--toy` on made-up data, `render`.

What is finished is in experiments/results/NAME.jsonl and is not run again; delete the
file to start afresh.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from experiments.cells import Results, run_cells
from experiments.data import DataError, check, folder
from experiments.manifest import MANIFEST, entry
from experiments.workers import in_processes


def main() -> None:
    """Run what is asked for, then write the pages."""
    names = [one.name for one in MANIFEST]
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}, or render")
    parser.add_argument("--toy", action="store_true", help="made-up data, in seconds")
    parser.add_argument("--any-data", action="store_true", help="do not check hashes")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time")
    parser.add_argument(
        "--match",
        action="append",
        default=[],
        help="only cells with this in their key; several: with all of them",
    )
    options = parser.parse_args()
    asked = [name for name in options.names if name != "render"]
    unknown = set(asked) - set(names)
    if unknown:
        sys.exit(f"no experiment {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = asked or ([] if options.names else names)
    if options.toy:
        _run_toys(chosen)
        return
    try:
        for name in chosen:
            _run(name, options)
    except DataError as error:
        sys.exit(str(error))
    from experiments.render import render

    render()


def _run(name: str, options: argparse.Namespace) -> None:
    one = entry(name)
    data = folder()
    if not options.any_data:
        check(data, one.files)
    print(f"{one.paper}: {one.result}", flush=True)
    fill = in_processes(name, data, options.jobs) if options.jobs > 1 else None
    cells = one.all_cells(data, toy=False)
    results = Results(one.result)
    run_cells(cells, results, _tell, fill=fill, match=options.match)


def _run_toys(names: list[str]) -> None:
    from experiments.toy import make_data

    with tempfile.TemporaryDirectory() as made:
        data = make_data(Path(made) / "data")
        for name in names:
            one = entry(name)
            print(f"{one.paper}, toy size", flush=True)
            results = Results(Path(made) / one.result.name)
            run_cells(one.all_cells(data, toy=True), results, _tell)


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
