"""Coreference metrics: the literature's worked examples, and the bare definitions."""

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewpairs as fp
from fewpairs.evaluation import b_cubed, ceaf_e, conll, coreference, lea, muc


def clusters(text: str) -> list[set[str]]:
    return [set(word) for word in text.split()]


# Pradhan et al. (2014), "Scoring coreference partitions of predicted mentions", ACL:
# the running example; LEA of it by Moosavi & Strube (2016), ACL.
KEY, RESPONSE = clusters("abc defg"), clusters("ab cd fghi")


def test_the_example_of_pradhan_et_al_2014():
    assert muc(KEY, RESPONSE) == pytest.approx((0.40, 0.40, 0.40))
    assert b_cubed(KEY, RESPONSE) == pytest.approx((0.42, 0.50, 0.46), abs=0.006)
    assert ceaf_e(KEY, RESPONSE) == pytest.approx((0.65, 0.43, 0.52), abs=0.005)


def test_the_example_of_moosavi_and_strube_2016():
    recall, precision = (3 * 1 / 3 + 4 * 1 / 6) / 7, (2 * 1 + 2 * 0 + 4 * 1 / 6) / 8
    assert lea(KEY, RESPONSE)[:2] == pytest.approx((recall, precision))
    assert lea(KEY, RESPONSE)[:2] == pytest.approx((0.24, 0.33), abs=0.005)


# Luo (2005), "On coreference resolution performance metrics", Table 1: F of MUC, B³
# and CEAF with φ₄ for four responses to one key.
LUO = {
    "12345 6789ABC": (0.947, 0.865, 0.733),
    "1234589ABC 67": (0.947, 0.737, 0.667),
    "123456789ABC": (0.900, 0.545, 0.294),
    "1 2 3 4 5 6 7 8 9 A B C": (0.0, 0.400, 0.178),
}


@pytest.mark.parametrize("response", LUO)
def test_the_table_of_luo_2005(response):
    scores = coreference(clusters("12345 67 89ABC"), clusters(response))
    assert (scores.muc.f1, scores.b_cubed.f1, scores.ceaf_e.f1) == pytest.approx(
        LUO[response], abs=0.0006
    )
    assert scores.conll == pytest.approx(sum(LUO[response]) / 3, abs=0.0006)


# Vilain et al. (1995), "A model-theoretic coreference scoring scheme", MUC-6:
# recall of a split entity, and precision the other way round.
@pytest.mark.parametrize(
    ("key", "response", "recall", "precision"),
    [
        ("ABCD", "AB CD", 2 / 3, 1.0),
        ("AB CD", "ABCD", 1.0, 2 / 3),
        ("ABCD", "AB C D", 1 / 3, 1.0),
        ("ABC DE", "AB CDE", 2 / 3, 2 / 3),
    ],
)
def test_muc_counts_missing_links(key, response, recall, precision):
    score = muc(clusters(key), clusters(response))
    assert score[:2] == pytest.approx((recall, precision))


# Bagga & Baldwin (1998), "Algorithms for scoring coreference chains": MUC cannot tell
# these two responses apart, B³ can.
def test_b_cubed_on_the_example_of_bagga_and_baldwin_1998():
    key = clusters("12345 67 89ABC")
    assert b_cubed(key, clusters("12345 6789ABC")).precision == pytest.approx(16 / 21)
    assert b_cubed(key, clusters("1234589ABC 67")).precision == pytest.approx(7 / 12)


def test_mentions_that_the_response_lacks_count_against_recall_alone():
    # A case of the reference scorer's own suite (conll/reference-coreference-scorers).
    key, response = clusters("a bc def"), clusters("a de")
    assert muc(key, response)[:2] == pytest.approx((1 / 3, 1.0))
    assert b_cubed(key, response)[:2] == pytest.approx((7 / 18, 1.0))
    assert ceaf_e(key, response)[:2] == pytest.approx((0.6, 0.9))
    assert lea(key, response)[:2] == pytest.approx(((1 + 3 * 1 / 3) / 6, 1.0))


# --- the definitions, by brute force ------------------------------------------------


def brute_muc(key, response):
    """Links that a spanning tree needs, less those that have to be added to it."""
    found = links = 0
    for cluster in key:
        parts = {
            frozenset(m for m in cluster if any({m, other} <= r for r in response))
            for other in cluster
        } - {frozenset()}
        alone = [m for m in cluster if not any(m in r for r in response)]
        found += len(cluster) - len(parts) - len(alone)
        links += len(cluster) - 1
    return found / links if links else 0.0


def brute_b_cubed(key, response):
    """Mention by mention."""
    total = []
    for cluster in key:
        for mention in cluster:
            mine = next((r for r in response if mention in r), set())
            total.append(len(cluster & mine) / len(cluster))
    return sum(total) / len(total) if total else 0.0


def brute_ceaf_e(key, response):
    """The best of all ways to match clusters, one by one."""
    few, many = sorted((key, response), key=len)
    best = max(
        sum(2 * len(a & b) / (len(a) + len(b)) for a, b in zip(few, chosen))
        for chosen in permutations(many, len(few))
    )
    return best / len(key)


def brute_lea(key, response):
    """Links listed as pairs; a singleton links to itself."""

    def links(cluster):
        if len(cluster) == 1:
            return {(m, m) for m in cluster}
        return set(combinations(sorted(cluster), 2))

    found = sum(
        len(k) * sum(len(links(k) & links(r)) for r in response) / len(links(k))
        for k in key
    )
    return found / sum(map(len, key))


BRUTE = {
    muc: brute_muc,
    b_cubed: brute_b_cubed,
    ceaf_e: brute_ceaf_e,
    lea: brute_lea,
}
LABELS = st.dictionaries(st.integers(0, 9), st.integers(0, 4), min_size=1)


def as_clusters(labels):
    return [{m for m in labels if labels[m] == c} for c in set(labels.values())]


@pytest.mark.parametrize("metric", BRUTE, ids=lambda metric: metric.__name__)
@given(LABELS, LABELS)
def test_metrics_follow_their_definitions(metric, key, response):
    key, response = as_clusters(key), as_clusters(response)
    score = metric(key, response)
    assert score.recall == pytest.approx(BRUTE[metric](key, response))
    assert score.precision == pytest.approx(BRUTE[metric](response, key))


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.randoms())
def test_labels_and_clusters_are_the_same_thing(labels, random):
    other = [random.randrange(4) for _ in labels]
    a = as_clusters(dict(enumerate(labels)))
    b = as_clusters(dict(enumerate(other)))
    for ours, theirs in zip(coreference(labels, other), coreference(a, b)):
        assert ours == pytest.approx(theirs)
    perfect = coreference(labels, labels)
    assert perfect.b_cubed.f1 == perfect.lea.f1 == pytest.approx(1.0)


def test_labels_of_an_approximation_are_taken_as_they_are():
    X = [[1.0, 0.1], [1.0, 0.0], [0.0, 1.0], [0.1, 1.0]]
    labels = fp.approximate(X, fp.Cosine(), budget=1.0).cluster(0.5)
    assert conll([7, 7, 9, 9], labels) == 1.0


def test_nothing_predicted_scores_nothing():
    scores = coreference(clusters("ab c"), [])
    assert scores.conll == 0.0
    assert scores.lea == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([0, 0, 1], [0, 0], "3 gold labels and 2 predicted"),
        ([0, 0], [{0, 1}], "one side has labels"),
        ([{"a"}, {"a", "b"}], [{"a"}], "'a' is in 2 gold clusters"),
        ("ab c", "ab c", "clusters are 'ab c'"),
        (7, 7, "clusters are 7"),
    ],
)
def test_bad_clusters_are_refused(gold, predicted, message):
    with pytest.raises(fp.InputError, match=message):
        coreference(gold, predicted)
