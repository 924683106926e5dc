"""Cascades: a cheap similarity that is paid for says where a dear one is asked."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import InputError

N = 150
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 8))
GAPS = ((X[:, None] - X[None]) ** 2).sum(-1)
DEAR = np.exp(-0.15 * GAPS)
NOISE = 0.03 * RNG.standard_normal((N, N))
CHEAP = DEAR**0.7 + (NOISE + NOISE.T) / 2
np.fill_diagonal(CHEAP, 1.0)


class Counted:
    """Says what a matrix holds, and who asked for what."""

    def __init__(self, K, price=0.0):
        self.K, self.price = K, price
        self.asked = []

    def similarity(self, name, *, batched=True):
        def many(a, b):
            self.asked += [(min(p), max(p)) for p in zip(a, b)]
            return self.K[a, b]

        async def one(a, b):
            self.asked.append((min(a, b), max(a, b)))
            return float(self.K[a, b])

        if self.price:
            return fp.from_async(
                one,
                symmetric=True,
                diagonal=1.0,
                cost_per_call=self.price,
                name=name,
            )
        return fp.from_function(
            many, symmetric=True, diagonal=1.0, batched=True, name=name
        )


def recall(approx, k=5):
    found = approx.neighbors(k).indices
    K = DEAR.copy()
    np.fill_diagonal(K, -1)
    best = np.argsort(-K, axis=1)[:, :k]
    return np.mean([len(np.intersect1d(*pair)) / k for pair in zip(found, best)])


def test_a_paid_prior_is_evaluated_in_part_counted_by_itself_and_helps():
    dear, cheap = Counted(DEAR), Counted(CHEAP)
    first = fp.paid(cheap.similarity("cheap"), budget="60/item", prior=None)
    approx = fp.approximate(
        range(N), dear.similarity("dear"), budget="12/item", prior=first
    )
    alone = fp.approximate(
        range(N), Counted(DEAR).similarity("dear"), budget="12/item", prior=None
    )
    assert approx.evaluations == len(dear.asked) <= 6 * N + 8
    assert approx.bill.prior.evaluations == len(cheap.asked) <= 30 * N + 8
    assert len(set(cheap.asked)) >= len(cheap.asked) - 8
    assert recall(approx) > recall(alone) + 0.1
    assert f"cheap: {len(cheap.asked):,} evaluations" in str(approx)


def test_an_approximation_is_a_prior_too():
    cheap = fp.approximate(
        range(N), Counted(CHEAP).similarity("cheap"), budget="60/item", prior=None
    )
    one = fp.approximate(
        range(N), Counted(DEAR).similarity("dear"), budget="12/item", prior=cheap
    )
    both = fp.approximate(
        range(N),
        Counted(DEAR).similarity("dear"),
        budget="12/item",
        prior=[cheap, X],
    )
    assert min(recall(one), recall(both)) > 0.5
    with pytest.raises(InputError, match=r"of shape \(150, 150\), and the matrix is 9"):
        fp.approximate(
            range(90), Counted(DEAR).similarity("dear"), budget=0.5, prior=cheap
        )


def test_money_is_for_both_together():
    dear, cheap = Counted(DEAR, price=0.02), Counted(CHEAP, price=0.001)
    approx = fp.approximate(
        range(N),
        dear.similarity("dear"),
        budget="$30",
        prior=fp.paid(cheap.similarity("cheap")),
    )
    total = 0.02 * len(dear.asked) + 0.001 * len(cheap.asked)
    assert 0.9 * 30 <= total <= 30
    assert approx.bill.money == pytest.approx(0.02 * len(dear.asked))
    assert approx.bill.prior.money == pytest.approx(0.001 * len(cheap.asked))
    assert 0.001 * len(cheap.asked) <= 6


def test_what_a_prior_has_paid_for_is_kept_and_not_paid_for_again(tmp_path):
    dear, cheap = Counted(DEAR), Counted(CHEAP)
    given = {
        "budget": "12/item",
        "prior": fp.paid(cheap.similarity("cheap"), budget="30/item", prior=X),
        "trust": True,
    }
    store = fp.Ledger(tmp_path / "paid", trust=True)
    first = fp.approximate(range(N), dear.similarity("dear"), store=store, **given)
    paid = len(dear.asked), len(cheap.asked)
    again = fp.Ledger(tmp_path / "paid", trust=True)
    second = fp.approximate(range(N), dear.similarity("dear"), store=again, **given)
    assert (len(dear.asked), len(cheap.asked)) == paid
    assert np.array_equal(first.dense(), second.dense())
    memory = fp.Ledger(trust=True)
    for _ in range(2):
        fp.approximate(range(N), dear.similarity("dear"), store=memory, **given)
    assert len(cheap.asked) == 2 * paid[1]
    store.forget()
    assert not (tmp_path / "paid" / "prior").exists()


def test_a_kill_while_the_prior_is_read_loses_nothing(tmp_path):
    dear, cheap = Counted(DEAR), Counted(CHEAP)
    failing = [True]

    def fails(a, b):
        if failing[0] and len(cheap.asked) > 800:
            raise KeyboardInterrupt
        return cheap_one(a, b)

    def cheap_one(a, b):
        cheap.asked.append((min(a, b), max(a, b)))
        return CHEAP[a, b]

    prior = fp.paid(
        fp.from_function(fails, symmetric=True, diagonal=1.0, name="cheap"),
        budget="30/item",
        prior=X,
    )
    given = {
        "budget": "12/item",
        "prior": prior,
        "store": tmp_path / "s",
        "trust": True,
    }
    with pytest.raises(KeyboardInterrupt):
        fp.approximate(range(N), dear.similarity("dear"), **given)
    assert not dear.asked
    failing[0] = False
    approx = fp.approximate(range(N), dear.similarity("dear"), **given)
    assert len(cheap.asked) <= 15 * N + 3 * 8
    assert recall(approx) > 0.5


def both_steps(**options):
    cheap = Counted(CHEAP).similarity("cheap")
    return fp.approximate(
        range(N),
        Counted(DEAR).similarity("dear"),
        budget="12/item",
        prior=fp.paid(cheap, budget="40/item", **options),
    )


@pytest.mark.parametrize("middle", [False, True])
def test_a_cascade_is_saved_with_what_its_prior_was_taken_to_be(middle, tmp_path):
    first = fp.paid(Counted(CHEAP).similarity("first"), budget="20/item", prior=None)
    approx = both_steps(prior=first if middle else None)
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run")
    assert np.array_equal(again.dense(), approx.dense())
    assert str(again) == str(approx)
    assert again.bill.prior == approx.bill.prior
    again.save(tmp_path / "run", overwrite=True)
    mapped = fp.load(tmp_path / "run", mmap=True)
    assert np.array_equal(mapped.dense(), approx.dense())


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("other", ["lexical", "embeddings"])
def test_a_paid_prior_among_others_is_saved_too(other, first, tmp_path):
    texts = [" ".join(f"w{t // 3}" for t in np.argsort(x)[:5]) for x in X]
    where = {text: t for t, text in reversed(list(enumerate(texts)))}

    def cheap(a, b):
        return CHEAP[where[a], where[b]]

    paid = fp.paid(fp.from_function(cheap, symmetric=True), budget="20/item")
    beside = X if other == "embeddings" else other
    approx = fp.approximate(
        texts,
        fp.from_function(lambda a, b: DEAR[where[a], where[b]], symmetric=True),
        budget="12/item",
        prior=[paid, beside] if first else [beside, paid],
    )
    assert len((approx.model.prior or approx.model.proposer).parts) == 2
    approx.save(tmp_path / "run")
    again = fp.load(tmp_path / "run")
    assert np.array_equal(again.dense(), approx.dense())
    assert str(again) == str(approx)
    again.save(tmp_path / "run", overwrite=True)
    assert np.array_equal(fp.load(tmp_path / "run").dense(), approx.dense())


def test_a_recipe_beside_a_paid_prior_has_to_be_passed_again(tmp_path):
    cheap = Counted(CHEAP).similarity("cheap")
    read = fp.approximate(range(N), cheap, budget="40/item", prior=None)
    recipe = fp.from_function(lambda a, b: GAPS[a, b], symmetric=True, name="gaps")
    dear = Counted(DEAR).similarity("dear")
    prior = [read, recipe]
    approx = fp.approximate(range(N), dear, budget="12/item", prior=prior)
    approx.save(tmp_path / "run")
    with pytest.raises(InputError, match="is a recipe and not saved"):
        fp.load(tmp_path / "run")
    again = fp.load(tmp_path / "run", prior=prior, items=range(N))
    assert np.array_equal(again.dense(), approx.dense())


def test_a_loaded_cascade_grows_without_asking_the_cheap_one(tmp_path):
    approx, dear = both_steps(prior=None), Counted(DEAR)
    approx.save(tmp_path / "run")
    loaded = fp.load(
        tmp_path / "run", items=range(N), similarity=dear.similarity("dear")
    )
    larger = loaded.grow("24/item")
    assert 0 < len(dear.asked) <= 6 * N + 8
    assert recall(larger) > recall(approx)


def test_a_damaged_prior_is_found_when_a_cascade_is_loaded(tmp_path):
    both_steps(prior=None).save(tmp_path / "run")
    file = next((tmp_path / "run").glob("answers-scattered-values*.npy"))
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(InputError, match="is not a whole saved approximation"):
        fp.load(tmp_path / "run")


def test_new_items_are_refused_where_the_prior_is_an_approximation():
    approx = both_steps(prior=None)
    assert approx.model.prior is not None
    for call in (lambda: approx.transform([3]), lambda: approx.add([3])):
        with pytest.raises(InputError, match=r"knows no others\. Approximate"):
            call()


def test_of_two_sets_both_are_asked_across_alone(tmp_path):
    m = 60
    dear, cheap = Counted(DEAR), Counted(CHEAP)
    approx = fp.approximate(
        list(range(m)),
        dear.similarity("dear"),
        others=list(range(m, N)),
        budget="15/item",
        prior=fp.paid(cheap.similarity("cheap"), budget="30/item", prior=None),
    )
    assert all(a < m <= b for a, b in [*dear.asked, *cheap.asked])
    assert len(cheap.asked) <= 30 * m
    assert approx.shape == (m, N - m)
    approx.save(tmp_path / "run")
    assert np.array_equal(fp.load(tmp_path / "run").dense(), approx.dense())


def test_jobs_take_a_paid_prior():
    dear, cheap = Counted(DEAR), Counted(CHEAP)
    prior = fp.paid(cheap.similarity("cheap"), budget="40/item", prior=None)
    found = fp.duplicates(
        range(N), dear.similarity("dear"), 0.7, budget="20/item", prior=prior
    )
    assert len(dear.asked) <= 10 * N + 16
    assert len(found.left) > 0.8 * np.triu(DEAR >= 0.7, 1).sum()
    assert len(cheap.asked) <= 20 * N + 8


def test_only_a_similarity_can_be_paid_for():
    with pytest.raises(InputError, match=r"fewpairs.paid: similarity is 3"):
        fp.paid(3)
    one = fp.StringSimilarity("ratio")
    with pytest.raises(InputError, match="another one than the similarity itself"):
        fp.paid(one, prior=fp.paid(one))
