"""Asynchronous scorers: a service that fails, hangs and says no, over real HTTP."""

import asyncio
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import parse_qs, urlparse

import numpy as np
import pytest

import fewpairs as fp

N = 60


def truth(a, b):
    return float(np.cos(a - b) + 0.3 * np.cos(3 * (a - b)))


class Judge(ThreadingHTTPServer):
    """Fails a tenth of the calls, hangs on some, and says 429 when there are many.

    Whether there ever are depends on the machine, so it also says 429 to six calls on
    end of every two hundred.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, *, most=6, hangs=97, asymmetry=0.0):
        super().__init__(("127.0.0.1", 0), Answer)
        self.most = most
        self.hangs = hangs
        self.asymmetry = asymmetry
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.attempts = Counter()
        self.answered = Counter()
        self.said = Counter()
        self.asked = []
        self.timeouts = Counter()
        self.inside = 0
        self.crowd = 0

    def __enter__(self):
        # It looks for the end so often: half a second by default.
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.shutdown()
        self.server_close()


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        judge = self.server
        asked = parse_qs(urlparse(self.path).query)
        pair = int(asked["a"][0]), int(asked["b"][0])
        with judge.lock:
            judge.inside += 1
            judge.crowd = max(judge.crowd, judge.inside)
            crowded = judge.inside > judge.most
            judge.attempts[pair] += 1
            number = judge.attempts.total()
        try:
            self.answer(judge, pair, number, crowded)
        except (BrokenPipeError, ConnectionResetError):
            judge.said["gone"] += 1
        finally:
            with judge.lock:
                judge.inside -= 1

    def answer(self, judge, pair, number, crowded):
        status, body = 200, f"{truth(*pair) + judge.asymmetry * pair[0]!r}"
        if crowded or (judge.hangs and number % 200 in range(30, 36)):
            status, body = 429, "too many"
        elif number % 10 == 3:
            status, body = 500, "oops"
        elif judge.hangs and number % judge.hangs == 5:
            judge.ended.wait(1)  # longer than anybody waits
            status, body = 500, "late"
        with judge.lock:
            judge.said[body if status != 200 else 200] += 1
            judge.answered[pair] += status == 200
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments):
        pass


class Refused(Exception):
    def __init__(self, status):
        super().__init__(f"status {status}")
        if status == 429:
            self.retry_after = 0.005


def client_of(judge):
    host, port = judge.server_address

    async def ask(a, b):
        reader, writer = await asyncio.open_connection(host, port)
        try:
            judge.asked.append((a, b))
            writer.write(f"GET /?a={a}&b={b} HTTP/1.0\r\n\r\n".encode())
            head, body = (await reader.read()).split(b"\r\n\r\n", 1)
        except asyncio.CancelledError:
            judge.timeouts[a, b] += 1
            raise
        finally:
            writer.close()
        status = int(head.split()[1])
        if status != 200:
            raise Refused(status)
        return float(body)

    return ask


def scorer(judge, **options):
    options = {
        "symmetric": True,
        "concurrency": 12,
        "retries": 8,
        "timeout": 0.4,
        "pause": 0.01,
        "chunk": 400,
        "name": "judge",
        **options,
    }
    return fp.from_async(client_of(judge), **options)


def test_a_service_that_fails_hangs_and_says_no_answers_everything_once(tmp_path):
    with Judge() as judge:
        similarity = scorer(judge, cost_per_call=0.002)
        options = {"method": "sms", "budget": 0.4}
        approx = fp.approximate(range(N), similarity, **options, store=tmp_path)
        answered, said = judge.answered, judge.said
    exact = fp.from_function(truth, symmetric=True)
    plain = fp.approximate(range(N), exact, **options)
    assert np.allclose(approx.dense(), plain.dense())
    assert approx.evaluations == plain.evaluations
    # Nothing is asked again but what failed, was refused or took too long.
    failed = said["oops"] + said["too many"] + judge.timeouts.total()
    assert len(judge.asked) == approx.evaluations + failed
    assert all(answered[pair] <= 1 + judge.timeouts[pair] for pair in answered)
    assert said["oops"] > 50
    assert said["too many"] > 0
    assert judge.timeouts.total() > 3
    assert approx.bill.money == pytest.approx(0.002 * approx.evaluations)
    assert "in money" in str(approx)
    ledger = fp.Ledger(tmp_path)
    assert ledger.evaluations == approx.evaluations
    (record,) = ledger.records.values()
    assert record.money == pytest.approx(approx.bill.money)
    known, _ = ledger.load().lookup(*np.array(sorted(answered)).T)
    assert known.all()


def test_calls_run_side_by_side_and_no_more_than_asked_for():
    with Judge(most=99, hangs=0) as judge:
        fp.approximate(range(N), scorer(judge, concurrency=5), method="sms")
        assert judge.crowd <= 5


def test_both_orders_are_asked_where_they_differ():
    with Judge(most=99, hangs=0, asymmetry=0.01) as judge:
        similarity = scorer(judge, symmetric=None)
        approx = fp.approximate(range(N), similarity, method="nystrom", budget=0.2)
        asked = judge.answered
    assert "averaged over both orders" in approx.bill.similarity
    assert all(asked[b, a] == asked[a, b] == 1 for a, b in list(asked) if a != b)
    i, j = np.array(sorted(asked)).T
    _, values = approx.known.lookup(i, j)
    average = [truth(a, b) + 0.005 * (a + b) for a, b in zip(i, j)]
    assert np.allclose(values, average)


def test_repeated_judgements_are_averaged_and_paid_for():
    answers = Counter()

    async def moody(a, b):
        answers[a, b] += 1
        return truth(a, b) + (answers[a, b] - 2)  # −1, 0, 1

    similarity = fp.from_async(
        moody, repeats=3, symmetric=True, cost_per_call=2.0, name="moody"
    )
    scored = similarity.bind(range(N)).pairs(np.arange(9), np.arange(9) + 1)
    assert np.allclose(scored, [truth(a, a + 1) for a in range(9)])
    assert set(answers.values()) == {3}
    answers.clear()
    approx = fp.approximate(range(N), similarity, method="nystrom", budget=0.2)
    assert approx.bill.money == 6 * approx.evaluations
    assert answers.total() == 3 * approx.evaluations


def test_a_call_that_never_succeeds_ends_the_run_and_keeps_the_answers():
    async def deaf(a, b):
        if 7 in (a, b):
            raise ConnectionError("no route to judge")
        return truth(a, b)

    similarity = fp.from_async(
        deaf, symmetric=True, retries=2, pause=0.001, name="judge"
    )
    ledger = fp.Ledger()
    with pytest.raises(
        fp.SimilarityError, match="no route to judge, after 3 tries"
    ) as caught:
        fp.approximate(range(N), similarity, method="nystrom", store=ledger)
    assert 7 in caught.value.pair
    paid = ledger.evaluations
    assert paid > 0
    mended = fp.from_async(hears, symmetric=True, name="judge")
    rest = fp.approximate(range(N), mended, method="nystrom", store=ledger)
    plain = fp.approximate(range(N), mended, method="nystrom")
    assert paid + rest.evaluations == plain.evaluations + rest.bill.for_store
    assert np.array_equal(rest.dense(), plain.dense())


async def hears(a, b):
    return truth(a, b)


@pytest.mark.parametrize("said", ["code", "status", "status_code", "response", "wait"])
def test_a_service_that_can_take_three_calls_gets_three(said):
    inside, crowd = [0], []

    async def narrow(a, b):
        inside[0] += 1
        crowd.append(inside[0])
        try:
            await asyncio.sleep(0)
            if inside[0] > 3:
                error = OSError("too many requests")
                headers = {"retry-after": "0.001"} if said == "wait" else {}
                if said in ("response", "wait"):
                    error.response = SimpleNamespace(status_code=429, headers=headers)
                else:
                    setattr(error, said, 429)
                raise error
            await asyncio.sleep(0.001)
            return truth(a, b)
        finally:
            inside[0] -= 1

    similarity = fp.from_async(
        narrow, symmetric=True, concurrency=40, pause=0.001, retries=9
    )
    i = np.arange(500) % N
    values = similarity.bind(range(N)).pairs(i, (i + 7) % N)
    assert np.isfinite(values).all()
    assert max(crowd) == 40
    assert np.mean(crowd[250:]) < 8


@pytest.mark.parametrize("answer", ["0.5", None, float("nan"), [1.0, 2.0], 1j])
def test_an_answer_that_is_no_number_is_asked_for_again(answer):
    asked = Counter()

    async def mumbles(a, b):
        asked[a, b] += 1
        return answer if asked[a, b] == 1 else truth(a, b)

    similarity = fp.from_async(mumbles, symmetric=True, pause=0.001)
    values = similarity.bind(range(N)).pairs(np.array([1, 2]), np.array([5, 9]))
    assert values.tolist() == [truth(1, 5), truth(2, 9)]
    assert set(asked.values()) == {2}


def test_a_mistake_in_the_program_is_not_tried_again():
    asked = []

    async def broken(a, b):
        asked.append((a, b))
        return a.missing

    with pytest.raises(fp.SimilarityError, match=r"AttributeError.*after 1 try"):
        fp.approximate(
            range(N), fp.from_async(broken, concurrency=1, symmetric=True), budget=0.3
        )
    assert len(asked) == 1


def test_a_rate_is_kept():
    starts = []

    async def timed(a, b):
        starts.append(asyncio.get_running_loop().time())
        return truth(a, b)

    similarity = fp.from_async(timed, rate=1_000, concurrency=50, symmetric=True)
    similarity.bind(range(N)).pairs(np.arange(50), np.arange(50) + 5)
    assert starts[-1] - starts[0] >= 49 / 1_000 * 0.99


def test_it_runs_where_another_loop_runs():
    async def notebook():
        similarity = fp.from_async(hears, symmetric=True)
        return fp.approximate(range(N), similarity, budget=0.3)

    assert asyncio.run(notebook()).evaluations > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 0}, "concurrency is 0; pass a whole number from 1"),
        ({"retries": -1}, "retries is -1; pass a whole number from 0 on"),
        ({"timeout": 0}, "timeout is 0; pass a number above 0"),
        ({"rate": float("inf")}, "rate is inf; pass a number above 0"),
        ({"repeats": 1.5}, "repeats is 1.5; pass a whole number from 1"),
        ({"cost_per_call": -1}, "cost_per_call is -1; pass a number from 0 on"),
        ({"chunk": True}, "chunk is True; pass a whole number from 1 on"),
        ({"bounds": (1, 0)}, "bounds is"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(fp.InputError, match=message):
        fp.from_async(hears, **options)
    with pytest.raises(fp.InputError, match="pass a function, async"):
        fp.from_async("hears")


class Awaited:
    async def __call__(self, a, b):
        return float(len(a) == len(b))


async def same_length(a, b):
    return float(len(a) == len(b))


@pytest.mark.parametrize("judge", [same_length, Awaited()], ids=["def", "object"])
def test_a_bare_async_function_is_understood(judge):
    texts = ["a" * (1 + t % 4) for t in range(30)]
    found = fp.neighbors(texts, judge, 1, budget=1.0)
    assert (found.similarities == 1).all()
    assert fp.approximate(texts, judge, budget=0.5).evaluations > 0


def test_a_function_that_returns_a_coroutine_is_pointed_to_from_async():
    cure = r"returned a coroutine; pass fewpairs\.from_async\(function\)"
    with pytest.raises(fp.SimilarityError, match=cure):
        fp.neighbors(["a", "b", "cc"], lambda a, b: same_length(a, b), 1)


def test_the_receipt_of_both_orders_has_no_share_above_all():
    found = fp.duplicates(["a", "b", "cc", "d"], same_length, 0.5)
    assert found.evaluations > 6
    assert "of 6 pairs, both orders counted" in str(found)
