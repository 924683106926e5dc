"""A cascade whose process is killed while its dear judge is asked."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fewpairs as fp
from tests.judge_server import KEY, PRICE, JudgeServer

pytest.importorskip("httpx", reason="needs the extra judge")

CHILD = """
import sys
from tests.test_killed_cascade import cascade

first, second, budget, store = sys.argv[1:]
cascade(first, second, budget, store)
"""
ANSWERED = 14  # calls of the dear judge before the kill
WORDS = "red green blue cat dog bird runs jumps sleeps fast slow today".split()
_RNG = np.random.default_rng(0)
TEXTS = sorted({" ".join(_RNG.choice(WORDS, 5)) for _ in range(45)})[:36]


def cascade(first, second, budget, store=None):
    cheap, dear = (
        fp.Judge(name, url=url, price=PRICE, concurrency=4, pause=0.005)
        for name, url in (("cheap", first), ("dear", second))
    )
    given = int(budget) if budget.isdigit() else budget
    prior = fp.paid(cheap, budget="16/item")
    return fp.approximate(TEXTS, dear, budget=given, prior=prior, store=store)


def killed_in_the_middle(first, second, budget, store):
    """Run the cascade in a process, and kill it when every answer has been kept."""

    def hold(number, questions):
        if number >= ANSWERED:
            second.gone_on.clear()  # all that come now wait

    second.trouble = hold
    root = Path(__file__).parents[1]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, first.url, second.url, budget, store],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
    )
    end = time.monotonic() + 60
    try:
        while second.number < ANSWERED or kept(store) < second.number:
            assert child.poll() is None, "the child has ended"
            assert time.monotonic() < end, "nothing happens"
            child.poll() or time.sleep(0.01)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    second.trouble = lambda number, questions: None
    second.gone_on.set()


def kept(store):
    return len(list(Path(store).glob("answers/*.json")))


@pytest.mark.parametrize("budget", ["300", "$0.2"])
def test_it_goes_on_within_its_budget_and_nothing_is_paid_for_twice(
    budget, tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    store = str(tmp_path / "paid")
    with JudgeServer(model="cheap") as first, JudgeServer(model="dear") as second:
        killed_in_the_middle(first, second, budget, store)
        cheap_before, dear_before = first.money, second.money
        again = cascade(first.url, second.url, budget, store)
        assert cheap_before == first.money > 0
        assert max(second.asked.values()) == 1
        paid = first.money + second.money
        fresh = cascade(first.url, second.url, budget)
    assert again.bill.prior.money == 0
    assert 0 < dear_before < second.money
    assert again.bill.money + dear_before + cheap_before == pytest.approx(paid)
    records = fp.Ledger(store).records.values()
    assert sum(r.money for r in records) == pytest.approx(paid - cheap_before)
    if budget == "300":
        assert np.array_equal(again.dense(), fresh.dense())
    else:  # calls are cut otherwise and cost a little more or less: so do the last ones
        assert 0.17 < paid <= 0.2
        assert np.corrcoef(again.dense().ravel(), fresh.dense().ravel())[0, 1] > 0.95
