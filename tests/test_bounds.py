"""What excludes a pair is never wrong: no such pair reaches the threshold."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.answers.all_pairs import level_of
from fewpairs.similarity.string_bounds import has_bounds
from fewpairs.similarity.strings import SCORERS
from fewpairs.similarity.two_sets import two_sets
from tests.test_wmd import WORDS, random_texts, vectors

BOUNDED = [name for name in SCORERS if has_bounds(name)]


def edited(text, letters, rng):
    """Insert, delete, replace or swap a few letters, in place."""
    for _ in range(rng.integers(1, 5)):
        at, kind = int(rng.integers(len(text) + 1)), rng.integers(4)
        if kind == 0 and text:
            text.pop(min(at, len(text) - 1))
        elif kind == 1:
            text.insert(at, str(rng.choice(letters)))
        elif kind == 2 and at < len(text):
            text[at] = str(rng.choice(letters))
        elif at + 1 < len(text):
            text[at], text[at + 1] = text[at + 1], text[at]


def strings(n, seed=0):
    """Random strings and edited copies of them: pairs at every similarity."""
    rng = np.random.default_rng(seed)
    alphabets = ["ab", "abcdefgh ", "abcdefghijklmnopqrstuvwxyz  ", "aé√ \U0001f600xy"]
    out = ["", " ", "a", "aa", "ab", "ba", "a" * 300]
    while len(out) < n:
        letters = list(alphabets[rng.integers(4)])
        text = list(rng.choice(letters, rng.integers(1, 40)))
        out.append("".join(text))
        for _ in range(3):
            edited(text, letters, rng)
            out.append("".join(text))
    return out[:n]


def check(scorer, n):
    """Hold bounds of all pairs, and what is excluded at their own values, to them."""
    everything = np.arange(n)
    values = scorer.block(everything, everything).astype(np.float64)
    i, j = np.triu_indices(n, 1)
    singly = scorer.pairs(i, j).astype(np.float64)
    upper = scorer.upper_bound(i, j)
    assert (upper >= singly).all()
    assert (upper >= values[i, j]).all()
    some = np.random.default_rng(1).choice(singly, 6)  # thresholds that are reached
    for threshold in [*some, 0.5, 0.8, 0.9, 1.0]:
        least = level_of(threshold, scorer.dtype)
        possible = scorer.may_reach(everything, everything, least)
        assert possible[i, j][np.maximum(singly, values[i, j]) >= least].all()
    return singly, upper


@pytest.mark.parametrize("name", BOUNDED)
def test_no_excluded_pair_of_strings_reaches_the_threshold(name):
    texts = strings(350, seed=len(name))
    check(fp.StringSimilarity(name).bind(texts), len(texts))


@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_of_strings_are_reached_by_equal_ones(name):
    scorer = fp.StringSimilarity(name).bind(["some text", "some text", "quick"])
    found = scorer.upper_bound(np.array([0, 0]), np.array([1, 2]))
    assert found[0] == pytest.approx(1, abs=1e-5)
    assert found[1] < 0.8


def test_scorers_without_a_bound_exclude_nothing():
    for scorer in (
        fp.StringSimilarity("token_set_ratio").bind(["a", "xyz"]),
        fp.StringSimilarity("levenshtein", weights=(1, 1, 2)).bind(["a", "xyz"]),
        fp.from_function(lambda a, b: 1.0).bind(["a", "xyz"]),
    ):
        assert not scorer.has_bounds
        assert scorer.upper_bound(np.array([0]), np.array([1]))[0] >= 1
        assert scorer.may_reach(np.array([0]), np.array([1]), 1.0).all()


@pytest.mark.parametrize("kind", ["jaccard", "dice", "overlap", "cosine"])
def test_no_excluded_pair_of_token_sets_reaches_the_threshold(kind):
    texts = [" ".join(text) for text in strings(250, seed=7)]
    check(fp.TokenOverlap(kind).bind(texts), len(texts))


@pytest.mark.parametrize("gamma", [0.3, 6.0])
def test_no_excluded_pair_by_word_movers_distance_reaches_the_threshold(gamma):
    texts = random_texts(100) + random_texts(100)
    scorer = fp.WMD((WORDS, vectors()), gamma=gamma).bind(texts)
    assert scorer.prunes
    values, upper = check(scorer, len(texts))
    assert np.corrcoef(values, upper)[0, 1] > 0.8  # and they say something


def test_two_sets_have_the_bounds_of_their_similarity():
    left, right = strings(60, seed=3), strings(50, seed=4)
    recipe = fp.StringSimilarity("ratio")
    one = recipe.bind([*left, *right])
    two = two_sets(recipe, 60).bind([*left, *right])
    rows, columns = np.arange(60), np.arange(60, 110)
    expected = one.may_reach(rows, columns, 0.6)
    assert two.has_bounds
    assert np.array_equal(two.may_reach(rows, columns, 0.6), expected)
    assert np.array_equal(two.may_reach(columns, rows, 0.6), expected.T)
    assert np.array_equal(
        two.upper_bound(columns, rows[:50]), one.upper_bound(rows[:50], columns)
    )


class Near(fp.Scorer):
    """Numbers near each other are similar, and that is all there is to know."""

    n = 5

    def pairs(self, i, j):
        return 1 - np.abs(i - j) / 5

    def upper_bound(self, i, j):
        return self.pairs(i, j)


def test_a_bound_of_ones_own_is_used_block_by_block():
    scorer = Near()
    assert scorer.has_bounds
    assert scorer.prunes
    rows, columns = np.array([0, 4]), np.array([1, 2, 3])
    assert scorer.may_reach(rows, columns, 0.7).tolist() == [
        [True, False, False],
        [False, False, True],
    ]


# --- norms of inner products ---------------------------------------------------------


def long_and_short(n: int, seed: int = 0) -> list[np.ndarray]:
    """Vectors of lengths over three orders of magnitude."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return list(X / np.linalg.norm(X, axis=1, keepdims=True) * rng.pareto(1.0, (n, 1)))


def dots(a, b):
    return np.einsum("ij,ij->i", np.asarray(a), np.asarray(b))


def test_no_excluded_inner_product_reaches_the_threshold():
    items = [*long_and_short(150), *long_and_short(150)]  # equal ones reach the bound
    similarity = fp.from_function(
        dots, symmetric=True, batched=True, norm=np.linalg.norm
    )
    scorer = similarity.bind(items)
    assert scorer.has_bounds
    assert scorer.prunes
    check(scorer, len(items))


def test_norms_prune_a_pass_and_the_receipt_says_how_many_pairs():
    items = long_and_short(300)
    with_norms = fp.from_function(
        dots, symmetric=True, batched=True, norm=np.linalg.norm
    )
    plain = fp.from_function(dots, symmetric=True, batched=True)
    found = fp.duplicates(items, with_norms, 20.0, budget=1.0)
    everything = fp.duplicates(items, plain, 20.0, budget=1.0)
    assert len(everything) > 5
    assert np.array_equal(found.left, everything.left)
    assert np.array_equal(found.right, everything.right)
    assert found.excluded > 30_000
    assert found.evaluations < everything.evaluations - 30_000
    assert f"{found.excluded:,} cannot reach the threshold, by proof" in str(found)


def test_norms_of_two_sets_prune_too():
    left, right = long_and_short(80), long_and_short(90, seed=1)
    similarity = fp.from_function(dots, batched=True, norm=np.linalg.norm)
    found = fp.match(left, right, similarity, threshold=20.0, budget=1.0)
    assert found.excluded > 5_000
    assert len(found) == (np.array(left) @ np.array(right).T >= 20.0).sum()


def test_norms_that_a_pair_contradicts_are_refused():
    similarity = fp.from_function(
        dots, symmetric=True, batched=True, norm=lambda a: 0.01
    )
    with pytest.raises(
        fp.SimilarityError, match="more than the product of their norms"
    ):
        fp.approximate(long_and_short(60), similarity, budget=0.5)


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), "long", None])
def test_norms_that_are_no_numbers_are_refused(bad):
    similarity = fp.from_function(dots, batched=True, norm=lambda a: bad)
    with pytest.raises(fp.SimilarityError, match=r"norm\(items\[0\]\) returned"):
        similarity.bind(long_and_short(5))
    with pytest.raises(fp.InputError, match=r"norm is 2\.0, which cannot be called"):
        fp.from_function(dots, norm=2.0)


def test_a_norm_that_fails_is_named_with_its_item():
    similarity = fp.from_function(dots, batched=True, norm=lambda a: int("long"))
    with pytest.raises(
        fp.SimilarityError, match=r"norm\(items\[0\]\) raised ValueError"
    ):
        similarity.bind(long_and_short(5))
