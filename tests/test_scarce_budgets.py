"""Budgets of money and time: never exceeded, and used; with made-up prices."""

import time

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.errors import SpentError
from fewpairs.similarity.base import Interrupted

MOST = 8  # times the usual price that one evaluation costs or takes at most


class World:
    """A matrix, and what every evaluation takes: with chance in it, and a trend."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.n = int(self.rng.integers(50, 110))
        self.X = self.rng.standard_normal((self.n, 5))
        gaps = ((self.X[:, None] - self.X[None]) ** 2).sum(-1)
        self.K = np.exp(-0.3 * gaps)
        self.everything = self.n * (self.n - 1) // 2
        self.usual = float(self.rng.choice([1e-3, 0.02, 1.5]))
        self.noise = self.rng.uniform(0, 0.9)
        self.trend = float(self.rng.choice([0, 0, 0.5, -0.5, 1.0]))
        self.budget = float(self.rng.uniform(0.35, 0.8)) * self.everything * self.usual
        self.taken, self.calls = 0.0, 0

    def take(self):
        """What the next evaluation takes."""
        self.calls += 1
        trend = 1 + self.trend * min(1.0, self.calls / (0.4 * self.everything))
        chance = np.exp(self.noise * self.rng.standard_normal() - self.noise**2 / 2)
        one = self.usual * min(MOST, trend * chance)
        self.taken += one
        return one


class Metered(fp.Scorer):
    """Charges as the world does, and stops before it might charge too much."""

    def __init__(self, world):
        self.n, self.price, self.world = world.n, world.usual, world
        self.own = 0.0

    def pairs(self, i, j):
        return self.pairs_within(i, j, None)

    def pairs_within(self, i, j, allowed):
        values, began = np.full(len(i), np.nan), self.own
        for t, (a, b) in enumerate(zip(i, j)):
            most = None if allowed is None else allowed.money
            if most is not None and self.own - began + MOST * self.price > most:
                raise Interrupted(values, SpentError())
            self.own += self.world.take()
            values[t] = self.world.K[a, b]
        return values

    def spent(self):
        own, self.own = self.own, 0.0
        return own


class Fixed(fp.Scorer):
    """Costs the same for every pair, and does what it is asked to its end."""

    def __init__(self, world):
        self.n, self.price, self.world = world.n, world.usual, world

    def pairs(self, i, j):
        self.world.taken += self.price * len(i)
        return self.world.K[i, j]


class Priced(fp.Similarity):
    proven, diagonal = True, 1.0

    def __init__(self, world, scorer):
        self.world, self.scorer = world, scorer

    def bind(self, items):
        return self.scorer(self.world)


METHODS = [fp.Auto(student=False), "nystrom", "sicur", "regularized"]


def prior_of(world, method):
    takes = method not in ("nystrom", "sicur")
    return world.X if takes and world.rng.random() < 0.5 else None


@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_money_is_never_exceeded_and_nine_tenths_are_used(seed):
    for number in range(seed, seed + 5):
        world = World(number)
        method = METHODS[number % 4] if number % 3 == 0 else METHODS[0]
        scorer = Fixed if number % 4 == 3 else Metered
        found = fp.approximate(
            range(world.n),
            Priced(world, scorer),
            budget=f"${world.budget!r}",
            method=method,
            prior=prior_of(world, method),
            seed=number,
        )
        assert world.taken <= world.budget, number
        assert found.bill.money == pytest.approx(world.taken), number
        whole = found.evaluations == world.everything
        assert whole or world.taken >= 0.9 * world.budget, number


@pytest.mark.parametrize("seed", range(100, 200, 5))
def test_time_is_never_exceeded_and_nine_tenths_are_used(seed, monkeypatch):
    for number in range(seed, seed + 5):
        world = World(number)
        monkeypatch.setattr(time, "perf_counter", lambda w=world: w.taken)
        method = METHODS[number % 4] if number % 3 == 0 else METHODS[0]

        def one(a, b, world=world):
            world.take()
            return world.K[a, b]

        def many(a, b, world=world):
            for _ in a:
                world.take()
            return world.K[a, b]

        batched = number % 4 == 3
        similarity = fp.from_function(
            many if batched else one,
            symmetric=True,
            diagonal=1.0,
            batched=batched,
            name="timed",
        )
        found = fp.approximate(
            range(world.n),
            similarity,
            budget=f"{world.budget!r}s",
            method=method,
            prior=prior_of(world, method),
            seed=number,
        )
        assert world.taken <= world.budget, number
        whole = found.evaluations >= world.everything
        assert whole or world.taken >= 0.9 * world.budget, number


# --- the same everywhere


def service(world, *, unreadable=0.0):
    """A function at a fixed price; answers that are no use cost as much."""
    state = np.random.default_rng(0)

    async def ask(a, b):
        world.taken += world.usual
        if state.random() < unreadable:
            return "they are rather similar"
        return float(world.K[a, b])

    return fp.from_async(
        ask,
        symmetric=True,
        diagonal=1.0,
        cost_per_call=world.usual,
        pause=1e-4,
        name="service",
    )


def test_answers_that_are_no_use_are_within_the_money_too():
    world = World(3)
    similarity = service(world, unreadable=0.2)
    found = fp.approximate(
        range(world.n), similarity, budget=f"${world.budget!r}", prior=world.X
    )
    assert 0.9 * world.budget <= world.taken <= world.budget
    assert found.bill.money == pytest.approx(world.taken)


def test_a_finished_run_costs_nothing_when_it_is_called_again(tmp_path):
    world = World(4)
    given = {"budget": f"${world.budget!r}", "prior": world.X, "store": tmp_path / "s"}
    first = fp.approximate(range(world.n), service(world), **given, trust=True)
    paid = world.taken
    again = fp.approximate(range(world.n), service(world), **given, trust=True)
    assert world.taken == paid
    assert np.array_equal(first.dense(), again.dense())


def test_a_run_that_fails_goes_on_within_the_same_money(tmp_path):
    world, failing = World(5), [True]

    async def ask(a, b):
        if failing[0] and world.taken > 0.5 * world.budget:
            raise TypeError("a mistake")
        world.taken += world.usual
        return float(world.K[a, b])

    similarity = fp.from_async(
        ask, symmetric=True, diagonal=1.0, cost_per_call=world.usual, name="service"
    )
    given = {"budget": f"${world.budget!r}", "prior": world.X, "trust": True}
    with pytest.raises(fp.SimilarityError, match="a mistake"):
        fp.approximate(range(world.n), similarity, store=tmp_path / "s", **given)
    failing[0] = False
    fp.approximate(range(world.n), similarity, store=tmp_path / "s", **given)
    assert 0.9 * world.budget <= world.taken <= world.budget


@pytest.mark.parametrize("others", [False, True])
def test_jobs_keep_to_the_money(others):
    world = World(6)
    price = f"${0.5 * world.everything * world.usual!r}"
    if others:
        m = world.n // 2
        left, right = range(m), range(m, world.n)
        price = f"${0.5 * m * (world.n - m) * world.usual!r}"
        X = world.X[:m], world.X[m:]
        fp.match(left, right, service(world), threshold=0.6, budget=price, prior=X)
    else:
        found = fp.duplicates(
            range(world.n), service(world), 0.6, budget=price, prior=world.X
        )
        assert (found.similarity >= 0.6).all()
        assert not found.way.exact
    assert 0 < world.taken <= float(price[1:])
    other = World(6)
    found = fp.neighbors(range(other.n), service(other), 3, budget=price, prior=other.X)
    assert 0 < other.taken <= float(price[1:])
    assert found.indices.shape == (other.n, 3)


def test_money_that_buys_all_pairs_reads_them():
    world = World(7)
    price = f"${2 * world.everything * world.usual!r}"
    found = fp.duplicates(range(world.n), service(world), 0.6, budget=price)
    assert found.way.exact
    assert len(found.left) == np.triu(world.K >= 0.6, 1).sum()


def test_growing_takes_money_for_all_of_it_and_adding_for_the_new_items():
    world = World(8)
    unit = world.everything * world.usual
    items = [int(t) for t in range(world.n)]
    small = fp.approximate(
        items[:-10], service(world), budget=f"${0.3 * unit!r}", prior=world.X[:-10]
    )
    large = small.grow(f"${0.5 * unit!r}")
    assert large.bill.money == pytest.approx(world.taken)
    assert 0.4 * unit < world.taken <= 0.5 * unit
    before = world.taken
    wide = large.add(items[-10:], budget=f"${0.1 * unit!r}", prior=world.X[-10:])
    assert wide.shape[0] == world.n
    assert 0 < world.taken - before <= 0.1 * unit
    with pytest.raises(fp.BudgetError, match="are paid already"):
        large.grow(f"${0.2 * unit!r}")


def test_a_plan_says_what_money_and_time_buy():
    world = World(9)
    unit = world.everything * world.usual
    items = range(world.n)
    plan = fp.plan(items, service(world), f"${0.4 * unit!r}", prior=world.X)
    assert plan.evaluations == pytest.approx(0.4 * world.everything, rel=0.05)
    plan = fp.plan(items, service(world), "1h", prior=world.X)
    assert plan.evaluations >= plan.exact_evaluations


def test_a_target_is_reached_within_the_money_or_the_money_ends():
    world = World(10)
    unit = world.everything * world.usual
    found = fp.approximate(
        range(world.n),
        service(world),
        budget=f"${0.4 * unit!r}",
        prior=world.X,
        target_error=1e-6,
    )
    assert "budget ended" in found.method
    assert world.taken <= 0.4 * unit
    assert found.bill.money == pytest.approx(world.taken)


def test_workers_share_what_is_left():
    world = World(11)
    found = fp.approximate(
        range(world.n),
        service(world, unreadable=0.3),
        budget=f"${world.budget!r}",
        prior=world.X,
        executor="threads:3",
    )
    assert world.taken <= world.budget
    assert found.bill.money == pytest.approx(world.taken)


def test_a_price_is_missing():
    with pytest.raises(fp.InputError, match=r"'\$5', and f has no price"):
        fp.approximate(
            range(60), fp.from_function(lambda a, b: 0.0, name="f"), budget="$5"
        )
    judge = fp.Judge("m", url="http://127.0.0.1:9/v1")
    for call in (
        lambda: fp.approximate(["a"] * 60, judge, budget="$5"),
        lambda: fp.duplicates(["a"] * 60, judge, 5, budget="5 USD"),
        lambda: fp.plan(["a"] * 60, judge, "€5"),
    ):
        with pytest.raises(fp.InputError, match=r"Judge\(m\) has no price"):
            call()


def test_too_little_money_is_refused_before_or_said_after():
    world = World(12)
    with pytest.raises(fp.BudgetError, match="fewer say nothing"):
        fp.approximate(range(world.n), service(world), budget=f"${5 * world.usual!r}")
    assert world.taken == 0

    class Dearer(Metered):
        def __init__(self, world):
            super().__init__(world)
            self.price /= 100  # it says

    dear = World(12)
    with pytest.raises(fp.BudgetError, match=r"buys about that: Auto needs"):
        fp.approximate(
            range(dear.n), Priced(dear, Dearer), budget=f"${30 * dear.usual!r}"
        )


@pytest.mark.parametrize("recall", [None, 0.9])
@pytest.mark.parametrize("job", ["match", "duplicates"])
def test_the_budget_that_an_error_names_is_enough_and_no_less_is(job, recall):
    ratio = fp.StringSimilarity("ratio")
    texts = [f"{t * t} {t} text" for t in range(90)]

    def run(budget):
        if job == "match":
            given = {"threshold": 0.8, "recall": recall, "budget": budget}
            return fp.match(texts[:30], texts[30:], ratio, **given)
        return fp.duplicates(texts, ratio, 0.8, recall=recall, budget=budget)

    with pytest.raises(fp.BudgetError, match="Raise budget= to") as caught:
        run(10)
    needed = caught.value.needed
    assert run(needed).evaluations <= needed
    with pytest.raises(fp.BudgetError, match=f"Raise budget= to {needed:,} "):
        run(needed - 1)
