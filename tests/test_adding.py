"""Adding items: what was paid for is kept, and only pairs with new items are read."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import BudgetError, InputError


class Counting:
    """A smooth similarity of numbers that counts its calls, pair by pair."""

    def __init__(self):
        self.calls = Counter()

    def __call__(self, a, b):
        self.calls[a, b] += 1
        return float(np.exp(-abs(a - b) / 40) + 0.1 * np.cos(a / 7) * np.cos(b / 7))


def counted(**facts):
    calls = Counting()
    return calls, fp.from_function(calls, symmetric=True, **facts)


def features(numbers):
    """Embeddings whose cosine falls with the distance of two numbers."""
    at = np.arange(0, 400, 10)
    return np.exp(-(((np.asarray(numbers)[:, None] - at) / 25.0) ** 2))


NUMBERS = np.random.default_rng(5).permutation(400).astype(float).tolist()
OLD, NEW = NUMBERS[:300], NUMBERS[300:360]


@cache
def grown(prior=True, budget=None, **options):
    """Return an approximation, it with new items, and the calls before and after."""
    calls, similarity = counted()
    given = {"prior": features(OLD)} if prior else {"prior": None}
    approx = fp.approximate(OLD, similarity, budget="30/item", **given, **options)
    before = Counter(calls.calls)
    more = {"prior": features(NEW)} if prior else {}
    larger = approx.add(NEW, budget=budget, **more)
    return approx, larger, before, calls.calls


@pytest.mark.parametrize("prior", [True, False])
def test_no_pair_is_paid_twice_and_only_pairs_with_new_items_are_read(prior):
    approx, larger, before, calls = grown(prior)
    assert larger.shape == (360, 360)
    assert max(calls.values()) == 1
    new = set(NEW)
    assert all(a in new or b in new for a, b in calls - before)
    assert larger.evaluations == calls.total()
    assert approx.evaluations == before.total()


@pytest.mark.parametrize("prior", [True, False])
def test_what_was_read_before_is_exact_in_the_larger_one(prior):
    approx, larger, _, _ = grown(prior)
    keys, values = approx.known.scattered()
    i, j = approx.known.ends(keys)
    assert np.array_equal(larger.pairs(i, j), values)
    old = approx.known.lookup(*np.triu_indices(300, 1))[0]
    assert np.array_equal(larger.known.lookup(*np.triu_indices(300, 1))[0], old)


def test_by_default_a_new_item_gets_as_many_pairs_as_an_item_had():
    approx, larger, _, _ = grown()
    per_item = 2 * approx.bill.charged / 300
    assert larger.evaluations - approx.evaluations <= np.ceil(per_item * 60)
    assert larger.evaluations - approx.evaluations > 0.9 * per_item * 60


def test_the_default_does_not_grow_with_what_was_added():
    approx, larger, _, _ = grown()
    last = larger.add(NUMBERS[360:], prior=features(NUMBERS[360:]))
    per_item = 2 * approx.bill.charged / 300
    assert last.evaluations - larger.evaluations <= np.ceil(per_item * 40)


@pytest.mark.parametrize(
    ("budget", "most"), [(500, 500), ("4/item", 240), (0.01, 197), ("1%", 197), (1, 1)]
)
def test_the_budget_is_for_pairs_with_new_items_and_is_kept(budget, most):
    approx, larger, _, _ = grown(budget=budget)
    assert larger.evaluations - approx.evaluations <= most


def test_the_certificate_is_of_the_larger_matrix():
    missed = []
    at = np.array(NUMBERS[:360])
    K = np.exp(-np.abs(at[:, None] - at) / 40)
    K += 0.1 * np.cos(at / 7)[:, None] * np.cos(at / 7)
    up = np.triu_indices(360, 1)
    truth = K[up]
    for prior in (True, False):
        _, larger, _, _ = grown(prior)
        error = np.linalg.norm(truth - larger.pairs(*up)) / np.linalg.norm(truth)
        low, high = larger.certificate.interval
        missed.append(not low <= error <= high)
        i, j = larger.evidence.i, larger.evidence.j
        old = np.maximum(i, j) < 300
        unread_old = (
            300 * 299 / 2 - larger.known.lookup(*np.triu_indices(300, 1))[0].sum()
        )
        share = (unread_old + old.sum()) / (
            larger.certificate.unread * len(truth) + len(i)
        )
        assert abs(old.mean() - share) < 0.1
    assert not any(missed)


def test_pairs_held_out_before_stay_unseen_by_the_fit():
    """Another value of a held-out pair changes nothing but that pair."""
    calls, similarity = counted()
    approx = fp.approximate(OLD, similarity, budget="30/item", prior=features(OLD))
    larger = approx.add(NEW, prior=features(NEW))
    i, j = approx.evidence.i, approx.evidence.j
    wrong = {(OLD[a], OLD[b]) for a, b in zip(i, j, strict=True)}
    wrong |= {(b, a) for a, b in wrong}

    def other(a, b):
        return calls(a, b) + 5.0 * ((a, b) in wrong)

    twin = fp.from_function(other, symmetric=True)
    changed = fp.approximate(OLD, twin, budget="30/item", prior=features(OLD))
    changed = changed.add(NEW, prior=features(NEW))
    assert np.array_equal(changed.model.left, larger.model.left)


def test_pairs_drawn_at_random_are_random_ones_of_later_fits():
    """Else a later fit takes them for pairs that looked similar."""
    approx, larger, _, _ = grown()
    last = larger.add(NUMBERS[360:], prior=features(NUMBERS[360:]))
    random = set()
    for one in (approx, larger):
        drawn = one.known.ends(np.concatenate([*one.known.drawn.values()]))
        for i, j in (drawn, (one.evidence.i, one.evidence.j)):
            random |= set(last.known.keys(i, j).tolist())
    held = last.known.keys(last.evidence.i, last.evidence.j)
    called = np.concatenate([held, *last.known.drawn.values()])
    assert len(random) > 1_000
    assert random <= set(called.tolist())


def test_one_at_a_time_works_and_each_is_found():
    _, similarity = counted()
    approx = fp.approximate(OLD, similarity, budget="30/item", prior=features(OLD))
    for number in NEW[:3]:
        approx = approx.add([number], prior=features([number]))
        order = sorted(OLD + NEW, key=lambda other: abs(other - number))
        found = approx.neighbors(5).indices[-1]
        names = [(OLD + NEW)[t] for t in found]
        assert sum(abs(name - number) < 8 for name in names) >= 4, (number, order[:6])
    assert approx.shape == (303, 303)


@pytest.mark.parametrize(
    "method",
    [
        fp.Nystrom(12),
        "nystrom",
        fp.Regularized(12),
        fp.SiCUR(12),
        fp.StaCUR(12),
        fp.StaCUR(12, independent=True),
        fp.Skeleton(12),
    ],
)
def test_landmark_methods_go_on_with_their_landmarks(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    seen = Counter()

    def product(a, b):
        seen[int(a[-1]), int(b[-1])] += 1
        return float(a[:4] @ b[:4])

    items = np.column_stack([X, np.arange(120)])
    approx = fp.approximate(
        items[:100], fp.from_function(product, symmetric=True), method=method,
        budget=0.35,
    )  # fmt: skip
    before = Counter(seen)
    larger = approx.add(items[100:])
    assert max(seen.values()) == 1
    assert all(max(pair) >= 100 for pair in seen - before)
    assert set(larger.landmarks) == set(approx.landmarks)
    if not isinstance(method, fp.StaCUR):  # never exact
        assert np.allclose(larger.dense(), X @ X.T, atol=1e-8)


def test_a_landmark_method_says_what_new_items_need():
    calls, similarity = counted()
    approx = fp.approximate(OLD, similarity, method=fp.Nystrom(10), budget=0.1)
    before = calls.calls.total()
    with pytest.raises(BudgetError, match="10 landmarks take 600 evaluations"):
        approx.add(NEW, budget=100)
    assert calls.calls.total() == before


def test_a_matrix_that_was_read_as_a_whole_stays_whole():
    calls, similarity = counted()
    approx = fp.approximate(OLD[:60], similarity, budget=1.0)
    larger = approx.add(NEW[:10])
    assert larger.certificate.relative_error == 0
    assert larger.certificate.unread == 0
    assert max(calls.calls.values()) == 1


def test_texts_get_their_prior_again():
    words = ["alpha", "beta", "gamma", "delta", "omega", "sigma"]
    texts = [f"{a} {b} {t}" for t in range(12) for a in words for b in words]
    approx = fp.approximate(texts[:300], fp.StringSimilarity(), budget="20/item")
    larger = approx.add(texts[300:])
    assert larger.shape == (432, 432)
    assert "lexical" in larger.method
    few = fp.approximate(texts[:40], fp.StringSimilarity(), budget="20/item")
    assert "lexical" not in few.method
    assert "lexical" in few.add(texts[40:300], budget="40/item").method


def test_a_prior_of_a_cheap_similarity_is_bound_to_new_items_too():
    _, similarity = counted()
    cheap = fp.from_function(lambda a, b: -abs(a - b), symmetric=True, name="near")
    approx = fp.approximate(OLD, similarity, budget="20/item", prior=cheap)
    larger = approx.add(NEW)
    assert larger.certificate.r2 > 0.5


def test_the_receipt_says_what_was_kept_and_what_was_added():
    approx, larger, _, _ = grown()
    made = larger.evaluations - approx.evaluations
    assert f"60 items joined 300: {approx.evaluations:,} evaluations kept" in str(
        larger
    )
    assert f"{made:,} made for the new ones" in str(larger)


def test_the_larger_one_grows_and_is_added_to():
    _, larger, _, calls = grown(seed=1)
    before = calls.total()
    more = larger.grow("60/item")
    assert more.evaluations > larger.evaluations
    last = more.add(NUMBERS[360:], prior=features(NUMBERS[360:]))
    assert last.shape == (400, 400)
    assert max(calls.values()) == 1
    assert last.evaluations == calls.total() > before


def test_what_answers_read_is_kept_too():
    calls, similarity = counted()
    approx = fp.approximate(OLD, similarity, budget="30/item", prior=features(OLD))
    approx.search(3, k=5, evaluations=60, new=False)
    larger = approx.add(NEW, prior=features(NEW))
    larger.search(3, k=5, evaluations=60, new=False)
    assert max(calls.calls.values()) == 1
    assert larger.bill.for_answers == approx.source.reader.evaluations


def test_adding_twice_is_the_same_to_the_bit():
    _, first, _, _ = grown()
    _, second, _, _ = grown.__wrapped__()
    assert np.array_equal(first.dense(), second.dense())


# --- bad input, each before anything is paid for ----------------------------------


def test_a_matrix_knows_no_new_items():
    K = np.eye(60)
    approx = fp.approximate(None, K, budget=0.5)
    with pytest.raises(InputError, match=r"Approximation\.add: .* knows no others"):
        approx.add(np.ones((1, 60)))


def test_vectors_that_came_with_the_similarity_know_no_new_items():
    X = np.random.default_rng(0).standard_normal((80, 5))
    approx = fp.approximate(range(80), fp.Cosine(X), budget=0.5)
    with pytest.raises(InputError, match="knows no others"):
        approx.add([1])


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ([], "new_items is empty"),
        (["text"], r"new_items\[0\] is 'text', of type str"),
        ([1.0, None], r"new_items\[1\] is None"),
        ("text", "new_items is 'text'"),
        ({1.0, 2.0}, "has no order"),
    ],
)
def test_new_items_of_another_kind_are_refused(new, message):
    calls, similarity = counted()
    approx = fp.approximate(OLD[:80], similarity, budget=0.3)
    before = calls.calls.total()
    with pytest.raises(InputError, match=message):
        approx.add(new)
    assert calls.calls.total() == before


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (None, r"Pass prior=, an \(60, 40\) array"),
        (np.ones((59, 40)), "59 embeddings for 60 items"),
        (np.ones((60, 3)), "3 dimensions, that of the fit has 40"),
    ],
)
def test_embeddings_of_new_items_must_fit(prior, message):
    calls, similarity = counted()
    approx = fp.approximate(OLD, similarity, budget="8/item", prior=features(OLD))
    before = calls.calls.total()
    with pytest.raises(InputError, match=message):
        approx.add(NEW, prior=prior)
    assert calls.calls.total() == before


def test_a_prior_where_the_fit_had_none_is_refused():
    _, similarity = counted()
    approx = fp.approximate(OLD[:80], similarity, budget=0.3, prior=None)
    with pytest.raises(InputError, match="the fit used none"):
        approx.add(NEW, prior=features(NEW))


def test_a_similarity_that_depends_on_all_items_is_refused():
    texts = [f"word{t} other{t % 7}" for t in range(60)]
    words = sorted({word for text in texts for word in text.split()})
    vectors = words, np.random.default_rng(0).standard_normal((len(words), 4))
    wmd = fp.WMD(vectors, gamma=1.0, weights="tfidf")
    approx = fp.approximate(texts, wmd, budget=0.5)
    with pytest.raises(InputError, match="depends on all items"):
        approx.add(["word1 other2"])


@pytest.mark.parametrize("method", ["sms", "optimal"])
def test_methods_that_read_old_items_anew_are_refused(method):
    _, similarity = counted()
    budget = 1.0 if method == "optimal" else 0.5
    approx = fp.approximate(OLD[:60], similarity, method=method, budget=budget)
    message = "reads pairs of old items anew|has no similarity"
    with pytest.raises(InputError, match=message):
        approx.add(NEW)


def test_a_matrix_that_is_read_as_it_is_is_refused():
    lopsided = fp.from_function(lambda a, b: a - 2 * b, symmetric=False)
    approx = fp.approximate(
        OLD[:60], lopsided, method="sicur", budget=0.5, symmetrize=False
    )
    with pytest.raises(InputError, match="not symmetric"):
        approx.add(NEW)


def test_a_budget_below_one_evaluation_is_refused():
    _, similarity = counted()
    approx = fp.approximate(OLD[:80], similarity, budget=0.3)
    with pytest.raises(BudgetError, match="less than one evaluation for 1 new item"):
        approx.add(NEW[:1], budget=0.001)


# --- stores --------------------------------------------------------------------------


def stopping(after):
    """Return a similarity that fails after so many calls."""
    calls = Counting()

    def similarity(a, b):
        if calls.calls.total() >= after:
            raise KeyboardInterrupt
        return calls(a, b)

    return calls, similarity


@pytest.mark.parametrize("after", [60, 1_500])
def test_a_run_that_adds_goes_on_after_a_kill_to_the_same_bits(tmp_path, after):
    calls, similarity = stopping(10**9)
    named = {"symmetric": True, "name": "near"}

    def base(function, store):
        similarity = fp.from_function(function, **named)
        return fp.approximate(
            OLD, similarity, budget="30/item", prior=features(OLD), store=store
        )

    whole = base(similarity, tmp_path / "whole").add(NEW, prior=features(NEW))
    _, similarity = stopping(4_500 + after)
    with pytest.raises(KeyboardInterrupt):
        base(similarity, tmp_path / "killed").add(NEW, prior=features(NEW))
    again, similarity = stopping(10**9)
    first = base(similarity, tmp_path / "killed")
    assert first.evaluations <= 8  # stored pairs, evaluated again
    checks = again.calls.total()
    result = first.add(NEW, prior=features(NEW))
    assert np.array_equal(result.dense(), whole.dense())
    assert result.certificate == whole.certificate
    made = calls.calls.total() - 4_500
    assert again.calls.total() - checks <= made - after + 1
    assert result.bill.charged == whole.bill.charged


def test_in_a_store_nothing_is_paid_twice_whatever_is_added_to_it(tmp_path):
    calls, similarity = counted(name="near")
    store = fp.Ledger(tmp_path / "paid")
    approx = fp.approximate(
        OLD, similarity, budget="30/item", prior=features(OLD), store=store
    )
    one = approx.add(NEW[:30], prior=features(NEW[:30]))
    other = approx.add(NEW[30:], prior=features(NEW[30:]))
    both = one.add(NEW[30:], prior=features(NEW[30:]))
    assert one.shape == other.shape == (330, 330)
    assert both.shape == (360, 360)
    before = calls.calls.total()
    again = approx.add(NEW[:30], prior=features(NEW[:30]))
    assert calls.calls.total() == before
    assert np.array_equal(again.dense(), one.dense())
    store.forget()
    assert not (tmp_path / "paid" / "added").exists()


def test_a_ledger_in_memory_is_added_to(tmp_path):
    calls, similarity = counted(name="near")
    approx = fp.approximate(
        OLD, similarity, budget="30/item", prior=features(OLD), store=fp.Ledger()
    )
    larger = approx.add(NEW, prior=features(NEW))
    larger.search(0, k=3, evaluations=30, new=False)
    assert max(calls.calls.values()) == 1


# --- saved and loaded ----------------------------------------------------------------


def test_what_was_saved_and_loaded_grows_and_is_added_to(tmp_path):
    calls, similarity = counted(name="near")
    approx = fp.approximate(OLD, similarity, budget="30/item", prior=features(OLD))
    here = approx.add(NEW, prior=features(NEW))
    approx.save(tmp_path / "run")
    again, twin = counted(name="near")
    loaded = fp.load(tmp_path / "run", items=OLD, similarity=twin)
    there = loaded.add(NEW, prior=features(NEW))
    assert np.array_equal(there.dense(), here.dense())
    assert there.evaluations == here.evaluations
    assert not set(again.calls) & {(b, a) for a, b in calls.calls} - set(calls.calls)
    larger = loaded.grow("60/item")
    assert larger.evaluations > approx.evaluations
    there.save(tmp_path / "larger")
    text = str(fp.load(tmp_path / "larger"))
    assert "60 items joined 300" in text


def test_a_loaded_one_goes_on_with_its_method(tmp_path):
    _, similarity = counted(name="near")
    method = fp.Regularized(landmarks=12, mu=0.5)
    approx = fp.approximate(OLD[:100], similarity, method=method, budget=0.4)
    approx.save(tmp_path / "run")
    loaded = fp.load(tmp_path / "run", items=OLD[:100], similarity=similarity)
    assert loaded.source.method == method
    assert loaded.add(NEW).landmarks.tolist() == approx.landmarks.tolist()


def test_without_items_a_loaded_one_says_what_it_needs(tmp_path):
    _, similarity = counted(name="near")
    approx = fp.approximate(OLD[:80], similarity, budget=0.3)
    approx.save(tmp_path / "run")
    with pytest.raises(InputError, match="Pass items= and similarity="):
        fp.load(tmp_path / "run").add(NEW)


def test_a_loaded_one_goes_on_with_its_store(tmp_path):
    calls, similarity = counted(name="near")
    approx = fp.approximate(
        OLD, similarity, budget="30/item", prior=features(OLD), store=tmp_path / "paid"
    )
    approx.save(tmp_path / "run")
    first = approx.add(NEW, prior=features(NEW))
    before = calls.calls.total()
    loaded = fp.load(
        tmp_path / "run", items=OLD, similarity=similarity, store=tmp_path / "paid"
    )
    again = loaded.add(NEW, prior=features(NEW))
    assert calls.calls.total() == before
    assert np.array_equal(again.dense(), first.dense())


@pytest.mark.needs_data
def test_more_pairs_for_new_items_find_more_of_their_neighbors(data_folder, stsb):
    """Beyond some 55 pairs per new item as below: nothing else takes over."""
    E = np.load(data_folder / "matrices" / "stsb_embeddings.npy").astype(np.float32)
    some = np.random.default_rng(0).permutation(3_000)[:1_000]
    K, E = stsb[np.ix_(some, some)], E[some]
    similarity = fp.from_function(lambda a, b: float(K[a, b]), symmetric=True)
    method = fp.Auto(student=False)
    old, new = range(900), range(900, 1_000)
    approx = fp.approximate(
        old, similarity, method=method, prior=E[:900], budget="50/item"
    )
    truth = np.argpartition(-(K - 9 * np.eye(1_000)), 10, axis=1)[:, :10]

    def found(per_item):
        larger = approx.add(new, prior=E[900:], budget=100 * per_item)
        known = larger.neighbors(10).indices
        return (known[:, :, None] == truth[:, None]).any(axis=1)[900:].mean()

    few, more, many = found(40), found(70), found(150)
    assert few < more < many
