"""As many calls as a service takes, in virtual time."""

import asyncio
import itertools
import random
import re
from collections import deque

import pytest

import fewpairs as fp
from fewpairs.progress import EVALUATING
from fewpairs.similarity import gate
from fewpairs.similarity.event_loop import PendingPairs
from fewpairs.similarity.gate import Gate, Terms
from fewpairs.similarity.judge.endpoint import Endpoint, Place, _left, _retry_after
from fewpairs.similarity.service import Allowed, CallsLeft, Service
from tests.virtual_time import VirtualLoop


class Limited(Service):
    """Takes so many calls at a time, or a minute, and refuses others."""

    def __init__(self, *, at_once=None, per_minute=None, retry_after=1.0):
        self.at_once, self.per_minute = at_once, per_minute
        self.retry_after = retry_after
        self.rng = random.Random(0)
        self.inside = self.refused = 0
        self.begun = []

    async def ask(self, pairs, pay):
        now = asyncio.get_running_loop().time()
        self.begun = [t for t in self.begun if t > now - 60]
        full = self.per_minute is not None and len(self.begun) >= self.per_minute
        crowded = self.at_once is not None and self.inside >= self.at_once
        if full or crowded:
            self.refused += 1
            error = RuntimeError("slow down")
            error.status = 429
            wait = self.begun[0] + 60 - now if full else self.retry_after
            if self.retry_after is not None:
                error.retry_after = wait
            raise error
        self.begun.append(now)
        self.inside += 1
        await asyncio.sleep(self.rng.uniform(0.5, 1.5))
        self.inside -= 1
        return [0.0] * len(pairs)


def asked(service, calls, concurrency=64, allowed=None, tell=len):
    """Return what came of calls with the retries of a judge, and how long it took."""
    terms = Terms(concurrency, retries=5, timeout=None, pause=0.25, start=4)
    loop = VirtualLoop()
    try:
        batch = PendingPairs([(t, t) for t in range(calls)], service, allowed)
        work = batch.run(terms, Gate(terms, tell))
        loop.run_until_complete(asyncio.wait_for(work, 1e6))
        return batch, loop.now
    finally:
        loop.close()


def seconds(service, calls, concurrency=64):
    batch, took = asked(service, calls, concurrency)
    assert batch.failed is None
    assert not (batch.values != 0).any()
    return took


@pytest.mark.parametrize("retry_after", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("most", [2, 6, 20])
def test_a_limit_of_calls_at_a_time_is_used_to_four_fifths(most, retry_after):
    service = Limited(at_once=most, retry_after=retry_after)
    calls = 200 * most
    least = calls * 1.0 / most  # a call takes a second on average
    assert least / seconds(service, calls) >= 0.8
    assert service.refused < 0.1 * calls


@pytest.mark.parametrize("retry_after", [1.0, None])
@pytest.mark.parametrize("most", [20, 60, 500])
def test_a_quota_of_calls_a_minute_is_waited_out_and_used(most, retry_after):
    """No call is lost to it, however often it is refused, with five retries."""
    service = Limited(per_minute=most, retry_after=retry_after)
    assert 11 * 60 / seconds(service, 12 * most) >= 0.8


def test_a_quota_that_says_how_long_costs_few_refusals():
    service = Limited(per_minute=500)
    calls = 20 * 500
    assert 19 * 60 / seconds(service, calls, concurrency=32) >= 0.8
    assert service.refused < 0.15 * calls


class PerSecond(Service):
    """Takes so many calls in any second, or in every second of the clock."""

    def __init__(self, most, *, retry_after, windows, seconds=1.0, tells=False):
        self.limit, self.retry_after = most, retry_after
        self.windows, self.seconds, self.tells = windows, seconds, tells
        self.rng = random.Random(0)
        self.begun = deque()
        self.refused = 0

    async def ask(self, pairs, pay):
        now = asyncio.get_running_loop().time()
        since = (
            now // self.seconds * self.seconds if self.windows else now - self.seconds
        )
        while self.begun and self.begun[0] < since:
            self.begun.popleft()
        if len(self.begun) >= self.limit:
            self.refused += 1
            error = RuntimeError("slow down")
            error.status, error.retry_after = 429, self.retry_after
            raise error
        self.begun.append(now)
        await asyncio.sleep(self.rng.uniform(0.1, 0.5))
        if self.tells:
            until = since + self.seconds - asyncio.get_running_loop().time()
            self.calls_left = CallsLeft(self.limit - len(self.begun), until)
        return [0.0] * len(pairs)


@pytest.mark.parametrize("retry_after", [1.0, 0.0, None])
@pytest.mark.parametrize(
    ("most", "windows"), [(20, False), (20, True), (50, False), (200, True)]
)
def test_a_limit_of_calls_a_second_is_used_to_four_fifths(most, windows, retry_after):
    service = PerSecond(most, retry_after=retry_after, windows=windows)
    calls = 60 * most
    assert 60 / seconds(service, calls, concurrency=100) >= 0.8
    assert service.refused < 0.05 * calls


def test_calls_that_a_service_says_are_left_are_spread_and_none_is_refused():
    service = PerSecond(500, retry_after=None, windows=True, seconds=60.0, tells=True)
    assert 600 / seconds(service, 10 * 500, concurrency=32) >= 0.95
    assert service.refused < 25
    silent = PerSecond(500, retry_after=None, windows=True, seconds=60.0)
    seconds(silent, 10 * 500, concurrency=32)
    assert silent.refused > 3 * service.refused


class Ends(Service):
    """Answers some calls, and then none: it refuses them all, or does not answer."""

    def __init__(self, answers, *, hangs, retry_after=20.0):
        self.left, self.hangs, self.retry_after = answers, hangs, retry_after

    async def ask(self, pairs, pay):
        self.left -= 1
        if self.left < 0 and self.hangs:
            await asyncio.sleep(1e5)
        if self.left < 0:
            error = RuntimeError("slow down")
            error.retry_after = self.retry_after
            raise error
        await asyncio.sleep(1.0)
        return [0.0]


def test_a_service_that_refuses_from_some_call_on_is_not_waited_for_forever():
    batch, took = asked(Ends(30, hangs=False), 100)
    assert str(batch.failed[1]) == "slow down"
    assert (batch.values == 0).sum() == 30
    assert took < 300


@pytest.mark.parametrize("retry_after", [0.0, 1.0, 60.0])
def test_a_service_that_refuses_every_call_is_given_up_within_minutes(retry_after):
    """And whoever watches is told of it while it is waited for."""
    told = []
    service = Ends(0, hangs=False, retry_after=retry_after)
    batch, took = asked(service, 100, tell=told.append)
    assert (batch.values == 0).sum() == 0
    assert 60 < took <= 185
    (note,) = batch.failed[1].__notes__
    assert re.match(r"It has answered no call for 1\d\d s", note)
    assert re.match(r"waiting for \d+ s, and 180 s at most, .*: slow down", told[-1])


@pytest.mark.parametrize("answers", [0, 30])
def test_a_service_that_wants_to_be_left_alone_for_an_hour_is_given_up(answers):
    batch, took = asked(Ends(answers, hangs=False, retry_after=3600.0), 100)
    assert (batch.values == 0).sum() == answers
    assert took < 60
    assert "left alone for 3600 s" in batch.failed[1].__notes__[0]


def test_what_is_waited_for_is_told_until_it_has_come():
    told = []
    service = PerSecond(50, retry_after=None, windows=True, seconds=60.0)
    asked(service, 120, tell=told.append)
    assert told[-1] == EVALUATING
    assert any(words.startswith("waiting for") for words in told)


@pytest.mark.parametrize("hangs", [False, True])
def test_time_is_kept_to_whatever_calls_wait_for(hangs):
    service, allowed = Ends(30, hangs=hangs), Allowed(seconds=40.0)
    batch, took = asked(service, 100, concurrency=4, allowed=allowed)
    assert batch.spent
    assert batch.failed is None
    assert (batch.values == 0).sum() == 30
    assert took <= 40.0


def test_a_service_without_a_limit_gets_all_that_may_be_under_way():
    service = Limited()
    assert 3_000 / 64 / seconds(service, 3_000) >= 0.8


class Charging(Service):
    """May charge ten times as much as it does."""

    async def ask(self, pairs, pay):
        await asyncio.sleep(1.0)
        pay(0.01)
        return [0.0]

    def most(self, pairs):
        return 0.1


def test_money_ends_it_when_no_other_call_is_sure_to_fit():
    batch, _ = asked(Charging(), 500, concurrency=7, allowed=Allowed(money=0.7))
    assert batch.spent
    assert 0.59 < batch.money <= 0.7
    assert (batch.values == 0).sum() == round(batch.money / 0.01)


@pytest.mark.parametrize(
    ("left", "time", "expected"),
    [
        ("59", "1s", CallsLeft(59, 1.0)),
        ("0", "6m0s", CallsLeft(0, 360.0)),
        ("499", "120ms", CallsLeft(499, 0.12)),
        ("12", "1h0m2.5s", CallsLeft(12, 3602.5)),
        ("12", "30", CallsLeft(12, 30.0)),
        ("many", "1s", None),
        ("5", "soon", None),
        ("5", "0s", None),
        ("-1", "1s", None),
    ],
)
def test_what_a_server_says_of_its_quota_is_read(left, time, expected):
    names = ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests")
    headers = dict(zip(names, (left, time), strict=True))
    assert _left(headers) == (expected and pytest.approx(expected))
    assert _left({names[0]: left}) is None


def test_milliseconds_to_wait_go_before_seconds():
    assert _retry_after({"retry-after-ms": "1500", "retry-after": "2"}) == 1.5
    assert _retry_after({"retry-after": "2"}) == 2.0
    assert _retry_after({}) is None


def test_whoever_watches_a_run_is_told_what_is_waited_for(monkeypatch):
    monkeypatch.setattr(gate, "_TOLD", 0.0)
    seen, calls = [], itertools.count()

    async def busy_at_first(a, b):
        if next(calls) < 5:
            error = OSError("come back later")
            error.retry_after = 0.001
            raise error
        return float(a == b)

    judge = fp.from_async(busy_at_first, symmetric=True, pause=0.001)
    fp.approximate(list(range(30)), judge, budget=0.5, progress=seen.append)
    words = [status.what for status in seen]
    waiting = next(t for t, word in enumerate(words) if "come back later" in word)
    assert words[waiting].startswith("waiting for 0 s, and 180 s at most")
    assert EVALUATING in words[waiting:]


def test_a_chat_endpoint_hands_on_what_its_headers_say():
    httpx = pytest.importorskip("httpx", reason="needs the extra judge")
    headers = {
        "x-ratelimit-remaining-requests": "7",
        "x-ratelimit-reset-requests": "2s",
    }
    answer = httpx.Response(200, headers=headers, text="{}")
    place = Place("http://localhost/v1", "FEWPAIRS_NO_KEY", named=False)
    endpoint = Endpoint(place, timeout=1.0, connections=1)
    endpoint._client = httpx.AsyncClient(
        transport=httpx.MockTransport(lambda request: answer)
    )
    asyncio.run(endpoint.ask({"model": "m"}))
    assert endpoint.left == CallsLeft(7, 2.0)
    judge = fp.Judge("m", url="http://localhost/v1").bind(["a", "b"])
    judge._chat._endpoint = endpoint
    assert judge._chat.calls_left == CallsLeft(7, 2.0)
