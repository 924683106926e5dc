"""A pass over all pairs: exact, each pair once, the same whoever does it."""

from functools import partial

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.answers.all_pairs import AllPairs
from fewpairs.execution import PortableScorer, assemble
from fewpairs.kernels.linalg import top_lists
from fewpairs.kernels.linalg.top_lists import TopLists
from fewpairs.ledger import pass_records
from fewpairs.ledger.ledger import Ledger
from fewpairs.ledger.opening import identity_of
from fewpairs.matrix.tiles import TileGrid
from fewpairs.reading.opening import open_oracle
from tests.children import Touchy
from tests.conftest import Counting, random_matrix


def off_diagonal(K):
    out = np.array(K, dtype=float)
    np.fill_diagonal(out, -np.inf)
    return out


def best(K, k):
    """Positions of the k largest others; of equal ones, the lower first."""
    return np.argsort(-off_diagonal(K), axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize(("n", "chunk"), [(2, 1), (7, 4), (100, 10_000), (333, 900)])
def test_tiles_hold_every_pair_once_and_lower_positions_first(n, chunk):
    seen = np.zeros((n, n), dtype=int)
    last = np.full(n, -1)
    for tile in TileGrid(n, chunk):
        assert tile.pairs <= chunk or tile.pairs == 1
        block = np.ix_(tile.rows, tile.columns)
        pairs = np.ones((len(tile.rows), len(tile.columns)), dtype=int)
        seen[block] += np.triu(pairs, 1) if tile.triangle else pairs
        if not tile.triangle:
            assert (last[tile.rows] < tile.left).all()
            assert (last[tile.columns] < tile.top).all()
            last[tile.rows] = tile.right - 1
            last[tile.columns] = np.maximum(last[tile.columns], tile.bottom - 1)
    assert np.array_equal(seen, np.triu(np.ones((n, n), dtype=int), 1))


@pytest.mark.parametrize("levels", [2, 5, 1_000_000])
@pytest.mark.parametrize("k", [1, 7, 149])
def test_top_lists_are_those_of_a_stable_sort_also_with_ties(monkeypatch, levels, k):
    monkeypatch.setattr(top_lists, "_PENDING", 50)
    rng = np.random.default_rng(levels)
    K = np.triu(rng.integers(levels, size=(150, 150)).astype(np.float32), 1)
    K = K + K.T
    lists = TopLists(150, k, K.dtype)
    for tile in TileGrid(150, 700):
        values = K[np.ix_(tile.rows, tile.columns)]
        if tile.triangle:
            values[np.tril_indices(len(values))] = -np.inf
        lists.add(values, tile.top, tile.left)
    partner, value = lists.result()
    assert np.array_equal(partner, best(K, k))
    assert np.array_equal(value, np.take_along_axis(K, best(K, k), axis=1))


def swept(similarity, n, *, executor=None, ledger=None, **wanted):
    """Run a pass; return it, and its oracle."""
    ledger = Ledger() if ledger is None else ledger
    scorer = similarity.bind(range(n))
    workers = assemble(executor, PortableScorer(scorer, similarity, range(n)))
    try:
        with ledger.session():
            oracle = open_oracle(
                scorer,
                similarity,
                ledger=ledger,
                workers=workers,
                identity=partial(identity_of, similarity, list(range(n))),
            )
            sweep = AllPairs(oracle, ledger.passes, scorer.dtype, **wanted)
            sweep.run()
    finally:
        workers.close()
    return sweep, oracle


@pytest.mark.parametrize("executor", ["serial", "threads:3"])
@pytest.mark.parametrize("chunk", [1, 50, 10_000])
def test_lists_pairs_and_moments_are_those_of_the_matrix(executor, chunk):
    K = random_matrix(83, symmetric=True)
    calls = Counting(K)
    similarity = fp.from_function(calls, symmetric=True, chunk=chunk)
    sweep, oracle = swept(similarity, 83, executor=executor, k=5, threshold=1.0)
    indices, similarities = sweep.neighbors()
    assert np.array_equal(indices, best(K, 5))
    assert np.array_equal(similarities, np.take_along_axis(K, indices, axis=1))
    i, j, values = sweep.above()
    assert {*zip(i, j)} == {*zip(*np.nonzero(np.triu(K >= 1.0, 1)))}
    assert np.array_equal(values, K[i, j])
    assert (np.diff(values) <= 0).all()
    upper = K[np.triu_indices(83, 1)]
    moments = sweep.moments()
    assert moments.number == len(upper)
    assert np.allclose(moments[1:], [upper.sum(), upper @ upper])
    pairs = {frozenset(pair) for pair in calls.calls}
    assert len(pairs) == 83 * 82 // 2
    assert oracle.evaluations == len(calls.calls) == len(pairs) + 8  # mirror images


def test_both_orders_of_an_asymmetric_similarity_are_averaged_and_paid_for():
    A = random_matrix(40, symmetric=False)
    similarity = fp.from_function(Counting(A), symmetric=False, chunk=60)
    sweep, oracle = swept(similarity, 40, k=3)
    assert np.array_equal(sweep.neighbors()[0], best((A + A.T) / 2, 3))
    assert oracle.evaluations == 40 * 39


def test_what_a_ledger_knows_is_not_evaluated_again():
    K = random_matrix(60, symmetric=True)
    calls = Counting(K)
    similarity = fp.from_function(calls, symmetric=True, chunk=100, name="counted")
    ledger = Ledger()
    fp.approximate(range(60), similarity, budget=0.4, method="nystrom", store=ledger)
    paid = len(calls.calls)
    sweep, oracle = swept(similarity, 60, ledger=ledger, k=4)
    assert np.array_equal(sweep.neighbors()[0], best(K, 4))
    assert len(calls.calls) - paid == oracle.evaluations < 60 * 59 // 2
    assert len({frozenset(pair) for pair in calls.calls}) + 8 >= len(calls.calls)


def test_an_error_keeps_what_was_found_and_the_rest_alone_is_paid_for():
    K = random_matrix(60, symmetric=True)
    good, seen = Counting(K), []

    def fails(a, b):
        if len(seen) == 900:
            raise RuntimeError("the service is down")
        seen.append((a, b))
        return K[a, b]

    def similarity(function):
        return fp.from_function(
            function, symmetric=True, diagonal=1.0, chunk=50, name="judge"
        )

    ledger = Ledger(trust=True)
    with pytest.raises(fp.SimilarityError, match="the service is down") as caught:
        swept(similarity(fails), 60, ledger=ledger, k=4)
    assert caught.value.ledger is ledger
    sweep, _ = swept(similarity(good), 60, ledger=ledger, k=4)
    assert np.array_equal(sweep.neighbors()[0], best(K, 4))
    assert len(seen) + len(good.calls) == 60 * 59 // 2 + 8


def test_ctrl_c_keeps_the_tiles_that_are_whole(tmp_path):
    calm, _ = swept(Touchy(), 150, k=6)
    done = []

    class Stopped(Touchy):
        name = "Touchy"

        def bind(self, items):
            scorer = super().bind(items)
            score = scorer.block

            def block(rows, columns):
                done.append(len(rows) * len(columns))
                if len(done) == 40:
                    raise KeyboardInterrupt
                return score(rows, columns)

            scorer.block = block
            return scorer

    with pytest.raises(KeyboardInterrupt):
        swept(Stopped(), 150, ledger=Ledger(tmp_path), k=6)
    sweep, oracle = swept(Touchy(), 150, ledger=Ledger(tmp_path), k=6)
    for ours, theirs in zip(sweep.neighbors(), calm.neighbors()):
        assert np.array_equal(ours, theirs)
    assert oracle.evaluations < 150 * 149 // 2 - sum(done[:38])


def test_a_finished_pass_on_disk_is_free_the_second_time(tmp_path):
    first, _ = swept(Touchy(), 150, ledger=Ledger(tmp_path), k=6, threshold=0.9)
    again, oracle = swept(Touchy(), 150, ledger=Ledger(tmp_path), k=6, threshold=0.9)
    assert oracle.evaluations == 0
    assert again.moments() == first.moments()
    for name in ("neighbors", "above"):
        for ours, theirs in zip(getattr(again, name)(), getattr(first, name)()):
            assert np.array_equal(ours, theirs)


def test_a_damaged_record_is_told_of_and_set_aside(tmp_path):
    swept(Touchy(), 150, ledger=Ledger(tmp_path), k=6)
    (record,) = tmp_path.glob("passes/*.npz")
    data = bytearray(record.read_bytes())
    data[len(data) // 2] ^= 1
    record.write_bytes(data)
    with pytest.raises(fp.StoreError, match=r"how far a pass .* is damaged"):
        swept(Touchy(), 150, ledger=Ledger(tmp_path), k=6)
    assert Ledger(tmp_path).repair() == 1
    _, oracle = swept(Touchy(), 150, ledger=Ledger(tmp_path), k=6)
    assert oracle.evaluations == 150 * 149 // 2


def test_records_take_a_part_of_the_time(monkeypatch, tmp_path):
    clock = [0.0]
    monkeypatch.setattr(pass_records.time, "monotonic", lambda: clock[0])
    records = Ledger(tmp_path).passes
    assert records.due
    monkeypatch.setattr(
        records._store, "write_file", lambda *_: clock.__setitem__(0, clock[0] + 0.1)
    )
    records.write("a", {})
    assert not records.due
    clock[0] += 1.9
    assert not records.due
    clock[0] += 0.2
    assert records.due


def test_a_threshold_that_nearly_all_pairs_reach_is_refused_with_its_memory(
    monkeypatch,
):
    monkeypatch.setattr("fewpairs.answers.all_pairs._MANY", 10)
    monkeypatch.setattr("fewpairs.answers.all_pairs.available_memory", lambda: 50_000)
    with pytest.raises(
        fp.InputError, match=r"about [\d,]+ pairs are at least -2 similar; listing"
    ):
        swept(Touchy(), 400, threshold=-2.0, moments=False)
