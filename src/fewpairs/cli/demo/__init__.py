"""The demo: a real cross-encoder's scores, read one by one as if they were calls."""

from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from fewpairs.cli.demo.chart import Chart
from fewpairs.cli.demo.tables import certified, method_table, neighbor_table
from fewpairs.cli.demo.ways import BUDGETS, LINES, K, Truth, few_of, follow
from fewpairs.datasets import docstring_scores
from fewpairs.report import write_report
from fewpairs.result.bill import duration

__all__ = ["run"]


def run(console: Console, *, out: Path, limit: int | None = None) -> None:
    """Show the curve as it grows, then neighbors, certificate, report and methods."""
    data = docstring_scores()
    if limit is not None:
        data = few_of(data, limit)
    n, each = len(data), float(data.about["seconds_per_pair"])
    everything = n * (n - 1) // 2
    console.rule(f"{n:,} lines of Python's documentation, and a cross-encoder")
    console.print(
        f"All {everything:,} pairs would take the model {duration(everything * each)} "
        f"on two cores ({duration(each)} each). Here every score is shipped, and "
        "reading one counts as a call. recall@10 is the share of each line's ten most "
        "similar ones that are found.",
        highlight=False,
    )
    chart = Chart(LINES, BUDGETS[-1], "calls of the model per line")
    approx = None
    with Live(console=console, auto_refresh=False) as live:
        for curves, approx in follow(data):
            paid = 0 if approx is None else approx.evaluations
            clock = f"{paid:,} calls: {duration(paid * each)} of the model's time"
            parts = Text("recall@10", "bold"), chart.draw(curves), Text(clock)
            live.update(Group(*parts), refresh=True)
    console.print()
    if approx is None:
        return
    truth = Truth.of(data.scores)
    console.print(neighbor_table(data, truth, approx.neighbors(K).indices))
    console.print(certified(approx, truth))
    console.print(str(approx), highlight=False, soft_wrap=True)
    write_report(approx, data.texts, out, title="Lines of Python's documentation")
    console.print(f"\n[bold]report[/bold]  {out}\n", highlight=False, soft_wrap=True)
    with console.status("the methods of the paper"):
        table = method_table(truth, approx, f"{BUDGETS[-1]}/item")
    console.print(table)
