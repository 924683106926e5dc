"""A similarity that ends the program: the run ends with it, and everything is kept."""

import asyncio
import threading
from collections import Counter
from concurrent import futures

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.execution.workers import work

N, LAST = 40, 150
ENDS = [KeyboardInterrupt, SystemExit, GeneratorExit]


class Quit(SystemExit):
    """Cannot travel between processes: it is not made of what it was made with."""

    def __init__(self, code, why):
        super().__init__(f"{code}: {why}")


class Judge:
    """Answers so many pairs, then ends the program; knows what it has answered."""

    def __init__(self, error):
        self.error, self.last = error, LAST
        self.answered = []
        self.lock = threading.Lock()

    def one(self, a, b):
        with self.lock:
            if self.error is not None and len(self.answered) >= self.last:
                raise self.error
            self.answered.append((a, b))
        return float(np.cos(a - b))

    def many(self, a, b):
        return [self.one(x, y) for x, y in zip(a, b, strict=True)]

    async def asked(self, a, b):
        await asyncio.sleep(0)
        return self.one(a, b)

    async def in_a_task(self, a, b):
        return await asyncio.ensure_future(self.asked(a, b))

    async def in_a_group(self, a, b):
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(self.asked(a, b))
        return answer.result()

    def similarity(self, kind):
        facts = {"symmetric": True, "name": "judge", "chunk": 25}
        if kind == "one":
            return fp.from_function(self.one, **facts)
        if kind == "batched":
            return fp.from_function(self.many, batched=True, **facts)
        how = {"asked": self.asked, "task": self.in_a_task, "group": self.in_a_group}
        return fp.from_async(
            how[kind], concurrency=4, timeout=None, retries=1, pause=0.001, **facts
        )


def run(similarity, **options):
    """Approximate in a thread of its own, so that a run that hangs fails the test."""
    with futures.ThreadPoolExecutor(1) as pool:
        done = pool.submit(
            fp.approximate,
            range(N),
            similarity,
            method="nystrom",
            budget=0.5,
            **options,
        )
        return done.result(timeout=60)


@pytest.mark.parametrize("executor", [None, "threads:2", "pool"])
@pytest.mark.parametrize("kind", ["one", "batched", "asked", "task", "group"])
@pytest.mark.parametrize("error", ENDS)
def test_it_ends_the_run_and_everything_is_kept(error, kind, executor):
    judge, ledger = Judge(error), fp.Ledger()
    with futures.ThreadPoolExecutor(2) as pool:
        chosen = pool if executor == "pool" else executor
        with pytest.raises(error):
            run(judge.similarity(kind), executor=chosen, store=ledger)
    known, values = ledger.load().lookup(*np.array(judge.answered).T)
    # A batched call that ends answers nothing, and two may be under way.
    lost = 2 * 24 if kind == "batched" else 0
    assert (~known).sum() <= lost
    assert len(judge.answered) == LAST
    truth = np.array([np.cos(a - b) for a, b in judge.answered])
    np.testing.assert_array_equal(values[known], truth[known])


def test_the_run_goes_on_afterwards_with_the_same_scorer():
    judge, ledger = Judge(SystemExit), fp.Ledger()
    similarity = judge.similarity("task")
    with pytest.raises(SystemExit):
        run(similarity, store=ledger)
    kept, judge.answered = ledger.evaluations, []
    judge.error = None
    rest = fp.approximate(
        range(N), similarity, method="nystrom", budget=0.5, store=ledger
    )
    plain = Judge(None).similarity("task")
    whole = fp.approximate(range(N), plain, method="nystrom", budget=0.5)
    assert kept == LAST
    again = rest.bill.for_store  # a few, to see that it is the same function
    assert kept + rest.evaluations - again == whole.evaluations
    np.testing.assert_array_equal(rest.dense(), whole.dense())


@pytest.mark.parametrize("kind", ["one", "asked"])
@pytest.mark.parametrize("error", [*ENDS, ConnectionError])
def test_what_was_answered_before_the_symmetry_was_known_is_not_asked_again(
    error, kind
):
    judge, ledger = Judge(error), fp.Ledger()
    similarity = judge.similarity(kind)
    judge.last = 9
    with pytest.raises((error, fp.SimilarityError)):
        run(similarity, store=ledger)
    assert len(judge.answered) == ledger.evaluations == 9
    judge.error = None
    rest = run(similarity, store=ledger)
    assert len(judge.answered) == len(set(judge.answered)) == 9 + rest.evaluations
    whole = run(Judge(None).similarity(kind))
    assert 9 + rest.evaluations == whole.evaluations
    np.testing.assert_array_equal(rest.dense(), whole.dense())


def test_what_waits_in_a_ledger_is_for_the_same_items_alone():
    judge, ledger = Judge(ConnectionError), fp.Ledger()
    judge.last = 9
    similarity = judge.similarity("one")
    with pytest.raises(fp.SimilarityError):
        run(similarity, store=ledger)
    judge.error, judge.answered = None, []
    items = range(100, 100 + N)
    other = fp.approximate(
        items, similarity, method="nystrom", store=ledger, budget=0.5
    )
    assert len(judge.answered) == other.evaluations


CALLS = []  # of a process


def quits(a, b):
    CALLS.append((a, b))
    if len(CALLS) > LAST:
        raise Quit(3, "no key")
    return float(np.cos(a - b))


async def quits_later(a, b):
    return quits(a, b)


@pytest.mark.parametrize("kind", ["one", "async"])
def test_also_in_processes_and_with_an_error_that_cannot_travel(kind):
    facts = {"symmetric": True, "name": "judge", "chunk": 25}
    similarity = (
        fp.from_function(quits, **facts)
        if kind == "one"
        else fp.from_async(quits_later, **facts)
    )
    ledger = fp.Ledger()
    with pytest.raises(SystemExit, match="3: no key"):
        run(similarity, executor="processes:1", store=ledger)
    assert ledger.evaluations == LAST
    assert ledger.load().moments().number > 0


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a)
        self.handle = threading.Lock()


def test_what_cannot_travel_is_said_in_words():
    def odd(a, b):
        raise Odd(a, b)

    from fewpairs.execution import workers
    from fewpairs.execution.calling import Task

    similarity = fp.from_function(odd, name="odd")
    key = (workers.os.getpid(), "odd")
    workers._BOUND[key] = similarity.bind(range(4)), similarity
    try:
        outcome = work("odd", Task(np.arange(2), np.arange(2) + 1, block=False))
    finally:
        del workers._BOUND[key]
    assert isinstance(outcome.error, fp.SimilarityError)
    assert "raised Odd" in str(outcome.error)


def test_a_task_that_nobody_awaits_ends_the_run_too():
    asked = []

    async def careless(a, b):
        asked.append((a, b))
        if len(asked) == 60:

            async def quit_now():
                raise SystemExit("out of credit")

            asyncio.ensure_future(quit_now())  # noqa: RUF006
        await asyncio.sleep(0)
        return float(np.cos(a - b))

    ledger = fp.Ledger()
    similarity = fp.from_async(careless, symmetric=True, concurrency=4)
    with pytest.raises(SystemExit, match="out of credit"):
        run(similarity, store=ledger)
    known, _ = ledger.load().lookup(*np.array(asked).T)
    assert known.all()


def test_a_judge_whose_call_is_cancelled_says_so():
    async def gives_up(a, b):
        raise asyncio.CancelledError

    similarity = fp.from_async(
        gives_up, symmetric=True, retries=1, pause=0.001, name="judge"
    )
    with pytest.raises(fp.SimilarityError, match=r"raised CancelledError.*2 tries"):
        run(similarity)


def test_values_of_a_stopped_request_are_no_nan_in_a_store():
    counts = Counter()

    async def stumbles(a, b):
        counts[a, b] += 1
        if "7" in (a, b) and counts.total() < 200:
            raise ConnectionError("no route")
        return float(np.cos(int(a) - int(b)))

    similarity = fp.from_async(stumbles, symmetric=True, retries=0, pause=0.001)
    store = fp.sklearn.Store()
    texts = [str(t) for t in range(30)]

    def fit():
        embedder = fp.sklearn.SimilarityEmbedder(similarity, landmarks=6, store=store)
        return embedder.fit_transform(texts)

    with pytest.raises(fp.SimilarityError, match="no route"):
        fit()
    answered = store.evaluations
    counts.update({"more": 200})
    assert np.isfinite(fit()).all()
    assert answered > 0
    assert max(n for pair, n in counts.items() if "7" not in pair and n < 200) == 1
