"""The benchmark of few evaluations per item: equal budgets, honest figures."""

import json

import numpy as np
import pytest
from benchmarks.few import packing
from benchmarks.few.answers import FromReads, calibrate
from benchmarks.few.command import measured, run
from benchmarks.few.contenders import RIVALS, Setting, evaluations_of
from benchmarks.few.cosines import top_lists, unit_rows
from benchmarks.few.expected import MODULE, expected
from benchmarks.few.losses import LOSS_SETS, losses
from benchmarks.few.measuring import Truth, figures, truth_of
from benchmarks.few.page import DOCS, LINES, render
from benchmarks.few.picture import COLORS
from benchmarks.few.reader import OverBudgetError, Reader
from benchmarks.few.sets import SETS, DataSet
from benchmarks.few.tables import TABLES, shown
from benchmarks.hidden import Rough
from benchmarks.larger import growth
from benchmarks.larger import run as run_larger
from experiments.cells import Results

import fewpairs as fp


class Counted(fp.Similarity):
    """A matrix whose every evaluation is written down."""

    def __init__(self, K):
        self.K, self.seen = K, []

    def bind(self, items):
        outer = self

        class Entries(fp.Scorer):
            n = len(outer.K)

            def pairs(self, i, j):
                outer.seen += zip(np.minimum(i, j).tolist(), np.maximum(i, j).tolist())
                return outer.K[i, j]

        return Entries()


def made(n=105, *, noise=0.25, seed=0):
    """Hidden vectors in groups; the prior is a noisy view of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n // 15, 8))[np.arange(n) % (n // 15)]
    X = unit_rows(X + 0.6 * rng.standard_normal((n, 8)))
    K = (X @ X.T).astype(float) ** 3
    prior = unit_rows(X + noise * rng.standard_normal((n, 8)))
    i, j = np.arange(n // 2), np.arange(n // 2) + 1
    return DataSet("made", Counted((K + K.T) / 2), range(n), prior, (i, j, K[i, j]))


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return truth_of(made(), tmp_path_factory.mktemp("work"))


# --- budgets --------------------------------------------------------------------------


def test_a_reader_refuses_a_pair_beyond_its_budget():
    reader = Reader(made(), allowed=3)
    reader.read(reader.unread(np.array([0, 1, 1]), np.array([1, 2, 0])))
    assert reader.left == 1
    with pytest.raises(OverBudgetError, match="2 pairs asked for, 1 of the budget"):
        reader.read(reader.unread(np.array([3, 5]), np.array([4, 6])))


@pytest.mark.parametrize("per_item", [1, 6, 20])
@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_spends_its_budget_and_evaluates_no_pair_twice(name, per_item):
    data = made()
    allowed = evaluations_of(per_item, data.n)
    answer, _ = Setting(name).answer(data, allowed, 0)
    seen = data.similarity.seen
    assert len(seen) == len(set(seen)) == answer.evaluations == allowed
    assert all(i != j for i, j in seen)
    i, j = np.array(seen).T
    np.testing.assert_array_equal(answer.pairs(j, i), data.similarity.K[i, j])


def test_pairs_per_item_are_half_as_many_distinct_pairs_and_never_more_than_all():
    assert evaluations_of(4, 3_000) == 6_000
    assert evaluations_of(100, 20) == 190


# --- rivals ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(RIVALS) - {"curve"}))
def test_a_rival_that_reads_everything_is_exact(name, truth):
    data = made()
    answer, _ = Setting(name).answer(data, data.n * (data.n - 1) // 2, 0)
    found = figures(answer, data, truth)
    assert found["recall"] == 1
    assert found["r2"] == pytest.approx(1)
    assert found["labels"] == pytest.approx(1)


@pytest.mark.parametrize("name", RIVALS)
def test_the_same_seed_gives_the_same_answer(name, truth):
    first, again = (
        measured(Setting(name), made(), truth, per_item=8, seed=3) for _ in range(2)
    )
    assert {**first, "answering": 0} == {**again, "answering": 0}


@pytest.mark.parametrize("name", ["reranked", "nn-descent", "walk", "axn"])
def test_reading_finds_more_than_the_prior_alone(name, truth):
    prior, _ = Setting("curve").answer(made(), 700, 0)
    answer, _ = Setting(name).answer(made(), 700, 0)
    alone = truth.recall(prior.neighbors(truth.rows, 10))
    assert truth.recall(answer.neighbors(truth.rows, 10)) > alone + 0.02


def test_what_a_ridge_predicts_explains_more_than_the_priors_curve(truth):
    curve, _ = Setting("reranked").answer(made(), 1_000, 0)
    ridge, _ = Setting("axn").answer(made(), 1_000, 0)
    i, j = truth.i, truth.j
    assert truth.r2(ridge.pairs(i, j)) > truth.r2(curve.pairs(i, j))


def test_random_pairs_for_the_curve_do_not_push_out_the_priors_neighbors():
    data = made()
    reader = Reader(data, 60)
    curve = calibrate(reader, np.random.default_rng(0))
    answer = FromReads(reader, curve.pairs)
    rows = np.arange(data.n)
    np.testing.assert_array_equal(answer.neighbors(rows, 10), data.top(10))


def test_top_lists_are_those_of_the_whole_matrix():
    data = made()
    K = data.prior @ data.prior.T
    np.fill_diagonal(K, -np.inf)
    np.testing.assert_array_equal(
        top_lists(data.prior, 5), np.argsort(-K, axis=1)[:, :5]
    )


# --- figures --------------------------------------------------------------------------


def test_items_as_similar_as_the_tenth_count_as_one_of_the_ten():
    near = np.arange(1, 13)
    nothing = np.empty(0)
    truth = Truth(np.array([0]), np.array([0, 12]), near, *[nothing] * 3)
    assert truth.recall(np.arange(3, 13)[None]) == 1
    assert truth.recall(np.arange(8, 18)[None]) == 0.5


def test_an_answer_with_a_neighbor_twice_is_refused():
    nothing = np.empty(0)
    truth = Truth(np.array([0]), np.array([0, 1]), np.array([1]), *[nothing] * 3)
    with pytest.raises(AssertionError, match="10 different items"):
        truth.recall(np.array([[1, 1, 2, 3, 4, 5, 6, 7, 8, 9]]))


def test_the_truth_is_the_matrix_and_is_kept(tmp_path):
    data = made()
    truth = truth_of(data, tmp_path)
    K = data.similarity.K.copy()
    np.testing.assert_allclose(truth.values, K[truth.i, truth.j], rtol=1e-6)
    np.fill_diagonal(K, -np.inf)
    assert truth.recall(np.argsort(-K, axis=1)[:, :10]) == 1
    paid = len(data.similarity.seen)
    truth_of(data, tmp_path)
    assert len(data.similarity.seen) == paid


def test_the_default_is_measured_at_the_same_budget(truth):
    data = made()
    found = measured(Setting("default"), data, truth, per_item=40, seed=0)
    assert found["evaluations"] <= evaluations_of(40, data.n)
    assert len(set(data.similarity.seen)) <= evaluations_of(40, data.n)
    assert found["recall"] > 0.5


# --- cells and page -------------------------------------------------------------------


def test_finished_cells_are_not_run_again(tmp_path, monkeypatch, capsys):
    loaded = []

    def load(name, data, work):
        loaded.append(name)
        return made()

    monkeypatch.setattr("benchmarks.few.command.load", load)
    monkeypatch.setenv("FEWPAIRS_DATA", str(tmp_path))
    path = tmp_path / "few.jsonl"
    words = f"--data stsb --contender reranked --work {tmp_path} --results {path}"
    run([*words.split(), "--budgets", "4"])
    run([*words.split(), "--budgets", "4", "8"])
    run([*words.split(), "--budgets", "4", "8"])
    assert loaded == ["stsb", "stsb"]
    keys = [json.loads(line)["key"] for line in path.read_text().splitlines()]
    assert [key["per item"] for key in keys] == [4, 8]
    run([*words.split(), "--budgets", "4", "--again"])
    assert len(path.read_text().splitlines()) == 3
    assert len(Results(path)) == 2
    assert "stsb 8 reranked 0: recall" in capsys.readouterr().out


def test_the_defaults_cells_can_be_filed_under_another_name(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.few.command.load", lambda *_: made())
    monkeypatch.setenv("FEWPAIRS_DATA", str(tmp_path))
    path = tmp_path / "few.jsonl"
    words = f"--data stsb --work {tmp_path} --results {path} --budgets 40 --no-student"
    run([*words.split(), "--contender", "default", "--as", "default 0.0"])
    ((key, _),) = Results(path)
    assert key["contender"] == "default 0.0"
    assert key["student"] is False


def test_a_table_shows_what_was_run_beside_what_is_to_be_reached(tmp_path):
    results = Results(tmp_path / "few.jsonl")
    for seed, recall in enumerate((0.5, 0.7)):
        key = Setting("default", student=True).key("stsb", 8, seed)
        results.add(key, {"recall": recall, "r2": 0.25}, 0.0)
    text = shown("stsb", results)
    assert "| default, student |  | 0.600 (0.250) |  |  |  |" in text
    assert "| floor | .38 (.25) | .57 (.45) |" in text
    for table in TABLES.values():
        assert all(len(row) == len(table.budgets) for row in table.floors.values())


def test_the_table_of_losses_counts_the_cells_in_which_the_default_is_below(tmp_path):
    results = Results(tmp_path / "few.jsonl")
    for setting, recall, r2 in (
        (Setting("default", student=False), (0.5, 0.4, 0.3), 0.6),
        (Setting("reranked"), (0.4, 0.5, 0.3), 0.1),
        (Setting("default 0.1"), (0.1, 0.1, 0.1), 0.9),
        (Setting("curve"), (0.1, 0.1, 0.1), 0.5),
    ):
        for budget, found in zip((1, 2, 5), recall, strict=True):
            results.add(
                setting.key("mrpc", budget, 0), {"recall": found, "r2": r2}, 0.0
            )
    text = losses(results)
    assert "| MRPC | 0.500 / 0.400 / 0.100 | **0.400 / 0.500 / 0.100** |" in text
    assert "| MRPC | 0.600 / 0.500 |" in text
    assert "Below in 1 of 6 cells." in text
    assert set(LOSS_SETS) <= set(SETS)


def test_the_page_and_its_pictures_are_those_of_the_results(tmp_path):
    from benchmarks.few.command import RESULTS

    render(Results(RESULTS), tmp_path)
    for name in ("few.md", "images/few-light.svg", "images/few-dark.svg"):
        assert (tmp_path / name).read_text("utf-8") == (DOCS / name).read_text("utf-8")
    assert set(COLORS) == set(LINES)
    assert MODULE.read_text("utf-8") == expected(Results(RESULTS))


def test_what_a_plan_lets_expect_is_the_default_and_before_it_was_measured_the_last(
    tmp_path,
):
    results = Results(tmp_path / "few.jsonl")
    for contender, student, recall in (
        ("default 0.1", None, 0.1),
        ("default", None, 0.2),
        ("default", True, 0.4),
    ):
        key = Setting(contender, student=student).key("stsb", 10, 0)
        results.add(key, {"recall": recall, "r2": 0.5, "computing": 3.0}, 0.0)
    assert "Reached(10, (0.2, 0.4), (0.5, 0.5), (0.001, 0.001))," in expected(results)


# --- the folder that travels ----------------------------------------------------------


def test_packed_sentences_are_the_same_data_set(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from benchmarks.few.sets import load
    from experiments.toy import make_data

    from tests.tiny_models import save_tiny

    data = make_data(tmp_path / "data")
    save_tiny(tmp_path / "models" / packing.MODEL)
    rng = np.random.default_rng(0)
    monkeypatch.setattr(
        packing, "_encoded", lambda texts, _: rng.standard_normal((len(texts), 16))
    )
    size = packing.pack(data, tmp_path / "work", tmp_path / "folder")
    assert size < 20e6
    there = packing.packed(tmp_path / "folder")
    here = load("sentences", data, tmp_path / "work")
    assert there.items == here.items
    assert len(set(there.items)) == there.n
    np.testing.assert_array_equal(there.prior, here.prior)
    for a, b in zip(there.labels, here.labels):
        np.testing.assert_array_equal(a, b)
    assert there.similarity.symmetric
    own, other = (dict(one.similarity._models[0].state_dict()) for one in (there, here))
    assert all((own[name] == other[name]).all() for name in own)


def test_rounding_embeddings_to_bytes_moves_cosines_by_less_than_a_hundredth(tmp_path):
    rows = unit_rows(np.random.default_rng(0).standard_normal((200, 64)))
    packing._save(tmp_path / "e.npz", rows)
    restored = packing._restored(tmp_path / "e.npz")
    assert np.abs(restored @ restored.T - rows @ rows.T).max() < 0.01


# --- larger collections ---------------------------------------------------------------


def test_the_made_up_similarity_is_symmetric_rough_and_the_same_in_blocks():
    similarity = Rough(400)
    scorer = similarity.bind(range(400))
    everything = np.arange(400)
    K = scorer.block(everything, everything)
    np.testing.assert_allclose(K, K.T, atol=1e-6)  # products round as they are cut
    i, j = np.triu_indices(400, 1)
    np.testing.assert_allclose(scorer.pairs(i, j), K[i, j], atol=1e-6)
    spectrum = np.sort(np.abs(np.linalg.eigvalsh(K)))[::-1]
    assert spectrum[100:].sum() > 0.05 * spectrum.sum()


def test_growth_runs_every_size_once_and_tells_the_exponent(tmp_path, capsys):
    from argparse import Namespace

    options = Namespace(
        sizes=[400, 200],
        per_item=20,
        student=False,
        machine="a test",
        again=False,
        results=tmp_path / "larger.jsonl",
    )
    results = Results(options.results)
    for size in options.sizes:
        key = {
            "items": size,
            "per item": 20,
            "student": False,
            "machine": "a test",
        }
        value = dict.fromkeys(
            ("total", "neighbors", "memory", "recall", "prior's recall", "r2"), 1.0
        ) | {"processor": 2.0}
        results.add(key, {**value, "outside": size**2 / 1e4}, 1.0)
    growth(options)
    assert "exponent of n, first to last" in (said := capsys.readouterr().out)
    assert "2.00   goal ≤ 1.15" in said


def test_the_page_of_scale_shows_what_was_measured_and_its_exponent(tmp_path):
    results, page = Results(tmp_path / "larger.jsonl"), tmp_path / "scale.md"
    for size in (1_000, 100_000):
        key = {"items": size, "per item": 20, "student": None, "machine": "a test"}
        names = ("total", "recall", "prior's recall", "r2")
        value = dict.fromkeys(names, 0.25) | {"memory": 4e3 * size}
        results.add(key, value | {"outside": size**1.1, "processor": size}, 1.0)
    run_larger(["--render", "--results", str(results.path), "--page", str(page)])
    text = page.read_text(encoding="utf-8")
    assert "| 100,000 | 0 | 316228 | 100000 | 0.4 | 0.250 | 0.250 | 0.250 |" in text
    assert "seconds outside grow as n^1.10, processor seconds as n^1.00" in text
    assert "4.0 kB per item, from 1,000 to 100,000 items: 40 GB" in text
