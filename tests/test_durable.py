"""A run survives anything, pays nothing twice, and ends in the same result."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.ledger.ledger import Ledger
from tests import children
from tests.children import Touchy
from tests.conftest import Failing, random_matrix

K = random_matrix(60, symmetric=True)
A = random_matrix(40, symmetric=False)


def child(*arguments, **options):
    """Start tests/children.py."""
    root = Path(children.__file__).parents[1]
    path = os.pathsep.join([str(root), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-m", "tests.children", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=root,
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        **options,
    )


def approximate(store, *, method="auto", budget=children.BUDGET, log=None, **options):
    return fp.approximate(
        range(children.N),
        Touchy(log),
        method=method,
        budget=budget,
        store=store,
        **options,
    )


def chunks_of(store):
    return sorted(path for path in Path(store).rglob("c/*/*") if path.name.isdigit())


def test_twenty_kills_cost_a_chunk_each_and_change_no_bit(tmp_path):
    store, log, out = (tmp_path / name for name in ("store", "log", "out.npy"))
    with child("kill_often", store, log, out, "auto", 20) as killer:
        kills = int(killer.communicate()[0])
    assert kills == 20
    children.run(tmp_path / "calm", tmp_path / "calm-log", tmp_path / "calm.npy")
    calm = (tmp_path / "calm-log").stat().st_size
    assert calm < log.stat().st_size <= calm + kills * children.CHUNK
    assert np.array_equal(np.load(out), np.load(tmp_path / "calm.npy"))
    assert fp.Ledger(store).repair() == 0
    assert not list(store.rglob("*.partial"))


@pytest.mark.parametrize("method", ["sms", "sicur", "stacur", "regularized"])
def test_a_store_changes_no_bit_and_is_free_the_second_time(tmp_path, method):
    plain = approximate(None, method=method)
    first = approximate(tmp_path / "store", method=method)
    again = approximate(tmp_path / "store", method=method)
    assert first.evaluations == plain.evaluations
    assert again.evaluations == 0
    for other in (first, again):
        assert np.array_equal(other.dense(), plain.dense())
        assert np.array_equal(other.left, plain.left)
        assert other.certificate == plain.certificate


@pytest.mark.parametrize("symmetric", [True, False, None])
@pytest.mark.parametrize("symmetrize", [True, False])
def test_lines_of_both_directions_survive(tmp_path, symmetric, symmetrize):
    similarity = fp.from_function(
        lambda a, b: float(A[a, b] + (A[b, a] if symmetric else 0)),
        symmetric=symmetric,
        chunk=17,
    )
    options = {"method": "skeleton", "budget": 0.7, "symmetrize": symmetrize}
    plain = fp.approximate(range(40), similarity, **options)
    stored = fp.approximate(range(40), similarity, **options, store=tmp_path)
    again = fp.approximate(range(40), similarity, **options, store=tmp_path)
    assert np.array_equal(stored.dense(), plain.dense())
    assert np.array_equal(again.dense(), plain.dense())
    assert again.evaluations == again.bill.for_store > 0


def test_what_an_error_leaves_is_gone_on_with_in_another_process(tmp_path):
    judge = Failing(K, 700, RuntimeError("the service is down"))

    def run(function, store):
        similarity = fp.from_function(function, symmetric=True, name="judge", chunk=100)
        return fp.approximate(
            range(60), similarity, method=fp.Nystrom(25), budget=0.9, store=store
        )

    with pytest.raises(fp.SimilarityError, match="the service is down") as caught:
        run(judge, tmp_path)
    assert caught.value.ledger.evaluations == 700
    judge.mend()
    approx = run(judge, tmp_path)  # a ledger of its own: read from the disk
    plain = run(lambda a, b: K[a, b], None)
    checks = approx.bill.for_store
    assert checks == 8
    assert len(judge.calls) == plain.evaluations + checks
    assert approx.evaluations == plain.evaluations - 700 + checks
    assert np.array_equal(approx.dense(), plain.dense())


def test_other_methods_and_budgets_pay_for_what_is_new_alone(tmp_path):
    log = tmp_path / "log"
    store = tmp_path / "store"
    for method in ("nystrom", "sms", "auto"):
        for budget in (0.2, 0.5):
            before = log.stat().st_size if log.exists() else 0
            approx = approximate(store, method=method, budget=budget, log=str(log))
            assert approx.evaluations == log.stat().st_size - before
            plain = approximate(None, method=method, budget=budget)
            assert np.allclose(approx.dense(), plain.dense(), atol=1e-9)
    total = children.N * (children.N - 1) // 2
    assert log.stat().st_size <= total
    assert len(fp.Ledger(store).records) == 6
    everything = approximate(store, method="auto", budget=1.0, log=str(log))
    assert everything.certificate.relative_error == 0
    assert log.stat().st_size == total


def test_another_gamma_can_be_written_to_a_store_of_its_own(tmp_path):
    def similarity(power):
        return fp.from_function(
            lambda a, b: float(abs(K[a, b]) ** power), symmetric=True, name=f"{power}"
        )

    first = fp.approximate(range(60), similarity(1), method="sms", store=tmp_path / "1")
    ledger = fp.Ledger(tmp_path / "1")
    ledger.transformed(lambda values: values**3, similarity(3), tmp_path / "3")
    cubes = fp.approximate(range(60), similarity(3), method="sms", store=tmp_path / "3")
    assert cubes.evaluations == cubes.bill.for_store == 8
    i, j = np.divmod(np.arange(3600), 60)
    known, values = cubes.known.lookup(i, j)
    assert np.allclose(values[known], first.known.lookup(i, j)[1][known] ** 3)
    with pytest.raises(fp.InputError, match="pass a new path"):
        ledger.transformed(lambda values: values, similarity(3), tmp_path / "3")


def test_growing_goes_on_in_the_store(tmp_path):
    small = approximate(tmp_path, budget=0.2)
    large = small.grow(0.4)
    again = approximate(tmp_path, budget=0.2).grow(0.4)
    assert again.evaluations == 0
    assert np.array_equal(large.dense(), again.dense())


def test_a_target_is_reached_in_the_same_steps(tmp_path):
    options = {"budget": 0.9, "target_error": 1e-9, "method": "nystrom"}
    plain = approximate(None, **options)
    first = approximate(tmp_path, **options)
    again = approximate(tmp_path, **options)
    assert again.evaluations == 0
    assert again.bill.charged == first.evaluations == plain.evaluations
    assert f"{first.evaluations:,} more were paid for before" in str(again)
    for other in (first, again):
        assert np.array_equal(plain.dense(), other.dense())
        assert plain.method == other.method


def test_an_object_store_will_do(request):
    url = f"memory://{request.node.name}"
    first = approximate(url)
    assert approximate(url).evaluations == 0
    assert fp.Ledger(url).evaluations == first.evaluations
    with fp.Ledger(url).session(), pytest.raises(fp.StoreError, match="remove memory:"):
        approximate(url)


def test_a_lock_in_an_object_store_that_its_owner_left_is_taken_over(request):
    import fsspec

    url = f"memory://{request.node.name}"
    with child("hold", "memory://elsewhere") as gone:
        pass
    lock = {"pid": gone.pid, "host": os.uname().nodename, "since": "yesterday"}
    data = json.dumps({"attributes": lock}).encode()
    fsspec.filesystem("memory").pipe_file(f"{url}/lock/zarr.json", data)
    assert approximate(url).evaluations > 0


def test_zarr_reads_what_is_there(tmp_path):
    import zarr

    approx = approximate(tmp_path, method=fp.Nystrom([3, 8, 5]), budget=None)
    group = zarr.open_group(tmp_path, mode="r")
    (columns,) = [array for _, array in group["columns"].arrays()]
    assert columns.attrs["indices"] == [3, 8, 5]
    assert np.array_equal(columns[:], approx.block(slice(None), [3, 8, 5]))
    assert group.attrs["n"] == children.N


def test_a_ledger_says_what_was_paid_for_and_what_is_left(tmp_path):
    assert "nothing paid for yet" in str(fp.Ledger(tmp_path / "new"))
    approx = approximate(tmp_path / "store")
    ledger = fp.Ledger(tmp_path / "store")
    assert ledger.evaluations == approx.evaluations
    assert f"{approx.evaluations:,} evaluations of Touchy, 150 items" in str(ledger)
    assert "method Auto, budget 0.35, seed 0" in str(ledger)
    assert "finished" in str(ledger)
    (record,) = ledger.records.values()
    assert record.started <= record.updated <= record.finished
    record.finished = ""
    record.evaluations = record.asked["expected"] - 100
    assert "at most 100 left" in str(ledger)


def test_other_items_and_other_similarities_are_refused_before_they_cost_anything(
    tmp_path,
):
    approximate(tmp_path)
    calls = []

    def other(a, b):
        calls.append((a, b))
        return 1.0

    with pytest.raises(fp.InputError, match="holds evaluations of Touchy of 150 items"):
        fp.approximate(range(150), other, store=tmp_path)
    with pytest.raises(fp.InputError, match="other items or another similarity"):
        fp.approximate(range(1, 151), Touchy(), store=tmp_path)
    assert not calls
    assert len(fp.Ledger(tmp_path).records) == 1


def test_two_processes_on_one_store(tmp_path):
    store = tmp_path / "store"
    first = approximate(store, budget=0.2)
    with child("hold", store) as other:
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(
            fp.StoreError, match=f"is in use by process {other.pid} on .*Wait for it"
        ):
            approximate(store)
        held = fp.Ledger(store)
        held.load()  # reading is free to all
        assert held.evaluations == first.evaluations
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    assert approximate(store).evaluations > 0  # its lock has ended with it


def test_a_damaged_chunk_is_named_and_paid_for_again_once_it_is_set_aside(tmp_path):
    plain = approximate(tmp_path, method="sms")
    for damage in (lambda data: data[:-9], lambda data: b"", lambda data: b"?" + data):
        path = chunks_of(tmp_path)[3]
        path.write_bytes(damage(path.read_bytes()))
        name = path.relative_to(tmp_path).as_posix()
        with pytest.raises(fp.StoreError, match=rf"{name} is damaged.*repair\(\)"):
            approximate(tmp_path, method="sms")
        assert fp.Ledger(tmp_path).repair() == 1
        again = approximate(tmp_path, method="sms")
        assert 0 < again.evaluations <= children.CHUNK
        assert np.array_equal(again.dense(), plain.dense())


def test_a_store_of_a_newer_version_or_of_something_else(tmp_path):
    store = tmp_path / "store"
    approximate(store)
    facts = json.loads((store / "zarr.json").read_text())
    facts["attributes"]["version"] = 99
    (store / "zarr.json").write_text(json.dumps(facts))
    with pytest.raises(fp.StoreError, match=r"newer fewpairs.*99.*Upgrade"):
        approximate(store)
    facts["attributes"] = {}
    (store / "zarr.json").write_text(json.dumps(facts))
    with pytest.raises(fp.StoreError, match="zarr data of something else"):
        fp.Ledger(store)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(fp.StoreError, match=r"folder of something else.*thesis\.txt"):
        approximate(tmp_path / "mine")
    with pytest.raises(fp.StoreError, match="cannot be reached"):
        approximate("nosuchprotocol://there")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 400 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("needs root and mount, to make a small file system")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=400k", "none", folder], check=False
    )
    if made.returncode:
        pytest.skip("this machine lets nobody mount a file system")
    yield folder
    subprocess.run([shutil.which("umount"), folder], check=True)


def test_a_full_disk_loses_nothing(small_disk, tmp_path):
    store = small_disk / "store"
    with pytest.raises(
        fp.StoreError, match=r"the disk is full.*stays readable"
    ) as caught:
        approximate(store, budget=0.9, method="sms")
    ledger = caught.value.ledger
    kept = fp.Ledger(store)
    kept.load()
    assert kept.evaluations > ledger.evaluations // 2
    # In memory there is one chunk more, which the disk did not take.
    log = tmp_path / "log"
    rest = approximate(ledger_in_memory(ledger), budget=0.9, method="sms", log=str(log))
    plain = approximate(None, budget=0.9, method="sms")
    assert rest.evaluations == log.stat().st_size < plain.evaluations
    assert np.array_equal(rest.dense(), plain.dense())
    shutil.copytree(store, tmp_path / "copy")
    moved = approximate(tmp_path / "copy", budget=0.9, method="sms")
    assert moved.evaluations - rest.evaluations <= children.CHUNK
    assert np.array_equal(moved.dense(), plain.dense())


def ledger_in_memory(ledger):
    return ledger.transformed(lambda values: values, Touchy())


def test_a_read_only_store_is_refused_and_read(small_disk):
    store = small_disk / "store"
    first = approximate(store, budget=0.15, method="sms")
    command = [shutil.which("mount"), "-o", "remount,ro", small_disk]
    subprocess.run(command, check=True)
    with pytest.raises(fp.StoreError, match=r"read-only here.*stays readable"):
        approximate(store)
    ledger = fp.Ledger(store)
    entries = ledger.load()
    assert ledger.evaluations == first.evaluations
    assert entries.has_lines(first.landmarks).all()


def test_what_the_clock_decides_is_decided_once(tmp_path, monkeypatch):
    method = fp.Auto(student_seconds=1.0)
    clock = [0.0]

    def slow():
        clock[0] += 100.0
        return clock[0]

    monkeypatch.setattr("fewpairs.execution.calling.time.perf_counter", slow)
    first = approximate(tmp_path, budget=0.3, method=method)
    monkeypatch.undo()
    (record,) = fp.Ledger(tmp_path).records.values()
    assert record.decisions["student"] is True
    assert any(name.startswith("training") for name in record.decisions)
    # Every entry is known and takes no time now. Training, which the clock has ended in
    # its first rounds, ends after as many steps.
    again = approximate(tmp_path, budget=0.3, method=method)
    assert again.evaluations == 0
    assert np.array_equal(first.dense(), again.dense())


def test_lines_larger_than_memory_stay_on_disk(tmp_path):
    from fewpairs.kernels.linalg.scratch import folder_of

    for method in ("nystrom", "sms", "sicur", "stacur", "regularized"):
        plain = approximate(None, method=method)
        store = Ledger(tmp_path / method, memory=1_000)
        large = approximate(store, method=method)
        assert folder_of(large.left) == str(tmp_path / method)
        kept = folder_of(large.known.columns[0].values)
        assert str(kept).startswith(str(tmp_path / method))
        assert np.allclose(large.dense(), plain.dense(), atol=1e-6)
        assert large.certificate.pairs == plain.certificate.pairs
        assert large.embedding(3).shape == (children.N, 3)
        large.save(tmp_path / f"{method}-saved")
        loaded = fp.load(tmp_path / f"{method}-saved", mmap=True)
        assert np.array_equal(loaded.dense(), large.dense())
        again = approximate(Ledger(tmp_path / method, memory=1_000), method=method)
        assert again.evaluations == 0
        assert np.array_equal(large.dense(), again.dense())
        kinds = {path.name for path in (tmp_path / method).iterdir()}
        ours = {"zarr.json", "columns", "rows", "pairs", "runs", "copies", "lock"}
        assert kinds <= ours


@pytest.mark.parametrize(
    "kind", ["serial", "async", "threads:2", "processes:2", "dask"]
)
def test_ctrl_c_keeps_what_was_paid_for(tmp_path, kind):
    if kind == "dask":
        pytest.importorskip("distributed")
    store, log = tmp_path / "store", tmp_path / "log"
    log.touch()
    with child("interrupted", store, log, kind) as run:
        while log.stat().st_size < 600 and run.poll() is None:
            pass
        os.kill(run.pid, signal.SIGINT)
        run.communicate()
    assert run.returncode == 130
    answers = np.loadtxt(log, dtype=int)
    known, values = fp.Ledger(store).load().lookup(*answers.T)
    # Here and now, the interrupt hits the call that is being made.
    assert (~known).sum() <= (1 if kind == "serial" else 0)
    truth = np.cos(answers[:, 0] - answers[:, 1])
    assert np.allclose(values[known], truth[known])


def test_what_is_read_after_the_run_is_written_too(tmp_path):
    approx = approximate(tmp_path)
    source = approx.source.reader
    i, j = np.triu_indices(children.N, 1)
    unread = ~approx.known.lookup(i, j)[0]
    more = i[unread][40:41], j[unread][40:41]
    i, j = i[unread][:40], j[unread][:40]
    values = source.pairs(i, j)
    known, kept = fp.Ledger(tmp_path).load().lookup(i, j)
    assert known.all()
    assert np.array_equal(kept, values)
    with fp.Ledger(tmp_path).session(), pytest.raises(fp.StoreError, match="in use"):
        source.oracle.pairs(*more)
