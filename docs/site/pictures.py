"""The pictures of the site: `python docs/site/pictures.py` writes docs/images/*.svg.

The drawings are the same everywhere; the two that are measured (matrix, error) depend
on the docstrings of the Python that runs this.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

import fewpairs as fp
from fewpairs.datasets import stdlib_docstrings
from fewpairs.evaluation import exact_matrix, quality

IMAGES = Path(__file__).parents[1] / "images"
BLUE, ORANGE, GREEN, GRAY, LINE = "#2f63cc", "#c9561d", "#23804d", "#6b7485", "#c8cfda"
INK = "#3a4252"
FONT = "font-family='system-ui, sans-serif' font-size='13'"


def picture(name: str, width: int, height: int, parts: Iterable[str]) -> None:
    """Write one SVG file; its ground is light, so that it reads on dark pages too."""
    body = "\n".join(parts)
    (IMAGES / f"{name}.svg").write_text(
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' {FONT} fill='{INK}'>\n"
        f"<rect width='{width}' height='{height}' rx='10' fill='#ffffff'/>\n"
        f"{body}\n</svg>\n",
        encoding="utf-8",
    )


def text(x: float, y: float, words: str, *, anchor: str = "middle", **more: str) -> str:
    """Return words at a place."""
    extra = "".join(
        f" {key.replace('_', '-')}='{value}'" for key, value in more.items()
    )
    return f"<text x='{x:g}' y='{y:g}' text-anchor='{anchor}'{extra}>{words}</text>"


def square(x: float, y: float, side: float, fill: str) -> str:
    """Return a cell."""
    return (
        f"<rect x='{x:g}' y='{y:g}' width='{side:g}' height='{side:g}' fill='{fill}'/>"
    )


def reading() -> None:
    """Draw what is read of a matrix."""
    n, cell, left, top = 24, 12, 30, 40
    rng = np.random.default_rng(5)
    kind = np.zeros((n, n), dtype=int)
    scattered = [tuple(sorted(rng.integers(n, size=2))) for _ in range(70)]
    for t, (i, j) in enumerate(scattered):
        kind[i, j] = kind[j, i] = 2 if t < 45 else 3
    landmarks = [4, 11, 17]
    kind[landmarks] = kind[:, landmarks] = 1
    np.fill_diagonal(kind, 4)
    colors = {0: "#eef1f6", 1: BLUE, 2: ORANGE, 3: GREEN, 4: "#d5dbe6"}
    cells = [
        square(left + j * cell, top + i * cell, cell - 1.5, colors[int(kind[i, j])])
        for i in range(n)
        for j in range(n)
    ]
    words = [
        (BLUE, "landmarks, compared with everything"),
        (ORANGE, "refinement: what looks most similar"),
        (GREEN, "held out: random, for the certificate"),
        ("#d5dbe6", "the diagonal, free where it is known"),
        ("#eef1f6", "everything else is predicted"),
    ]
    legend = [
        part
        for t, (color, line) in enumerate(words)
        for part in (
            square(360, 90 + 40 * t, 16, color),
            text(386, 103 + 40 * t, line, anchor="start"),
        )
    ]
    title = text(left, 26, "n × n similarities", anchor="start", font_weight="600")
    picture("reading", 680, 350, [title, *cells, *legend])


def stages() -> None:
    """Draw how the default spends its budget."""
    boxes = [
        ("pilot", "a few landmarks:", "¼ of the budget"),
        ("fit", "with the prior?", "how much damping?"),
        ("learn", "more landmarks", "or a student"),
        ("refine", "what looks most", "similar, in rounds"),
        ("guard", "random pairs", "confirm, or shrink"),
        ("certify", "held-out pairs", "tell the error"),
    ]
    parts = []
    for t, (name, first, second) in enumerate(boxes):
        x = 16 + 152 * t
        color = GREEN if name in ("guard", "certify") else BLUE
        parts += [
            (
                f"<rect x='{x}' y='24' width='132' height='92' rx='10' "
                f"fill='#f6f8fc' stroke='{color}' stroke-width='1.5'/>"
            ),
            text(x + 66, 50, name, font_weight="600", fill=color),
            text(x + 66, 75, first),
            text(x + 66, 95, second),
        ]
        if t:
            parts.append(
                f"<path d='M{x - 18} 70h12m-5 -5l5 5l-5 5' fill='none' "
                f"stroke='{GRAY}' stroke-width='1.6'/>"
            )
    picture("stages", 928, 140, parts)


def shade(value: float) -> str:
    """Return a blue for a similarity from 0 to 1."""
    share = float(np.clip(value, 0, 1)) ** 0.8
    light, dark = np.array([244, 247, 252]), np.array([24, 58, 140])
    r, g, b = np.rint(light + share * (dark - light)).astype(int)
    return f"#{r:02x}{g:02x}{b:02x}"


def matrix() -> None:
    """Draw the truth, what was read, and what came of it, for sixty sentences."""
    texts = stdlib_docstrings(limit=1_200).texts
    similarity = fp.StringSimilarity("token_sort_ratio")
    approx = fp.approximate(texts, similarity, budget=0.15)
    K = exact_matrix(texts, similarity)
    # The sixty of one neighborhood, in the order of a tree, so that blocks show.
    some = np.argsort(-K[int(np.argmax((K > 0.45).sum(axis=1)))])[:60]
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    far = 1 - K[np.ix_(some, some)]
    np.fill_diagonal(far, 0)
    some = some[leaves_list(linkage(squareform((far + far.T) / 2), "average"))]
    truth, guess = K[np.ix_(some, some)], approx.block(some, some)
    n, cell, gap = len(some), 3.6, 24
    low, high = np.quantile(truth, [0.02, 0.97])
    i, j = (axis.ravel() for axis in np.meshgrid(some, some, indexing="ij"))
    read = approx.known.lookup(i, j)[0].reshape(n, n)
    parts = []
    titles = (
        "the true similarities",
        f"evaluated: {approx.evaluations / approx.bill.everything:.0%} of all pairs",
        "what fewpairs answers",
    )
    for t, title in enumerate(titles):
        x0 = 20 + t * (n * cell + gap)
        parts.append(text(x0, 26, title, anchor="start", font_weight="600"))
        values = truth if t < 2 else guess
        cells: dict[str, str] = {}
        for r, c in np.ndindex(n, n):
            if t != 1 or read[r, c]:
                fill = shade(round((values[r, c] - low) / (high - low) * 24) / 24)
                cells[fill] = cells.get(fill, "") + f"M{c} {r}h1v1h-1z"
        parts.append(f"<g transform='translate({x0:g} 38) scale({cell})'>")
        parts += [f"<path fill='{fill}' d='{path}'/>" for fill, path in cells.items()]
        parts.append("</g>")
        parts.append(
            f"<rect x='{x0}' y='38' width='{n * cell}' height='{n * cell}' "
            f"fill='none' stroke='{LINE}'/>"
        )
    picture("matrix", round(40 + 3 * n * cell + 2 * gap), round(58 + n * cell), parts)


def error() -> None:
    """Draw true error and recall of four methods against the share paid for."""
    texts = stdlib_docstrings(limit=1_500).texts
    K = exact_matrix(texts, fp.StringSimilarity("token_sort_ratio"))
    known = fp.from_matrix(K, symmetric=True, diagonal=1.0)
    shares = [0.02, 0.05, 0.1, 0.2, 0.4]
    methods = {"auto": BLUE, "regularized": GREEN, "sms": ORANGE, "sicur": GRAY}
    found = {
        (name, share): fp.approximate(None, known, method=name, budget=share)
        for name in methods
        for share in shares
    }
    measured = {key: quality(approx, K) for key, approx in found.items()}
    parts = []
    for t, (name, color) in enumerate(methods.items()):
        x = 60 + 120 * t
        parts.append(f"<path d='M{x} 22h18' stroke='{color}' stroke-width='3'/>")
        parts.append(text(x + 25, 26, name, anchor="start"))
    for panel, title in enumerate(("relative error", "recall@10")):
        left, top, width, height = 56 + 370 * panel, 66, 300, 220
        most = (0.16, 1.0)[panel]

        def place(
            share: float,
            value: float,
            box: tuple[int, int, int, int] = (left, top, width, height),
            most: float = most,
        ) -> tuple[float, float]:
            across = np.log(share / 0.018) / np.log(0.45 / 0.018)
            value = min(value, most) / most
            return box[0] + across * box[2], box[1] + box[3] * (1 - value)

        for level in np.linspace(0, most, 5):
            y = place(0.1, level)[1]
            parts.append(f"<path d='M{left} {y:.1f}h{width}' stroke='#e6eaf1'/>")
            parts.append(text(left - 8, y + 4, f"{level:g}", anchor="end"))
        below = top + height + 20
        parts += [text(place(s, 0)[0], below, f"{s:.0%}") for s in shares]
        parts.append(text(left, top - 12, title, anchor="start", font_weight="600"))
        for name, color in methods.items():
            points = []
            for share in shares:
                value = measured[name, share]
                x, y = place(share, value.recall if panel else value.relative_error)
                points.append(f"{x:.1f},{y:.1f}")
                parts.append(
                    f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{color}'/>"
                )
            parts.append(
                f"<polyline points='{' '.join(points)}' fill='none' stroke='{color}' "
                "stroke-width='2'/>"
            )
    parts.append(text(390, 338, "share of the pairs that was evaluated"))
    picture("error", 760, 352, parts)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for draw in (reading, stages, matrix, error):
        draw()
