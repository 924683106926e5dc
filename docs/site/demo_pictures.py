"""Pictures of the demo: `python docs/site/demo_pictures.py` writes them to docs/images.

The curve on light and dark ground (demo-light.svg, demo-dark.svg), and how the report
looks (report.png, by Chromium through Playwright).
"""

import shutil
import sys
import tempfile
from pathlib import Path

from fewpairs.cli.demo.ways import BUDGETS, Curves, follow
from fewpairs.datasets import docstring_scores

IMAGES = Path(__file__).parents[1] / "images"
GROUNDS = {
    "light": {"ground": "#ffffff", "ink": "#3a4252", "grid": "#e6eaf1"},
    "dark": {"ground": "#1f2330", "ink": "#d7dce6", "grid": "#353b4a"},
}
COLORS = {"cosine alone": "#9b7653", "re-ranking": "#d9652b", "fewpairs": "#2f7bff"}
FONT = "font-family='system-ui, sans-serif' font-size='13'"
LEFT, TOP, WIDTH, HEIGHT = 52, 34, 470, 250


def place(calls: float, recall: float) -> tuple[float, float]:
    """Return where a point stands."""
    return LEFT + WIDTH * calls / BUDGETS[-1], TOP + HEIGHT * (1 - recall)


def draw(curves: Curves, ground: str) -> str:
    """Return the curve as SVG."""
    colors = GROUNDS[ground]
    parts = [f"<text x='{LEFT}' y='20' font-weight='600'>recall@10</text>"]
    for level in (0, 0.25, 0.5, 0.75, 1):
        x, y = place(0, level)
        parts.append(f"<path d='M{x:g} {y:g}h{WIDTH}' stroke='{colors['grid']}'/>")
        parts.append(f"<text x='{x - 8}' y='{y + 4}' text-anchor='end'>{level}</text>")
    for calls in BUDGETS:
        x, y = place(calls, 0)
        parts.append(f"<text x='{x}' y='{y + 18}' text-anchor='middle'>{calls}</text>")
    for name, points in curves.items():
        parts += _line(name, points)
    under = "calls of the cross-encoder per line, of 1,499"
    middle = LEFT + WIDTH / 2
    bottom = TOP + HEIGHT + 40
    parts.append(f"<text x='{middle}' y='{bottom}' text-anchor='middle'>{under}</text>")
    width, height = LEFT + WIDTH + 150, TOP + HEIGHT + 54
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' {FONT} fill='{colors['ink']}'>\n"
        "<title>Recall@10 against calls of the cross-encoder</title>\n"
        f"<rect width='{width}' height='{height}' rx='10' fill='{colors['ground']}'/>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _line(name: str, points: list[tuple[float, float]]) -> list[str]:
    at = [place(*point) for point in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    color = COLORS[name]
    stroke = f"stroke='{color}' stroke-width='2.6' fill='none'"
    dots = [
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.2' fill='{color}'/>" for x, y in at
    ]
    x, y = at[-1]
    words = f"{name} {points[-1][1]:.2f}"
    label = f"<text x='{x + 10}' y='{y + 4:.1f}' fill='{color}'>{words}</text>"
    return [f"<polyline points='{path}' {stroke}/>", *dots, label]


def photograph(page: Path, picture: Path) -> None:
    """Show a page in Chromium, and keep what is seen first."""
    from playwright.sync_api import sync_playwright

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=browser, args=["--no-sandbox"]
        )
        view = started.new_page(viewport={"width": 1100, "height": 860})
        view.goto(page.as_uri())
        view.wait_for_timeout(1_500)
        view.screenshot(path=str(picture))
        started.close()


def main() -> None:
    """Write all of them."""
    data = docstring_scores()
    *_, (curves, approx) = follow(data)
    for ground in GROUNDS:
        picture = IMAGES / f"demo-{ground}.svg"
        picture.write_text(draw(curves, ground), encoding="utf-8")
    if approx is None:
        sys.exit("the demo made nothing")
    with tempfile.TemporaryDirectory() as folder:
        title = "Lines of Python's documentation"
        page = approx.report(Path(folder) / "report.html", title=title)
        photograph(page, IMAGES / "report.png")


if __name__ == "__main__":
    main()
