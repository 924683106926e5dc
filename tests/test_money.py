"""Money is what was charged: answers that were no use are in the bill."""

from collections import Counter

import numpy as np
import pytest

import fewpairs as fp

N, PRICE = 40, 0.25


def truth(a, b):
    return float(np.cos(int(a) - int(b)))


class Service:
    """Charges for every answer, whatever it is worth; refusals are free."""

    def __init__(self, first):
        self.first = first  # what comes of the first call of a pair
        self.calls = Counter()
        self.billed = 0
        self.patience = 0  # calls before any comes to nothing

    async def ask(self, a, b):
        self.calls[a, b] += 1
        odd = self.calls[a, b] == 1 and (int(a) + int(b)) % 3 == 0
        if odd and self.billed >= self.patience:
            return self.first(self)
        self.billed += 1
        return truth(a, b)


def chatter(service):
    service.billed += 1
    return "they are rather similar"


def nan(service):
    service.billed += 1
    return float("nan")


def unreadable(service):
    service.billed += 1
    return float("they are rather similar")


def unexpected(service):
    service.billed += 1
    return {}["score"]


def billed(service):
    service.billed += 1
    error = RuntimeError("cut off")
    error.billed = True
    raise error


def refused(service):
    error = ValueError("too many requests")
    error.status_code = 429
    raise error


def away(service):
    raise ConnectionError("no route")


def unbilled(service):
    error = ValueError("rejected")
    error.billed = False
    raise error


def paid_judge(service, **options):
    facts = {"symmetric": True, "name": "judge", "pause": 0.001, "chunk": 30}
    return fp.from_async(service.ask, cost_per_call=PRICE, **{**facts, **options})


FIRST = [chatter, nan, unreadable, unexpected, billed, refused, away, unbilled]


@pytest.mark.parametrize("executor", [None, "threads:2"])
@pytest.mark.parametrize("first", FIRST)
def test_the_bill_is_what_the_service_charged(first, executor):
    service, ledger, heard = Service(first), fp.Ledger(), []
    approx = fp.approximate(
        range(N),
        paid_judge(service),
        method="nystrom",
        budget=0.4,
        store=ledger,
        executor=executor,
        progress=heard.append,
    )
    assert service.calls.total() > approx.evaluations  # some were made again
    assert approx.bill.money == pytest.approx(PRICE * service.billed)
    (record,) = ledger.records.values()
    assert record.money == pytest.approx(PRICE * service.billed)
    assert heard[-1].money == pytest.approx(PRICE * service.billed)


def test_repeats_and_both_orders_are_charged_call_by_call():
    service = Service(chatter)
    similarity = paid_judge(service, symmetric=False, repeats=3)
    approx = fp.approximate(range(N), similarity, method="nystrom", budget=0.4)
    assert approx.bill.money == pytest.approx(PRICE * service.billed)


def test_a_run_that_fails_has_paid_for_what_was_answered():
    service, ledger = Service(chatter), fp.Ledger()
    service.patience = 100
    similarity = paid_judge(service, retries=0, concurrency=3)
    with pytest.raises(fp.SimilarityError, match="must be one finite number"):
        fp.approximate(range(N), similarity, method="nystrom", budget=0.5, store=ledger)
    (record,) = ledger.records.values()
    assert service.billed > record.evaluations
    assert record.money == pytest.approx(PRICE * service.billed)


def test_answers_after_the_fit_are_in_the_bill_of_what_grows():
    service = Service(chatter)
    texts = [str(t) for t in range(N)]
    small = fp.approximate(texts, paid_judge(service), method="nystrom", budget=0.3)
    small.search(5, 3, evaluations=20)
    large = small.grow(0.9)
    assert large.bill.money == pytest.approx(PRICE * service.billed)
    before = service.billed
    new = large.project([str(t) for t in range(50, 60)])
    assert new.oracle.account.money == pytest.approx(PRICE * (service.billed - before))


def test_what_a_store_remembers_costs_nothing():
    service, store = Service(chatter), fp.sklearn.Store()
    texts = [str(t) for t in range(N)]

    def fit():
        embedder = fp.sklearn.SimilarityEmbedder(
            paid_judge(service), landmarks=6, store=store
        )
        embedder.fit(texts)
        return embedder.approximation_.bill.money

    assert fit() == pytest.approx(PRICE * service.billed)
    assert fit() == 0


def test_a_price_without_retries_is_a_price_a_value():
    class Priced(fp.Similarity):
        proven = True

        def bind(self, items):
            scorer = fp.from_function(truth).bind(items)
            scorer.price = PRICE
            return scorer

    approx = fp.approximate(range(N), Priced(), method="nystrom", budget=0.4)
    assert approx.bill.money == pytest.approx(PRICE * approx.evaluations)
