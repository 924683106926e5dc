"""Hubs: right items that are near most left ones are read more often, and found."""

import numpy as np

import fewpairs as fp

M, N, HUBS = 300, 400, 4


def world(seed, *, hubs=HUBS):
    """Return a matrix of a weak prior, left effects, and a few hubs; and the prior."""
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((M, 12)), rng.standard_normal((N, 12))
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    near = rng.permutation(N)[:hubs]
    K = 0.3 * left @ right.T + 0.1 * rng.standard_normal((M, 1))
    K += 0.08 * rng.standard_normal((M, N))
    K[:, near] += 0.5
    return K, (left, right), near


def test_a_few_evaluations_per_left_item_find_what_is_near_all_of_them():
    shares = []
    for seed in range(4):
        K, prior, near = world(seed)
        approx = fp.approximate(None, K, budget="6/item", prior=prior, seed=seed)
        assert approx.evaluations <= 6 * M
        found = approx.neighbors(HUBS).indices
        shares.append(np.isin(found, near).mean())
    assert np.mean(shares) > 0.85


def test_what_is_put_first_of_a_left_item_was_read_as_a_rule():
    exact = []
    for seed in range(4):
        K, prior, _ = world(seed)
        approx = fp.approximate(None, K, budget="6/item", prior=prior, seed=seed)
        first = approx.neighbors(1).indices[:, 0]
        exact.append(approx.known.lookup(np.arange(M), M + first)[0].mean())
    assert np.mean(exact) > 0.75


def test_what_looks_like_a_hub_is_read_with_the_same_few_left_items():
    K, prior, _ = world(0)
    approx = fp.approximate(None, K, budget="6/item", prior=prior)
    left = approx.known.ends(approx.known.scattered()[0])[0]
    reads = np.sort(np.bincount(left, minlength=M))[::-1]
    assert reads[15] > 3 * np.median(reads)
    assert reads[20] < 3 * np.median(reads)


def test_hubs_take_no_more_than_a_part_of_the_budget_where_there_are_none():
    K, prior, _ = world(0, hubs=0)
    approx = fp.approximate(None, K, budget="6/item", prior=prior)
    assert approx.evaluations <= 6 * M
    per_right = np.bincount(
        approx.known.ends(approx.known.scattered()[0])[1] - M, minlength=N
    )
    assert per_right.max() < M / 2


def test_of_many_more_right_items_than_random_pairs_none_is_looked_for():
    K, prior, _ = world(0)
    asked = []

    def near(a, b):
        asked.append((a, b))
        return float(K[a, b])

    few = range(20)
    fp.approximate(
        few, near, others=range(N), budget="20/item", prior=(prior[0][:20], prior[1])
    )
    most = np.bincount([b for _, b in asked], minlength=N).max()
    assert len(asked) <= 400
    assert most <= 14  # of 20: none is read with all of them


def test_hubs_among_added_items_are_found_and_read_with_most_others():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((360, 12))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        hubs = 300 + rng.permutation(60)[:2]
        K = 0.3 * X @ X.T + 0.06 * rng.standard_normal((360, 360))
        K[hubs] += 0.5
        K = (K + K.T) / 2
        similarity = fp.from_function(lambda a, b, K=K: float(K[a, b]), symmetric=True)
        approx = fp.approximate(
            range(300), similarity, budget="12/item", prior=X[:300], seed=seed
        )
        larger = approx.add(range(300, 360), budget="30/item", prior=X[300:])
        old = np.arange(300)
        for hub in hubs:
            read = larger.known.lookup(np.full(300, hub), old)[0]
            assert read.sum() > 150, (seed, hub)
