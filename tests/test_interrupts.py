"""Ctrl-C at any line: what was answered is kept, and it comes through."""

import signal
import sys
import threading
from concurrent import futures
from pathlib import Path

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.interrupts import Shield, exposed, shut
from fewpairs.ledger.ledger import Ledger
from fewpairs.reading.opening import open_oracle

SOURCE = str(Path(fp.__file__).parent)
N = 12


class Pulse:
    """Sends Ctrl-C at the k-th line that fewpairs runs."""

    def __init__(self, k):
        self.k, self.lines = k, 0

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.k:
                signal.raise_signal(signal.SIGINT)
        return self

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)


def recipes(answers):
    """Return similarities that write down what they have answered."""

    def one(a, b):
        answers.append((a, b))
        return float(np.cos(a - b))

    def many(a, b):
        answers.extend(zip(a, b, strict=True))
        return np.cos(np.subtract(a, b))

    async def asked(a, b):
        return one(a, b)

    facts = {"symmetric": True, "name": "judge", "chunk": 20}
    return {
        "one": fp.from_function(one, **facts),
        "batched": fp.from_function(many, batched=True, **facts),
        "async": fp.from_async(asked, concurrency=3, **facts),
    }


def read(kind, how, pulse):
    """Read under a pulse; returns whether it came through, answers and the ledger."""
    answers = []
    similarity = recipes(answers)[kind]
    ledger = Ledger()
    oracle = open_oracle(similarity.bind(list(range(N))), similarity, ledger=ledger)
    answers.clear()  # of the check of the symmetry, which no pulse meets
    stopped = False
    with pulse:
        try:
            if how == "pairs":
                oracle.pairs(np.arange(N - 1), np.arange(1, N))
            elif how == "principal":
                oracle.principal(np.arange(0, N, 2))
            else:
                oracle.columns(np.array([1, 4, 7]))
        except KeyboardInterrupt:
            stopped = True
    return stopped, np.array(answers, dtype=int).reshape(-1, 2), ledger


@pytest.mark.parametrize("how", ["pairs", "principal", "columns"])
@pytest.mark.parametrize("kind", ["one", "batched", "async"])
def test_an_interrupt_at_any_line_loses_the_call_that_is_made_at_most(kind, how):
    whole = Pulse(-1)
    read(kind, how, whole)
    assert whole.lines > 100
    # Around the very call, which an interrupt may hit, it is one call that is lost.
    most = 20 if kind == "batched" else 1
    for k in range(1, whole.lines, 1 if kind == "one" else 5):
        pulse = Pulse(k)
        stopped, answers, ledger = read(kind, how, pulse)
        # An event loop takes a line or two less at times: then no pulse came.
        assert stopped or pulse.lines < k, k
        known, values = ledger.load().lookup(*answers.T)
        assert (~known).sum() <= most, k
        truth = np.cos(answers[:, 0] - answers[:, 1])
        assert np.allclose(values[known], truth[known])
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_it_is_raised_where_it_can_be_or_at_the_end():
    passed = []
    with pytest.raises(KeyboardInterrupt), Shield():
        interrupt()
        passed.append("shield")
    with Shield():
        with pytest.raises(KeyboardInterrupt), exposed:
            interrupt()
        with pytest.raises(KeyboardInterrupt), exposed:
            shut()
            interrupt()
            passed.append("shut")
            with exposed:
                passed.append("nobody comes here")
    assert passed == ["shield", "shut"]


def test_of_two_the_second_is_raised_at_once():
    with Shield(), pytest.raises(KeyboardInterrupt):
        interrupt()
        interrupt()
        pytest.fail("somebody insisted")


def test_a_shield_in_an_exposed_call_of_another_gives_back_what_it_found():
    with Shield():
        with pytest.raises(KeyboardInterrupt), exposed:
            with Shield(), exposed:
                pass
            interrupt()
            pytest.fail("the outer call can be interrupted again")
        with pytest.raises(KeyboardInterrupt), exposed, Shield():
            interrupt()
    interrupted = False
    with pytest.raises(KeyboardInterrupt), Shield():
        with Shield():
            interrupt()
        interrupted = True  # only the outermost raises it
    assert interrupted


def test_a_handler_of_ones_own_stays():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    try:
        with Shield():
            interrupt()
            assert heard == [True]
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_do_not_open_the_shield_of_the_main_one():
    entered, leave = threading.Event(), threading.Event()

    def elsewhere():
        with Shield(), exposed:
            entered.set()
            leave.wait()

    with futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(elsewhere)
        entered.wait()
        held = False
        with pytest.raises(KeyboardInterrupt), Shield():
            interrupt()
            held = True
        leave.set()
        run.result()
    assert held
