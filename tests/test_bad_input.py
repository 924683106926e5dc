"""Bad input: an error that names the call, what was got and the cure."""

import pickle

import numpy as np
import pytest

import fewpairs as fp
from tests.conftest import Counting, never, random_matrix

K = random_matrix(40, symmetric=True)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], r"fewpairs\.approximate: got no items; it takes at least two"),
        (["alone"], r"fewpairs\.approximate: got one item"),
        ("a text", r"items is 'a text', of type str\. Pass a sequence"),
        ({"a", "b"}, r"of type set\. It has no order\. Pass a sequence"),
        (None, r"items is None; only a precomputed matrix needs no items"),
        (7, r"of type int\. Pass a sequence.*list\(items\)"),
    ],
)
def test_items_that_are_no_items(items, message):
    with pytest.raises(fp.InputError, match=message):
        fp.approximate(items, fp.from_function(never, symmetric=True))


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (0, "budget is 0; nothing can be read for that"),
        (-5, "budget is -5; nothing can be read"),
        (0.0, r"budget is 0\.0; a share lies above 0 and up to 1\.0"),
        (1.5, r"budget is 1\.5; a share lies above 0"),
        (float("nan"), "budget is nan; a share lies above 0"),
        ("lots", "budget is 'lots', which is not a number"),
        ("200%", "budget is 200%; a share lies above 0 and up to 100%"),
        ("0/item", "budget is 0/item; nothing can be read for that"),
        (True, "budget is True, which is not a number"),
    ],
)
def test_budgets_that_make_no_sense(budget, message):
    with pytest.raises(fp.InputError, match=rf"fewpairs\.approximate: {message}"):
        fp.approximate(range(40), never, budget=budget)
    with pytest.raises(fp.InputError, match=rf"fewpairs\.plan: {message}"):
        fp.plan(range(40), never, budget=budget)


@pytest.mark.parametrize(
    ("method", "needed"),
    [
        ("nystrom", 40),
        ("sms", 41),
        ("skeleton", 79),
        ("sicur", 79),
        ("stacur", 40),
        ("optimal", 820),
        (fp.Nystrom(10), 355),
    ],
)
def test_a_budget_below_what_the_method_needs_says_how_much_it_needs(method, needed):
    similarity = fp.from_function(never, symmetric=False)
    calls = 2  # an asymmetric pair is evaluated in both orders, the diagonal once
    with pytest.raises(fp.BudgetError, match=r"needs [\d,]+ evaluations") as caught:
        fp.approximate(range(40), similarity, method=method, budget=30)
    diagonal = {"sms": 2, "skeleton": 2, "sicur": 2, "optimal": 40}.get(method, 1)
    diagonal = 10 if isinstance(method, fp.Nystrom) else diagonal
    assert caught.value.needed == calls * (needed - diagonal) + diagonal
    assert caught.value.allowed <= 30


@pytest.mark.parametrize("symmetric", [True, False, None])
def test_a_budget_of_exactly_what_is_needed_is_enough(symmetric):
    function = Counting(K)
    similarity = fp.from_function(function, symmetric=symmetric)
    with pytest.raises(fp.BudgetError) as caught:
        fp.approximate(range(40), similarity, method=fp.Nystrom(10), budget=30)
    budget = caught.value.needed
    approx = fp.approximate(range(40), similarity, method=fp.Nystrom(10), budget=budget)
    assert approx.evaluations == len(function.calls) <= budget
    assert approx.bill.for_fit >= 0.9 * (budget - 16)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fp.Nystrom(41), r"fewpairs\.Nystrom: 41 landmarks of 40 items"),
        (lambda: fp.SiCUR([0, 1, 40]), r"fewpairs\.SiCUR: landmark 40 of 40 items"),
        (lambda: fp.Nystrom(0), "landmarks is 0; it takes at least 1"),
        (lambda: fp.Skeleton(1), "landmarks is 1; it takes at least 2"),
        (lambda: fp.StaCUR(1, independent=True), "it takes at least 2"),
        (lambda: fp.Nystrom([1, 1]), "landmarks must be distinct positions"),
        (lambda: fp.Nystrom([-1, 1]), "landmarks must be distinct positions"),
        (lambda: fp.Nystrom(2.5), "pass a whole number or a list of positions"),
        (lambda: fp.Nystrom("ten"), "pass a whole number or a list of positions"),
        (lambda: fp.Optimal(0), "rank is 0; pass a whole number from 1 on"),
        (lambda: fp.SiCUR(oversampling=0.5), r"oversampling is 0\.5"),
        (lambda: fp.Regularized(mu=-1.0), r"mu is -1\.0; pass a number from 0 on"),
        (lambda: fp.SMSNystrom(alpha=-1), "alpha is -1; pass a number from 0 on"),
        (lambda: fp.SMSNystrom(multiplier=0.5), r"multiplier is 0\.5"),
        (lambda: fp.SMSNystrom(shift="rows"), "shift is 'rows'; pass 'both'"),
        (lambda: fp.SMSNystrom(variant="book"), "variant is 'book'; pass 'paper'"),
        (lambda: fp.SMSNystrom(shift="core", unshift=True), "unshift is True"),
        (lambda: "magic", r"method is 'magic'\. Pass one of 'auto', 'nystrom'"),
        (lambda: fp.Nystrom, r"Make an instance: fewpairs\.Nystrom\(\)"),
        (lambda: 3, "method is 3"),
    ],
)
def test_methods_that_cannot_work(make, message):
    with pytest.raises(fp.InputError, match=message):
        fp.approximate(range(40), never, method=make(), budget=1.0)


def test_neither_landmarks_nor_budget():
    with pytest.raises(fp.InputError, match="neither landmarks nor a budget is given"):
        fp.approximate(range(40), never, method="nystrom", budget=None)


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        ("levenshtein", r"compared by fewpairs\.StringSimilarity\('levenshtein'\)"),
        (fp.Cosine, r"Make an instance: Cosine\(\.\.\.\)"),
        (None, r"similarity is None\. Pass a fewpairs\.Similarity"),
        (np.ones((3, 4)), "the matrix is 3 × 4"),
        (np.ones(3), r"got an array of shape \(3,\)"),
        (np.full((40, 40), "a"), r"got an array of dtype <U1; similarities are real"),
        (np.ones((40, 40), dtype=complex), "dtype complex128"),
        (np.full((40, 40), None), "dtype object"),
        (np.ones((39, 39)), "the matrix is 39 × 39, and there are 40 items"),
    ],
)
def test_similarities_that_are_none(similarity, message):
    with pytest.raises(fp.InputError, match=message):
        fp.approximate(range(40), similarity)


def test_a_sparse_matrix_is_not_a_matrix_of_zeros():
    from scipy import sparse

    with pytest.raises(fp.InputError, match="got a sparse matrix"):
        fp.from_matrix(sparse.eye_array(10))


BAD_VALUES = [
    (float("nan"), "returned nan for items"),
    (float("inf"), "returned inf for items"),
    ("0.5", "returned '0.5' of type str; it must return one real number"),
    (None, "returned None of type NoneType; it must return one real number"),
    (1j, "returned 1j of type complex"),
    ([1.0, 2.0], r"returned \[1.0, 2.0\] of type list"),
    (np.ones(2), "of type ndarray"),
]


@pytest.mark.parametrize(("value", "message"), BAD_VALUES, ids=repr)
def test_a_function_that_returns_no_number_is_named_with_its_pair(value, message):
    ledger = fp.Ledger()
    paid = []

    def scorer(a, b):
        if (a, b) == (7, 3) or (a, b) == (3, 7):
            return value
        paid.append((a, b))
        return K[a, b]

    with pytest.raises(fp.SimilarityError, match=message) as caught:
        fp.approximate(
            range(40),
            fp.from_function(scorer, symmetric=True),
            method=fp.Nystrom([3, 7, 9]),
            budget=1.0,
            store=ledger,
        )
    assert sorted(caught.value.pair) == [3, 7]
    assert str(3) in str(caught.value)
    assert str(7) in str(caught.value)
    i, j = np.array(paid).T
    assert caught.value.ledger.entries.lookup(i, j)[0].mean() > 0.9


@pytest.mark.parametrize("executor", [None, "threads:2"])
@pytest.mark.parametrize("value", [1.01, -1e-6])
def test_a_value_beyond_declared_bounds_is_named_and_what_was_paid_for_kept(
    value, executor
):
    ledger = fp.Ledger()
    calls = []

    def scorer(a, b):
        calls.append((a, b))
        return value if {a, b} == {3, 7} else 0.5

    def run():
        similarity = fp.from_function(
            scorer, symmetric=True, bounds=(0, 1), chunk=20, name="bounded"
        )
        method = fp.Nystrom([3, 9])
        options = {"method": method, "budget": 1.0, "store": ledger}
        return fp.approximate(range(40), similarity, executor=executor, **options)

    message = rf"returned {value}\S* for items .*bounds are declared as \(0, 1\)"
    with pytest.raises(fp.SimilarityError, match=message) as caught:
        run()
    assert sorted(caught.value.pair) == [3, 7]
    paid = len(calls)
    assert ledger.evaluations == paid
    value = 1.0
    again = run()  # the scorer reads another value now: eight are asked again
    twice = set(calls[:paid]) & set(calls[paid:]) - {(3, 7), (7, 3)}
    assert len(twice) <= again.bill.for_store == 8


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rounding_is_within_bounds(dtype):
    def scorer(a, b):
        return np.full(len(a), 1 + 4 * float(np.finfo(dtype).eps), dtype)

    similarity = fp.from_function(scorer, symmetric=True, batched=True, bounds=(0, 1))
    fp.approximate(range(40), similarity, method="nystrom", budget=0.5)


def test_a_function_that_raises_is_named_with_its_pair_and_its_items():
    def judge(a, b):
        if "bad" in (a, b):
            raise ConnectionError("502")
        return 0.5

    items = [f"text {t}" for t in range(30)] + ["bad"]
    with pytest.raises(fp.SimilarityError, match="ConnectionError: 502") as caught:
        fp.approximate(items, judge, method=fp.Nystrom(3), budget=1.0)
    assert 30 in caught.value.pair
    assert "'bad'" in str(caught.value)
    assert isinstance(caught.value.__cause__, ConnectionError)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: np.ones(len(a) + 1), r"returned an array of shape \(\d+,\)"),
        (lambda a, b: 1.0, r"returned an array of shape \(\)"),
        (lambda a, b: np.array(["x"] * len(a)), "returned values of dtype <U1"),
        (lambda a, b: np.full(len(a), 1j), "returned values of dtype complex128"),
        (lambda a, b: np.full(len(a), np.nan), "returned nan for items"),
        (lambda a, b: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_a_batched_function_that_fails_is_named(function, message):
    similarity = fp.from_function(function, batched=True, symmetric=True)
    with pytest.raises(fp.SimilarityError, match=message) as caught:
        fp.approximate(range(40), similarity, budget=0.5)
    assert isinstance(caught.value.ledger, fp.Ledger)


def test_a_scorer_of_the_wrong_shape_is_named():
    class Wrong(fp.Similarity):
        proven = True

        def bind(self, items):
            return WrongScorer(len(items))

    class WrongScorer(fp.Scorer):
        def __init__(self, n):
            self.n = n

        def pairs(self, i, j):
            return np.ones(len(i))

        def block(self, rows, columns):
            return np.ones((len(columns), len(rows)))

    with pytest.raises(fp.SimilarityError, match=r"of shape \(\d+, \d+\), expected"):
        fp.approximate(range(40), Wrong(), budget=0.5)


def test_a_scorer_that_loses_items_is_named():
    class Loses(fp.Similarity):
        def bind(self, items):
            return fp.from_matrix(K[:39, :39]).bind(range(39))

    with pytest.raises(fp.InputError, match="was bound to 40 items and says it has 39"):
        fp.approximate(range(40), Loses())


def test_a_claim_of_symmetry_that_sampled_pairs_contradict():
    A = random_matrix(40, symmetric=False)
    function = Counting(A)
    with pytest.raises(fp.InputError, match="declared symmetric, but its value for"):
        similarity = fp.from_function(function, symmetric=True)
        fp.approximate(range(40), similarity, budget=0.5)
    assert len(function.calls) <= 16
    with pytest.raises(fp.InputError, match=r"symmetric=True, but matrix\[\d+, \d+\]"):
        fp.from_matrix(A, symmetric=True)


@pytest.mark.parametrize("method", ["auto", "nystrom", "sms", "regularized"])
def test_methods_that_need_symmetry_refuse_an_asymmetric_matrix(method):
    similarity = fp.from_function(never, symmetric=False)
    with pytest.raises(fp.InputError, match="needs a symmetric matrix, and symmetrize"):
        fp.approximate(range(40), similarity, method=method, symmetrize=False)


def test_a_nan_in_a_precomputed_matrix_is_named_when_it_is_read():
    holed = K.copy()
    holed[5, 9] = holed[9, 5] = np.nan
    with pytest.raises(fp.SimilarityError, match="returned nan for items") as caught:
        fp.approximate(None, holed, method=fp.Nystrom([5, 2]), budget=1.0)
    assert sorted(caught.value.pair) == [5, 9]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a", None, "b"], r"items\[1\] is None, of type NoneType; every item must be"),
        (["a", 3.0], r"items\[1\] is 3\.0, of type float"),
        ([b"a", "b"], r"items\[0\] is b'a', of type bytes"),
    ],
)
def test_strings_that_are_none(items, message):
    with pytest.raises(fp.InputError, match=message):
        fp.approximate(items, fp.StringSimilarity("levenshtein"))


def test_string_scorers_that_do_not_exist_or_take_no_weights():
    with pytest.raises(
        fp.InputError, match=r"unknown scorer 'soundex'\. Choose one of"
    ):
        fp.StringSimilarity("soundex")
    with pytest.raises(fp.InputError, match="only 'levenshtein' takes weights"):
        fp.StringSimilarity("jaro", weights=(1, 1, 1))


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((39, 2)), "39 embeddings for 40 items"),
        (np.ones(40), r"needs an \(n, d\) array"),
        (np.zeros((40, 2)), "row 0 is zero or not finite"),
        (np.full((40, 2), np.nan), "row 0 is zero or not finite"),
        ([[1.0], [1.0, 2.0]], r"needs an \(n, d\) array"),
        ([["a", "b"]] * 40, r"needs an \(n, d\) array"),
    ],
)
def test_vectors_without_a_direction(vectors, message):
    with pytest.raises(fp.InputError, match=message):
        fp.approximate(range(40), fp.Cosine(vectors))


def test_embeddings_for_landmarks_that_do_not_fit():
    with pytest.raises(fp.InputError, match="39 embeddings for 40 items"):
        method = fp.Nystrom(5, sampling=fp.KMeansMedoids(np.ones((39, 2))))
        fp.approximate(None, K, method=method, budget=1.0)
    with pytest.raises(fp.InputError, match=r"needs a finite \(n, d\) array"):
        fp.KMeansMedoids(np.full((40, 2), np.nan))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": 7}, r"store is 7; pass a path, a URL, a fewpairs\.Ledger"),
        ({"prior": np.ones((39, 2))}, "prior has 39 embeddings for 40 items"),
        ({"prior": np.full((40, 2), np.nan)}, "row 0 of prior is not finite"),
        ({"prior": "minilm"}, "prior is str of shape"),
        ({"prior": np.eye(40), "method": "sms"}, "SMSNystrom takes no prior"),
        ({"target_error": -1}, "target_error is -1; pass a number above 0"),
        ({"executor": 4}, "executor is 4; pass 'serial', 'threads'"),
        ({"executor": "threads:0"}, "executor is 'threads:0'; pass"),
        ({"progress": "yes"}, "progress is 'yes'; pass True, False, a function"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(fp.InputError, match=message):
        fp.approximate(range(40), never, **options)


def test_functions_that_cannot_be_called():
    with pytest.raises(fp.InputError, match="which cannot be called"):
        fp.from_function("f")
    with pytest.raises(fp.InputError, match="chunk is 0; pass a whole number"):
        fp.from_function(never, chunk=0)
    for claim in ("abc", 1, np.array([True, False])):
        with pytest.raises(fp.InputError, match=r"symmetric is .*; pass True, False"):
            fp.from_function(never, symmetric=claim)
    with pytest.raises(fp.InputError, match=r"diagonal is 2, and bounds is \(0, 1\)"):
        fp.from_function(never, diagonal=2, bounds=(0, 1))


def test_products_of_the_wrong_size():
    approx = fp.approximate(None, K, budget=0.5)
    with pytest.raises(
        fp.InputError, match=r"x has shape \(39,\) and dtype float64; it must"
    ):
        approx @ np.ones(39)


def test_truths_of_the_wrong_size():
    from fewpairs.evaluation import quality

    with pytest.raises(fp.InputError, match=r"the truth has shape \(3, 3\)"):
        quality(fp.approximate(None, K, budget=0.5), np.eye(3))


def test_oracle_reads_that_overlap():
    from tests.conftest import oracle_of

    with pytest.raises(fp.InputError, match="an item comes twice in 2"):
        oracle_of(K).columns(np.array([1, 1]))
    with pytest.raises(fp.InputError, match="is among rows and columns"):
        oracle_of(K).block(np.array([1, 2]), np.array([2, 3]))


def test_a_method_that_was_never_resolved():
    from tests.conftest import oracle_of

    with pytest.raises(fp.InputError, match="number of landmarks is not fixed"):
        fp.Nystrom().fit(oracle_of(K), np.random.default_rng(0))


@pytest.mark.parametrize(
    "error",
    [
        fp.InputError("call: got; cure."),
        fp.BudgetError("call: got; cure.", needed=7, allowed=3),
        fp.SimilarityError("call: got; cure.", pair=(1, 2)),
        fp.StoreError("call: got; cure."),
        fp.MissingExtraError("call: got; cure."),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_through_a_process_pool(error):
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
