"""As many calls as a service takes, in virtual time."""

import asyncio
import random

import pytest

from fewpairs.similarity.event_loop import PendingPairs
from fewpairs.similarity.gate import Gate, Terms
from fewpairs.similarity.service import Allowed, Service
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


def asked(service, calls, concurrency=64, allowed=None):
    """Return what came of calls with the retries of a judge, and how long it took."""
    terms = Terms(concurrency, retries=5, timeout=None, pause=0.25, start=4)
    loop = VirtualLoop()
    try:
        batch = PendingPairs([(t, t) for t in range(calls)], service, allowed)
        loop.run_until_complete(asyncio.wait_for(batch.run(terms, Gate(terms)), 1e6))
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
@pytest.mark.parametrize("most", [20, 60])
def test_a_quota_of_calls_a_minute_is_waited_out_and_used(most, retry_after):
    """No call is lost to it, however often it is refused, with five retries."""
    service = Limited(per_minute=most, retry_after=retry_after)
    assert 11 * 60 / seconds(service, 12 * most) >= 0.8


def test_a_quota_that_says_how_long_costs_few_refusals():
    service = Limited(per_minute=500)
    calls = 20 * 500
    assert 19 * 60 / seconds(service, calls, concurrency=32) >= 0.8
    assert service.refused < 0.15 * calls


class Ends(Service):
    """Answers some calls, and then none: it refuses them all, or does not answer."""

    def __init__(self, answers, *, hangs):
        self.left, self.hangs = answers, hangs

    async def ask(self, pairs, pay):
        self.left -= 1
        if self.left < 0 and self.hangs:
            await asyncio.sleep(1e5)
        if self.left < 0:
            error = RuntimeError("slow down")
            error.retry_after = 20.0
            raise error
        await asyncio.sleep(1.0)
        return [0.0]


def test_a_service_that_refuses_from_some_call_on_is_not_waited_for_forever():
    batch, took = asked(Ends(30, hangs=False), 100)
    assert str(batch.failed[1]) == "slow down"
    assert (batch.values == 0).sum() == 30
    assert took < 300


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
