"""The picture: recall@10 and top-1 against evaluations per query, on either ground."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.few.picture import FONT, GROUNDS
from benchmarks.retrieval.command import BUDGETS

__all__ = ["draw"]

COLORS = {
    "default, trained": "#2f7bff",
    "default": "#19a7ce",
    "prior's best re-ranked": "#d9652b",
    "ANNCUR": "#2c9a5b",
    "ADACUR": "#b0559f",
    "Axn": "#c79a1e",
}
FIGURES = {"recall": "recall@10", "top1": "top-1"}
WIDTH, HEIGHT, LEFT, TOP, GAP, APART = 230, 150, 40, 84, 26, 52

Values = Mapping[tuple[str, str], Mapping[str, Sequence[float | None]]]


def draw(values: Values, titles: Mapping[str, str], ground: str) -> str:
    """Return the picture as SVG."""
    colors = GROUNDS[ground]
    width = LEFT + len(titles) * (WIDTH + GAP)
    height = TOP + len(FIGURES) * (HEIGHT + APART)
    parts = []
    for place, (name, color) in enumerate(COLORS.items()):
        x, y = LEFT + (place % 3) * 230, 20 + 18 * (place // 3)
        parts += [_path([(x, y - 4), (x + 22, y - 4)], color), _text(x + 30, y, name)]
    for column, (data, title) in enumerate(titles.items()):
        for row, (figure, words) in enumerate(FIGURES.items()):
            left, top = LEFT + column * (WIDTH + GAP), TOP + row * (HEIGHT + APART)
            said = f"{title}: {words}"
            parts += [_text(left, top - 9, said), *_axes(left, top, colors["grid"])]
            for line, numbers in values[data, figure].items():
                points = [
                    (_across(left, budget), top + (1 - number) * HEIGHT)
                    for budget, number in zip(BUDGETS, numbers, strict=True)
                    if number is not None
                ]
                parts.append(_path(points, COLORS[line]))
    parts.append(_text(width / 2 - 80, height - 10, "evaluations per query"))
    body = "\n".join(part for part in parts if part)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' {FONT} fill='{colors['ink']}'>\n"
        "<title>Recall@10 and top-1 against evaluations per query</title>\n"
        f"<rect width='{width}' height='{height}' rx='10' fill='{colors['ground']}'/>\n"
        f"{body}\n</svg>\n"
    )


def _across(left: float, budget: float) -> float:
    share = np.log(budget / BUDGETS[0]) / np.log(BUDGETS[-1] / BUDGETS[0])
    return float(left + share * WIDTH)


def _axes(left: float, top: float, color: str) -> list[str]:
    parts = []
    for share in (0, 0.5, 1):
        y = top + (1 - share) * HEIGHT
        parts.append(_path([(left, y), (left + WIDTH, y)], color, 1))
        parts.append(_text(left - 6, y + 4, f"{share:g}", "end"))
    for budget in BUDGETS:
        x = _across(left, budget)
        parts.append(_text(x, top + HEIGHT + 16, str(budget), "middle"))
    return parts


def _path(points: Sequence[tuple[float, float]], color: str, width: float = 2) -> str:
    if not points:
        return ""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f"<polyline points='{places}' fill='none' stroke='{color}' "
        f"stroke-width='{width}'/>"
    )


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    words = words.replace("&", "&amp;").replace("'", "&#39;")
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{words}</text>"
