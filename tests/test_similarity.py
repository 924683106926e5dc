"""Similarities keep their contract and declare themselves truthfully."""

import importlib
import random

import numpy as np
import pytest
from rapidfuzz import fuzz

import fewpairs as fp
from fewpairs.fingerprint import fingerprint
from fewpairs.similarity.strings import _SCORERS
from fewpairs.testing import check_similarity
from tests.conftest import random_matrix

WORDS = "the red fox jumps over a lazy dog and runs home".split()


def texts(n: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    out = [" ".join(rng.choices(WORDS, k=rng.randint(1, 9))) for _ in range(n - 6)]
    return [*out, "", " ", "Ünïcode ☃", "a", "A", "x" * 300]


@pytest.mark.parametrize("name", sorted(_SCORERS))
def test_every_string_scorer_keeps_what_it_declares(name):
    check_similarity(fp.StringSimilarity(name), texts(60))


@pytest.mark.parametrize("name", sorted(_SCORERS))
def test_string_scorers_declared_symmetric_are_so_on_hard_strings(name):
    """Equal lengths, few letters, long needles: where greedy matching would differ.

    Scored in two blocks, because RapidFuzz mirrors a block of a list with itself.
    """
    rng = random.Random(1)
    hard = ["".join(rng.choices("ab ", k=k)) for k in (9, 9, 9, 70, 70, 66, 200) * 20]
    scorer = fp.StringSimilarity(name).bind(hard)
    rows, columns = np.arange(0, 140, 2), np.arange(1, 140, 2)
    there, back = scorer.block(rows, columns), scorer.block(columns, rows)
    assert fp.StringSimilarity(name).symmetric
    assert np.array_equal(there, back.T)


def _of_rapidfuzz(name, strings):
    """Every pair by RapidFuzz's own function of that name, text by text."""
    names = {"wratio": "WRatio", "qratio": "QRatio"}
    function = getattr(fuzz, names.get(name, name), None)
    if function is not None:
        return np.array([[function(a, b) / 100 for b in strings] for a in strings])
    module, _ = _SCORERS[name].path.split(":")
    function = importlib.import_module(module).normalized_similarity
    return np.array([[function(a, b) for b in strings] for a in strings])


@pytest.mark.parametrize("name", sorted(_SCORERS))
def test_string_values_are_those_of_rapidfuzz(name):
    """Also where blanks are odd: U+00A0 separates tokens in wide texts alone."""
    rng = random.Random(3)
    letters = "abAB é漢😀\t\x1c\x85\xa0\u2003\u3000    "
    hard = ["".join(rng.choices(letters, k=rng.randint(0, 25))) for _ in range(40)]
    hard += ["", " ", "b a a b", "a\xa0b c", "漢\xa0b c", "c a\xa0b"]
    truth = _of_rapidfuzz(name, hard)
    scorer = fp.StringSimilarity(name).bind(hard)
    everything = np.arange(len(hard))
    assert scorer.block(everything, everything).dtype == scorer.dtype == np.float32
    assert np.allclose(scorer.block(everything, everything), truth, rtol=2e-7, atol=0)
    i, j = np.divmod(np.arange(len(hard) ** 2), len(hard))
    assert np.allclose(scorer.pairs(i, j), truth.ravel(), rtol=2e-7, atol=0)


@pytest.mark.parametrize("name", sorted(_SCORERS))
def test_a_block_above_a_level_has_everything_from_that_level_on(name):
    some, everything = texts(60), np.arange(60)
    scorer = fp.StringSimilarity(name).bind(some)
    block = scorer.block(everything, everything)
    for level in (0.0, 0.55, 0.85, 1.0):
        above = scorer.block_above(everything, everything, level)
        hit = block >= np.float32(level)
        assert np.array_equal(above >= np.float32(level), hit)
        assert np.array_equal(above[hit], block[hit])


def test_whole_percents_of_rapidfuzz_reach_the_level_that_people_type():
    strings = ["".join("ab"[t < k] for t in range(100)) for k in range(1, 101)]
    scorer = fp.StringSimilarity("ratio").bind(strings)
    found = scorer.pairs(np.zeros(100, dtype=int), np.arange(100))
    whole = np.array([round(fuzz.ratio(strings[0], b)) for b in strings])
    assert set(whole) == set(range(1, 101))
    assert (found >= (whole / 100).astype(np.float32)).all()


def test_many_pairs_of_one_text_are_scored_like_any_others():
    scorer = fp.StringSimilarity("token_sort_ratio").bind(texts(400))
    i = np.r_[np.full(399, 7), np.arange(50), np.full(300, 3)]
    j = np.r_[np.delete(np.arange(400), 7), np.arange(50)[::-1], np.arange(300)]
    order = np.random.default_rng(0).permutation(len(i))
    everything = np.arange(400)
    block = scorer.block(everything, everything)
    assert np.array_equal(scorer.pairs(i[order], j[order]), block[i[order], j[order]])


def test_unequal_weights_make_levenshtein_asymmetric_and_it_says_so():
    assert fp.StringSimilarity("levenshtein", weights=(1, 1, 2)).symmetric
    skewed = fp.StringSimilarity("levenshtein", weights=(1, 3, 1))
    assert skewed.symmetric is False
    scorer = skewed.bind(["abc", "abcdef"])
    there = scorer.pairs(np.array([0]), np.array([1]))
    back = scorer.pairs(np.array([1]), np.array([0]))
    assert there != back
    check_similarity(skewed, texts(30))


def test_the_processor_is_applied_once_an_item():
    calls = []

    def lower(text):
        calls.append(text)
        return text.lower()

    scorer = fp.StringSimilarity("ratio", processor=lower).bind(["ABC", "abc", "x"])
    everything = np.arange(3)
    assert scorer.block(everything, everything)[0, 1] == 1.0
    assert scorer.pairs(np.array([0]), np.array([1]))[0] == 1.0
    assert calls == ["ABC", "abc", "x"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
def test_cosine_keeps_its_contract_in_every_precision(dtype):
    X = (np.random.default_rng(0).standard_normal((40, 7)) * 10).astype(dtype)
    check_similarity(fp.Cosine(X), list(range(40)))
    check_similarity(fp.Cosine(), X)


def test_cosine_does_not_overflow_or_underflow():
    X = np.array([[1e300, 1e300], [1e-300, 0.0], [0.0, 5.0]])
    scorer = fp.Cosine(X).bind(range(3))
    everything = np.arange(3)
    half = np.sqrt(0.5)
    expected = [[1, half, half], [half, 1, 0], [half, 0, 1]]
    assert np.allclose(scorer.block(everything, everything), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32, bool])
@pytest.mark.parametrize("symmetric", [True, False])
def test_matrices_of_every_type_keep_the_contract(dtype, symmetric):
    K = (random_matrix(30, symmetric=symmetric) * 3).astype(dtype)
    check_similarity(fp.from_matrix(K), range(30))


def test_a_product_that_is_symmetric_up_to_rounding_counts_as_symmetric():
    X = np.random.default_rng(0).standard_normal((300, 50)).astype(np.float32)
    K = X @ X.T
    K[3, 5] = np.nextafter(K[3, 5], np.float32(np.inf))
    assert fp.from_matrix(K).symmetric
    K[10:40, 50:80] += 1.0
    assert not fp.from_matrix(K).symmetric


def test_memory_mapped_matrices_are_read_in_place(tmp_path):
    K = random_matrix(40, symmetric=True)
    np.save(tmp_path / "K.npy", K)
    mapped = np.load(tmp_path / "K.npy", mmap_mode="r")
    approx = fp.approximate(None, mapped, method=fp.Nystrom(10), budget=1.0)
    plain = fp.approximate(None, K, method=fp.Nystrom(10), budget=1.0)
    assert np.array_equal(approx.dense(), plain.dense())


def test_scalar_and_batched_functions_give_the_same():
    K = random_matrix(30, symmetric=False)
    scalar = fp.from_function(lambda a, b: K[a, b], symmetric=False)
    batched = fp.from_function(lambda a, b: K[a, b], symmetric=False, batched=True)
    check_similarity(scalar, range(30))
    check_similarity(batched, range(30))
    one = fp.approximate(range(30), scalar, budget=0.8)
    two = fp.approximate(range(30), batched, budget=0.8)
    assert np.array_equal(one.dense(), two.dense())


@pytest.mark.parametrize(
    "value", [True, 3, np.float32(0.5), np.int8(2), np.array(0.25), np.bool_(True)]
)
def test_functions_may_return_any_real_number(value):
    scorer = fp.from_function(lambda a, b: value).bind([1, 2])
    assert scorer.pairs(np.array([0]), np.array([1]))[0] == float(value)


def test_an_undeclared_symmetry_is_found_out():
    S, A = random_matrix(40, symmetric=True), random_matrix(40, symmetric=False)
    symmetric = fp.approximate(range(40), lambda a, b: S[a, b], budget=0.8)
    asymmetric = fp.approximate(range(40), lambda a, b: A[a, b], budget=0.8)
    assert "averaged" not in str(symmetric)
    assert "averaged over both orders" in str(asymmetric)
    i, j = np.divmod(np.arange(1600), 40)
    known, values = asymmetric.known.lookup(i, j)
    truth = (A + A.T) / 2
    assert np.allclose(values[known], truth[i[known], j[known]])


def test_check_similarity_catches_lies():
    K = random_matrix(20, symmetric=False)

    class Lies(fp.Similarity):
        symmetric = True

        def bind(self, items):
            return fp.from_matrix(K).bind(items)

    with pytest.raises(AssertionError, match="declared symmetric"):
        check_similarity(Lies(), range(20))
    psd = fp.from_matrix(-np.eye(20), psd=True)
    with pytest.raises(AssertionError, match="declared psd"):
        check_similarity(psd, range(20))
    diagonal = fp.from_function(lambda a, b: float(a == b), diagonal=2.0)
    with pytest.raises(AssertionError, match="diagonal is off"):
        check_similarity(diagonal, range(20))
    bounds = fp.from_matrix(np.eye(20), bounds=(0.5, 1.0))
    with pytest.raises(AssertionError, match="below the bound"):
        check_similarity(bounds, range(20))


def test_a_similarity_shows_its_name_and_not_all_that_it_is_made_of():
    words = {f"word {t}": [float(t), 1.0] for t in range(3_000)}
    made = [fp.WMD(words), fp.StringSimilarity("ratio"), fp.TokenOverlap(), fp.Cosine()]
    made += [fp.from_function(max), fp.from_matrix(np.eye(50))]
    for one in made:
        assert one.name in repr(one)
        assert len(repr(one)) < 60
    assert repr(made[1]) == 'StringSimilarity("ratio")'


def test_what_a_similarity_does_not_show_still_tells_it_from_others():
    quick = fp.StringSimilarity("levenshtein", weights=(1, 1, 2))
    other = fp.StringSimilarity("levenshtein", weights=(1, 2, 1))
    assert fingerprint([quick]) != fingerprint([other])
    one, two = (fp.from_matrix(np.eye(3) * t) for t in (1, 2))
    assert fingerprint([one]) != fingerprint([two])
