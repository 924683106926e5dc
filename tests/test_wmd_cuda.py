"""Word mover's distance on a GPU, and, where there is none, on one of one lane."""

import sys
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewpairs as fp
from fewpairs.kernels.wmd import segments
from fewpairs.testing import check_similarity
from tests.emulated_cuda import compiled, fake_cupy
from tests.test_wmd import WORDS, random_texts, vectors

KERNEL = "fewpairs.kernels.wmd.word_movers_cuda"


# A GPU, or code for one lane, which looks at so many costs before a pivot.
@pytest.fixture(scope="session", params=["a GPU", 16, 512])
def library(request, tmp_path_factory):
    if request.param == "a GPU":
        real = pytest.importorskip("cupy", reason="needs CuPy")
        try:
            real.cuda.runtime.getDeviceCount()
        except real.cuda.runtime.CUDARuntimeError:
            pytest.skip("CuPy sees no GPU")
        return None
    folder = tmp_path_factory.mktemp(f"cuda-{request.param}")
    found = compiled(folder, PRICED=request.param)
    if found is None:
        pytest.skip("there is no C++ compiler to stand in for a GPU")
    return found


@pytest.fixture
def launched(library, monkeypatch):
    """What kernels were started, where that can be seen."""
    if library is None:
        return None
    return put_in_place(fake_cupy(library), monkeypatch).launched


def put_in_place(fake, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.delitem(sys.modules, KERNEL, raising=False)
    return fake


@pytest.fixture(autouse=True)
def _forget():
    yield
    sys.modules.pop(KERNEL, None)  # a module that holds a GPU that is none


def both(texts, X=None, **options):
    X = vectors() if X is None else X
    ours = fp.WMD((WORDS, X), device="cuda", **options).bind(texts)
    return ours, fp.WMD((WORDS, X), **options).bind(texts)


def assert_same(texts, X=None, rel=1e-6, **options):
    ours, exact = both(texts, X, **options)
    n = len(texts)
    rows, columns = np.arange(0, n, 3), np.arange(n)[::-1]
    known = np.array([bool(set(text) & set(WORDS)) for text in texts])
    for asked in (ours, exact):
        far = np.isinf(asked.distances(np.arange(n), np.arange(n)))
        assert np.array_equal(far, ~(known[:, None] & known | np.eye(n, dtype=bool)))
    rows, columns = rows[known[rows]], columns[known[columns]]
    D = exact.distances(rows, columns)
    found = ours.distances(rows, columns)
    assert np.abs(found - D).max() <= rel * D.max()
    assert np.abs(ours.distances(columns, rows) - D.T).max() <= rel * D.max()
    i, j = (part.ravel() for part in np.meshgrid(rows, columns))
    mixed = np.random.default_rng(0).permutation(len(i))
    pairs = ours.pair_distances(i[mixed], j[mixed])
    assert np.abs(pairs - exact.pair_distances(i, j)[mixed]).max() <= rel * D.max()
    low = exact.lower_bounds(rows, columns)
    assert np.abs(ours.lower_bounds(rows, columns) - low).max() <= rel * D.max()
    assert ours.fallbacks == 0


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("normalize", [True, False])
def test_distances_are_those_of_the_cores(launched, weights, normalize):
    assert_same(random_texts(60), weights=weights, normalize=normalize)
    assert launched is None or launched, "nothing ran on the GPU"


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 100])
def test_vectors_of_any_length(launched, d):
    assert_same(random_texts(30), vectors(d=d), normalize=False)


@pytest.mark.parametrize("scale", [1e-25, 1e-6, 1e25])
def test_costs_of_any_size(launched, scale):
    assert_same(random_texts(30), scale * vectors(), normalize=False)


def test_what_all_vectors_have_in_common_costs_no_digits(launched):
    assert_same(random_texts(30), 1e3 + 1e-5 * vectors(), normalize=False)


def test_few_words_equal_documents_ties_and_equal_vectors(launched):
    assert_same([["w1"], ["w1", "w1"], ["w2"], ["w2", "w1"], ["w1", "w2"], ["w3"]])
    rng = np.random.default_rng(1)
    even = [list(rng.choice(WORDS, size=24, replace=False)) for _ in range(30)]
    grid = np.array([[t % 20, t // 20] for t in range(400)], dtype=float)
    assert_same(even, grid, normalize=False)
    X = vectors()
    X[200:] = X[:200]
    assert_same(even, X)


def test_long_documents_leave_shared_memory(launched):
    names = [f"w{t}" for t in range(3_000)]
    X = np.random.default_rng(0).standard_normal((3_000, 8))
    texts = [names[:1_200], names[1_100:2_000], names[5:40], names[1_000:1_600]]
    texts += [names[7:9], names[50:60]]
    ours = fp.WMD((names, X), device="cuda").bind(texts)
    everything = np.arange(len(texts))
    exact = fp.WMD((names, X)).bind(texts).distances(everything, everything)
    assert np.abs(ours.distances(everything, everything) - exact).max() < 1e-6
    if launched is not None:
        # There are 64 KB: a tree of 2,100 words has more, one of 12 leaves room.
        used = {name for name, _, _ in launched}
        assert used == {"nothing_shared", "tree_shared", "all_shared"}


def test_documents_that_are_too_long_are_refused(launched, monkeypatch):
    monkeypatch.setattr("fewpairs.similarity.wmd.scorer.MOST_NODES", 60)
    both([WORDS[:30], WORDS[20:50], WORDS[:2]])
    with pytest.raises(fp.InputError, match=r"has 31 different words.*60 together"):
        both([WORDS[:30], WORDS[20:51], WORDS[:2]])


def failing_once(library, monkeypatch, at, error):
    """A GPU whose memory of this number is not given when it is first asked for."""
    if library is None:
        pytest.skip("a real GPU does not fail on demand")
    fake = put_in_place(fake_cupy(library), monkeypatch)
    numbers, empty = count(1), fake.empty

    def failing(size, dtype):
        if next(numbers) == at:
            raise error(fake)
        return empty(size, dtype)

    fake.empty = failing
    return fake


def test_nothing_runs_on_when_a_call_ends_early(library, monkeypatch):
    failing_once(library, monkeypatch, 3, lambda _: KeyboardInterrupt())
    ours, exact = both(random_texts(60))
    everything = np.arange(60)
    with pytest.raises(KeyboardInterrupt):
        ours.distances(everything, everything)
    streams = ours._kernel._streams
    assert [s.used for s in streams] == [1, 1, 1]
    assert all(s.waited for s in streams)
    D = ours.distances(everything, everything)
    assert np.abs(D - exact.distances(everything, everything)).max() < 1e-6


def test_where_memory_ends_it_is_freed_and_asked_for_again(library, monkeypatch):
    fake = failing_once(
        library, monkeypatch, 2, lambda fake: fake.cuda.memory.OutOfMemoryError()
    )
    ours, exact = both(random_texts(60))
    everything = np.arange(60)
    D = ours.distances(everything, everything)
    assert np.abs(D - exact.distances(everything, everything)).max() < 1e-6
    assert fake.launched.count("freed") == 1


def test_large_blocks_go_part_by_part(launched, monkeypatch):
    texts = random_texts(50)
    ours, exact = both(texts)
    everything = np.arange(50)
    whole = ours.distances(everything, everything)
    monkeypatch.setattr(sys.modules[KERNEL], "_PAIRS", 120)
    parts = ours.distances(everything, everything)
    assert np.abs(parts - whole).max() < 1e-12
    i, j = everything.repeat(50), np.tile(everything, 50)
    assert np.abs(ours.pair_distances(i, j) - whole.ravel()).max() < 1e-12
    assert np.abs(whole - exact.distances(everything, everything)).max() < 1e-6
    empty = np.arange(0)
    assert ours.distances(empty, everything).shape == (0, 50)
    assert ours.pair_distances(empty, empty).shape == (0,)


def test_the_same_every_time_and_beside_any_others(launched):
    texts = random_texts(200)
    ours, _ = both(texts)
    everything = np.arange(200)
    D = ours.distances(everything, everything)
    assert np.array_equal(ours.distances(everything, everything), D)
    mixed = np.random.default_rng(0).permutation(200)
    again = ours.distances(mixed, mixed)
    # Prices are learned from others, so that another optimal plan may be found.
    assert np.abs(again - D[np.ix_(mixed, mixed)]).max() < 1e-12


def test_the_contract_and_the_whole_way(launched):
    texts = random_texts(40)
    similarity = fp.WMD((WORDS, vectors()), device="cuda")
    check_similarity(similarity, texts)
    approx = fp.approximate(texts, similarity, budget=0.4, seed=0)
    exact = fp.approximate(texts, fp.WMD((WORDS, vectors())), budget=0.4, seed=0)
    assert approx.evaluations == exact.evaluations
    assert np.abs(approx.dense() - exact.dense()).max() < 1e-4


def test_compiling_is_told(launched):
    told = []
    fp.WMD((WORDS, vectors()), device="cuda").bind(random_texts(3)).prepare(told.append)
    assert told == ["compiling word mover's distance for the GPU"]


def test_a_gpu_that_is_not_there(monkeypatch):
    for wrong in ("gpu", 0):
        with pytest.raises(fp.InputError, match=f"device is {wrong!r}; pass"):
            fp.WMD((WORDS, vectors()), device=wrong)
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, KERNEL, raising=False)
    with pytest.raises(fp.MissingExtraError, match=r"pip install \"fewpairs\[cuda\]\""):
        fp.WMD((WORDS, vectors()), device="cuda")
    put_in_place(fake_cupy(None), monkeypatch)
    with pytest.raises(fp.InputError, match="'cuda:1', and CuPy sees 1 GPU\\."):
        fp.WMD((WORDS, vectors()), device="cuda:1")


def test_no_driver_is_no_gpu(monkeypatch):
    fake = put_in_place(fake_cupy(None), monkeypatch)

    class CUDARuntimeError(RuntimeError):
        status = 100

    def fail():
        raise CUDARuntimeError

    fake.cuda.runtime.getDeviceCount = fail
    fake.cuda.runtime.CUDARuntimeError = CUDARuntimeError
    with pytest.raises(fp.InputError, match="sees 0 GPUs"):
        fp.WMD((WORDS, vectors()), device="cuda")
    CUDARuntimeError.status = 3  # what a fork of a process with a GPU gets
    with pytest.raises(CUDARuntimeError):
        fp.WMD((WORDS, vectors()), device="cuda")


def test_texts_without_a_known_word(launched):
    assert_same([["w1", "w2"], ["?"], ["w3"], [], ["w1", "w5"]], empty="zero")


def test_the_reference_is_asked_in_its_own_chunks(launched, monkeypatch):
    monkeypatch.setenv("FEWPAIRS_KERNEL", "reference")
    ours = fp.WMD((WORDS, vectors()), device="cuda").bind(random_texts(3))
    assert ours.chunk == type(ours).chunk


lengths = st.lists(st.integers(0, 900), min_size=1, max_size=40)


@given(lengths, st.integers(1, 70), st.data())
def test_every_pair_is_in_one_segment_of_bounded_size(sizes, most, data):
    sizes = np.array(sizes)
    places = st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=60)
    rows, columns = (np.array(data.draw(places)) for _ in range(2))
    block, order = segments.of_block(sizes, rows, columns, most)
    D = rows[:, None] * 1_000 + columns
    check(sizes, block, D[:, order].ravel(), most)
    i, j = rows[rng_of(rows, 80)], columns[rng_of(columns, 80)]
    single, order = segments.of_pairs(sizes, i, j, most)
    check(sizes, single, (i * 1_000 + j)[order], most)


def rng_of(values, count):
    return np.random.default_rng(0).integers(0, len(values), count)


def check(sizes, cut, expected, most):
    found = np.full(len(expected), -1)
    for batch in segments.batches(sizes, cut):
        for anchor, first, length, place in zip(
            batch.segments.anchor,
            batch.segments.first,
            batch.segments.length,
            batch.segments.place,
            strict=True,
        ):
            others = batch.segments.others[first : first + length]
            assert 1 <= length <= most
            # The last one may go beyond.
            assert sizes[others[:-1]].sum() < 2_048
            assert sizes[anchor] <= batch.longest
            assert (sizes[anchor] + sizes[others] <= batch.nodes).all()
            assert (sizes[anchor] * sizes[others] <= batch.cells).all()
            assert (found[place : place + length] == -1).all(), "solved twice"
            found[place : place + length] = anchor * 1_000 + others
    assert np.array_equal(found, expected)
