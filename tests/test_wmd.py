"""Word mover's distance: exact, whatever the masses, costs and shapes."""

import gzip
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

import fewpairs as fp
from fewpairs.kernels.linalg import blas_threads
from fewpairs.kernels.wmd import documents, simd, transport, word_movers
from fewpairs.kernels.wmd.reference import transport as reference
from fewpairs.similarity.wmd.word_vectors import word_vectors
from fewpairs.testing import check_similarity
from tests.conftest import Told

WORDS = [f"w{t}" for t in range(400)]


def vectors(seed=0, d=12):
    return np.random.default_rng(seed).standard_normal((len(WORDS), d))


def random_texts(count, *, longest=30, seed=0):
    rng = np.random.default_rng(seed)
    return [
        list(rng.choice(WORDS, size=rng.integers(1, longest + 1))) for _ in range(count)
    ]


def by_pot(scorer, i, j):
    """The distance by POT, from the scorer's own bags."""
    vectors, _, bags, _ = scorer._corpus
    a, b = (slice(bags.start[d], bags.start[d + 1]) for d in (i, j))
    costs = cdist(vectors[bags.word[a]], vectors[bags.word[b]])
    masses = [bags.mass[part] / bags.mass[part].sum() for part in (a, b)]
    return ot.emd2(*masses, costs, numItermax=10**7)


def assert_exact(scorer, rows, columns, rel=1e-9):
    found = scorer.distances(rows, columns)
    expected = np.array([[by_pot(scorer, i, j) for j in columns] for i in rows])
    scale = max(expected.max(), 1e-300)
    assert np.abs(found - expected).max() <= rel * scale
    positive = expected > 1e-6 * scale
    assert (np.abs(found - expected) <= rel * expected)[positive].all()
    pairs = scorer.pair_distances(
        np.repeat(rows, len(columns)), np.tile(columns, len(rows))
    )
    assert np.abs(pairs.reshape(found.shape) - found).max() <= 1e-12 * scale
    assert scorer.fallbacks == 0


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("normalize", [True, False])
def test_distances_are_those_of_pot(weights, normalize):
    similarity = fp.WMD((WORDS, vectors()), weights=weights, normalize=normalize)
    scorer = similarity.bind(random_texts(60))
    assert_exact(scorer, np.arange(8), np.arange(60))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_tolerances_scale_with_the_costs(scale):
    similarity = fp.WMD((WORDS, scale * vectors()), normalize=False)
    assert_exact(similarity.bind(random_texts(40)), np.arange(6), np.arange(40))


def test_one_word_documents_and_identical_documents():
    texts = [["w1"], ["w1", "w1"], ["w2"], ["w2", "w1"], ["w1", "w2"], ["w3", "w4"]]
    scorer = fp.WMD((WORDS, vectors())).bind(texts)
    everything = np.arange(6)
    assert_exact(scorer, everything, everything)
    D = scorer.distances(everything, everything)
    assert D[0, 1] == D[3, 4] == 0.0
    assert np.array_equal(np.diagonal(D), np.zeros(6))


def test_equal_masses_are_degenerate_and_still_exact():
    rng = np.random.default_rng(1)
    texts = [list(rng.choice(WORDS, size=24, replace=False)) for _ in range(30)]
    assert_exact(fp.WMD((WORDS, vectors())).bind(texts), np.arange(6), np.arange(30))
    grid = np.array([[t % 20, t // 20] for t in range(400)], dtype=float)  # many ties
    scorer = fp.WMD((WORDS, grid), normalize=False).bind(texts)
    assert_exact(scorer, np.arange(6), np.arange(30))


def test_duplicate_vectors_are_at_no_distance():
    X = vectors()
    X[200:] = X[:200]
    texts = [[f"w{t}" for t in range(k, k + 9)] for k in (0, 5, 200, 205)]
    scorer = fp.WMD((WORDS, X)).bind(texts)
    assert_exact(scorer, np.arange(4), np.arange(4))
    assert scorer.distances(np.array([0]), np.array([2]))[0, 0] == 0.0


def test_nearly_equal_vectors_do_not_cancel():
    X = 1e3 + 1e-5 * vectors()
    scorer = fp.WMD((WORDS, X), normalize=False).bind(random_texts(20))
    assert_exact(scorer, np.arange(4), np.arange(20))


def test_masses_over_twelve_decades():
    rng = np.random.default_rng(2)
    n, m = 30, 37
    x, y = rng.standard_normal((n, 5)), rng.standard_normal((m, 5))
    cost = cdist(x, y)
    for _ in range(20):
        a, b = 10 ** rng.uniform(-12, 0, n), 10 ** rng.uniform(-12, 0, m)
        a, b = a / a.sum(), b / b.sum()
        expected = ot.emd2(a, b, cost)
        assert solved(a, b, cost) == pytest.approx(expected, rel=1e-9)
        assert reference(a, b, cost) == pytest.approx(expected, rel=1e-9)


def solved(supply, demand, cost, scale=None):
    n, m = cost.shape
    width = -(-m // 8) * 8
    flat = np.full((n, width), transport.INFINITE)
    flat[:, :m] = cost
    offer = np.full(width, transport.INFINITE)
    offer[:m] = -cost.min(axis=0)
    tree = transport.new_workspace(n + width)
    tolerance = 1e-13 * (cost.max() if scale is None else scale)
    return transport.solve(
        flat.ravel(), n, m, supply, demand.copy(), offer, tree, tolerance
    )


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (7, 50), (64, 64)])
def test_the_kernel_its_twin_and_pot_agree(shape):
    rng = np.random.default_rng(3)
    for kind in ("random", "integer", "constant"):
        cost = rng.random(shape)
        if kind == "integer":
            cost = np.floor(4 * cost)
        if kind == "constant":
            cost[:] = 2.0
        a, b = (rng.integers(1, 9, size).astype(float) for size in shape)
        a, b = a / a.sum(), b / b.sum()
        expected = ot.emd2(a, b, cost)
        assert solved(a, b, cost) == pytest.approx(expected, rel=1e-9, abs=1e-14)
        assert reference(a, b, cost) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_thousand_word_document():
    words = [f"v{t}" for t in range(1_500)]
    X = np.random.default_rng(4).standard_normal((1_500, 8))
    texts = [words[:1_000], words[400:1_400], words[1_490:]]
    scorer = fp.WMD((words, X)).bind(texts)
    assert_exact(scorer, np.arange(1), np.arange(3))


def test_where_the_solver_gives_up_linear_programming_steps_in(monkeypatch):
    scorer = fp.WMD((WORDS, vectors())).bind(random_texts(8))
    everything = np.arange(8)
    expected = scorer.distances(everything, everything)

    def gives_up(*arguments):
        arguments[-1][:] = transport.GAVE_UP

    monkeypatch.setattr(documents, "tile_distances", gives_up)
    found = scorer.distances(everything, everything)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert scorer.fallbacks == 8 * 8
    monkeypatch.setattr(documents, "pair_distances", gives_up)
    found = scorer.pair_distances(everything[:-1], everything[1:])
    assert np.allclose(found, expected.diagonal(1), rtol=1e-9, atol=1e-12)
    assert scorer.fallbacks == 8 * 8 + 7


def test_results_do_not_depend_on_the_shape_of_blocks_or_on_threads():
    texts = random_texts(50)
    one = fp.WMD((WORDS, vectors()), threads=1).bind(texts)
    two = fp.WMD((WORDS, vectors()), threads=2).bind(texts)
    everything = np.arange(50)
    whole = one.distances(everything, everything)
    assert np.abs(whole - two.distances(everything, everything)).max() < 1e-12
    assert np.abs(whole - whole.T).max() < 1e-12
    for part in (everything[:1], everything[3:20], everything[::-1]):
        assert np.abs(one.distances(part, everything) - whole[part]).max() < 1e-12
        assert np.abs(one.distances(everything, part) - whole[:, part]).max() < 1e-12


def test_an_environment_variable_forces_the_reference(monkeypatch):
    texts = random_texts(12, longest=6)
    similarity = fp.WMD((WORDS, vectors()))
    native = similarity.bind(texts)
    monkeypatch.setenv("FEWPAIRS_KERNEL", "reference")
    twin = similarity.bind(texts)
    monkeypatch.undo()
    assert twin.backend == "SciPy's linear programming"
    rows, columns = np.arange(4), np.arange(12)
    for what in ("distances", "lower_bounds"):
        found = getattr(twin, what)(rows, columns)
        expected = getattr(native, what)(rows, columns)
        assert found.shape == (4, 12)
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)
    found = twin.pair_distances(columns, columns[::-1])
    assert np.allclose(found, native.pair_distances(columns, columns[::-1]), atol=1e-12)
    assert twin.fallbacks == 0
    monkeypatch.setenv("FEWPAIRS_KERNEL", "fast")
    with pytest.raises(fp.InputError, match="FEWPAIRS_KERNEL is 'fast'; set it to"):
        similarity.bind(texts)


def test_the_reference_needs_no_numba():
    code = (
        "import os, sys; sys.modules['numba'] = None\n"
        "os.environ['FEWPAIRS_KERNEL'] = 'reference'\n"
        "import numpy as np, fewpairs as fp\n"
        "wmd = fp.WMD((['a', 'b'], [[0.0], [3.0]]), normalize=False)\n"
        "scorer = wmd.bind(['a', 'b'])\n"
        "print(scorer.distances(np.arange(2), np.arange(2)).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[[0.0, 3.0], [3.0, 0.0]]"


def test_compiling_is_told_once_and_before_anything_is_evaluated(monkeypatch):
    texts, similarity = random_texts(30), fp.WMD((WORDS, vectors()))
    told = Told()
    monkeypatch.setattr(documents, "is_compiled", lambda: False)
    fp.approximate(texts, similarity, budget=0.5, progress=told)
    compiling = "compiling word mover's distance, once on this machine"
    assert [stage for stage, _ in told.stages] == [compiling, "evaluating"]
    assert told.finished
    monkeypatch.undo()
    assert documents.is_compiled()  # by the run before
    told = Told()
    fp.approximate(texts, similarity, budget=0.5, progress=told)
    assert [stage for stage, _ in told.stages] == ["evaluating"]


def test_native_code_is_kept_on_disk_and_found_there(tmp_path):
    code = (
        "import numpy as np\n"
        "from fewpairs.kernels.wmd import documents, word_movers\n"
        "heard = []\n"
        "found = documents.is_compiled()\n"
        "word_movers.prepare(heard.append)\n"
        "misses = sum(documents.tile_distances.stats.cache_misses.values())\n"
        "print(found, len(heard), misses)"
    )

    def run():
        return subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        ).stdout.split()

    assert run() == ["False", "1", "1"]
    assert run() == ["True", "0", "0"]


def test_views_and_read_only_positions_compile_nothing_new():
    scorer = fp.WMD((WORDS, vectors()), threads=2).bind(random_texts(40))
    scorer.prepare(lambda what: None)
    before = [
        len(f.signatures) for f in (documents.tile_distances, documents.pair_distances)
    ]
    pairs = np.arange(40).reshape(20, 2)
    pairs.flags.writeable = False
    scorer.pair_distances(pairs[:, 0], pairs[::-1, 1])
    scorer.distances(pairs[:, 0], pairs[:, 1])
    scorer.distances(pairs[:1, 0], pairs[:, 1])
    scorer.lower_bounds(pairs[:, 0], pairs[:1, 1])
    after = [
        len(f.signatures) for f in (documents.tile_distances, documents.pair_distances)
    ]
    assert after == before


def test_tiles_of_any_size_give_the_same(monkeypatch):
    # Few rows: columns are shared out too. Tiny tiles: an anchor each.
    scorer = fp.WMD((WORDS, vectors()), threads=2).bind(random_texts(120))
    few, all_of_them = np.arange(3), np.arange(120)
    whole = scorer.distances(few, all_of_them)
    bounds = scorer.lower_bounds(few, all_of_them)
    monkeypatch.setattr(word_movers, "_TASK", 50)
    monkeypatch.setattr(word_movers, "_PRODUCTS", 100)
    tiles = word_movers._tiles(scorer._corpus, few, all_of_them, threads=2)
    assert len({tile[1].columns.start for tile in tiles}) > 2
    assert np.abs(scorer.distances(few, all_of_them) - whole).max() < 1e-12
    assert np.abs(scorer.lower_bounds(few, all_of_them) - bounds).max() < 1e-12
    assert np.abs(scorer.distances(all_of_them, few).T - whole).max() < 1e-12


def test_the_number_of_blas_threads_is_put_back(monkeypatch):
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def now():
        found = threadpoolctl.threadpool_info()
        return {lib["num_threads"] for lib in found if lib["user_api"] == "blas"}

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        with blas_threads.single_threaded(), blas_threads.single_threaded():
            assert now() == {1}
        assert now() == {2}
        one, two = blas_threads.single_threaded(), blas_threads.single_threaded()
        one.__enter__()
        two.__enter__()
        one.__exit__(None, None, None)  # ends before the one that began later
        assert now() == {1}
        two.__exit__(None, None, None)
        assert now() == {2}


def test_lower_bounds_never_exceed_the_distance_and_come_close():
    scorer = fp.WMD((WORDS, vectors())).bind(random_texts(60))
    everything = np.arange(60)
    exact = scorer.distances(everything, everything)
    bound = scorer.lower_bounds(everything, everything)
    assert (bound <= exact + 1e-12).all()
    off = ~np.eye(60, dtype=bool)
    assert np.mean(bound[off] / exact[off]) > 0.7


def test_the_contract_and_the_whole_way():
    similarity = fp.WMD((WORDS, vectors()), gamma=0.7)
    texts = random_texts(80)
    check_similarity(similarity, texts)
    approx = fp.approximate(texts, similarity, method="sms", budget=0.3)
    i, j = np.array([3, 5]), np.array([9, 70])
    truth = similarity.bind(texts).pairs(i, j)
    known, values = approx.known.lookup(i, j)
    assert np.allclose(values[known], truth[known])
    assert approx.certificate.relative_error < 0.2


def test_another_gamma_is_a_power():
    texts = random_texts(10)
    one = fp.WMD((WORDS, vectors()), gamma=1.0)
    everything = np.arange(10)
    base = one.bind(texts).block(everything, everything)
    other = one.with_gamma(2.5).bind(texts).block(everything, everything)
    assert np.allclose(other, base**2.5)


def test_another_gamma_takes_no_new_evaluation():
    texts = random_texts(60)
    one = fp.WMD((WORDS, vectors()), gamma=1.0)
    ledger = fp.Ledger()
    fp.approximate(texts, one, method="sms", budget=0.3, store=ledger)
    three = one.with_gamma(3.0)
    store = ledger.transformed(lambda K: K**3.0, three)
    reused = fp.approximate(texts, three, method="sms", budget=0.3, store=store)
    afresh = fp.approximate(texts, three, method="sms", budget=0.3)
    assert reused.evaluations == 0
    assert afresh.evaluations == ledger.evaluations
    assert np.allclose(reused.dense(), afresh.dense(), rtol=1e-7)
    with pytest.raises(fp.InputError, match="Use another ledger"):
        fp.approximate(texts, three, budget=0.3, store=ledger)


def test_words_are_split_stopped_and_weighted_as_documented():
    words, X = ["the", "cat", "dog", "dont"], np.eye(4)
    similarity = fp.WMD((words, X), stop_words=["the"])
    scorer = similarity.bind(["The CAT, the dog!", "cat dog cat", "Don't unknown"])
    bags = scorer._corpus.bags
    assert np.allclose(bags.mass[bags.start[0] : bags.start[1]], [0.5, 0.5])
    assert sorted(bags.mass[bags.start[1] : bags.start[2]]) == pytest.approx(
        [1 / 3, 2 / 3]
    )
    assert bags.start[3] - bags.start[2] == 1
    idf = fp.WMD((words, X), weights="tfidf").bind(["cat cat dog", "cat", "cat dont"])
    cat, dog = np.log(4 / 4) + 1, np.log(4 / 2) + 1
    mass = idf._corpus.bags.mass[:2]
    assert np.allclose(mass, [2 * cat / (2 * cat + dog), dog / (2 * cat + dog)])


@pytest.mark.parametrize(
    "suffix", [".txt", ".vec", ".txt.gz", ".bin", ".bin.gz", ".npy"]
)
def test_vectors_are_read_from_every_format(tmp_path, suffix):
    X = vectors(d=5).astype(np.float32)
    path = tmp_path / f"vectors{suffix}"
    if suffix == ".npy":
        np.save(path, X)
        (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    else:
        header = b"" if suffix == ".txt" else f"{len(X)} 5\n".encode()
        lines = [
            word.encode() + b" " + row.tobytes() + b"\n"
            if ".bin" in suffix
            else (word + " " + " ".join(map(repr, row.tolist())) + "\n").encode()
            for word, row in zip(WORDS, X)
        ]
        data = header + b"".join(lines)
        path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    read = word_vectors(path)
    assert list(read.index) == WORDS
    assert np.array_equal(read.array, X)


def test_gensim_vectors_are_taken_as_they_are():
    # What fewpairs uses of gensim's class.
    index = {word: t for t, word in enumerate(WORDS)}
    keyed = SimpleNamespace(key_to_index=index, vectors=vectors())
    for given in (keyed, SimpleNamespace(wv=keyed)):  # a trained model has them, too
        read = word_vectors(given)
        assert np.array_equal(read.array, vectors())
        assert read.index["w7"] == 7


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ((["a"], np.ones((2, 3))), "1 words for 2 vectors"),
        ((["a", "b"], [[1.0], [1.0, 2.0]]), "all of one length"),
        ((["a"], [["x"]]), "must be an array of numbers"),
        ("nowhere.txt", r"there is no file nowhere\.txt"),
        (3, "vectors is 3; pass a pair"),
    ],
)
def test_vectors_that_are_none(source, message):
    with pytest.raises(fp.InputError, match=message):
        fp.WMD(source)


def test_files_that_hold_no_vectors(tmp_path):
    for name, data, message in (
        ("a.txt", b"", "it holds no vectors"),
        ("b.txt", b"x 1 2\ny 1\n", "'y' has 1 numbers, the words before 2"),
        ("c.txt", b"x 1 two\n", "cannot be read as word vectors"),
        ("d.bin", b"3 4\nx ", "it ends after 0 of 3 words"),
        ("e.bin", b"hello", "cannot be read as word vectors"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(fp.InputError, match=message):
            fp.WMD(tmp_path / name)
    np.save(tmp_path / "f.npy", np.ones((2, 2)))
    with pytest.raises(fp.InputError, match=r"f\.npy has no vocab\.txt beside it"):
        fp.WMD(tmp_path / "f.npy")


def test_documents_without_a_known_word_are_listed_or_similar_to_none():
    texts = ["w1 w2", "nothing known", "w3", ""]
    with pytest.raises(fp.InputError, match=r"2 of 4 items have no word.*items 1, 3"):
        fp.WMD((WORDS, vectors())).bind(texts)
    zero = fp.WMD((WORDS, vectors()), empty="zero")
    check_similarity(zero, texts)
    everything = np.arange(4)
    K = zero.bind(texts).block(everything, everything)
    assert np.array_equal(K[1], [0, 1, 0, 0])
    assert K[0, 2] > 0


def test_documents_without_a_known_word_are_dropped_on_demand():
    texts = ["", *random_texts(40), ["unknown"], *random_texts(5, seed=1), "?"]
    drop = fp.WMD((WORDS, vectors()), empty="drop")
    kept = drop.kept(texts)
    assert kept.tolist() == [*range(1, 41), *range(42, 47)]
    approx = fp.approximate(texts, drop, budget=1.0)
    assert approx.shape == (45, 45)
    assert "3 items dropped" in str(approx)
    left = [texts[t] for t in kept]
    same = fp.approximate(left, fp.WMD((WORDS, vectors())), budget=1.0)
    assert np.array_equal(approx.dense(), same.dense())
    assert approx.evaluations == same.evaluations
    assert "dropped" not in str(same)
    assert fp.plan(texts, drop, budget=0.5).evaluations <= 0.5 * 45 * 44 / 2
    # Where nothing is to be dropped, nothing changes.
    assert fp.approximate(left, drop, budget=1.0).shape == (45, 45)
    # The masses of tf-idf are those of the texts that stay.
    dropped = fp.WMD((WORDS, vectors()), empty="drop", weights="tfidf").bind(texts)
    alone = fp.WMD((WORDS, vectors()), weights="tfidf").bind(left)
    assert np.array_equal(dropped._corpus.bags.mass, alone._corpus.bags.mass)


@pytest.mark.parametrize("texts", [["w1", "?", "!"], ["?", "!"]])
def test_too_few_documents_are_left_after_dropping(texts):
    drop = fp.WMD((WORDS, vectors()), empty="drop")
    with pytest.raises(fp.InputError, match=r"2 of \d items; it takes at least two"):
        fp.approximate(texts, drop)


def test_bad_items_vectors_and_options():
    with pytest.raises(fp.InputError, match=r"items\[1\] is None; every item must be"):
        fp.WMD((WORDS, vectors())).bind(["w1", None])
    with pytest.raises(fp.InputError, match=r"items\[0\] is \['w1', 3\]"):
        fp.WMD((WORDS, vectors())).bind([["w1", 3]])
    X = vectors()
    X[5, 2] = np.nan
    with pytest.raises(fp.InputError, match="the vector of 'w5' is not finite"):
        fp.WMD((WORDS, X)).bind(["w5 w6", "w7"])
    fp.WMD((WORDS, X)).bind(["w6", "w7"])  # words that are not used do no harm
    with pytest.raises(fp.InputError, match="gamma is -1"):
        fp.WMD((WORDS, X), gamma=-1)
    with pytest.raises(fp.InputError, match="weights is 'bm25'; pass 'tf'"):
        fp.WMD((WORDS, X), weights="bm25")
    with pytest.raises(fp.InputError, match="empty is 'skip'; pass 'error', 'z"):
        fp.WMD((WORDS, X), empty="skip")


def test_without_numba_the_cure_is_named():
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import fewpairs as fp\n"
        "try: fp.WMD((['a'], [[1.0]]))\n"
        "except fp.MissingExtraError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert 'pip install "fewpairs[wmd]"' in done.stdout


def test_vector_registers_compute_what_their_twins_say():
    rng = np.random.default_rng(6)
    from numba import njit

    @njit
    def native(cost, start, price, width, bound):
        return (
            simd.row_minimum(cost, start, price, width),
            simd.first_at_most(cost, start, price, width, bound),
        )

    for width in (8, 16, 88):
        cost, price = rng.random(3 * width), rng.random(width)
        for start in (0, width, 5):
            least = simd.row_minimum_twin(cost, start, price, width)
            for bound in (least, least - 1.0, 2.0):
                found = native(cost, start, price, width, bound)
                assert found[0] == least
                twin = simd.first_at_most_twin(cost, start, price, width, bound)
                assert found[1] == twin


@pytest.mark.needs_data
def test_real_tweets_are_exact(data_folder):
    lines = (data_folder / "twitter" / "twitter.txt").read_text(encoding="utf-8")
    tweets = [line.split("\t", 1)[1] for line in lines.splitlines()[:400]]
    similarity = fp.WMD(data_folder / "glove" / "vectors.npy", empty="zero")
    scorer = similarity.bind(tweets)
    kept = np.flatnonzero(~scorer._empty)
    assert_exact(scorer, kept[:5], kept)


def test_vectors_come_as_a_dict_or_a_folder(tmp_path):
    words, array = ["cat", "dog", "sea"], np.array([[1.0, 0], [0.8, 0.2], [0, 1]])
    by_word = dict(zip(words, array))
    np.save(tmp_path / "vectors.npy", array)
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    texts, i, j = ["cat sea", "dog", "sea"], np.array([0, 0]), np.array([1, 2])
    wanted = fp.WMD((words, array)).bind(texts).pairs(i, j)
    for vectors in (by_word, tmp_path, str(tmp_path)):
        assert np.array_equal(fp.WMD(vectors).bind(texts).pairs(i, j), wanted)
    (tmp_path / "more.vec").write_text("cat 1 2")
    with pytest.raises(fp.InputError, match=r"holds 2 vector files \(more.vec, vec"):
        fp.WMD(tmp_path)


def test_words_of_a_list_fall_back_to_their_parts_and_lost_ones_are_counted():
    wmd = fp.WMD({"olive": [1.0, 0], "oil": [0, 1.0], "salt": [1.0, 1]})
    items = [["olive oil", "salt"], ["Olive Oil", "za'atar"], ["olive", "oil", "salt"]]
    scorer = wmd.bind(items)
    at = np.array([0])
    assert scorer.pairs(at, np.array([2]))[0] == pytest.approx(1)
    assert wmd.lost(items) == {"za'atar": 1}
    assert wmd.lost(["olive nothing", "salt"]) == {"nothing": 1}
