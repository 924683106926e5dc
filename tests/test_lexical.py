"""Texts have a prior of their own; several priors are one, weighed by what is read."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.evaluation import quality
from fewpairs.methods.weighing import weighed
from fewpairs.similarity.given_priors import as_prior
from fewpairs.similarity.lexical import Lexical, texts_of
from fewpairs.similarity.lexical.grams import counted
from fewpairs.similarity.priors import Prior

WORDS = "amber birch cedar dune ember fjord grove heath inlet jetty knoll larch".split()


def sentences(n, seed=0):
    """Sentences of a few words, every third a misspelt copy of the one before it."""
    rng = np.random.default_rng(seed)
    texts = []
    for t in range(n):
        if t % 3 == 2:
            at = int(rng.integers(len(texts[-1])))
            texts.append(texts[-1][:at] + "x" + texts[-1][at + 1 :])
        else:
            texts.append(" ".join(rng.choice(WORDS, size=rng.integers(3, 9))))
    return texts


TEXTS = sentences(300)
LEVENSHTEIN = fp.StringSimilarity("levenshtein")


def exact(texts, similarity=LEVENSHTEIN):
    everything = np.arange(len(texts))
    return similarity.bind(texts).block(everything, everything)


def test_characters_share_the_smaller_of_their_counts():
    rows = counted(["aab", "abbb", "ccc"], "characters")
    shared = (rows @ rows.T).toarray()
    assert shared.tolist() == [[3, 2, 0], [2, 4, 0], [0, 0, 3]]


def test_words_are_counted_beside_runs_and_order_of_letters_matters():
    rows = counted(["bird nest", "nest, bird", "drib"], "runs")
    shared = (rows @ rows.T).toarray()
    one = counted(["bird"], "runs").sum()
    assert one == 3 + 2 + 1 + 1  # pairs, triples, fours, the word
    assert shared[0, 1] >= one + counted(["nest"], "runs").sum()
    assert shared[0, 2] == 0


def test_a_long_text_is_looked_at_from_both_ends():
    long = "a" * 1_000_000 + "the end"
    assert counted([long], "runs").sum() < 100_000
    assert (counted([long], "runs") @ counted(["the end"], "runs").T).sum() > 10


AWKWARD = {
    "empty": [""] * 60,
    "some empty": ["", "word", "words"] * 20,
    "all equal": ["the same"] * 60,
    "one character": list("abcdefghij" * 6),
    "all different characters": [chr(0x4E00 + t) for t in range(60)],
    "long": ["x" * 1_000_000, "y" * 1_000_000, *TEXTS[:58]],
    "surrogates": [f"\ud800{t % 7}\udfff" for t in range(60)],
    "no spaces": ["東京都" + chr(0x4E00 + t % 9) + "大阪府" for t in range(60)],
    "nulls and newlines": [f"\x00{t % 5}\n\r\t" for t in range(60)],
}


@pytest.mark.parametrize("kind", AWKWARD)
def test_awkward_texts_have_a_prior_or_none_and_never_an_error(kind):
    texts = AWKWARD[kind]
    prior = as_prior("auto", texts, len(texts), "call")
    if prior is not None:
        values = prior.block(np.arange(60), np.arange(60))
        assert np.isfinite(values).all()
        assert (values <= 1.001).all()
    same = kind in ("empty", "all equal", "all different characters")
    assert (prior is None) == same


def test_near_copies_are_each_others_most_similar_under_the_lexical_prior():
    prior = as_prior("lexical", TEXTS, len(TEXTS), "call")
    values = prior.block(np.arange(300), np.arange(300)) - 9 * np.eye(300)
    found = values[1::3].argmax(axis=1)
    assert np.mean(found == np.arange(2, 300, 3)) > 0.8


RECORDS = {
    "texts": (["a b", "c"], ["a b", "c"]),
    "tokens": ([["a", "b"], ["c"]], ["a b", "c"]),
    "dicts": ([{"id": 1, "name": "a", "tags": ["b", "c"]}, {"name": "d"}], None),
    "tuples": ([(1, "a", None), (2, "b", 3.0)], ["a", "b"]),
    "missing": (["a", None, "b"], ["a", "", "b"]),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_text_fields_of_records_are_their_texts(kind):
    items, texts = RECORDS[kind]
    assert texts_of(items) == (texts or ["a\nb c", "d"])


def test_rows_of_a_data_frame_have_texts():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"id": [1, 2], "name": ["a", "b"]})
    assert texts_of([row for _, row in table.iterrows()]) == ["a", "b"]
    assert texts_of(list(table.itertuples())) == ["a", "b"]


NO_TEXTS = {
    "numbers": [1, 2.5],
    "arrays": list(np.eye(3)),
    "bytes": [b"a", b"b"],
    "types": [int, str],
    "mostly missing": ["a", None, None],
    "empty lists": [[], []],
}


@pytest.mark.parametrize("kind", NO_TEXTS)
def test_what_is_no_text_has_none(kind):
    assert texts_of(NO_TEXTS[kind]) is None


def test_a_lexical_prior_of_no_texts_is_refused_where_it_was_asked_for():
    with pytest.raises(fp.InputError, match='prior is "lexical", and most items have'):
        fp.approximate(range(60), fp.from_matrix(np.eye(60)), prior="lexical")


def test_several_priors_are_their_weighted_sum():
    one, two = np.eye(6, 4), np.ones((6, 2))
    prior = as_prior([one, two], None, 6, "call")
    values = prior.block(np.arange(6), np.arange(6))
    alone = [as_prior(part, None, 6, "call") for part in (one, two)]
    expected = sum(p.block(np.arange(6), np.arange(6)) for p in alone) / 2
    assert np.allclose(values, expected)
    assert np.allclose(prior.embeddings @ prior.embeddings.T, expected)
    heavier = Prior.of_parts(prior.parts, [0.0, 1.0])
    assert heavier.embeddings.shape == (6, 2)
    assert np.allclose(heavier.pairs(np.array([0]), np.array([1])), 1)


def test_a_similarity_among_priors_leaves_vectors_for_an_index():
    prior = as_prior(["lexical", LEVENSHTEIN], TEXTS, 300, "call")
    assert prior.embeddings is None
    assert len(prior.vectors) == 300
    i, j = np.array([0, 5]), np.array([7, 9])
    parts = [part.pairs(i, j) for part in prior.parts]
    assert np.allclose(prior.pairs(i, j), np.mean(parts, axis=0), atol=1e-6)


def test_a_prior_that_read_pairs_do_not_confirm_counts_for_nothing():
    rng = np.random.default_rng(0)
    good, useless = rng.standard_normal((2, 200, 5))
    prior = as_prior([useless, good], None, 200, "call")
    i, j = rng.integers(200, size=(2, 2_000))
    values = prior.parts[1].pairs(i, j) + 0.1 * rng.standard_normal(2_000)
    assert weighed(prior, i, j, values).weights == (0.0, 1.0)
    assert weighed(prior, i, j, -values).weights == (0.0, 1.0)
    assert weighed(prior, i, j, rng.standard_normal(2_000)) is prior
    assert weighed(prior, i[:9], j[:9], values[:9]) is prior
    assert weighed(prior.parts[0], i, j, values) is prior.parts[0]


def test_two_halves_of_what_matters_are_worth_more_than_either():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 12))
    K = np.tanh(X @ X.T / 6)
    run = {"budget": "20/item", "method": fp.Auto(student=False)}
    halves = X[:, :6], X[:, 6:]
    alone = [
        fp.approximate(None, K, prior=half, **run).certificate.r2 for half in halves
    ]
    both = fp.approximate(None, K, prior=list(halves), **run)
    assert both.certificate.r2 > max(alone) + 0.1
    assert "weights" in both.method


def run_with(prior, budget="20/item", **more):
    return fp.approximate(TEXTS, LEVENSHTEIN, prior=prior, budget=budget, **more)


@pytest.mark.parametrize("budget", ["12/item", 0.3], ids=["few", "landmarks"])
def test_new_texts_get_their_prior_by_the_recipe_that_was_fitted(budget, tmp_path):
    approx = run_with("lexical", budget)
    new = sentences(20, seed=5)
    told = approx.project(new).block()
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run", items=TEXTS, similarity=LEVENSHTEIN)
    assert np.array_equal(again.dense(), approx.dense())
    assert np.array_equal(again.project(new).block(), told)
    found = again.search(TEXTS[7] + " x", k=3)
    assert 7 in np.ravel(found.indices)


def test_several_priors_are_saved_with_their_weights(tmp_path):
    vectors = np.random.default_rng(0).standard_normal((300, 3))
    approx = run_with([vectors, "lexical"])
    assert sum(approx.model.prior.weights) == pytest.approx(1)
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run", items=TEXTS, similarity=LEVENSHTEIN)
    assert np.array_equal(again.dense(), approx.dense())
    assert again.model.prior.weights == approx.model.prior.weights
    new = TEXTS[:2]
    for told in (approx, again):  # useless vectors count for nothing: none are needed
        assert told.project(new).block().shape == (2, 300)


def test_new_items_bring_a_prior_for_each_that_needs_one():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 4))
    K = np.tanh(X @ X.T)
    compare = fp.from_function(lambda a, b: float(K[a, b]), symmetric=True)
    halves = [X[:200, :2], X[:200, 2:]]
    approx = fp.approximate(range(200), compare, prior=halves, budget="30/item")
    new = list(range(200, 210))
    with pytest.raises(fp.InputError, match=r"the fit used 2 priors, .* a list with"):
        approx.project(new, prior=X[200:210])
    block = approx.project(new, prior=[X[200:210, :2], X[200:210, 2:]]).block()
    assert np.corrcoef(block.ravel(), K[200:210, :200].ravel())[0, 1] > 0.8


def test_a_similarity_among_priors_is_passed_again_at_loading(tmp_path):
    jaro = fp.StringSimilarity("jaro_winkler")
    approx = run_with(["lexical", jaro])
    approx.save(tmp_path / "run")
    with pytest.raises(fp.InputError, match="Pass prior= and items="):
        fp.load(tmp_path / "run")
    again = fp.load(tmp_path / "run", items=TEXTS, prior=["lexical", jaro])
    assert np.allclose(again.dense(), approx.dense(), atol=1e-6)


def test_a_run_with_a_lexical_prior_goes_on_to_the_same_bits(tmp_path):
    calls = []

    def compare(a, b):
        calls.append(1)
        if len(calls) == 1_500:
            raise KeyboardInterrupt
        return float(len(set(a.split()) & set(b.split())))

    recipe = fp.from_function(compare, symmetric=True, diagonal=1.0)
    run = {"budget": "20/item", "prior": ["lexical", LEVENSHTEIN]}
    with pytest.raises(KeyboardInterrupt):
        fp.approximate(TEXTS, recipe, store=tmp_path / "store", **run)
    first = fp.approximate(TEXTS, recipe, store=tmp_path / "store", **run)
    whole = fp.approximate(TEXTS, recipe, **run)
    assert np.array_equal(first.dense(), whole.dense())
    assert np.array_equal(first.grow("40/item").dense(), whole.grow("40/item").dense())


def test_the_receipt_says_what_the_lexical_prior_was_worth():
    assert "prior lexical, " in run_with("lexical").method
    assert "% of random pairs" in run_with("lexical").method
    assert "prior lexical, " in run_with("lexical", 0.3).method


def test_what_was_fitted_once_makes_the_same_vectors_again():
    lexical = Lexical.fit(TEXTS)
    whole, parts = lexical.embed(TEXTS), [lexical.embed([text]) for text in TEXTS[:5]]
    assert np.allclose(whole[:5], np.vstack(parts), atol=1e-6)
    assert np.allclose(np.linalg.norm(whole, axis=1), 1, atol=1e-5)
    assert lexical.embed([]).shape == (0, lexical.dimensions)


def test_texts_have_the_lexical_prior_by_default_and_nothing_else_has_one():
    given = run_with("lexical")
    by_default = fp.approximate(TEXTS, LEVENSHTEIN, budget="20/item")
    without = run_with(None)
    assert by_default.certificate.r2 > given.certificate.r2 - 0.05
    assert without.model.prior is None or without.model.prior.lexical is None
    assert by_default.certificate.r2 > without.certificate.r2
    assert fp.plan(TEXTS, LEVENSHTEIN).prior_r2 > 0.3
    assert fp.plan(TEXTS, LEVENSHTEIN, prior=None).prior_r2 is None


def test_items_without_texts_and_other_methods_are_as_with_no_prior():
    K = exact(TEXTS)
    compare = fp.from_function(lambda a, b: float(K[a, b]), symmetric=True)
    cases = [
        (range(300), compare, "auto"),  # numbers
        (TEXTS, fp.from_matrix(K), "auto"),  # a matrix, whatever its items are called
        (TEXTS[:40], LEVENSHTEIN, "auto"),  # too few
        (TEXTS, LEVENSHTEIN, "nystrom"),
        (TEXTS, LEVENSHTEIN, "regularized"),
    ]
    for items, similarity, method in cases:
        run = {"budget": 0.4, "method": method}
        told = fp.approximate(items, similarity, **run)
        without = fp.approximate(items, similarity, prior=None, **run)
        assert np.array_equal(told.dense(), without.dense())
        assert told.method == without.method


@pytest.mark.parametrize("per_item", [10, 20, 60])
def test_where_characters_say_nothing_nothing_is_lost(per_item):
    """Values that have nothing to do with their texts: R² and recall of neighbors."""
    lost = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 4))
        K = np.tanh(X @ X.T)
        texts = [f"{t}. {text}" for t, text in enumerate(TEXTS)]
        compare = fp.from_function(
            lambda a, b, K=K: float(K[number(a), number(b)]), symmetric=True
        )
        run = {"budget": f"{per_item}/item", "seed": seed}
        pair = [
            fp.approximate(texts, compare, prior=prior, **run)
            for prior in ("auto", None)
        ]
        told, alone = (quality(approx, K) for approx in pair)
        lost.append((alone.r2 - told.r2, nearest(pair[1], K) - nearest(pair[0], K)))
    assert (np.mean(lost, axis=0) < 0.03).all(), lost


def number(text):
    return int(text.split(".")[0])


def nearest(approx, K):
    hidden = K - 9 * np.eye(len(K))
    true = np.argsort(-hidden, axis=1)[:, :10]
    found = approx.neighbors(10).indices
    return np.mean([np.isin(a, b).mean() for a, b in zip(true, found, strict=True)])


def test_the_page_of_the_benchmark_is_what_its_results_say():
    from benchmarks.texts import PAGE, RESULTS, Results, page

    assert PAGE.read_text(encoding="utf-8") == page(Results(RESULTS))
