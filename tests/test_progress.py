"""One progress object: evaluations, rate, time left, money."""

import io
import re
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import fewpairs as fp
from fewpairs.progress import (
    LogProgress,
    NotebookProgress,
    RichProgress,
    Status,
    as_progress,
)
from tests.conftest import random_matrix

K = random_matrix(60, symmetric=True)


def paid(a, b):
    return float(K[a, b])


def run(progress, cost=0.25):
    async def judge(a, b):
        return paid(a, b)

    similarity = fp.from_async(judge, symmetric=True, cost_per_call=cost, chunk=100)
    return fp.approximate(
        range(60), similarity, method="sms", budget=0.4, progress=progress
    )


def test_a_function_hears_of_every_chunk_and_of_the_end():
    heard: list[Status] = []
    approx = run(heard.append)
    assert heard[0].done == 0
    assert heard[0].total >= approx.evaluations
    assert [s.done for s in heard] == sorted(s.done for s in heard)
    assert max(np.diff([s.done for s in heard])) <= 100
    last = heard[-1]
    assert last.finished
    assert last.done == approx.evaluations
    assert last.money == approx.bill.money == 0.25 * approx.evaluations
    assert all(s.rate > 0 and s.left >= 0 for s in heard if s.done)
    assert "evaluations" in str(last)
    assert f"{last.money:,.2f} spent" in str(last)


def test_it_is_silent_unless_asked(capfd):
    run(False)
    assert capfd.readouterr() == ("", "")


def test_the_bar_shows_rate_and_money():
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=200)
    approx = run(RichProgress(console))
    text = shown.getvalue()
    assert f"{approx.evaluations:,} evaluations" in text
    assert f"{approx.bill.money:,.2f} spent" in text


class Heard(io.StringIO):
    """A stream that tells of its first line."""

    def __init__(self):
        super().__init__()
        self.came = threading.Event()

    def flush(self):
        self.came.set()


def running():
    """Names of threads, but for those about to end."""
    for thread in threading.enumerate():
        if thread.name == "fewpairs.progress":
            thread.join(60)
    return [thread.name for thread in threading.enumerate()]


def test_without_a_terminal_lines_come_on_stderr_while_it_runs(monkeypatch, capfd):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setitem(LogProgress.__init__.__kwdefaults__, "every", 0.001)
    monkeypatch.setattr(sys, "stderr", Heard())

    def judge(a, b):
        assert sys.stderr.came.wait(60)
        return float(K[a, b])

    fp.approximate(range(60), judge, method="sms", budget=0.4, progress=True)
    first = sys.stderr.getvalue().splitlines()[0]
    assert first.startswith("evaluating: 0 of ")
    assert "fewpairs.progress" not in running()
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(("forced", "shows"), [("1", RichProgress), ("", LogProgress)])
def test_a_bar_is_for_terminals(monkeypatch, forced, shows):
    monkeypatch.setenv("FORCE_COLOR", forced)
    assert isinstance(as_progress(True, "test"), shows)


def test_a_bar_in_a_notebook_is_one_picture_that_changes():
    pictures = []

    class Shown:
        def update(self, picture):
            pictures.append(picture._repr_html_())

    def display(picture, display_id):
        assert display_id
        pictures.append(picture._repr_html_())
        return Shown()

    bar = NotebookProgress(display)
    approx = run(bar)
    assert len(pictures) >= 2
    bars = [re.search(r"<progress value='(\d+)' max='(\d+)'>", p) for p in pictures]
    done = [int(found[1]) for found in bars if found]
    assert done == sorted(done)
    assert "<script" not in "".join(pictures)
    words = rf"> {bar.status.done:,} evaluations, [\d.]+ s, [\d.]+ spent<"
    assert re.search(words, pictures[-1])
    assert bar.status.done <= approx.evaluations


def test_in_a_notebook_the_browser_draws_the_bar(monkeypatch):
    shown = SimpleNamespace(display=lambda picture, display_id: None)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=shown))
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert isinstance(as_progress(True, "call"), NotebookProgress)


def test_a_watcher_that_knows_nothing_of_money_will_do():
    class Old:
        done = 0

        def start(self, what, total):
            pass

        def advance(self, evaluations):
            self.done += evaluations

        def finish(self):
            self.finished = True

    old = Old()
    assert run(old).evaluations == old.done
    assert old.finished


def test_the_logger_fewpairs_tells_of_ways_starts_and_ends(caplog):
    import logging

    texts = [f"text number {t}" for t in range(60)]
    with caplog.at_level(logging.INFO, logger="fewpairs"):
        approx = fp.approximate(texts, fp.StringSimilarity("ratio"), budget=0.3)
        fp.neighbors(texts, fp.StringSimilarity("ratio"), 2)
    said = [record.getMessage() for record in caplog.records]
    assert any("60 items" in line for line in said)
    assert any(f"{approx.evaluations} evaluations in" in line for line in said)
    assert any("fewpairs.neighbors: all pairs" in line for line in said)
