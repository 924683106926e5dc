"""A judge over real HTTP: strict about the protocol, unreliable, with an account."""

import gc
import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fewpairs as fp
from tests.commands import run, run_here
from tests.judge_server import KEY, PRICE, JudgeServer, truth, usual_troubles

pytest.importorskip("httpx", reason="needs the extra judge")

WORDS = "red green blue cat dog bird runs jumps sleeps fast slow today".split()


def texts_of(n, seed=0):
    rng = np.random.default_rng(seed)
    made = {" ".join(rng.choice(WORDS, 5)) for _ in range(2 * n)}
    return sorted(made)[:n]


TEXTS = texts_of(36)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def judge_of(server, *given, **options):
    usual = {"price": PRICE, "timeout": 20, "pause": 0.005, "concurrency": 8}
    return fp.Judge("judge-1", *given, url=server.url, **{**usual, **options})


def matrix(texts, score=truth):
    return np.array([[score(a, b) for b in texts] for a in texts])


@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_is_lost_and_nothing_paid_for_twice_whatever_the_server_does(seed):
    with JudgeServer(usual_troubles(seed)) as server:
        ledger = fp.Ledger()
        judge = judge_of(server, timeout=2)
        found = fp.approximate(TEXTS, judge, budget=1.0, store=ledger)
    assert np.allclose(found.dense(), matrix(TEXTS))
    assert found.evaluations == 36 * 35 / 2
    assert not server.mistakes
    assert sum(server.said[t] > 0 for t in ("busy", "broken", "hangs", "malformed")) > 1
    assert max(server.usable.values()) == 1  # no answer of use was asked for again
    assert server.usable.total() == found.evaluations
    assert found.bill.money == pytest.approx(server.money, abs=1e-9)
    (record,) = ledger.records.values()
    assert record.money == pytest.approx(server.money, abs=1e-9)
    assert (ledger.answers.usage.input, ledger.answers.usage.output) == (
        server.input,
        server.output,
    )


@pytest.mark.parametrize("trouble", ["malformed", "cut_off", "wrong_number", "refusal"])
def test_pairs_of_an_unusable_answer_are_asked_again_one_by_one(trouble):
    def some(number, questions):
        return trouble if len(questions) == 8 and number % 2 else None

    with JudgeServer(some) as server:
        found = fp.approximate(TEXTS[:20], judge_of(server), budget=1.0)
    assert np.allclose(found.dense(), matrix(TEXTS[:20]))
    assert server.sizes[1] == 8 * server.said[trouble] > 0
    assert found.bill.money == pytest.approx(server.money)


@pytest.mark.parametrize("trouble", ["torn", "dropped", "hangs"])
def test_a_reply_that_is_lost_on_its_way_is_asked_for_again_as_it_was(trouble):
    def some(number, questions):
        return trouble if number % 7 == 1 else None

    with JudgeServer(some) as server:
        judge = judge_of(server, timeout=1, concurrency=4)
        found = fp.approximate(TEXTS[:20], judge, budget=1.0)
    assert np.allclose(found.dense(), matrix(TEXTS[:20]))
    assert server.said[trouble] > 2
    assert max(server.usable.values()) == 1
    assert server.sizes[1] == 0  # it was none of the pairs' fault
    assert found.bill.money == pytest.approx(server.money)


def test_a_server_that_sends_no_json_at_all_is_named():
    with JudgeServer(lambda number, questions: "torn") as server:
        judge = judge_of(server, retries=1)
        with pytest.raises(fp.SimilarityError, match="sent a reply that is no JSON"):
            fp.approximate(TEXTS[:20], judge, budget=1.0)


def test_of_an_answer_outside_the_scale_only_that_pair_is_asked_again():
    def first(number, questions):
        return "out_of_range" if number == 1 else None

    with JudgeServer(first) as server:
        found = fp.approximate(TEXTS[:20], judge_of(server), budget=1.0)
    assert np.allclose(found.dense(), matrix(TEXTS[:20]))
    assert server.asked.total() == 190 + 1


CHILD = """
import sys
import fewpairs as fp
from tests.test_judge import TEXTS, PRICE

url, store = sys.argv[1:]
judge = fp.Judge("judge-1", url=url, price=PRICE, concurrency=4)
approx = fp.approximate(TEXTS, judge, budget=500, store=store)
print(approx.certificate.relative_error)
"""


def test_a_process_that_is_killed_goes_on_and_the_accounts_agree_to_the_cent(tmp_path):
    store = str(tmp_path / "paid")
    root = Path(__file__).parents[1]
    with JudgeServer() as server:
        answered = 25

        def hold(number, questions):
            if number >= answered:
                server.gone_on.clear()  # all that come now wait
            return

        server.trouble = hold
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD), server.url, store],
            cwd=root,
            env={**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"},
            stdout=subprocess.DEVNULL,
        )
        try:
            _until(lambda: _calls_in(store) >= answered, child)
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
        paid_before, asked_before = server.money, set(server.asked)
        server.trouble = lambda number, questions: None
        server.gone_on.set()
        ledger = fp.Ledger(store)
        judge = judge_of(server, concurrency=4)
        again = fp.approximate(TEXTS, judge, budget=500, store=ledger)
        total = sum(record.money for record in ledger.records.values())
        fresh = fp.approximate(TEXTS, judge, budget=500)
    assert len(asked_before) > 100
    assert max(server.asked.values()) == 2  # once for each of the two runs
    assert again.bill.money < fresh.bill.money
    assert total == pytest.approx(paid_before + again.bill.money, abs=1e-9)
    assert total == pytest.approx(fresh.bill.money, rel=0.03)  # calls are cut otherwise
    assert np.array_equal(again.dense(), fresh.dense())


def _calls_in(store):
    folder = Path(store) / "answers"
    return len(list(folder.glob("*.json"))) if folder.is_dir() else 0


def _until(done, child):
    end = time.monotonic() + 60
    while not done():
        assert child.poll() is None, "the child has ended"
        assert time.monotonic() < end, "nothing happens"
        child.poll() or time.sleep(0.01)


def test_its_event_loop_ends_with_what_was_made_of_it():
    def loops():
        gc.collect()
        names = [thread.name for thread in threading.enumerate()]
        return names.count("fewpairs.from_async")

    async def product(a, b):
        return float(len(a) * len(b))

    before = loops()
    with JudgeServer() as server:
        for similarity in (judge_of(server), fp.from_async(product)):
            approx = fp.approximate(TEXTS, similarity, budget=300, seed=0)
            assert 0 < approx.evaluations <= 300
    del similarity, approx
    assert loops() <= before


def test_eight_pairs_a_call_cost_half_the_tokens_of_single_calls_at_most():
    used = {}
    for size in (1, 8):
        with JudgeServer() as server:
            judge = judge_of(server, pairs_per_call=size)
            fp.approximate(TEXTS[:20], judge, budget=1.0)
        used[size] = server.input + server.output
    assert used[8] <= 0.5 * used[1]


def longer_first(a, b):
    """The same words, and the first text counts a little more."""
    return min(10.0, 0.9 * truth(a, b) + (a < b))


def test_both_orders_are_averaged_on_request_and_no_call_has_both():
    together = []

    def watch(number, questions):
        together.append(any((b, a) in questions for a, b in questions))

    with JudgeServer(watch, score=longer_first) as server:
        judge = judge_of(server, both_orders=True)
        found = fp.approximate(TEXTS[:20], judge, budget=1.0)
    assert server.asked.total() == 2 * found.evaluations
    both = matrix(TEXTS[:20], longer_first)
    both = (both + both.T) / 2
    np.fill_diagonal(both, 10)
    assert np.allclose(found.dense(), both)
    assert np.mean(together) < 0.3


def test_chance_decides_which_text_comes_first_and_how_pairs_lie_in_a_call():
    with JudgeServer() as server:
        calls = []
        server.trouble = lambda number, questions: calls.append(questions)
        fp.approximate(TEXTS, judge_of(server), budget=1.0)
    sorted_first = np.mean([a < b for a, b in server.asked])
    assert 0.4 < sorted_first < 0.6
    alike = [len({a for a, _ in call} & {b for _, b in call}) for call in calls]
    shared = [len({t for pair in call for t in pair}) for call in calls]
    assert np.mean(shared) > 12  # of 16: neighbors in the request would share one
    assert np.mean(alike) < 3


def test_of_two_sets_the_left_text_comes_first():
    left, right = TEXTS[:10], TEXTS[10:22]
    with JudgeServer() as server:
        found = fp.approximate(left, judge_of(server), others=right, budget=1.0)
    assert all(a in left and b in right for a, b in server.asked)
    assert np.allclose(found.dense(), [[truth(a, b) for b in right] for a in left])


def test_equal_texts_are_asked_about_once_and_never_with_each_other():
    twice = TEXTS[:10] + TEXTS[:10]
    with JudgeServer() as server:
        found = fp.approximate(twice, judge_of(server), budget=1.0)
    assert np.allclose(found.dense(), matrix(twice))
    assert server.asked.total() == 45


def test_what_is_in_the_ledger_is_not_asked_again_by_another_job(tmp_path):
    with JudgeServer() as server:
        judge = judge_of(server)
        fp.approximate(TEXTS, judge, budget=300, store=tmp_path / "paid")
        before = server.asked.total()
        found = fp.duplicates(TEXTS, judge, threshold=6, store=tmp_path / "paid")
        again = fp.duplicates(TEXTS, judge, threshold=6, store=tmp_path / "paid")
    assert max(server.asked.values()) == 1
    assert server.asked.total() > before
    i, j = np.nonzero(np.triu(matrix(TEXTS) >= 6, 1))
    assert {*zip(found.left.tolist(), found.right.tolist())} == {
        *zip(i.tolist(), j.tolist())
    }
    assert len(again.left) == len(found.left)


def test_two_tables_are_matched():
    left, right = TEXTS[:12], [" ".join(reversed(t.split())) for t in TEXTS[:12]]
    with JudgeServer() as server:
        found = fp.match(left, right, judge_of(server), k=1)
    best = dict(zip(found.left.tolist(), found.similarity.tolist()))
    assert best == dict.fromkeys(range(12), 10.0)


# --- on the command line


def test_a_judge_on_the_command_line_keeps_to_its_dollars(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS), encoding="utf-8")
    with JudgeServer() as server:
        given = ["--model", "judge-1", "--judge-url", server.url]
        price = ["--judge-price", f"{PRICE[0]},{PRICE[1]}"]
        done = run(
            "approximate",
            file,
            "--similarity",
            "judge",
            *given,
            *price,
            "--budget",
            "$0.12",
            "--store",
            tmp_path / "paid",
            "--out",
            tmp_path / "out",
        )
        assert 0.09 <= server.money <= 0.12, done.stdout
        unpriced = run("duplicates", file, "-s", "judge", *given, "-t", "8", "-b", "$1")
        shown = run("plan", file, "-s", "judge", *given, *price, "-b", "$0.12")
    assert KEY not in done.stdout + done.stderr
    assert "has no price" in " ".join(unpriced.stderr.split())
    assert unpriced.returncode == 2
    assert "evaluations" in shown.stdout


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["-s", "judge"], "--similarity judge needs a model"),
        (["-s", "judge", "--model", "m", "--judge-price", "3"], "--judge-price is '3'"),
        (["-s", "ratio", "--judge-url", "http://x"], "--judge-url has no meaning for"),
    ],
)
def test_options_of_a_judge_that_mean_nothing_are_refused(
    given, message, tmp_path, capfd, monkeypatch
):
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS), encoding="utf-8")
    words = ["approximate", file, *given, "--out", tmp_path / "out"]
    done = run_here(words, tmp_path, capfd, monkeypatch)
    assert message in " ".join(done.stderr.split())


# --- the key


def test_a_wrong_key_ends_it_at_once_in_one_line(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with (
        JudgeServer() as server,
        pytest.raises(fp.SimilarityError, match=r"the key in OPENAI_API_KEY: 401"),
    ):
        fp.approximate(TEXTS, judge_of(server), budget=300)
    assert server.said[401] <= 8
    assert server.money == 0


def test_the_key_is_in_no_message_log_file_or_representation(
    monkeypatch, tmp_path, caplog
):
    caplog.set_level(logging.DEBUG)
    secret = "sk-wrong-but-secret"  # noqa: S105 - of nobody
    with JudgeServer() as server:
        judge = judge_of(server)
        approx = fp.approximate(TEXTS, judge, budget=300, store=tmp_path / "paid")
        approx.save(tmp_path / "saved")
        monkeypatch.setenv("OPENAI_API_KEY", secret)
        with pytest.raises(fp.SimilarityError) as caught:
            fp.approximate(TEXTS, judge, budget=600, store=tmp_path / "paid")
    error = caught.value
    said = str(error) + repr(error.__cause__) + repr(judge) + repr(vars(judge))
    said += caplog.text + str(approx) + str(caught.value.ledger)
    files = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
    for one in (KEY, secret):
        assert one not in said
        assert not any(one.encode() in data for data in files)
    assert len(str(caught.value).splitlines()) == 1


def test_the_openai_address_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(fp.InputError, match="OPENAI_API_KEY is not set"):
        fp.approximate(TEXTS, fp.Judge("gpt-5-mini"), budget=300)


def test_a_key_that_no_header_can_carry_is_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk secret")
    with pytest.raises(fp.InputError, match="holds no key") as caught:
        fp.approximate(TEXTS, fp.Judge("gpt-5-mini"), budget=300)
    assert "secret" not in str(caught.value)


def test_a_key_goes_over_plain_http_to_this_machine_alone():
    from fewpairs.similarity.judge.endpoint import Place

    for url, sent in [
        ("http://127.0.0.1:8000/v1", True),
        ("https://example.org/v1", True),
        ("http://example.org/v1", False),
    ]:
        assert (Place.of(url, None, "call").key() is not None) == sent
    assert Place.of("http://example.org/v1", "OPENAI_API_KEY", "call").key() == KEY


# --- what cannot work


def test_a_model_that_does_not_exist_ends_it_unpaid():
    with (
        JudgeServer(model="another") as server,
        pytest.raises(fp.SimilarityError, match="does not know the model 'judge-1'"),
    ):
        fp.approximate(TEXTS, judge_of(server), budget=300)
    assert server.said[404] <= 8
    assert server.money == 0


def test_a_server_that_is_not_there_is_named():
    judge = fp.Judge("m", url="http://127.0.0.1:9/v1", retries=1, pause=0.001)
    with pytest.raises(fp.SimilarityError, match=r"127.0.0.1:9/v1: Connect"):
        fp.approximate(TEXTS, judge, budget=300)


def test_a_pair_that_is_never_answered_is_named_and_the_rest_kept():
    def never(number, questions):
        return "refusal" if any(TEXTS[3] in pair for pair in questions) else None

    with JudgeServer(never) as server:
        judge, ledger = judge_of(server, concurrency=1), fp.Ledger()
        with pytest.raises(fp.SimilarityError, match="refused: I cannot") as caught:
            fp.approximate(TEXTS[:12], judge, budget=1.0, store=ledger)
        assert 3 in caught.value.pair
        (record,) = ledger.records.values()
        assert record.money == pytest.approx(server.money)
        patient = judge_of(server, unanswered=0.0)
        found = fp.approximate(TEXTS[:12], patient, budget=1.0, store=ledger)
    truths = matrix(TEXTS[:12])
    truths[3], truths[:, 3] = 0, 0
    truths[3, 3] = 10
    assert np.allclose(found.dense(), truths)
    assert max(server.usable.values()) == 1


def test_a_server_without_usage_cannot_be_paid(monkeypatch):
    from tests import judge_server

    whole = json.dumps
    monkeypatch.setattr(
        judge_server.json,
        "dumps",
        lambda thing, **how: (
            whole({k: v for k, v in thing.items() if k != "usage"}, **how)
            if isinstance(thing, dict) and "usage" in thing
            else whole(thing, **how)
        ),
    )
    with JudgeServer() as server:
        with pytest.raises(fp.SimilarityError, match="does not say how many tokens"):
            fp.approximate(TEXTS[:12], judge_of(server), budget=1.0)
        free = fp.approximate(TEXTS[:12], judge_of(server, price=None), budget=1.0)
    assert np.allclose(free.dense(), matrix(TEXTS[:12]))


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (("m", "How alike are {a} and the other?"), {}, r"no place for \{b\}"),
        (("m", "How alike are they?"), {}, r"no place for \{a\} and \{b\}"),
        (("m", 3), {}, "prompt is 3"),
        (("",), {}, "model is ''"),
        (("m",), {"url": "api.example.org"}, "url is 'api.example.org'"),
        (("m",), {"url": "https://me:pass@example.org"}, "holds a user or a password"),
        (("m",), {"key_variable": "sk-abc"}, "never the key itself"),
        (("m",), {"scale": (10, 0)}, "scale is"),
        (("m",), {"price": 3}, "price is 3"),
        (("m",), {"price": (1, -1)}, "price is"),
        (("m",), {"pairs_per_call": 0}, "pairs_per_call is 0"),
        (("m",), {"diagonal": 11}, "diagonal is 11"),
        (("m",), {"unanswered": -1}, "unanswered is -1"),
        (("m",), {"options": 3}, "options is 3"),
        (("m",), {"purpose": ""}, "purpose is ''"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_asked(given, options, message):
    with pytest.raises(fp.InputError, match=message):
        fp.Judge(*given, **options)


def test_items_have_to_be_texts():
    with pytest.raises(fp.InputError, match=r"items\[0\] is 3"):
        fp.approximate([3, 4, 5], fp.Judge("m"), budget=1.0)


def test_a_text_that_holds_a_place_is_no_place():
    from fewpairs.similarity.judge.prompt import Prompt

    prompt = Prompt.of("{a} | {b}", "", "call")
    assert "x {b} | y" in prompt.question([("x {b}", "y")])
