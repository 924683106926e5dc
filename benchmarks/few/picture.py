"""The picture: recall@10 and R² against pairs per item, on light or dark ground."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from experiments.cells import Results

from benchmarks.few.contenders import Setting
from benchmarks.few.tables import BUDGETS, mean_of

__all__ = ["FONT", "GROUNDS", "draw"]

FONT = "font-family='system-ui, sans-serif' font-size='12'"
GROUNDS = {
    "light": {"ground": "#ffffff", "ink": "#3a4252", "grid": "#e6eaf1"},
    "dark": {"ground": "#1f2330", "ink": "#d7dce6", "grid": "#353b4a"},
}
# Ours in blue, the others apart in hue; readable on both grounds.
COLORS = {
    "default, trained": "#2f7bff",
    "default": "#19a7ce",
    "default 0.1": "#8a93a6",
    "prior's top re-ranked": "#d9652b",
    "NN-descent from the prior": "#2c9a5b",
    "walk on the prior's graph": "#b0559f",
    "ridge per item (Axn)": "#c79a1e",
    "prior's curve": "#9b7653",
}
DASHED = {"default 0.1", "prior's curve"}
WIDTH, HEIGHT, LEFT, TOP, GAP = 190, 150, 46, 104, 26
APART = 52  # from one row of panels to the next


class _Panel(NamedTuple):
    """A box with a logarithmic axis of budgets and a value from 0 to 1."""

    left: float
    top: float

    def place(self, budget: float, value: float) -> tuple[float, float]:
        across = np.log(budget / BUDGETS[0]) / np.log(BUDGETS[-1] / BUDGETS[0])
        up = min(max(value, 0.0), 1.0)
        return self.left + across * WIDTH, self.top + (1 - up) * HEIGHT


def draw(
    results: Results,
    titles: Mapping[str, str],
    lines: Mapping[str, Setting],
    ground: str,
) -> str:
    """Return the picture as SVG."""
    colors = GROUNDS[ground]
    sets = [data for data in titles if any(key["data"] == data for key, _ in results)]
    width = LEFT + 4 * (WIDTH + GAP)
    height = TOP + 2 * (HEIGHT + APART) + 4
    parts = _legend(lines)
    for column, data in enumerate(sets):
        for row, (figure, words) in enumerate(
            {"recall": "recall@10", "r2": "R²"}.items()
        ):
            panel = _Panel(LEFT + column * (WIDTH + GAP), TOP + row * (HEIGHT + APART))
            parts += _axes(panel, colors["grid"], numbers=column == 0)
            parts.append(_text(panel.left, panel.top - 9, words, "start"))
            if row == 0:
                title = _text(
                    panel.left, panel.top - 27, titles[data], "start", bold=True
                )
                parts.append(title)
            for name, setting in lines.items():
                values = [
                    mean_of(results, setting, data, b, figure, seed=0) for b in BUDGETS
                ]
                parts.append(_line(panel, values, name))
    parts.append(_text(width / 2, height - 12, "pairs per item"))
    body = "\n".join(part for part in parts if part)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' {FONT} fill='{colors['ink']}'>\n"
        f"<title>Recall@10 and R² against pairs per item</title>\n"
        f"<rect width='{width}' height='{height}' rx='10' fill='{colors['ground']}'/>\n"
        f"{body}\n</svg>\n"
    )


def _text(
    x: float, y: float, words: str, anchor: str = "middle", *, bold: bool = False
) -> str:
    weight = " font-weight='600' font-size='11'" if bold else ""
    return f"<text x='{x:g}' y='{y:g}' text-anchor='{anchor}'{weight}>{words}</text>"


def _legend(lines: Mapping[str, Setting]) -> list[str]:
    parts = []
    for t, name in enumerate(lines):
        x, y = 20 + 216 * (t % 4), 24 + 20 * (t // 4)
        parts.append(f"<path d='M{x} {y - 4}h20' {_stroke(name)}/>")
        parts.append(_text(x + 27, y, name, "start"))
    return parts


def _stroke(name: str) -> str:
    dashes = " stroke-dasharray='4 3'" if name in DASHED else ""
    width = 2.6 if name.startswith("default") and name not in DASHED else 1.8
    return f"stroke='{COLORS[name]}' stroke-width='{width}' fill='none'{dashes}"


def _axes(panel: _Panel, grid: str, *, numbers: bool) -> list[str]:
    parts = []
    for level in (0, 0.25, 0.5, 0.75, 1):
        x, y = panel.place(BUDGETS[0], level)
        parts.append(f"<path d='M{x:.1f} {y:.1f}h{WIDTH}' stroke='{grid}'/>")
        if numbers:
            parts.append(_text(x - 8, y + 4, f"{level:g}", "end"))
    for budget in BUDGETS:
        x, y = panel.place(budget, 0)
        parts.append(_text(x, y + 16, f"{budget:g}"))
    return parts


def _line(panel: _Panel, values: list[float | None], name: str) -> str:
    points = [
        panel.place(budget, value)
        for budget, value in zip(BUDGETS, values, strict=True)
        if value is not None
    ]
    if not points:
        return ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.6' fill='{COLORS[name]}'/>"
        for x, y in points
    )
    return f"<polyline points='{path}' {_stroke(name)}/>{dots}"
