"""One progress object: evaluations, rate, time left, money."""

import io

import numpy as np
from rich.console import Console

import fewpairs as fp
from fewpairs.progress import RichProgress, Status
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
