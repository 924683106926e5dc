"""Spending: what one run of the default has to spend, and what it bought."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import SpentError
from fewpairs.matrix.earlier import mark, marked
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.dealing import deal
from fewpairs.methods.landmarks import Sampling
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.reading.oracle import Oracle
from fewpairs.types import Indices

__all__ = ["GUARD", "HELD", "RANDOM", "Spending", "renew"]

# What random pairs were drawn for: all that a fit may learn from; those of them that
# are a uniform sample of the matrix; those of the guard, and of the certificate.
RANDOM, UNIFORM, GUARD, HELD = "random", "uniform", "guard", "held"

# Random pairs that are read last: a share of the budget, from some 300 on (fewer do not
# even tell a mean), up to 600.
_PARTS = 8  # in which landmarks are bought where money or time may end
_LAST_SHARE, _LAST_LEAST, _LAST_MOST = 0.03, 300, 600
# Share that these 300 may be at most, of one set and of two: there, what is returned is
# ordered by the model, and few evaluations per left item are for what it puts first.
# The same of one set, once random pairs have confirmed a prior.
_LAST_FEW, _LAST_ACROSS, _LAST_CONFIRMED = 0.35, 0.04, 0.08


def renew(read: Entries, kind: str, i: Indices, j: Indices) -> None:
    """Remember the random pairs of a kind; those that it had are random ones now.

    Taken for pairs that looked similar, they would tell a later fit that anything may.
    """
    keys = read.keys(i, j)
    before = read.drawn.get(kind, keys[:0])
    mark(read, RANDOM, *read.ends(before[~np.isin(before, keys)]))
    read.drawn[kind] = keys


class Spending:
    """Reads for one run and keeps its accounts.

    What is read is charged in full, also where a ledger has paid for it before: a run
    that goes on after an error must not come to another result.

    Attributes
    ----------
    left
        Evaluations that can still be spent, ``reserve`` aside.
    reserve
        Kept back for random pairs that are read when everything else is done: they
        must be like those that stay unread.
    landmarks
        Items whose columns were bought.
    fresh
        Items that the budget is for: all of them, or the new ones of a matrix that has
        grown.
    paid
        Evaluations of a matrix that has grown which were paid for before.
    """

    def __init__(
        self,
        oracle: Oracle,
        budget: int,
        sampling: Sampling,
        rng: np.random.Generator,
        draw_rng: np.random.Generator,
    ) -> None:
        self.oracle = oracle
        self.n = oracle.n
        self.calls = oracle.cost.calls
        self.budget = budget
        self.rng = rng
        read = oracle.read
        self.fresh = self.n - read.old
        self.paid = 0 if read.earlier is None else read.moments().number * self.calls
        self.reserve = self._reserve(
            _LAST_FEW if oracle.cost.split is None else _LAST_ACROSS
        )
        if read.earlier is not None:
            fair = read.earlier.fair(read, GUARD, self.reserve // self.calls)
            self.reserve = fair * self.calls
        self.left = budget - self.reserve
        self.landmarks = oracle.read.line_indices()
        self._sampling = sampling
        self._draw_rng = draw_rng
        self._bought: NDArray[Any] | None = None

    def _reserve(self, most: float) -> int:
        """Return what is kept back; ``most``: the share that a few pairs may be."""
        few = min(_LAST_LEAST * self.calls, int(most * self.budget))
        return min(_LAST_MOST * self.calls, max(int(_LAST_SHARE * self.budget), few))

    def release(self) -> None:
        """Keep less back: a prior is confirmed, and what is learned beside it.

        Of small budgets; where nothing had said so yet, the last pairs had to.
        """
        if self.oracle.cost.split is None and self.oracle.read.earlier is None:
            before, self.reserve = self.reserve, self._reserve(_LAST_CONFIRMED)
            self.left += before - self.reserve

    def per_item(self, pairs: float) -> float:
        """Return how many pairs per item so many are; of two sets, per left item.

        Where left items alone were added, per new one: the others read nothing.
        """
        split, read = self.oracle.cost.split, self.oracle.read
        if split is None:
            return 2 * pairs / self.fresh
        left, right = (split, 0) if read.earlier is None else read.earlier.new_of(read)
        return pairs / (split if right else left)

    @property
    def item(self) -> str:
        """What the budget is for, in words."""
        return "item" if self.fresh == self.n else "new item"

    @property
    def columns(self) -> NDArray[Any]:
        """The landmarks' columns, (n, s); must not be written to."""
        if not len(self.landmarks):
            return np.empty((self.n, 0))
        if self._bought is None or self._bought.shape[1] != len(self.landmarks):
            self._bought = self.oracle.columns(self.landmarks)
        return self._bought

    def read(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Buy pairs."""
        self.left -= len(i) * self.calls
        return self.oracle.pairs(i, j)

    def take(self, inputs: PairInputs) -> tuple[PairInputs, NDArray[Any]]:
        """Buy pairs, as many as money and time pay for; nothing is left behind them."""
        self.left -= len(inputs) * self.calls
        _, __, values = self.oracle.pairs_that_fit(inputs.i, inputs.j)
        if len(values) < len(inputs):
            self.left = 0
            read, values = self.oracle.read.lookup(inputs.i, inputs.j)
            return inputs.some(read), values[read]
        return inputs, values

    def _fitting(self, i: Indices, j: Indices) -> tuple[Indices, Indices, NDArray[Any]]:
        self.left -= len(i) * self.calls
        return self.oracle.pairs_that_fit(i, j)

    def random_pairs(self, evaluations: int) -> tuple[Indices, Indices, NDArray[Any]]:
        """Buy pairs drawn at random from those that were not read.

        Uniformly; of two sets, of every item about as many.
        """
        read, count = self.oracle.read, evaluations // self.calls
        if read.sides is None or read.earlier is not None:
            i, j = read.sample_unknown(count, self.rng)
        else:
            i, j = deal(read, count, self.rng, marked(read, RANDOM))
        i, j, values = self._fitting(i, j)
        for kind in (RANDOM, UNIFORM):
            mark(read, kind, i, j)
        return i, j, values

    def earlier_random(self) -> tuple[Indices, Indices, NDArray[Any]]:
        """Return random pairs of earlier runs: of old items, or of a smaller budget.

        Where the budget has grown, what guard and certificate had is free to learn
        from: both draw anew.
        """
        read = self.oracle.read
        i, j = marked(read, RANDOM)
        if read.earlier is None:
            several = [(i, j), marked(read, GUARD), marked(read, HELD)]
            i, j = (np.concatenate(ends) for ends in zip(*several, strict=True))
        there, values = read.lookup(i, j)
        return i[there], j[there], values[there]

    def uniform(self) -> tuple[Indices, Indices, NDArray[Any]]:
        """Return random pairs that are a uniform sample of a matrix that has grown.

        As many of old items as go with those of new ones; others are forgotten as such.
        """
        read = self.oracle.read
        i, j = marked(read, UNIFORM)
        values = read.lookup(i, j)[1]
        old = read.is_old(i) & read.is_old(j)
        taken = i[old], j[old], values[old]
        if read.earlier is not None:
            taken, _ = read.earlier.part(taken, read, int((~old).sum()), self.rng)
        both = taken, (i[~old], j[~old], values[~old])
        i, j, values = (np.concatenate(side) for side in zip(*both, strict=True))
        read.drawn[UNIFORM] = read.keys(i, j)
        return i, j, values

    def mixed(
        self, pairs: tuple[Indices, Indices, NDArray[Any]]
    ) -> tuple[Indices, Indices, NDArray[Any]]:
        """Return random pairs, those of old items among those of new ones."""
        if not self.paid:
            return pairs
        order = self.rng.permutation(len(pairs[2]))
        return pairs[0][order], pairs[1][order], pairs[2][order]

    def last_pairs(self) -> tuple[Indices, Indices, NDArray[Any]]:
        """Buy the random pairs that the reserve is for."""
        self.left += self.reserve
        read, number = self.oracle.read, self.reserve // self.calls
        if self.oracle.limits is not None:
            self.oracle.limits.kept /= 2  # the rest is for pairs held out
        i, j = read.sample_unknown(number, self.rng)
        if read.earlier is None:
            i, j, values = self._fitting(i, j)
            renew(read, GUARD, i, j)
            return i, j, values
        none = i[:0], i[:0], np.empty(0)
        before = read.earlier.aside.get(GUARD, none)
        taken, _ = read.earlier.part(before, read, len(i), self.rng)
        both = self._fitting(i, j), taken
        i, j, values = (np.concatenate(side) for side in zip(*both, strict=True))
        renew(read, GUARD, i, j)
        return i, j, values

    def buy_landmarks(self, evaluations: float) -> None:
        """Buy as many more landmarks as so many evaluations allow."""
        cost, have = self.oracle.cost, len(self.landmarks)
        allowed = min(int(evaluations), self.left) + cost.lines(have)
        low, high = have, self.n
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if cost.lines(middle) <= allowed else (low, middle - 1)
            )
        if low > have:
            # The first ones drawn are the same for any budget: growing keeps them.
            order = self._sampling.draw(self.n, low, self._order())
            if self.fresh < self.n:  # columns of old items have pairs of old items
                order = self.n - 1 - self._order().permutation(self.fresh)
            fresh = order[~np.isin(order, self.landmarks)][: low - have]
            for some in self._parts(fresh):
                try:
                    self.oracle.columns(some)
                except SpentError:
                    if not len(self.landmarks):
                        raise
                    self.left = 0
                    return
                have = len(self.landmarks)
                self.left -= cost.lines(have + len(some)) - cost.lines(have)
                self.landmarks = np.concatenate([self.landmarks, some])

    def _parts(self, landmarks: Indices) -> list[Indices]:
        """Return what is bought at once: where money or time may end, a part."""
        if self.oracle.limits is None:
            return [landmarks]
        return np.array_split(landmarks, min(len(landmarks), _PARTS))

    def next_landmarks(self, number: int) -> Indices:
        """Return the landmarks that would be bought next."""
        order = self._sampling.draw(self.n, number + len(self.landmarks), self._order())
        return order[~np.isin(order, self.landmarks)][:number]

    def _order(self) -> np.random.Generator:
        """Return the generator of the landmarks' order, as it was at the start."""
        bits = type(self._draw_rng.bit_generator)()
        bits.state = self._draw_rng.bit_generator.state
        return np.random.Generator(bits)
