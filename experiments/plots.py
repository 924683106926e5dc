"""Small figures as SVG: the same file from the same numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["COLORS", "TITLES", "panels"]

TITLES = {
    "tweets": "tweets, exp(−WMD)",
    "stsb": "STS-B cross-encoder",
    "mrpc": "MRPC cross-encoder",
    "rte": "RTE cross-encoder",
    "psd": "random PSD",
}
COLORS = {
    "nystrom": "#7f7f7f",
    "sms": "#9467bd",
    "sms, core shifted": "#c5b0d5",
    "sms, rescaled": "#e377c2",
    "sms, unshifted": "#f7b6d2",
    "skeleton": "#bcbd22",
    "sicur": "#2ca02c",
    "stacur(s)": "#8c564b",
    "stacur(d)": "#c49c94",
    "optimal": "#000000",
    "default": "#1f77b4",
    "default, prior": "#d62728",
    "default, student": "#ff7f0e",
    "default, settled": "#ff9896",
    "exact": "#000000",
}


@contextmanager
def panels(path: Path, count: int, *, height: float = 3.0) -> Iterator[list[Any]]:
    """Yield so many axes side by side, and write them to a file."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    options: Any = {"svg.hashsalt": "fewpairs", "svg.fonttype": "none", "font.size": 8}
    with mpl.rc_context(options):
        figure, axes = plt.subplots(
            1, count, figsize=(3.1 * count, height), squeeze=False, layout="constrained"
        )
        yield list(axes[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None})
        plt.close(figure)
