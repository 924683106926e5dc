"""What the tests of durable runs do in processes of their own: some are killed."""

import asyncio
import contextlib
import itertools
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

import fewpairs as fp
from fewpairs.similarity.base import Scorer, Similarity

N = 150
LEFT = 25  # of two sets
BUDGET = 0.35
CHUNK = 32


class Touchy(Similarity):
    """Rounds differently in every shape of call, and writes down what it is asked.

    So a result is the same to the bit only if every call was the same.
    """

    symmetric = True
    proven = True
    fingerprinted = True
    diagonal = 1.0

    def __init__(self, log: str | None = None, busy: int = 0) -> None:
        self.log = log
        self.busy = busy

    def identify(self):
        return ("touchy",)

    def bind(self, items):
        return _TouchyScorer(self, np.array([float(item) for item in items]))


class _TouchyScorer(Scorer):
    chunk = CHUNK

    def __init__(self, similarity, angles):
        self.n = len(angles)
        self._similarity = similarity
        self._angles = angles

    def pairs(self, i, j):
        return self._values(self._angles[i] - self._angles[j], 1 + len(i) % 5)

    def block(self, rows, columns):
        gaps = self._angles[rows][:, None] - self._angles[columns]
        return self._values(gaps, 7 + len(rows) % 5 + len(columns) % 3)

    def _values(self, gaps, shape):
        sum(range(self._similarity.busy * gaps.size))
        if self._similarity.log is not None:
            with Path(self._similarity.log).open("ab") as file:
                file.write(b"." * gaps.size)
        return np.cos(gaps) + 0.3 * np.cos(7.3 * gaps) + shape * 1e-15


def wave(a, b):
    return float(np.cos(a - b) + 0.3 * np.cos(7.3 * (a - b)))


class Fatal:
    """A function that kills its process, as often as it can put up a tombstone."""

    __name__ = "fatal"

    def __init__(self, folder, times):
        self.folder = folder
        self.times = times

    def __call__(self, a, b):
        if a == 7:
            for number in range(self.times):
                try:
                    (Path(self.folder) / f"{number}").touch(exist_ok=False)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return wave(a, b)


class Bound(Touchy):
    """Writes down where it is bound."""

    def bind(self, items):
        with Path(self.log).open("a") as file:
            file.write(f"{os.getpid()}\n")
        similarity = Touchy(busy=self.busy)
        return similarity.bind(items)


def sweep(store, log, out, *, two_sets=False):
    """Go through all pairs, and write down after every tile how far it has come."""
    from fewpairs.ledger import pass_records

    usual, pass_records._SHARE = pass_records._SHARE, 0
    similarity = Touchy(log, busy=400)
    if two_sets:
        sides = range(LEFT), range(LEFT, N)
        linked = fp.match(*sides, similarity, threshold=0.9, budget=1.0, store=store)
        arrays = [*linked.pairs, *linked.others]
    else:
        arrays = list(fp.neighbors(range(N), similarity, 5, budget=1.0, store=store))
    pass_records._SHARE = usual
    np.save(f"{out}-draft.npy", np.concatenate([part.ravel() for part in arrays]))
    Path(f"{out}-draft.npy").rename(out)


def run(store, log, out, method="auto"):
    if method in ("all pairs", "two sets"):
        sweep(store, log, out, two_sets=method == "two sets")
        return
    approx = fp.approximate(
        range(N), Touchy(log, busy=400), budget=BUDGET, method=method, store=store
    )
    truth = approx.certificate
    np.save(f"{out}-draft.npy", np.append(approx.dense().ravel(), truth.interval))
    Path(f"{out}-draft.npy").rename(out)


def kill_at_write(number):
    """Be killed at the so-maniest step of writing a file: opened, or not renamed."""
    steps = itertools.count()

    def hook(event, arguments):
        writes = event in ("os.rename", "os.remove") or (
            event == "open" and str(arguments[0]).endswith((".partial", ".npy"))
        )
        if writes and next(steps) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def kill_often(store, log, out, method, kills):
    """Start a run again and again; kill it at random, half of the time as it writes."""
    import zarr  # noqa: F401 - so that children need not import it

    import fewpairs.run.match  # noqa: F401 - likewise

    rng = random.Random(0)
    Path(log).touch()
    done = 0
    for turn in itertools.count():
        target = Path(log).stat().st_size + rng.randrange(10, 300)
        child = os.fork()
        if child == 0:
            if turn % 2 and done < kills:
                kill_at_write(rng.randrange(20))
            run(store, log, out, method)
            os._exit(0)
        while not os.waitpid(child, os.WNOHANG)[0]:
            if done < kills and turn % 2 == 0 and Path(log).stat().st_size >= target:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.0002)
        if Path(out).exists():
            break
        done += 1
    sys.stdout.write(f"{done}\n")


def forked(job, *arguments):
    """Do something in a process of its own; tell how it ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            job(*arguments)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_everywhere(spoil, job, check):
    """Kill a job at each of its steps of writing in turn, until there are no more."""
    for step in itertools.count():

        def killed(step=step):
            kill_at_write(step)
            job()

        spoilt = forked(spoil)
        ended = forked(killed)
        checked = forked(check)
        if spoilt or checked or ended not in (0, -signal.SIGKILL):
            sys.exit(f"step {step}: {spoilt}, {ended}, {checked}")
        if ended == 0:
            break
    sys.stdout.write(f"{step}\n")


def kill_repairs(store):
    """Kill repairs of a ledger whose files of every kind are damaged."""
    import zarr  # noqa: F401 - so that children need not import it

    root = Path(store)
    kinds = ("", "columns/*", "pairs/*", "runs/*")

    def ours(out):
        approx = fp.approximate(
            range(40), Touchy(), budget=0.9, method=fp.Nystrom(8), store=store
        )
        np.save(out, approx.dense())

    def spoil():
        for kind in kinds:
            sorted(root.glob(f"{kind}/zarr.json".lstrip("/")))[0].write_text("")
        lost = sorted(root.glob("pairs/*/zarr.json"))[-1]
        lost.write_text("")
        (root / "copies" / lost.relative_to(root)).unlink()
        chunk = sorted(root.glob("columns/*/c/0/0"))[0]
        chunk.write_bytes(b"?" + chunk.read_bytes())

    def check():
        fp.Ledger(store).repair()
        ours(root.parent / "now.npy")
        before, now = (np.load(root.parent / f"{t}.npy") for t in ("first", "now"))
        assert np.array_equal(before, now)

    forked(ours, root.parent / "first.npy")
    kill_everywhere(spoil, lambda: fp.Ledger(store).repair(), check)


def kill_saves(path):
    """Kill overwriting a saved approximation, at every step of it."""
    matrix = np.cos(np.subtract.outer(np.arange(30.0), np.arange(30.0)))
    both = [
        fp.approximate(None, matrix, method=name, budget=0.5)
        for name in ("nystrom", "sms")
    ]
    answers = [approx.dense().tobytes() for approx in both]
    first, second = both
    first.save(path)

    def check():
        assert fp.load(path).dense().tobytes() in answers

    def spoil():
        first.save(path, overwrite=True)

    kill_everywhere(spoil, lambda: second.save(path, overwrite=True), check)
    assert fp.load(path).dense().tobytes() == answers[1]


def kill_runs(path):
    """Kill `fewpairs approximate --force`, which replaces a run, at every step."""
    from fewpairs.cli.folder import open_run, write_run
    from fewpairs.cli.inputs import Reading, parse

    path, how = Path(path), Reading()
    facts = {"similarity": {"name": "ratio"}, "prior": None}

    def written(letters):
        texts = [letters * t for t in range(1, 13)]
        given = parse("\n".join(texts).encode(), "lines", "texts.txt", how)
        similarity = fp.StringSimilarity("ratio")
        approx = fp.approximate(given.texts, similarity, method="nystrom", budget=0.9)
        force = path.exists() or path.with_name(f".{path.name}-replaced").exists()
        write_run(path, approx, given, how, facts, force=force)

    def answers():
        run = open_run(path)
        return run.texts, run.approx.dense().tobytes()

    both = []
    for letters in ("ab", "xyz"):
        written(letters)
        both.append(answers())

    def check():
        assert answers() in both

    kill_everywhere(lambda: written("ab"), lambda: written("xyz"), check)
    assert answers() == both[1]


def hold(store):
    """Hold a ledger until standard input ends."""
    with fp.Ledger(store).session():
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()


def interrupted(store, log, kind):
    """Run something that writes down every answer, until Ctrl-C."""

    def note(a, b):
        with Path(log).open("a") as file:
            file.write(f"{a} {b}\n")
        return float(np.cos(a - b))

    def slow(a, b):
        time.sleep(0.001)
        return note(a, b)

    async def judge(a, b):
        await asyncio.sleep(0.002)
        return note(a, b)

    if kind == "async":
        similarity = fp.from_async(
            judge, symmetric=True, concurrency=8, chunk=500, name="judge"
        )
    else:
        similarity = fp.from_function(slow, symmetric=True, chunk=500, name="judge")
    try:
        with _workers(kind) as executor:
            fp.approximate(
                range(200), similarity, method="sms", store=store, executor=executor
            )
    except KeyboardInterrupt:
        sys.exit(130)


@contextlib.contextmanager
def _workers(kind):
    if kind == "dask":
        import distributed

        cluster = distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        )
        with cluster, distributed.Client(cluster) as client:
            yield client
    else:
        yield None if kind in ("async", "serial") else kind


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    if name == "kill_often":
        kill_often(*arguments[:4], int(arguments[4]))
    else:
        jobs = (hold, interrupted, kill_repairs, kill_saves, kill_runs, run)
        {job.__name__: job for job in jobs}[name](*arguments)
