"""The report of 20,000 items: how large it is, and how long it takes to open."""

import os
import random
import re
import shutil
import tempfile
import time
from pathlib import Path

import fewpairs as fp
from benchmarks.measure import best_of
from fewpairs.datasets import stdlib_docstrings
from fewpairs.report import write_report

_ITEMS = 20_000


def run() -> None:
    """Print size, seconds to make it, and seconds to open it in Chromium."""
    texts = _sentences()
    print(f"\nreport of {len(texts):,} items of {_mean(texts):.0f} characters")
    approx = fp.approximate(texts, fp.TokenOverlap("jaccard"), budget=0.02)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        started = time.perf_counter()
        write_report(approx, texts, path, title="sentences")
        print(
            f"  made in                        {time.perf_counter() - started:6.1f} s"
        )
        size = path.stat().st_size / 2**20
        print(f"  size                           {size:6.1f} MiB   goal < 15")
        _open(path)
        long = [text * 12 for text in texts]
        write_report(approx, long, path, title="long texts")
        size = path.stat().st_size / 2**20
        print(f"  the same, texts 12 times as long {size:4.1f} MiB   goal < 15")
        _open(path)


def _open(path: Path) -> None:
    """Print the time from asking for the page until everything is drawn."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        print("  opening: needs playwright")
        return
    program = os.environ.get("FEWPAIRS_BROWSER") or shutil.which("chromium")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=program, args=["--no-sandbox", "--disable-gpu"]
            )
        except Error as error:
            print(f"  opening: needs a Chromium ({str(error).splitlines()[0]})")
            return

        def visit() -> None:
            page = browser.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            page.evaluate("() => new Promise(requestAnimationFrame)")
            page.close()

        (seconds,) = best_of(3, visit)
        browser.close()
    print(f"  opened, everything drawn       {seconds:6.2f} s     goal < 3")


def _sentences() -> list[str]:
    """Return sentences of the standard library, with a word or two changed."""
    rng = random.Random(0)  # noqa: S311 - nothing secret
    found: dict[str, None] = {}
    for text in stdlib_docstrings(limit=None, shortest=1).texts:
        for part in re.split(r"(?<=[.!?])\s+|\n\s*\n", text):
            found.setdefault(" ".join(part.split())[:300])
    base = [text for text in found if len(text) > 20]
    words = sorted({word for text in base for word in text.split()})
    out = list(base)
    while len(out) < _ITEMS:
        changed = rng.choice(base).split()
        changed[rng.randrange(len(changed))] = rng.choice(words)
        out.append(" ".join(changed))
    rng.shuffle(out)
    return out[:_ITEMS]


def _mean(texts: list[str]) -> float:
    return sum(map(len, texts)) / len(texts)


if __name__ == "__main__":
    run()
