"""Whoever calls the similarity, the result is the same and nothing is lost."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.execution.calling import Task
from fewpairs.execution.pools import PoolWorkers
from fewpairs.execution.workers import PortableScorer
from tests import children
from tests.children import Bound, Fatal, Touchy, wave

N = 120


@pytest.fixture(scope="module", autouse=True)
def by_value():
    """Workers need not find the tests."""
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(children)
    yield
    cloudpickle.unregister_pickle_by_value(children)


@pytest.fixture(scope="module")
def pool():
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        yield pool


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and three worker processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        yield client


def approximate(similarity, executor=None, *, method="auto", budget=0.3, **options):
    return fp.approximate(
        range(N),
        similarity,
        method=method,
        budget=budget,
        executor=executor,
        **options,
    )


def same(one, other):
    return (
        np.array_equal(one.dense(), other.dense())
        and one.evaluations == other.evaluations
        and one.certificate == other.certificate
    )


@pytest.mark.parametrize("chunk", [7, 64, 1000])
@pytest.mark.parametrize("kind", ["serial", "threads:2", "pool", "client"])
def test_same_seed_same_result(request, kind, chunk):
    fixture = kind in ("pool", "client")
    executor = request.getfixturevalue(kind) if fixture else kind
    similarity = fp.from_function(wave, symmetric=True, chunk=chunk)
    plain = approximate(fp.from_function(wave, symmetric=True))
    assert same(approximate(similarity, executor), plain)


@pytest.mark.parametrize("method", ["auto", "sms", "skeleton"])
def test_any_crew_makes_the_same_calls(pool, client, method):
    plain = approximate(Touchy(), method=method)
    with ThreadPoolExecutor(2) as threads:
        for executor in (threads, pool, client):
            assert same(approximate(Touchy(), executor, method=method), plain)


def test_an_asymmetric_similarity_is_averaged_by_any_crew(pool):
    similarity = fp.from_function(
        lambda a, b: wave(a, b) + 0.1 * np.sin(a), symmetric=None, chunk=20
    )
    plain = approximate(similarity, method="sicur")
    assert same(approximate(similarity, pool, method="sicur"), plain)
    assert same(approximate(similarity, "threads", method="sicur"), plain)


def test_items_travel_once_and_are_bound_once_a_worker(tmp_path, pool):
    log = tmp_path / "log"
    similarity = Bound(str(log), busy=2_000)
    approximate(similarity, pool)
    places = log.read_text().split()
    assert len(places) == len(set(places)) <= 3  # here, and in two workers
    assert len(places) > 1
    assert str(os.getpid()) in places


def test_a_lost_process_is_replaced_and_its_chunks_are_done_again(tmp_path):
    similarity = fp.from_function(
        Fatal(str(tmp_path), times=1), symmetric=True, chunk=50, name="fatal"
    )
    plain = approximate(fp.from_function(wave, symmetric=True))
    assert same(approximate(similarity, "processes:2"), plain)
    assert [path.name for path in tmp_path.iterdir()] == ["0"]


def test_a_chunk_that_kills_every_worker_is_an_error_and_the_rest_is_kept(tmp_path):
    (tmp_path / "stones").mkdir()
    fatal = Fatal(str(tmp_path / "stones"), times=99)
    similarity = fp.from_function(fatal, symmetric=True, chunk=50, name="fatal")
    with pytest.raises(fp.SimilarityError, match="its worker died"):
        approximate(similarity, "processes:2", store=tmp_path / "store")
    assert len(list((tmp_path / "stones").iterdir())) == 3
    mended = fp.from_function(wave, symmetric=True, chunk=50, name="fatal")
    rest = approximate(mended, store=tmp_path / "store")
    plain = approximate(mended)
    assert rest.evaluations < plain.evaluations
    assert np.array_equal(rest.dense(), plain.dense())


@pytest.mark.parametrize("error", [OSError("handle is closed"), BrokenProcessPool()])
def test_a_pool_that_breaks_while_it_is_sent_a_task_is_renewed(error):
    class Breaking(ThreadPoolExecutor):
        def submit(self, *_):
            raise error

    similarity = fp.from_function(wave, symmetric=True)
    scorer = similarity.bind(range(N))
    pools = iter([Breaking(1), ThreadPoolExecutor(1)])
    portable = PortableScorer(scorer, similarity, range(N))
    workers = PoolWorkers(next(pools), portable, renew=lambda: next(pools))
    task = Task(np.arange(3), np.arange(3, 6), block=False)
    flight = workers.submit(task)
    [(done, outcome)] = workers.wait()
    workers.close()
    assert done is flight
    assert outcome.error is None
    np.testing.assert_array_equal(outcome.values, scorer.pairs(task.a, task.b))
    with pytest.raises(type(error)):  # one that is not ours is not mended
        PoolWorkers(Breaking(1), portable).submit(task)


def test_a_killed_dask_worker_changes_nothing(tmp_path, client):
    similarity = Touchy(busy=3_000)
    victims = list(client.run(os.getpid).values())
    assert len(victims) == 3
    killed = []

    def watch(status):
        if status.done > 0.3 * (status.total or 1) and not killed:
            killed.append(victims[0])
            os.kill(victims[0], signal.SIGKILL)

    approx = approximate(similarity, client, store=tmp_path, progress=watch)
    assert killed
    assert victims[0] not in client.run(os.getpid).values()
    plain = approximate(similarity)
    assert same(approx, plain)
    assert fp.Ledger(tmp_path).evaluations == plain.evaluations
    again = approximate(similarity, client, store=tmp_path)
    assert again.evaluations == again.bill.for_store


def test_a_worker_killed_in_a_round_of_few_evaluations_changes_nothing(client):
    similarity = Touchy(busy=3_000)
    places = np.linspace(0, 12, N)
    prior = np.column_stack([np.cos(places), np.sin(places), np.ones(N)])
    run = {"budget": "6/item", "prior": prior}
    victim = next(iter(client.run(os.getpid).values()))
    killed = []

    def watch(status):
        if status.done > 0.7 * (status.total or 1) and not killed:
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    approx = approximate(similarity, client, progress=watch, **run)
    assert killed
    assert "random pairs" in approx.method  # no landmarks: read in rounds
    assert same(approx, approximate(similarity, **run))


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_similarity_that_ends_the_program_ends_the_run_on_a_cluster(client, error):
    def quits(a, b):
        if {a, b} == {7, 30}:
            raise error("stop")
        return float(np.cos(a - b))

    ledger = fp.Ledger()
    similarity = fp.from_function(quits, symmetric=True, chunk=25, name="quits")
    with pytest.raises(error, match="stop"):
        approximate(similarity, client, budget=0.9, store=ledger)
    assert ledger.evaluations > 0
    assert ledger.load().moments().number > 0


def test_the_address_of_a_scheduler_will_do(cluster):
    plain = approximate(Touchy(), method="sms")
    assert same(approximate(Touchy(), cluster.scheduler_address, method="sms"), plain)


def test_a_scheduler_that_does_not_answer():
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "100ms"}),
        pytest.raises(fp.InputError, match="no Dask scheduler answers at"),
    ):
        approximate(Touchy(), "tcp://127.0.0.1:1")


@pytest.mark.parametrize("executor", ["threads:3", "pool"])
def test_an_error_in_a_worker_names_its_pair_and_keeps_the_rest(request, executor):
    if executor == "pool":
        executor = request.getfixturevalue(executor)

    def fails(a, b):
        if 50 in (a, b):
            raise RuntimeError("no answer")
        return wave(a, b)

    similarity = fp.from_function(fails, symmetric=True, chunk=10, name="judge")
    ledger = fp.Ledger()
    with pytest.raises(fp.SimilarityError, match="no answer") as caught:
        approximate(similarity, executor, store=ledger, method="nystrom")
    assert 50 in caught.value.pair
    assert caught.value.ledger is ledger
    paid = ledger.evaluations
    mended = fp.from_function(wave, symmetric=True, chunk=10, name="judge")
    rest = approximate(mended, store=ledger, method="nystrom")
    plain = approximate(mended, method="nystrom")
    assert paid + rest.evaluations == plain.evaluations + rest.bill.for_store
    assert np.array_equal(rest.dense(), plain.dense())


def test_what_cannot_travel_is_refused_before_anything_is_paid_for():
    lock = threading.Lock()
    calls = []

    def locked(a, b):
        calls.append((a, b))
        with lock:
            return wave(a, b)

    similarity = fp.from_function(locked, symmetric=True)
    with pytest.raises(fp.InputError, match="cannot be sent to other processes"):
        approximate(similarity, "processes:2")
    assert not calls
    assert approximate(similarity, "threads:2").evaluations == len(calls)


def test_a_process_a_gpu_sees_that_one_alone(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,3")
    similarity = fp.from_function(
        lambda a, b: float(os.environ["CUDA_VISIBLE_DEVICES"]),
        symmetric=True,
        chunk=10,
        name="device",
    )
    approx = approximate(similarity, "gpus", method="nystrom")
    i, j = np.triu_indices(N, 1)
    known, values = approx.known.lookup(i, j)
    assert set(values[known]) <= {3.0, 5.0}
