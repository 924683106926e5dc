"""Certificates of lists: two statements, never mixed, and what they take."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.answers.matches import Matches
from fewpairs.errors import InputError
from fewpairs.similarity.base import Scorer, Similarity
from tests.conftest import Counting


def planted(n=500, seed=0, noise=0.03):
    """Cosines of vectors with some noise, and the vectors as prior."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    E = rng.standard_normal((n, n)) * noise
    return X @ X.T + (E + E.T) / 2, X


K, PRIOR = planted()
VALUES = K[np.triu_indices(len(K), 1)]
THRESHOLD = float(np.sort(VALUES)[-1_200])
TRUE = 1_200


@pytest.fixture(scope="module")
def found():
    return fp.duplicates(
        None, K, THRESHOLD, budget=0.25, prior=PRIOR, recall=0.9, seed=1
    )


def test_a_recall_is_certified_and_true(found):
    made = found.certificate
    assert made.certified
    assert 0.9 <= made.recall_at_least <= len(found) / TRUE
    assert made.found == len(found)
    assert made.confidence == 0.95
    assert made.guaranteed <= len(found) / TRUE
    assert "whatever the model does" in str(found)
    assert "if pairs match no more often where they are predicted lower" in str(found)


def test_what_was_sampled_is_counted_and_in_the_list(found):
    calls = Counting(K)
    similarity = fp.from_function(calls, symmetric=True, diagonal=1.0)
    again = fp.duplicates(
        range(len(K)),
        similarity,
        THRESHOLD,
        budget=0.25,
        prior=PRIOR,
        recall=0.999,
        seed=1,
    )
    pairs = {tuple(sorted(pair)) for pair in calls.calls}
    assert again.evaluations == len(calls.calls) <= 0.25 * 500 * 499 / 2 + 16
    assert again.certificate.sampled > 0
    read = {(min(a, b), max(a, b)) for a, b in pairs if K[a, b] >= THRESHOLD}
    assert read == {*zip(again.left.tolist(), again.right.tolist())}
    assert len(again) >= len(found)


def test_the_same_seed_gives_the_same_certificate(found):
    again = fp.duplicates(
        None, K, THRESHOLD, budget=0.25, prior=PRIOR, recall=0.9, seed=1
    )
    assert again.certificate.recall_at_least == found.certificate.recall_at_least
    assert np.array_equal(again.left, found.left)


def test_what_to_look_at_next_was_not_read_and_is_predicted_high(found):
    ahead = found.certificate.next_pairs
    assert ahead.number == 20
    assert (np.diff(ahead.similarity) <= 0).all()
    listed = {*zip(found.left.tolist(), found.right.tolist())}
    assert not listed & {*zip(ahead.left.tolist(), ahead.right.tolist())}


def test_a_guarantee_is_drawn_from_all_pairs_and_says_what_it_takes():
    strict = fp.duplicates(
        None, K, THRESHOLD, budget=0.6, prior=PRIOR, recall=0.8, guarantee=True
    )
    made = strict.certificate
    assert made.certified
    assert made.guaranteed >= 0.8
    assert made.recall_at_least >= made.guaranteed
    assert 0 < made.price < K.size / 2
    assert made.sampled <= 1.5 * made.price + 200
    poor = fp.duplicates(
        None, K, THRESHOLD, budget=0.2, prior=PRIOR, recall=0.99, guarantee=True
    )
    assert not poor.certificate.certified
    assert "could not be certified" in str(poor)
    assert f"{poor.certificate.price:,} evaluations would do" in str(poor)


def test_without_a_recall_nothing_more_is_read_and_held_out_pairs_speak():
    plain = fp.duplicates(None, K, THRESHOLD, budget=0.25, prior=PRIOR, seed=1)
    made = plain.certificate
    assert made.sampled == 0
    assert not made.certified
    assert 0 < made.guaranteed <= made.recall_at_least <= len(plain) / TRUE


def test_all_pairs_are_all_there_is():
    whole = fp.duplicates(None, K, THRESHOLD, budget=1.0)
    made = whole.certificate
    assert (made.guaranteed, made.recall_at_least, made.certified) == (1.0, 1.0, True)
    assert whole.rethreshold(THRESHOLD + 0.1).certificate.guaranteed == 1.0


def test_an_empty_list_says_how_many_there_can_be():
    none = fp.duplicates(None, K, 5.0, budget=0.25, prior=PRIOR, recall=0.9)
    made = none.certificate
    assert len(none) == made.found == 0
    assert (made.guaranteed, made.recall_at_least, made.certified) == (0, 0, False)
    assert 0 < made.missing_for_any_model < 20_000
    assert "nothing was found; at most" in str(none)


def test_no_statement_outlives_another_threshold(found):
    assert found.rethreshold(THRESHOLD + 0.05).certificate.guaranteed == 0


def test_proofs_make_a_guarantee_cheap():
    """A million draws cost nothing where lengths tell that they cannot match."""
    rng = np.random.default_rng(0)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    texts = ["".join(rng.choice(letters, rng.integers(5, 60))) for _ in range(300)]
    texts += [text + "x" for text in texts]
    similarity = fp.StringSimilarity("ratio")
    found = fp.duplicates(
        texts, similarity, 0.85, budget=0.1, recall=0.9, guarantee=True
    )
    made = found.certificate
    assert made.certified
    assert made.excluded > 20 * made.sampled
    proven = made.excluded - found.excluded
    assert f"{proven:,} pairs more cannot match, by proof" in str(found)
    assert len(found) >= 0.9 * len(fp.duplicates(texts, similarity, 0.85))


def test_two_sets_are_certified_too():
    left, right = PRIOR[:220], PRIOR[220:]
    across = K[:220, 220:]
    threshold = float(np.sort(across.ravel())[-600])
    found = fp.match(
        None,
        None,
        across,
        threshold=threshold,
        budget=0.3,
        prior=(left, right),
        recall=0.85,
    )
    made = found.certificate
    assert isinstance(found, Matches)
    assert made.recall_at_least <= len(found) / 600
    assert made.guaranteed <= len(found) / 600
    assert np.array_equal(found.similarity, across[found.left, found.right])


@pytest.mark.parametrize("recall", [0, -0.1, 1.01, 95])
def test_a_recall_outside_0_and_1_is_refused(recall):
    with pytest.raises(InputError, match="recall is"):
        fp.duplicates(None, K, THRESHOLD, recall=recall)


def test_a_percentage_is_taken_for_one_and_a_little_too_much_is_not():
    with pytest.raises(InputError, match=r"Did you mean 0.95\?"):
        fp.duplicates(None, np.eye(30), 0.5, recall=95)
    with pytest.raises(InputError, match=r"at most 1\.$"):
        fp.duplicates(None, np.eye(30), 0.5, recall=1.2)


@pytest.mark.parametrize("delta", [0, 1, -1, 2])
def test_a_delta_that_says_nothing_is_refused(delta):
    with pytest.raises(InputError, match=r"delta is .*between 0 and 1"):
        fp.duplicates(None, K, THRESHOLD, recall=0.9, delta=delta)


def test_a_guarantee_of_nothing_is_refused():
    with pytest.raises(InputError, match="guarantee=True without recall"):
        fp.duplicates(None, K, THRESHOLD, guarantee=True)


def test_recall_of_matches_needs_a_threshold():
    with pytest.raises(InputError, match="pass threshold=, without k and one_to_one"):
        fp.match(None, None, K[:, :400], k=1, recall=0.9)


class Paid(Similarity):
    symmetric = proven = True
    diagonal = 1.0

    def bind(self, items):
        return PaidScorer(len(items))


class PaidScorer(Scorer):
    price = 0.01

    def __init__(self, n):
        self.n = n

    def pairs(self, i, j):
        return np.zeros(len(i))


def test_a_recall_of_what_costs_money_asks_for_a_budget():
    with pytest.raises(InputError, match="costs money, without a budget"):
        fp.duplicates(["a", "b", "c"], Paid(), 0.5, recall=0.9)


def test_a_run_that_is_stopped_while_certifying_goes_on_to_the_same_bits(tmp_path):
    def asked(store, stop=None):
        calls = []

        def value(a, b):
            calls.append((a, b))
            if stop is not None and len(calls) > stop:
                raise KeyboardInterrupt
            return K[a, b]

        similarity = fp.from_function(value, symmetric=True, diagonal=1.0, name="K")
        wanted = {"budget": 0.2, "prior": PRIOR, "recall": 0.999, "seed": 3}
        return calls, lambda: fp.duplicates(
            range(len(K)), similarity, THRESHOLD, store=store, **wanted
        )

    calls, run = asked(tmp_path / "whole")
    whole = run()
    assert whole.certificate.sampled > 400
    _, stopped = asked(tmp_path / "part", stop=len(calls) - 300)
    with pytest.raises(KeyboardInterrupt):
        stopped()
    paid, again = asked(tmp_path / "part")
    found = again()
    assert np.array_equal(found.left, whole.left)
    assert np.array_equal(found.similarity, whole.similarity)
    assert found.certificate.recall_at_least == whole.certificate.recall_at_least
    assert found.certificate.sampled == whole.certificate.sampled
    assert len(paid) < 1_000


def test_more_items_than_are_ranked_are_certified_through_their_index(monkeypatch):
    for module in ("above", "front"):
        monkeypatch.setattr(f"fewpairs.answers.{module}.is_large", lambda n: n > 400)
    found = fp.duplicates(
        None, K, THRESHOLD, budget=0.25, prior=PRIOR, recall=0.9, seed=1
    )
    made = found.certificate
    truth = len(found) / TRUE
    assert 0 < made.guaranteed <= truth
    assert made.guaranteed < made.recall_at_least <= truth
    assert made.next_pairs.number == 20


def test_a_list_without_a_recall_says_what_candidates_and_held_out_pairs_say():
    approx = fp.approximate(None, K, budget=0.2, prior=PRIOR)
    made = approx.duplicates(THRESHOLD).certificate
    assert made.sampled == 0
    assert made.guaranteed <= made.recall_at_least <= 1
    assert "if pairs match no more often where they are predicted lower" in str(made)
