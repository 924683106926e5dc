"""Experiments run at toy size, go on where they stopped, and the page is theirs."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from experiments.cells import Cell, Results, run_cells
from experiments.data import HASHES, DataError, check
from experiments.manifest import MANIFEST
from experiments.render import DOCS, render

import fewpairs as fp

pytest.importorskip("torch")
NAMES = [one.name for one in MANIFEST]


def silence(_):
    pass


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Every experiment at toy size: the data, and the folder of results."""
    from experiments.toy import make_data

    place = tmp_path_factory.mktemp("toy")
    return make_data(place / "data"), place / "results"


# --- the manifest ---------------------------------------------------------------------


@pytest.mark.parametrize("one", MANIFEST, ids=NAMES)
def test_every_entry_has_a_script_a_command_and_hashed_data(one):
    assert one.script.exists()
    for where in (one.cells, one.section):
        module, _, name = where.partition(":")
        assert callable(getattr(import_module(module), name))
    assert one.seeds
    assert set(one.files) <= set(HASHES)
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    assert one.command == f"make reproduce-{one.name}"
    assert "reproduce-%:" in makefile


@pytest.mark.parametrize("one", MANIFEST, ids=NAMES)
def test_every_entry_has_a_result_and_figures_or_says_that_it_was_not_run(one):
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {one.name}\n")[2].partition("\n## ")[0]
    assert one.command in section
    found = Results(one.result)
    if not len(found):
        assert "Not run yet." in section
        return
    assert ("Not finished" in section) == (not found.complete)
    for figure in one.figures:
        assert (DOCS / "figures" / figure).stat().st_size > 1_000
        assert f"figures/{figure}" in section


def test_the_page_is_what_the_results_say(tmp_path, monkeypatch):
    # Texts are compared; that every figure is drawn is claimed of toy results.
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
    render(docs=tmp_path)
    made = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert made == (DOCS / "reproduction.md").read_text(encoding="utf-8")


# --- running --------------------------------------------------------------------------


@pytest.mark.parametrize("one", MANIFEST, ids=NAMES)
def test_runs_at_toy_size_and_goes_on_where_it_stopped(one, toy):
    data, folder = toy
    results = Results(folder / one.result.name)
    done = []
    run_cells(one.all_cells(data, toy=True), results, done.append)
    assert len(done) == len(results) > 0
    assert results.complete
    again = Results(results.path)
    run_cells(one.all_cells(data, toy=True), again, done.append)
    assert len(done) == len(again)


def test_toy_results_make_a_page_with_all_figures(toy, tmp_path):
    data, folder = toy
    for one in MANIFEST:
        results = Results(folder / one.result.name)
        run_cells(one.all_cells(data, toy=True), results, silence)
    render(folder, tmp_path)
    page = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert "Not run yet." not in page
    for one in MANIFEST:
        for figure in one.figures:
            assert (tmp_path / "figures" / figure).exists()


def test_a_line_that_a_kill_has_cut_is_run_again(tmp_path):
    path = tmp_path / "x.jsonl"
    calls = Counter()

    def cell(name):
        def compute():
            calls[name] += 1
            return {"value": float(len(name))}

        return Cell({"name": name}, compute)

    run_cells([cell("a"), cell("bc")], Results(path), silence)
    text = path.read_text(encoding="utf-8")
    second = text.index("\n") + 1
    path.write_text(text[: second + 20], encoding="utf-8")
    results = Results(path)
    assert len(results) == 1
    assert not results.complete
    run_cells([cell("a"), cell("bc")], results, silence)
    assert calls == {"a": 1, "bc": 2}
    assert Results(path).one(name="bc") == {"value": 2.0}
    for line in path.read_text(encoding="utf-8").splitlines():
        json.loads(line)


def test_what_is_not_finite_is_kept_as_null(tmp_path):
    path = tmp_path / "x.jsonl"
    value = {"error": [float("inf"), np.float64(1.23456789)], "n": np.int64(3)}
    run_cells([Cell({"k": 1}, lambda: value)], Results(path), silence)
    assert Results(path).one(k=1) == {"error": [None, 1.23457], "n": 3}


def test_peers_run_at_toy_size_and_make_a_page(toy, tmp_path):
    from experiments import peers
    from experiments.render_peers import page

    pytest.importorskip("gensim")
    data, _ = toy
    results = Results(tmp_path / "peers.jsonl")
    run_cells(peers.cells(data, toy=True), results, silence)
    for key, value in results:
        assert 0 <= value["recall"] <= 1
        if "all pairs" in key["library"]:
            assert value["recall"] > 0.95, key
            assert value["error"] < 1e-3, key
    assert "Not run yet" not in page(results)


# --- data -----------------------------------------------------------------------------


def test_other_data_are_refused(toy):
    data, _ = toy
    with pytest.raises(DataError, match="about other data"):
        check(data, ("twitter/twitter.txt",))
    with pytest.raises(DataError, match="its source"):
        check(data, ("recipe/train.json.zip",))


@pytest.mark.needs_data
def test_ecb_has_the_mentions_and_clusters_of_the_usual_split(data_folder):
    from experiments.ecb import read, split_of

    sentences, mentions = read(data_folder)
    assert len(sentences) == 1840
    counts = {
        event: [
            sum(
                split_of(m.sentence.topic) == split
                for m in mentions
                if m.event == event
            )
            for split in ("train", "dev", "test")
        ]
        for event in (True, False)
    }
    assert counts == {True: [3808, 1245, 1780], False: [4758, 1476, 2055]}
    clusters = {
        event: [
            len(
                {
                    m.cluster
                    for m in mentions
                    if m.event == event and split_of(m.sentence.topic) == split
                }
            )
            for split in ("train", "dev", "test")
        ]
        for event in (True, False)
    }
    assert clusters == {True: [1527, 409, 805], False: [1286, 330, 608]}


@pytest.mark.needs_data
@pytest.mark.parametrize(
    ("name", "train", "test"),
    [("twitter", 2176, 932), ("ohsumed", 3999, 5153)],
)
def test_corpora_have_the_papers_split(data_folder, name, train, test):
    from experiments.corpora import corpus

    texts = corpus(data_folder, name)
    assert (len(texts.train), len(texts.test)) == (train, test)
    assert not set(texts.train) & set(texts.test)


# --- parts ----------------------------------------------------------------------------


def test_a_fine_tuned_toy_makes_matrices_in_the_published_form(toy, tmp_path):
    from experiments.glue_tasks import read_task
    from experiments.glue_training import all_pairs, fine_tune
    from experiments.matrices import glue
    from experiments.toy import tiny_encoder

    data, _ = toy
    encoder = tiny_encoder(tmp_path / "encoder")
    out = tmp_path / "matrices"
    train, dev = (read_task(data, "mrpc", split) for split in ("train", "dev"))
    fine_tune(train, encoder, tmp_path / "model", task="mrpc", epochs=1, batch=8)
    out.mkdir()
    all_pairs(dev, tmp_path / "model", encoder, out, task="mrpc", device="cpu")
    made = glue(tmp_path, "mrpc")
    n = 2 * len(dev.labels)
    assert made.raw.shape == (n, n)
    assert made.gold.tolist() == dev.labels
    assert (made.second - made.first == len(dev.labels)).all()
    assert made.embeddings.shape[0] == n
    assert np.abs(made.raw - made.raw.T).max() > 0


def test_linkage_and_scores_of_a_perfect_matrix_are_perfect():
    from experiments.coreference import link, score
    from experiments.coreference_model import Topic

    clusters = np.array([0, 0, 1, 1, 1, 2])
    K = (clusters[:, None] == clusters[None, :]).astype(np.float32)

    def topic(name):
        gold = {f"{name}{t}": str(label) for t, label in enumerate(clusters)}
        return Topic(K, K, list(gold), gold)

    found = score([topic("a"), topic("b")], [link(K, 0.5), link(K, 0.5)])
    assert found["conll"] == found["conll, all"] == found["harmonic"] == 100
    apart = score([topic("a")], [link(K, 1.5)])
    assert apart["conll"] == 0


@pytest.mark.parametrize("kind", ["everything", "pool"])
def test_stored_distances_are_those_of_the_similarity(kind, toy):
    from experiments.corpora import corpus, glove
    from experiments.distances import Everything, Pool, StoredWMD

    data, _ = toy
    texts = corpus(data, "twitter")
    known = (
        Everything(data, "twitter", toy=True)
        if kind == "everything"
        else Pool(data, "twitter", 12, toy=True)
    )
    if kind == "pool":
        assert set(known.landmarks) <= set(texts.train)
    where = np.arange(len(texts.words))
    exact = fp.WMD(glove(data), gamma=3.0).bind(texts.words).block(where, where)
    stored = StoredWMD(known, 3.0).bind(where)
    np.testing.assert_allclose(stored.block(where, where), exact, atol=1e-5)
    i, j = np.random.default_rng(0).integers(len(where), size=(2, 300))
    np.testing.assert_allclose(stored.pairs(i, j), exact[i, j], atol=1e-5)


def test_splits_are_all_of_the_documents_and_official_ones_stay(toy):
    from experiments.corpora import corpus

    data, _ = toy
    texts = corpus(data, "twitter")
    other = texts.split(1)
    assert set(other.train) | set(other.test) == set(range(len(texts.words)))
    assert not set(other.train) & set(other.test)
    assert set(other.train) != set(texts.train)
    with pytest.raises(ValueError, match="split of its own"):
        replace(texts, official=True).split(1)


def test_a_pool_grows_from_what_the_ledger_has(toy):
    from experiments.corpora import corpus
    from experiments.data import workshop
    from experiments.distances import pool

    data, _ = toy
    path = workshop(data, toy=True) / "twitter-pool"
    shutil.rmtree(path, ignore_errors=True)
    n = len(corpus(data, "twitter").words)

    def paid_for():
        ledger = fp.Ledger(path)
        ledger.load()
        return ledger.evaluations

    first, _ = pool(data, "twitter", 20, toy=True)
    assert paid_for() == 20 * n - 20 * 21 // 2
    told = []
    pool(data, "twitter", 20, toy=True, tell=told.append)
    assert not told
    more, grown = pool(data, "twitter", 30, toy=True, tell=told.append)
    assert told == ["twitter-pool: 30 of 30 columns of distances"]
    assert paid_for() == 30 * n - 30 * 31 // 2
    np.testing.assert_array_equal(more[:20], first)
    shutil.rmtree(path)
    again, afresh = pool(data, "twitter", 30, toy=True)
    np.testing.assert_array_equal(again, more)
    np.testing.assert_allclose(grown, afresh, atol=1e-6)


def test_copies_of_a_document_are_validated_together():
    from experiments.classification import _folds
    from experiments.corpora import Corpus

    words = [["cat"], ["dog"], ["cat"], ["bread"], ["tea"], ["dog"], ["milk"], ["rice"]]
    labels = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    everyone = np.arange(len(words))
    texts = Corpus(words, labels, everyone, everyone[:0], official=True, copied=True)
    folds = _folds(texts, 2)
    for train, judged in folds:
        seen = {tuple(words[t]) for t in train}
        assert not any(tuple(words[t]) in seen for t in judged)
    everyone_judged = np.sort(np.concatenate([judged for _, judged in folds]))
    np.testing.assert_array_equal(everyone_judged, everyone)
