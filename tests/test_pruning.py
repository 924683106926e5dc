"""Pairs that provably cannot reach a threshold are not read."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.ledger import pass_records
from tests.test_bounds import strings
from tests.test_wmd import WORDS, random_texts, vectors


class Numbers(fp.Similarity):
    """1 − |a − b|, which its parts bound: whole numbers are known before."""

    symmetric = proven = True
    diagonal = 1.0

    def __init__(self, *, bounded=True, blocks=False):
        self.scorers, self.bounded, self.blocks = [], bounded, blocks

    def bind(self, items):
        kind = Blocks if self.blocks else Gaps
        self.scorers.append((kind if self.bounded else Unbounded)(np.array(items)))
        return self.scorers[-1]


class Unbounded(fp.Scorer):
    chunk = 400

    def __init__(self, numbers):
        self.n, self.numbers, self.seen = len(numbers), numbers, []

    def pairs(self, i, j):
        self.seen += zip(np.minimum(i, j).tolist(), np.maximum(i, j).tolist())
        return 1 - np.abs(self.numbers[i] - self.numbers[j])


class Gaps(Unbounded):
    def upper_bound(self, i, j):
        gap = np.abs(np.floor(self.numbers[i]) - np.floor(self.numbers[j]))
        return 2 - np.maximum(gap, 1)


class Blocks(Gaps):
    def block(self, rows, columns):
        i, j = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
        return self.pairs(i, j).reshape(len(rows), len(columns))


def numbers(n=90):
    return (np.random.default_rng(0).random(n) * 12).tolist()


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("executor", [None, "threads:2"])
def test_a_pass_reads_what_may_reach_the_threshold_and_finds_the_same(blocks, executor):
    everything = fp.duplicates(numbers(), Numbers(bounded=False), 0.9, budget=1.0)
    similarity = Numbers(blocks=blocks)
    found = fp.duplicates(numbers(), similarity, 0.9, budget=1.0, executor=executor)
    assert np.array_equal(found.left, everything.left)
    assert np.array_equal(found.similarity, everything.similarity)
    assert len(found) > 20
    n = 90
    seen = [pair for scorer in similarity.scorers for pair in scorer.seen]
    assert len(seen) == len(set(seen)) == found.evaluations
    assert found.evaluations + found.excluded == n * (n - 1) // 2
    assert found.excluded > n * (n - 1) // 4
    assert everything.excluded == 0
    assert "cannot reach the threshold, by proof" in str(found)
    assert "all pairs were read that could be among them" in str(found)


def test_a_pass_that_goes_on_counts_what_was_excluded_before(tmp_path, monkeypatch):
    monkeypatch.setattr(pass_records.PassRecords, "due", True)
    whole = fp.duplicates(numbers(), Numbers(), 0.9, budget=1.0)

    class Stops(Numbers):
        def bind(self, items):
            scorer = super().bind(items)
            pairs, left = scorer.pairs, [12]

            def some(i, j):
                left[0] -= 1
                if left[0] < 0:
                    raise KeyboardInterrupt
                return pairs(i, j)

            scorer.pairs = some
            return scorer

        @property
        def name(self):
            return "Numbers"

        def identify(self):
            return ("numbers",)

    Same = type("Same", (Numbers,), {"identify": Stops.identify, "name": "Numbers"})
    with pytest.raises(KeyboardInterrupt):
        fp.duplicates(numbers(), Stops(), 0.9, budget=1.0, store=tmp_path)
    found = fp.duplicates(numbers(), Same(), 0.9, budget=1.0, store=tmp_path)
    assert np.array_equal(found.left, whole.left)
    assert np.array_equal(found.similarity, whole.similarity)
    assert found.excluded == whole.excluded
    assert found.evaluations < whole.evaluations


def test_word_movers_distance_is_solved_where_it_may_be_small():
    texts = random_texts(80) + random_texts(80)
    similarity = fp.WMD((WORDS, vectors()), gamma=3.0)
    found = fp.duplicates(texts, similarity, 0.5, budget=1.0)
    every = np.arange(160)
    K = similarity.bind(texts).block(every, every)
    i, j = np.nonzero(np.triu(K >= 0.5, 1))
    assert {*zip(found.left, found.right)} == {*zip(i, j)}
    assert found.excluded > 10_000


def test_two_sets_are_pruned_as_well():
    left, right = strings(80, seed=1), strings(80, seed=2)
    long = ["x" * 500 + text for text in left]  # where it pays
    similarity = fp.StringSimilarity("levenshtein")
    assert similarity.bind([*long, *right]).prunes
    found = fp.match(long, right, similarity, threshold=0.8, budget=1.0)
    assert (found.excluded, found.evaluations) == (80 * 80, 0)


def test_candidates_that_cannot_reach_the_threshold_are_not_checked():
    similarity = Numbers()
    approx = fp.approximate(numbers(), similarity, budget=0.2, prior=None)
    without = fp.approximate(numbers(), Numbers(bounded=False), budget=0.2, prior=None)
    found = approx.duplicates(0.9, margin=3.0)  # everything is a candidate
    everything = without.duplicates(0.9, margin=3.0)
    assert np.array_equal(found.left, everything.left)
    assert found.excluded + found.checked == everything.checked
    assert found.evaluations == found.checked < 0.6 * everything.checked


def points(n=200):
    return np.random.default_rng(1).random((n, 2)) * 10


def nearness(calls=None):
    def near(a, b):
        if calls is not None:
            calls.append(0)
        return -float(np.linalg.norm(a - b))

    return near


def test_landmarks_exclude_pairs_of_a_metric():
    X, calls = list(points()), []
    plain = fp.from_function(nearness(), symmetric=True, diagonal=0.0)
    metric = fp.from_function(
        nearness(calls), symmetric=True, diagonal=0.0, metric=True
    )
    everything = fp.duplicates(X, plain, -0.5, budget=1.0)
    found = fp.duplicates(X, metric, -0.5, budget=1.0)
    assert len(found) > 50
    assert np.array_equal(found.left, everything.left)
    assert np.array_equal(found.similarity, everything.similarity)
    assert found.evaluations == len(calls) < everything.evaluations / 2
    assert found.excluded > everything.evaluations / 2


def test_a_metric_that_is_none_is_refused_with_the_triple():
    squares = fp.from_function(
        lambda a, b: -float(np.sum((a - b) ** 2)),
        symmetric=True,
        diagonal=0.0,
        metric=True,
        name="squares",
    )
    with pytest.raises(fp.SimilarityError, match=r"items \d+, \d+ and \d+ contradict"):
        fp.duplicates(list(points()), squares, -0.5, budget=1.0)


def test_a_metric_needs_its_diagonal():
    with pytest.raises(fp.InputError, match="needs the similarity at distance 0"):
        fp.from_function(nearness(), metric=True)


def test_few_items_of_a_metric_are_all_read():
    X = list(points(20))
    metric = fp.from_function(nearness(), symmetric=True, diagonal=0.0, metric=True)
    assert fp.duplicates(X, metric, -0.5, budget=1.0).excluded == 0
