"""A chart of characters: lines of values between 0 and 1, for a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from rich.text import Text

__all__ = ["Chart", "Line"]

WIDTH, HEIGHT = 61, 16
_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Line:
    """How a line is drawn, and what it is called."""

    name: str
    mark: str
    style: str


@dataclass(frozen=True)
class Chart:
    """Values against numbers from 0 to ``right``; 0 is below, 1 is above."""

    lines: Sequence[Line]
    right: float
    under: str

    def draw(self, points: Mapping[str, Sequence[tuple[float, float]]]) -> Text:
        """Return the chart of what is known of each line so far."""
        cells = [[(" ", "")] * WIDTH for _ in range(HEIGHT)]
        for level in _LEVELS:
            cells[self._row(level)] = [
                ("┈", "dim") if t % 2 else (" ", "") for t in range(WIDTH)
            ]
        for line in self.lines:
            self._trace(cells, points.get(line.name, ()), line)
        out = Text()
        labels = {self._row(level): f"{level:.2f}" for level in _LEVELS}
        for number, row in enumerate(cells):
            out.append(f"{labels.get(number, ''):>6} │", style="dim")
            for letter, style in row:
                out.append(letter, style=style)
            out.append("\n")
        out.append(f"{'':>6} └{'─' * WIDTH}\n", style="dim")
        out.append(self._numbers(points), style="dim")
        out.append(f"{self.under:^{WIDTH + 8}}\n", style="dim")
        return out.append_text(self._legend(points))

    def _trace(
        self,
        cells: list[list[tuple[str, str]]],
        points: Sequence[tuple[float, float]],
        line: Line,
    ) -> None:
        """Put a line on the cells: dots between marks."""
        at = [(self._column(x), self._row(y)) for x, y in points]
        for (x0, y0), (x1, y1) in pairwise(at):
            for x in range(x0, x1):
                y = round(y0 + (y1 - y0) * (x - x0) / max(1, x1 - x0))
                cells[y][x] = ("·", line.style)
        for x, y in at:
            cells[y][x] = (line.mark, line.style)

    def _legend(self, points: Mapping[str, Sequence[tuple[float, float]]]) -> Text:
        out = Text()
        for line in self.lines:
            last = points.get(line.name, ())
            value = f" {last[-1][1]:.3f}" if last else ""
            out.append(f"  {line.mark} {line.name}{value}  ", style=line.style)
        return out

    def _numbers(self, points: Mapping[str, Sequence[tuple[float, float]]]) -> str:
        """Return the numbers under the axis."""
        row = [" "] * (WIDTH + 12)
        for x in sorted({x for line in points.values() for x, _ in line}):
            words = f"{x:g}"
            start = 8 + self._column(x) - len(words) // 2
            row[start : start + len(words)] = words
        return "".join(row).rstrip() + "\n"

    def _column(self, x: float) -> int:
        return round((WIDTH - 1) * x / self.right)

    def _row(self, value: float) -> int:
        return round((HEIGHT - 1) * (1 - float(np.clip(value, 0.0, 1.0))))
