"""Two sets: an m×n matrix of left items and right ones, by every method that takes it.

Truth by construction: matrices of a chosen rank, and a function of a left and a right
kind of item that fails on anything else and counts its calls.
"""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import BudgetError
from fewpairs.methods.whole import Whole
from fewpairs.report import write_report

M, N, RANK = 40, 70, 3
_rng = np.random.default_rng(0)
A, B = _rng.standard_normal((M, RANK)), _rng.standard_normal((N, RANK))
K = A @ B.T
LEFT = [("left", t) for t in range(M)]
RIGHT = [("right", t) for t in range(N)]
# Methods that recover a matrix of low rank, and what they pay for it.
EXACT = {
    "skeleton": (fp.Skeleton(20), 10 * M + 10 * N - 100),
    "sicur": (fp.SiCUR(12), 6 * M + 12 * N - 72),
    "optimal": (fp.Optimal(RANK), M * N),
    "whole": (Whole(), M * N),
}
PRICES = {
    **EXACT,
    "stacur": (fp.StaCUR(8), 8 * (M + N) - 64),
    "stacur-d": (fp.StaCUR(16, independent=True), 8 * (M + N) - 64),
}
METHODS = {name: method for name, (method, _) in PRICES.items()}


class Across:
    """K of a left and a right item; nothing within a side, and nothing twice."""

    def __init__(self, matrix=K):
        self.matrix, self.asked = matrix, []

    def __call__(self, a, b):
        assert (a[0], b[0]) == ("left", "right"), f"{a} and {b} are no pair"
        self.asked.append((a[1], b[1]))
        return float(self.matrix[a[1], b[1]])

    @property
    def calls(self):
        assert len(set(self.asked)) == len(self.asked), "a pair was evaluated twice"
        return len(self.asked)


def run(method, function=None, **options):
    function = function or Across()
    options = {"budget": None, "prior": None, **options}
    return fp.approximate(LEFT, function, others=RIGHT, method=method, **options)


@pytest.mark.parametrize(("method", "price"), EXACT.values(), ids=EXACT)
def test_a_matrix_of_low_rank_is_recovered(method, price):
    approx = run(method)
    assert approx.shape == (M, N)
    np.testing.assert_allclose(approx.dense(), K, atol=1e-9)
    np.testing.assert_allclose(approx.left @ approx.right.T, K, atol=1e-8)
    assert approx.bill.for_fit == price
    assert approx.certificate.relative_error < 1e-6


@pytest.mark.parametrize(("method", "price"), PRICES.values(), ids=PRICES)
def test_the_price_is_what_the_similarity_counts_and_nothing_lies_within_a_side(
    method, price
):
    function = Across()
    approx = run(method, function)
    assert approx.bill.for_fit == price
    assert approx.evaluations == function.calls
    assert approx.bill.everything == M * N


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_answers_agree_entry_by_entry_and_are_exact_where_they_were_read(method):
    function = Across()
    approx = run(method, function)
    D = approx.dense()
    i, j = np.divmod(np.arange(M * N), N)
    np.testing.assert_allclose(approx.pairs(i, j), D.ravel())
    np.testing.assert_allclose(approx.row(-1), D[-1])
    np.testing.assert_allclose(approx.block([3, 1], slice(5, 9)), D[[3, 1], 5:9])
    x = np.arange(2 * N).reshape(N, 2)
    np.testing.assert_allclose(approx @ x, D @ x, atol=1e-9)
    if approx.model.exact:
        a, b = np.array(function.asked).T
        np.testing.assert_array_equal(D[a, b], K[a, b])


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_same_seed_gives_the_same_bits_and_another_one_others(method):
    one, same, other = (run(method, seed=seed).dense() for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    if not isinstance(method, (fp.Optimal, Whole)):
        assert len({one.tobytes(), other.tobytes()}) == 2


@pytest.mark.parametrize("method", [fp.Optimal(2), Whole()])
def test_turning_either_side_around_turns_the_answer_around(method):
    rows, columns = np.random.default_rng(1).permutation(M), np.arange(N)[::-1]
    plain = run(method).dense()
    turned = fp.approximate(
        [LEFT[t] for t in rows],
        Across(),
        others=[RIGHT[t] for t in columns],
        method=method,
        budget=None,
        prior=None,
    )
    np.testing.assert_allclose(turned.dense(), plain[np.ix_(rows, columns)], atol=1e-9)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_what_is_saved_answers_the_same(method, tmp_path):
    approx = run(method)
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run")
    assert again.shape == (M, N)
    np.testing.assert_array_equal(again.dense(), approx.dense())
    assert again.certificate == approx.certificate
    assert str(again) == str(approx)


@pytest.mark.parametrize("name", ["skeleton", "sicur", "stacur"])
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_a_budget_is_kept_by_methods_that_are_named(name, share):
    function = Across()
    approx = run(name, function, budget=share)
    assert function.calls == approx.evaluations <= share * M * N


@pytest.mark.parametrize("name", ["auto", "sicur", "stacur"])
def test_all_of_the_budget_is_all_of_the_matrix(name):
    function = Across()
    approx = run(name, function, budget=1.0)
    assert function.calls == M * N
    np.testing.assert_array_equal(approx.dense(), K)
    np.testing.assert_allclose(approx.left @ approx.right.T, K, atol=1e-8)
    assert "exact" in approx.certificate.worth


def test_a_matrix_that_is_not_square_is_of_two_sets_and_a_square_one_if_it_is_said():
    assert fp.approximate(None, K, method=fp.SiCUR(12), budget=None).shape == (M, N)
    square = K[:, :M]
    two = fp.approximate(
        None, square, others=range(M), method=fp.SiCUR(12), budget=None
    )
    assert two.bill.everything == M * M
    np.testing.assert_allclose(two.dense(), square, atol=1e-9)


def test_a_receipt_says_what_two_sets_are():
    text = str(run(fp.SiCUR(12)))
    assert text.startswith("fewpairs: 40 × 70 similarities of two sets")
    assert "per left item" in text
    assert repr(run(fp.SiCUR(12))).startswith("<Approximation 40×70")


def test_features_of_both_sides_multiply_to_the_low_rank():
    approx = run(fp.SiCUR(12))
    left, right = approx.embedding()
    np.testing.assert_allclose(left @ right.T, K, atol=1e-8)
    left, right = approx.embedding(RANK)
    assert left.shape == (M, RANK)
    assert right.shape == (N, RANK)
    np.testing.assert_allclose(left @ right.T, K, atol=1e-8)
    np.testing.assert_allclose(approx.factored.dense(), approx.left @ approx.right.T)


@pytest.mark.parametrize("name", ["nystrom", "sms", "regularized"])
def test_methods_with_one_set_of_factors_refuse_two_sets_before_anything_is_paid(name):
    function = Across()
    with pytest.raises(fp.InputError, match="factors of one set of items"):
        run(name, function, budget=0.5)
    assert not function.calls


@pytest.mark.parametrize(
    "method", [fp.Skeleton(8, average=True), fp.SiCUR(8, average=True)]
)
def test_two_sets_have_no_average_with_a_transpose(method):
    with pytest.raises(fp.InputError, match="average=True"):
        run(method)


def test_landmarks_of_two_sets_are_given_by_number():
    with pytest.raises(fp.InputError, match="pass how many"):
        run(fp.SiCUR([1, 2, 3]))
    with pytest.raises(fp.InputError, match="41 landmarks of 40 items"):
        run(fp.SiCUR(41))
    with pytest.raises(BudgetError):
        run(fp.SiCUR(12), budget=100)


@pytest.mark.parametrize(
    ("items", "others", "similarity", "match"),
    [
        ([], RIGHT, Across(), "items is empty"),
        (LEFT, [], Across(), "others is empty"),
        (None, RIGHT, Across(), "items is None"),
        (range(3), None, K, "3 items and 70 others, and the matrix is 40 × 70"),
        (None, range(3), K, "40 items and 3 others, and the matrix is 40 × 70"),
        (LEFT, "text", Across(), "others is 'text'"),
    ],
)
def test_sets_that_cannot_be_are_refused(items, others, similarity, match):
    with pytest.raises(fp.InputError, match=match):
        fp.approximate(items, similarity, others=others)


# --- the default --------------------------------------------------------------------

UNIT_A = A / np.linalg.norm(A, axis=1, keepdims=True)
UNIT_B = B / np.linalg.norm(B, axis=1, keepdims=True)
PRIOR = (A, B)


def two_sets_of(m, n, seed=0, noise=0.05):
    """Return a matrix that embeddings explain in good part, and them."""
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((m, 6)), rng.standard_normal((n, 6))
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (left, right)]
    effects = 0.2 * rng.standard_normal(n)
    K = np.tanh(2 * unit[0] @ unit[1].T) + effects
    return K + noise * rng.standard_normal((m, n)), (left, right)


@pytest.mark.parametrize("student", [False, True])
@pytest.mark.parametrize("budget", ["8/item", "30/item"])
def test_the_default_keeps_its_budget_and_evaluates_nothing_within_a_side(
    student, budget
):
    matrix, prior = two_sets_of(M, N)
    function = Across(matrix)
    method = fp.Auto(student=student, student_seconds=5)
    approx = run(method, function, budget=budget, prior=prior)
    assert function.calls == approx.evaluations <= int(budget[:-5]) * M
    D, (i, j) = approx.dense(), np.array(function.asked).T
    np.testing.assert_array_equal(D[i, j], matrix[i, j])
    rows, columns = np.divmod(np.arange(M * N), N)
    np.testing.assert_allclose(approx.pairs(rows, columns), D.ravel(), atol=1e-5)


def test_the_default_recovers_a_matrix_of_low_rank_without_a_prior():
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 300))
    approx = fp.approximate(None, truth, budget=0.2, prior=None)
    np.testing.assert_allclose(approx.dense(), truth, atol=1e-8)
    assert approx.evaluations <= 0.2 * truth.size


def test_the_default_finds_more_of_the_nearest_than_the_prior_read_from_the_top():
    matrix, (left, right) = two_sets_of(200, 300)
    approx = fp.approximate(None, matrix, budget="30/item", prior=(left, right))
    nearest = np.argsort(-matrix, axis=1)[:, :10]
    cosine = left @ right.T / np.linalg.norm(right, axis=1)
    first = np.argsort(-cosine, axis=1)[:, :30]
    by_prior = np.mean([len(np.intersect1d(a, b)) for a, b in zip(first, nearest)])
    found = approx.neighbors(10)
    ours = np.mean([len(np.intersect1d(a, b)) for a, b in zip(found.indices, nearest)])
    assert ours > by_prior + 1
    assert approx.certificate.r2 > 0.5


def test_neighbors_are_the_largest_answers_of_either_side():
    matrix, prior = two_sets_of(M, N)
    approx = fp.approximate(None, matrix, budget="20/item", prior=prior)
    D = approx.dense()
    for of, answers in (("items", D), ("others", D.T)):
        indices, similarities = approx.neighbors(7, of=of)
        expected = np.argsort(-answers, axis=1, kind="stable")[:, :7]
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_array_equal(
            similarities, np.take_along_axis(answers, expected, axis=1)
        )
    assert approx.neighbors(N).indices.shape == (M, N)
    with pytest.raises(fp.InputError, match=r"k is 71; there are 70 others"):
        approx.neighbors(N + 1)


def test_a_students_neighbors_are_its_answers():
    matrix, prior = two_sets_of(M, N)
    method = fp.Auto(student=True, student_seconds=5)
    approx = fp.approximate(None, matrix, budget="20/item", prior=prior, method=method)
    D = approx.dense()
    indices, similarities = approx.neighbors(5, candidates=N)
    np.testing.assert_allclose(
        similarities, np.take_along_axis(D, indices, axis=1), atol=1e-5
    )
    np.testing.assert_allclose(similarities, -np.sort(-D, axis=1)[:, :5], atol=1e-5)


def test_recall_is_estimated_from_rows_that_are_read_as_a_whole():
    matrix, prior = two_sets_of(M, N)
    function = Across(matrix)
    approx = run("auto", function, budget="20/item", prior=prior)
    found = approx.neighbors(5, evaluations=600)
    true = np.sort(matrix, axis=1)[:, -5:][:, :1]
    recall = np.mean(np.take_along_axis(matrix, found.indices, axis=1) >= true)
    assert abs(found.recall - recall) < 0.25
    assert found.evaluations == function.calls - approx.evaluations <= 600


def test_one_set_has_no_others():
    approx = fp.approximate(None, np.eye(20), budget=1.0)
    with pytest.raises(fp.InputError, match="there is one set of items"):
        approx.neighbors(3, of="others")


@pytest.mark.parametrize("verb", ["cluster", "linkage", "graph", "duplicates"])
def test_what_is_of_one_set_refuses_two(verb):
    approx = run(fp.SiCUR(12))
    arguments = {"cluster": (0.5,), "duplicates": (0.5,)}.get(verb, ())
    with pytest.raises(fp.InputError, match="this is of one set of items"):
        getattr(approx, verb)(*arguments)


@pytest.mark.parametrize(
    ("prior", "match"),
    [
        (A, r"an array of shape \(40, 3\), for two sets"),
        (np.vstack([A, B]), r"an array of shape \(110, 3\), for two sets"),
        ((A, None), "no embeddings of the others"),
        ((None, B), "no embeddings of the items"),
        ((A, B[:5]), "5 embeddings for 70 items"),
        ((A, np.ones((N, 9))), "3 dimensions on the left and 9 on the right"),
    ],
)
def test_priors_that_are_not_of_both_sides_are_refused_before_anything_is_paid(
    prior, match
):
    function = Across()
    with pytest.raises(fp.InputError, match=match):
        run("auto", function, budget="20/item", prior=prior)
    assert not function.calls


@pytest.mark.parametrize(
    ("m", "n"), [(1, 1), (1, 40), (40, 1), (2, 3), (3, 500), (500, 3)]
)
def test_any_sizes_do(m, n):
    matrix, prior = two_sets_of(m, n)
    for budget in ("50/item", 0.9) if min(m, n) > 1 else ("50/item",):
        approx = fp.approximate(None, matrix, others=range(n), budget=budget)
        assert approx.shape == (m, n)
        assert np.isfinite(approx.dense()).all()
        k = min(3, n)
        assert approx.neighbors(k).indices.shape == (m, k)
    approx = fp.approximate(
        None, matrix, others=range(n), budget="50/item", prior=prior
    )
    assert approx.evaluations <= 50 * m
    assert str(approx).startswith(f"fewpairs: {m} × {n} ")


def test_texts_of_both_sides_share_one_lexical_prior():
    words = [f"{a} {b} {c}" for a in "pqrs" for b in "tuvw" for c in "xyzk"]
    left = [f"{text} street" for text in words]
    right = [f"{text} Street." for text in reversed(words)]
    similarity = fp.StringSimilarity("levenshtein")
    approx = fp.approximate(left, similarity, others=right, budget="25/item")
    assert "lexical" in approx.method
    exact = similarity.bind_two(left, right).block(np.arange(64), 64 + np.arange(64))
    first = approx.neighbors(1).indices[:, 0]
    assert (exact[np.arange(64), first] >= exact.max(axis=1)).mean() > 0.9


def test_a_matrix_has_no_texts():
    with pytest.raises(fp.InputError, match="most items have no text"):
        fp.approximate(None, K, prior="lexical")


def test_a_prior_that_is_a_similarity_is_asked_nothing_within_a_side(tmp_path):
    matrix, (left, right) = two_sets_of(M, N)
    cosine = left @ right.T

    def cheap(a, b):
        assert (a[0], b[0]) == ("left", "right"), f"{a} and {b} are no pair"
        return float(cosine[a[1], b[1]])

    prior = fp.from_function(cheap)
    approx = run("auto", Across(matrix), budget="30/item", prior=prior)
    assert "prior" in approx.method
    by_prior = np.corrcoef(approx.dense().ravel(), cosine.ravel())[0, 1]
    assert by_prior > 0.5
    found = approx.search(LEFT[:2], k=3, evaluations=20, new=True)
    assert found.indices.shape == (2, 3)
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run", prior=prior, items=LEFT, others=RIGHT)
    np.testing.assert_array_equal(again.dense(), approx.dense())


def test_a_prior_may_be_a_similarity_of_both_sides():
    left = [f"record {t} of {t % 7}" for t in range(60)]
    right = [f"Record {t} from {t % 7}" for t in range(80)]
    cheap = fp.TokenOverlap("jaccard")
    approx = fp.approximate(
        left,
        fp.StringSimilarity("jaro_winkler"),
        others=right,
        budget="25/item",
        prior=cheap,
    )
    assert approx.shape == (60, 80)
    assert approx.evaluations <= 25 * 60


# --- after the fit ------------------------------------------------------------------


def fitted(function, m=M, **options):
    """Return an approximation of the first m left items."""
    options = {"budget": "20/item", **options}
    return fp.approximate(LEFT[:m], function, others=RIGHT, **options)


@pytest.mark.parametrize("prior", [True, False])
def test_new_left_items_are_searched_among_the_right_ones(prior):
    matrix, (left, right) = two_sets_of(M, N)
    function, m = Across(matrix), M - 5
    given = (left[:m], right) if prior else None
    approx = fitted(function, m, prior=given)
    before = function.calls
    own = {"prior": left[m:]} if prior else {}
    found = approx.search(LEFT[m:], k=4, evaluations=35, **own)
    assert found.evaluations == function.calls - before <= 5 * 35
    np.testing.assert_array_equal(
        found.similarities, np.take_along_axis(matrix[m:], found.indices, axis=1)
    )
    nearest = np.argsort(-matrix[m:], axis=1)[:, :4]
    hits = [len(np.intersect1d(a, b)) for a, b in zip(found.indices, nearest)]
    assert np.mean(hits) > (2.5 if prior else 1)


def test_fitted_left_items_are_searched_by_position():
    matrix, prior = two_sets_of(M, N)
    approx = fitted(Across(matrix), prior=prior)
    found = approx.search([3, -1], k=N, evaluations=N)
    order = np.argsort(-matrix[[3, -1]], axis=1)
    np.testing.assert_array_equal(found.indices, order)


def test_new_rows_of_a_matrix_are_searched():
    matrix, (left, right) = two_sets_of(M, N)
    approx = fp.approximate(
        None, matrix[: M - 2], budget="20/item", prior=(left[: M - 2], right)
    )
    rows = matrix[M - 2 :]
    found = approx.search(rows, k=3, evaluations=N, prior=left[M - 2 :])
    np.testing.assert_array_equal(found.indices, np.argsort(-rows, axis=1)[:, :3])
    with pytest.raises(fp.InputError, match=r"Pass an \(m, 70\) array"):
        approx.search(rows[:, :5], k=3, prior=left[M - 2 :])


def test_new_left_items_get_features_like_those_of_fitted_ones():
    function = Across()
    approx = fitted(function, M - 3, method=fp.SiCUR(12), budget=None, prior=None)
    new = approx.project(LEFT[M - 3 :])
    assert new.evaluations == 3 * 6
    np.testing.assert_allclose(new.block(), K[M - 3 :], atol=1e-8)
    features = approx.transform(LEFT[M - 3 :])
    np.testing.assert_allclose(
        features @ approx.embedding()[1].T, K[M - 3 :], atol=1e-8
    )
    noisy, _ = two_sets_of(120, 150)
    without = fp.approximate(None, noisy, budget=0.4, prior=None)
    with pytest.raises(fp.InputError, match="stand for a prior"):
        without.transform(noisy[:2])


@pytest.mark.parametrize("method", ["auto", "sicur"])
def test_growing_pays_for_what_is_new(method):
    matrix, prior = two_sets_of(M, N)
    function = Across(matrix)
    given = {"prior": prior} if method == "auto" else {}
    small = fitted(function, method=method, budget="20/item", **given)
    large = small.grow("40/item")
    assert small.evaluations < large.evaluations == function.calls <= 40 * M
    assert large.certificate.r2 >= small.certificate.r2 - 0.1


def test_a_loaded_one_searches_once_it_has_its_items(tmp_path):
    matrix, prior = two_sets_of(M, N)
    function = Across(matrix)
    approx = fitted(function, prior=prior)
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run", items=LEFT, others=RIGHT, similarity=function)
    np.testing.assert_array_equal(again.dense(), approx.dense())
    found = again.search(4, k=3, evaluations=N)
    np.testing.assert_array_equal(found.indices, np.argsort(-matrix[4])[:3])
    with pytest.raises(fp.InputError, match="others is None"):
        fp.load(tmp_path / "run", items=LEFT, similarity=function)


def test_errors_name_the_item_and_the_other():
    def fails(a, b):
        if (a[1], b[1]) == (3, 5):
            raise ValueError("no")
        return 1.0

    with pytest.raises(fp.errors.SimilarityError, match=r"others\[5\]") as caught:
        run("optimal", fails, budget=1.0)
    assert caught.value.pair == (3, 5)

    def batched(a, b):
        return np.where([y[1] == 5 for y in b], np.nan, 1.0)

    similarity = fp.from_function(batched, batched=True)
    with pytest.raises(fp.errors.SimilarityError, match="item 0 and other 5") as caught:
        run("optimal", similarity, budget=1.0)
    assert caught.value.pair == (0, 5)


class Failing(Across):
    """The same, until it has been asked so often."""

    def __init__(self, matrix, most):
        super().__init__(matrix)
        self.most = most

    def __call__(self, a, b):
        if len(self.asked) >= self.most:
            raise OSError("killed")
        return super().__call__(a, b)


@pytest.mark.parametrize("method", ["skeleton", "sicur", "stacur", "auto", "trained"])
def test_a_run_that_was_killed_goes_on_to_the_same_bits(method, tmp_path):
    matrix, prior = two_sets_of(M, N)
    given = {"method": method, "prior": None}
    if method in ("auto", "trained"):
        how = fp.Auto(student=method == "trained")
        given = {"method": how, "prior": prior}
    whole = fp.approximate(
        LEFT, named(Across(matrix)), others=RIGHT, budget="20/item", **given
    )
    calls = []
    for most in (150, 300, 10**9):
        function = Failing(matrix, most)
        options = {"budget": "20/item", "store": tmp_path / "run", **given}
        try:
            approx = fp.approximate(LEFT, named(function), others=RIGHT, **options)
        except fp.errors.SimilarityError:
            continue
        finally:
            calls += function.asked
    np.testing.assert_array_equal(approx.dense(), whole.dense())
    again = len(calls) - len(set(calls))
    assert again <= 16  # eight stored pairs are compared at every start
    assert len(set(calls)) == whole.evaluations


def named(function):
    """Return it as a similarity that a store knows by its name."""
    return fp.from_function(function, name="across", chunk=64)


def lookup(a, b):
    """Return a number that follows from a left and a right item."""
    return float(np.sin(3 * a[1] + 0.1) * np.cos(b[1]) + (a[0] == "left"))


@pytest.mark.parametrize("executor", ["threads:2", "processes:2"])
def test_others_who_do_the_work_come_to_the_same(executor):
    options = {"others": RIGHT, "budget": "20/item", "prior": PRIOR}
    alone = fp.approximate(LEFT, lookup, **options)
    together = fp.approximate(LEFT, lookup, executor=executor, **options)
    np.testing.assert_array_equal(together.dense(), alone.dense())
    assert together.evaluations == alone.evaluations


def test_dask_comes_to_the_same():
    distributed = pytest.importorskip("distributed")
    options = {"others": RIGHT, "budget": "20/item", "prior": PRIOR}
    alone = fp.approximate(LEFT, lookup, **options)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        together = fp.approximate(LEFT, lookup, executor=client, **options)
    np.testing.assert_array_equal(together.dense(), alone.dense())


@pytest.mark.parametrize("method", ["auto", "sicur"])
def test_a_report_of_two_sets_says_how_many_there_are_of_each(method, tmp_path):
    matrix, prior = two_sets_of(M, N)
    given = {"prior": prior} if method == "auto" else {}
    approx = fitted(Across(matrix), method=method, **given)
    left, right = ([f"{a} {b}" for a, b in side] for side in (LEFT, RIGHT))
    write_report(approx, left, tmp_path / "page.html", others=right)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"shape":[40,70]' in page
    assert "of two sets" in page
    with pytest.raises(fp.InputError, match="0 others for 70 items"):
        write_report(approx, left, tmp_path / "page.html")


def test_many_items_are_proposed_by_vectors_and_answered_alike(monkeypatch):
    matrix, prior = two_sets_of(150, 200)
    plain = fp.approximate(None, matrix, budget="20/item", prior=prior)
    expected = plain.neighbors(5)
    for module in ("methods.auto.proposals", "answers.across"):
        monkeypatch.setattr(f"fewpairs.{module}.EXACT", 50)
    for of in ("items", "others"):
        indices, similarities = plain.neighbors(5, of=of, candidates=60)
        rows = np.arange(len(indices))[:, None]
        i, j = (rows, indices) if of == "items" else (indices, rows)
        np.testing.assert_allclose(similarities, plain.pairs(i, j), atol=1e-6)
    indices = plain.neighbors(5, candidates=60).indices
    shared = [len(np.intersect1d(a, b)) for a, b in zip(indices, expected.indices)]
    assert np.mean(shared) > 4.5
    large = fp.approximate(None, matrix, budget="20/item", prior=prior)
    assert large.evaluations == plain.evaluations
    assert large.certificate.r2 > plain.certificate.r2 - 0.1


def test_entries_all_over_may_be_what_a_budget_of_two_sets_is_for():
    rng = np.random.default_rng(4)
    left, right = rng.standard_normal((150, 8)), rng.standard_normal((200, 8))
    K = np.tanh(left @ right.T / 4) + 0.5 * rng.standard_normal((1, 200))
    found = {}
    for purpose in ("neighbors", "balanced", "entries"):
        approx = fp.approximate(
            None, K, method=fp.Auto(purpose=purpose, student=False), budget="20/item",
            prior=(left, right),
        )  # fmt: skip
        chosen = approx.method.split(" pairs per item read by")[0].split("; ")[-1]
        found[purpose] = float(chosen)
    assert found["entries"] < found["neighbors"] / 1.5
    assert found["neighbors"] == found["balanced"]
