"""Auto: the default. It looks first, and spends the budget where it pays."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import BudgetError, InputError
from fewpairs.landmarks import Sampling, Uniform
from fewpairs.methods import candidates, residual
from fewpairs.methods.base import Factors, Method
from fewpairs.methods.layered import Guard, Layered
from fewpairs.methods.ranking import Ranking
from fewpairs.methods.regularized import Regularized, in_words
from fewpairs.methods.student import Lesson, Student, alikeness, profiles
from fewpairs.oracle import Oracle
from fewpairs.priors import Prior
from fewpairs.similarity.base import Indices
from fewpairs.tariff import Tariff

__all__ = ["Auto"]

Purpose = Literal["balanced", "neighbors", "entries"]
# Share of the budget that refinement may take, without a student and with one.
_REFINED = {"balanced": (0.5, 0.6), "neighbors": (0.65, 0.7), "entries": (0.15, 0.3)}
_PILOT = 0.25  # share of the budget that landmarks get before anything is decided
_PILOT_LANDMARKS = 8  # that it should buy at least
_RANDOM = 0.15  # share that a student gets as random pairs
# Random pairs that the guard looks at: a share of the budget, from some 300 on (fewer
# do not even tell a mean), up to 600.
_GUARD_SHARE, _GUARD_LEAST, _GUARD_MOST = 0.03, 300, 600
_FEWEST_LANDMARKS = 4
# Twice the landmarks lower the squared error by 2^−a: up to the first a refinement
# gets its full share, from the second on a fifth of it.
_LEARNING = 0.8, 1.6
_NEIGHBORS = 10  # whose finding refinement is after
# Refinement ends where fewer of a round's pairs than this are among the most similar
# of either item; the rest of the budget then buys landmarks.
_YIELD = 0.01
_MOST_REFINED = 256  # pairs an item, without a student
_ROUNDS = 6
_STUDENT_ROUNDS = 8
_TESTED = 64  # landmarks whose partners tell which prior proposes better ones
_BLIND_ROUNDS = 3  # in which a student goes by a prior that has not been tested
_FIRST_STEPS, _ROUND_STEPS, _LAST_STEPS = 900, 300, 900
_HELD = 0.02  # error, as a share of the spread, that needs no bounds
_PREDICTED = 0.05  # error, as a share of the spread, that counts as none
_IN_RANGE = 1e-15, 1e15  # largest values that single precision can square safely
_VECTORS = 64  # dimensions of the items' vectors that rank candidates
_TELLING = 50_000  # refined pairs that tell what the items' vectors are worth
_RANKED = 4_000_000  # candidates that can be ranked with them in reasonable time
_OFTEN = 700_000  # pairs that a student may score anew in every round
_SCANNED = 6_000_000  # pairs that a student may look at as a whole


@dataclass(frozen=True)
class Auto(Method):
    """The default: prior, row effects, damped core, student, refinement, guard.

    1. A quarter of the budget buys landmarks' columns (the pilot). Leaving out
       landmarks settles whether the prior and row effects help, and the damping.
    2. Where evaluations are slow (or ``student=True``), a student, a small network,
       learns from all pairs paid for, some of them random ones. Otherwise the budget
       buys more landmarks.
    3. Refinement reads the pairs that look most similar, in rounds; each round's
       values improve the next choice. It ends early where it finds nothing new.
    4. A guard compares the result with random pairs that the fit never saw, shrinks
       it as far as they do not confirm it, and returns their mean if nothing helps.

    Evaluations: as many as the budget allows, at least a few hundred.

    Parameters
    ----------
    student
        ``True``, ``False``, or ``"auto"``: train one when evaluating the budget takes
        longer than ``student_seconds``.
    purpose
        What the budget is for: exact values of near ``"neighbors"``, good ``"entries"``
        all over, or ``"balanced"``.
    student_seconds
        Training stops after so many seconds, all rounds together. The result depends
        on the seed alone as long as the limit is not reached.
    sampling
        How landmarks are drawn.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> X = np.random.default_rng(0).standard_normal((300, 5))
    >>> K = np.tanh(X @ X.T)
    >>> approx = fp.approximate(None, K, method=fp.Auto(purpose="entries"), budget=0.2)
    >>> approx.certificate.r2 > 0.8
    True
    """

    student: bool | Literal["auto"] = "auto"
    purpose: Purpose = "balanced"
    student_seconds: float = 110.0
    sampling: Sampling = field(default_factory=Uniform)
    prior: Prior | None = field(default=None, repr=False)
    allowance: int | None = field(default=None, repr=False)

    needs_symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.student not in (True, False, "auto"):
            got = f"student is {self.student!r:.60}"
            msg = f"fewpairs.Auto: {got}; pass True, False or 'auto'."
            raise InputError(msg)
        if self.purpose not in _REFINED:
            msg = (
                f"fewpairs.Auto: purpose is {self.purpose!r:.60}; pass 'balanced', "
                "'neighbors' or 'entries'."
            )
            raise InputError(msg)
        seconds = self.student_seconds
        if not isinstance(seconds, (int, float)) or not seconds > 0:
            got = f"student_seconds is {seconds!r:.60}"
            msg = f"fewpairs.Auto: {got}; pass a number above 0."
            raise InputError(msg)

    def price(self, tariff: Tariff) -> int:
        """Return the most evaluations that ``fit`` makes."""
        needed = self.least(tariff)
        return needed if self.allowance is None else self.allowance

    def least(self, tariff: Tariff) -> int:
        """Return the fewest evaluations that are worth anything.

        The mean of N random pairs misses that of the U others by z·σ·√(1/N + 1/U),
        which lowers R² on them by z²·(1/N + 1/U). Three standard deviations shall not
        make it fall below −0.05; where there are too few pairs for that, a third of
        them is asked for.
        """
        pairs, most = tariff.pairs, 0.05 / 9
        # N·(P − N) ≥ P / most, the smaller root.
        square = pairs**2 - 4 * pairs / most
        number = (pairs - math.sqrt(square)) / 2 if square > 0 else pairs
        return math.ceil(min(number, pairs / 3)) * tariff.calls

    def resolve(self, tariff: Tariff, allowance: int | None) -> Self:
        """Take the whole allowance."""
        self._check_symmetric(tariff)
        if allowance is None:
            if self.allowance is not None:
                return self
            msg = (
                "fewpairs.Auto: needs a budget; pass a share of the pairs or a number."
            )
            raise InputError(msg)
        needed = self.least(tariff)
        if needed > allowance:
            msg = (
                f"Auto needs {needed:,} evaluations for {tariff.n:,} items, fewer say "
                f"nothing; the budget leaves {allowance:,} to it."
            )
            raise BudgetError(msg, needed=needed, allowed=allowance)
        return replace(self, allowance=allowance)

    def everything(self, tariff: Tariff) -> Method | None:
        """Return what to do when all pairs can be read: nothing is left to predict."""
        return Regularized(landmarks=tariff.n, mu=0.0, centering="none")

    def fit(self, oracle: Oracle, rng: np.random.Generator) -> Factors:
        """Spend the allowance in the order of the class's description."""
        return _Run(self, oracle, rng).result()


class _Run:
    """One fit: what has been read, spent and learned so far."""

    def __init__(self, auto: Auto, oracle: Oracle, rng: np.random.Generator) -> None:
        self.auto = auto
        self.oracle = oracle
        self.n = oracle.n
        self.calls = oracle.tariff.calls
        self.rng, self.draw_rng, self.student_rng = rng.spawn(3)
        self.budget = auto.price(oracle.tariff)
        # Kept back for the guard, which reads when everything else is done: its pairs
        # must be like those that stay unread.
        self.reserve = min(
            _GUARD_MOST * self.calls,
            max(
                int(_GUARD_SHARE * self.budget),
                min(_GUARD_LEAST * self.calls, int(0.35 * self.budget)),
            ),
        )
        self.left = self.budget - self.reserve
        self.landmarks = oracle.read.line_indices()
        self.fitted: tuple[int, residual.ResidualFit] | None = None
        self.words: list[str] = []
        self.training = 0.0

    def result(self) -> Factors:
        fair = self.oracle.tariff.lines(min(_PILOT_LANDMARKS, self.n))
        fewest = self.oracle.tariff.lines(min(_FEWEST_LANDMARKS, self.n))
        if len(self.landmarks) < _FEWEST_LANDMARKS and fewest > self.left:
            self.reserve = self.budget
            return self._mean(
                self._random_pairs(self.budget)[2],
                f"{self.budget:,} evaluations are too few for landmarks of {self.n:,} "
                "items",
            )
        self._landmarks(max(_PILOT * self.budget, fair))
        if not self._in_range():
            self._landmarks(self.left)
            return self._out_of_range()
        learns = self._student_pays()
        refined = _REFINED[self.auto.purpose][learns] * self.budget
        if self.auto.prior is None and not learns:  # candidates are less likely right
            refined *= 0.8
        if not learns:
            refined *= self._refinement_pays()
            self._landmarks(self.left - refined)
        model = self._low_rank()
        if learns:
            random = self._random_pairs(int(min(_RANDOM * self.budget, self.left)))
            model = self._taught(model, random)
        else:
            model = self._refined(model, int(min(refined, self.left)))
        return self._guarded(model)

    # --- reading -----------------------------------------------------------------
    # What is read is charged in full, also where a ledger has paid for it before: a
    # run that goes on after an error must not come to another result.

    def _read(self, i: Indices, j: Indices) -> NDArray[Any]:
        self.left -= len(i) * self.calls
        return self.oracle.pairs(i, j)

    def _random_pairs(self, evaluations: int) -> tuple[Indices, Indices, NDArray[Any]]:
        i, j = self.oracle.read.sample_unknown(evaluations // self.calls, self.rng)
        return i, j, self._read(i, j)

    def _landmarks(self, evaluations: float) -> None:
        """Buy as many more landmarks as so many evaluations allow."""
        tariff, have = self.oracle.tariff, len(self.landmarks)
        allowed = min(int(evaluations), self.left) + tariff.lines(have)
        low, high = have, self.n
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if tariff.lines(middle) <= allowed else (low, middle - 1)
            )
        if low > have:
            # The first ones drawn are the same for any budget: growing keeps them.
            order = self.auto.sampling.draw(self.n, low, self._order())
            fresh = order[~np.isin(order, self.landmarks)][: low - have]
            self.left -= tariff.lines(have + len(fresh)) - tariff.lines(have)
            self.oracle.columns(fresh)
            self.landmarks = np.concatenate([self.landmarks, fresh])

    def _order(self) -> np.random.Generator:
        """Return the generator of the landmarks' order, as it was at the start."""
        bits = type(self.draw_rng.bit_generator)()
        bits.state = self.draw_rng.bit_generator.state
        return np.random.Generator(bits)

    def _student_pays(self) -> bool:
        if self.auto.student != "auto":
            return bool(self.auto.student)
        each = self.oracle.seconds / max(1, self.oracle.evaluations)
        return each * self.budget > self.auto.student_seconds

    def _in_range(self) -> bool:
        """Tell whether squares of the values can be handled in single precision."""
        largest = float(np.abs(self._columns()).max())
        return largest == 0 or _IN_RANGE[0] < largest < _IN_RANGE[1]

    def _out_of_range(self) -> Factors:
        model = self._low_rank()
        words = f"values too large or small for refinement; {self.described}"
        return replace(model, words=words).lean()

    def _refinement_pays(self) -> float:
        """Return 1, or less where more landmarks would explain much more.

        A matrix of low rank is had as a whole from a few more landmarks; the error of
        one that is not falls slowly, and what people look at is better read.
        """
        S = self.landmarks
        rate = residual.learning_rate(self._columns(), S, self.auto.prior, self.rng)
        slow, quick = _LEARNING
        return float(np.clip((quick - rate) / (quick - slow), 0.2, 1.0))

    # --- fitting -----------------------------------------------------------------

    def _columns(self) -> NDArray[Any]:
        return self.oracle.columns(self.landmarks)

    def _low_rank(self) -> Layered:
        S, before = self.landmarks, self.fitted
        # A few more landmarks change neither the parts nor the damping.
        like = before[1] if before and len(S) < 1.5 * before[0] else None
        fit = residual.fit(self._columns(), S, self.auto.prior, self.rng, like=like)
        self.fitted = len(S), fit
        self.described = f"{len(S):,} landmarks; {in_words(fit)}"
        return Layered.of(fit, S, "", self._proposer(used=fit.curve is not None))

    def _proposer(self, *, used: bool) -> Prior:
        """Return what proposes candidates besides the low rank.

        The prior where it is part of the fit; otherwise it or the items' alikeness to
        the landmarks, whichever proposes more similar partners of landmarks.
        """
        given, S, C = self.auto.prior, self.landmarks, self._columns()
        if given is not None and used:
            return given
        own = alikeness(C, S)
        if given is None:
            return own
        some = np.arange(len(S))[:_TESTED]
        by_given = given.block(S[some], np.arange(self.n))
        unit = np.asarray(own.embeddings)
        # A landmark's own column says what is asked for: it is left out.
        by_own = unit[S[some]] @ unit.T - unit[S[some], some][:, None] * unit[:, some].T
        by_own /= np.sqrt(np.maximum(1 - unit[:, some].T ** 2, 1e-6))

        def worth(score: NDArray[Any]) -> float:
            score[some, S[some]] = -np.inf
            k = min(_NEIGHBORS, self.n - 1)
            top = np.argpartition(-score, k - 1, axis=1)[:, :k]
            return float(np.mean(C[top, some[:, None]], dtype=np.float64))

        return given if worth(by_given) >= worth(by_own) else own

    def _refined(self, model: Layered, evaluations: int) -> Layered:
        """Read what looks most similar, in rounds; buy landmarks for what is left."""
        count = min(evaluations // self.calls, _MOST_REFINED * self.n // 2)
        if count < self.n // 4:
            self._landmarks(self.left)
            return self._low_rank()
        depth = max(32, 3 * (2 * count // self.n) + 20)
        found = candidates.find(model, self.oracle.read, depth)
        n, m = found.partner.shape
        vectors = None
        if count >= _TELLING and n * m <= _RANKED:
            vectors = profiles(self._columns(), self.auto.prior)[:, :_VECTORS]
        ranking = Ranking(vectors)
        item = np.repeat(np.arange(n), m)
        partner = found.partner.ravel().astype(np.int64)
        lesson = Lesson()
        uniform = self._uniform_lesson(model)
        best = self._best_known()
        last, read = None, 0
        for turn in range(_ROUNDS):
            wanted = (count - read) // (_ROUNDS - turn)
            i, j = self._chosen(found, wanted, blind=turn == 0 and model.curve is None)
            if not len(i):
                break
            values = self._read(i, j)
            read += len(i)
            last = i, j, values
            new = (values > best[i, -1]) | (values > best[j, -1])
            best = _merged(best, i, j, values)
            if new.mean() < _YIELD or turn == _ROUNDS - 1:
                break
            self._learn_pairs(lesson, model, i, j, values)
            self._rank(ranking, lesson, uniform)
            score = found.score.ravel()
            live = np.isfinite(score)
            score[live] = ranking.score(
                item[live],
                partner[live],
                found.base.ravel()[live],
                None if found.cheap is None else found.cheap.ravel()[live],
            )
        self.words.append(f"{2 * read / n:.0f} exact neighbours an item")
        had = len(self.landmarks)
        self._landmarks(self.left)
        if len(self.landmarks) > had:
            model = self._low_rank()
        return self._under(model, last)

    def _taught(
        self, model: Layered, random: tuple[Indices, Indices, NDArray[Any]]
    ) -> Layered:
        """Train a student on everything paid for, and refine by it, in turns."""
        lesson = Lesson()
        self._learn_columns(lesson, model)
        self._learn_pairs(lesson, model, *random)
        values = np.concatenate(lesson.values)
        cheap = None
        if model.prior is not None:
            cheap = np.concatenate([c for c in lesson.cheap if c is not None])
        student = Student.start(
            profiles(self._columns(), self.auto.prior), values, cheap, self.student_rng
        )
        taught = model.with_student(student)
        self._train(student, lesson, _FIRST_STEPS, "")
        count = self.left // self.calls
        an_item = 2 * count // self.n
        # Without a prior, too many of the most similar are no candidates of the low
        # rank: the student looks at all pairs itself, where they are not too many.
        pairs = self.n * (self.n - 1) // 2
        scans = self.auto.prior is None and pairs <= _SCANNED
        depth = max(64, min(4 * an_item + 20, 512))
        found: candidates.Candidates | None = None
        last, read = None, 0
        for turn in range(_STUDENT_ROUNDS):
            anew = turn in (0, _STUDENT_ROUNDS // 2)
            looks = scans and (anew or pairs <= _OFTEN)
            if found is None or looks:
                known = self.oracle.read
                found = candidates.find(taught if scans else model, known, depth)
            wanted = (count - read) // (_STUDENT_ROUNDS - turn)
            often = anew or found.partner.size <= _OFTEN
            rows, places = found.best(
                found.partner.shape[1] if often else 4 * (2 * wanted // self.n) + 16
            )
            if not looks:
                partners = found.partner[rows, places].astype(np.int64)
                found.score[rows, places] = student.pairs(
                    rows,
                    partners,
                    found.base[rows, places],
                    None if found.cheap is None else found.cheap[rows, places],
                )
            blind = model.curve is None and turn < _BLIND_ROUNDS
            i, j = self._chosen(found, wanted, blind=blind)
            if not len(i):
                break
            values = self._read(i, j)
            read += len(i)
            last = i, j, values
            self._learn_pairs(lesson, model, i, j, values)
            final = turn == _STUDENT_ROUNDS - 1
            steps = _LAST_STEPS if final else _ROUND_STEPS
            label = f" (round {turn + 1} of {_STUDENT_ROUNDS})"
            self._train(student, lesson, steps, label)
        self.words.append(
            f"a student trained on {len(lesson):,} pairs in {self.training:.0f} s; "
            f"{2 * read / self.n:.0f} exact neighbours an item; left, right and "
            "embedding are of the low rank, not of the student"
        )
        return self._under(taught, last)

    def _chosen(
        self, found: candidates.Candidates, wanted: int, *, blind: bool
    ) -> tuple[Indices, Indices]:
        """Return pairs to read; blind to what the prior is worth, half by the prior."""
        known = self.oracle.read
        i, j = found.choose(wanted - wanted // 2 if blind else wanted, known)
        if not blind:
            return i, j
        a, b = found.choose(wanted // 2, known, by_prior=True)
        return np.concatenate([i, a]), np.concatenate([j, b])

    def _train(self, student: Student, lesson: Lesson, steps: int, label: str) -> None:
        left = self.auto.student_seconds - self.training
        if left <= 0:
            return
        self.oracle.note(f"training the student{label}")
        self.training += student.learn(
            lesson, steps=steps, seconds=left, rng=self.student_rng
        )
        self.oracle.note("evaluating")

    # --- what is learned from ------------------------------------------------------

    def _learn_pairs(
        self,
        lesson: Lesson,
        model: Layered,
        i: Indices,
        j: Indices,
        values: NDArray[Any],
    ) -> None:
        base = replace(model, student=None).before_guard(i, j)
        cheap = None if model.prior is None else model.prior.pairs(i, j)
        lesson.add(i, j, base, cheap, values)

    def _learn_columns(
        self, lesson: Lesson, model: Layered, most: int | None = None
    ) -> None:
        """Add the landmarks' columns, each pair once, or a sample of them."""
        S = self.landmarks
        rank = np.full(self.n, len(S))
        rank[S] = np.arange(len(S))
        some = np.arange(self.n)
        if most is not None:
            some = self.rng.permutation(self.n)[: max(1, most // len(S))]
        item, place = np.nonzero(rank[some][:, None] > np.arange(len(S))[None, :])
        C = self._columns()
        i, j = some[item], S[place]
        self._learn_pairs(lesson, model, i, j, C[i, place].astype(np.float64))

    def _uniform_lesson(self, model: Layered) -> Lesson:
        lesson = Lesson()
        self._learn_columns(lesson, model, most=60_000)
        return lesson

    def _rank(self, ranking: Ranking, lesson: Lesson, uniform: Lesson) -> None:
        """Fit the ranking to refined and to uniform pairs, of equal weight."""
        both = [lesson, uniform]
        weights = [
            np.full(len(part), 1 / max(1, len(part))) * (len(lesson) + len(uniform))
            for part in both
        ]
        cheap = None
        if lesson.cheap[0] is not None:
            cheap = np.concatenate([c for x in both for c in x.cheap if c is not None])
        ranking.fit(
            np.concatenate([a for x in both for a in x.i]),
            np.concatenate([a for x in both for a in x.j]),
            np.concatenate([a for x in both for a in x.base]),
            cheap,
            np.concatenate([a for x in both for a in x.values]),
            np.concatenate(weights),
            self.rng,
        )

    def _best_known(self) -> NDArray[Any]:
        """Return (n, k) values: the largest that landmarks' columns say of an item."""
        C = np.array(self._columns(), dtype=np.float32)
        C[self.landmarks, np.arange(len(self.landmarks))] = -np.inf
        k = min(_NEIGHBORS, C.shape[1])
        best = -np.partition(-C, k - 1, axis=1)[:, :k]
        out = np.full((self.n, _NEIGHBORS), -np.inf, dtype=np.float32)
        out[:, :k] = -np.sort(-best, axis=1)
        return out

    # --- the end -------------------------------------------------------------------

    def _under(
        self,
        model: Layered,
        last: tuple[Indices, Indices, NDArray[Any]] | None,
    ) -> Layered:
        """Put what is left unread under what refinement found last.

        Not where those pairs were predicted well: then so are the others.
        """
        if last is None:
            return model
        i, j, values = last
        missed = np.mean((model.before_guard(i, j) - values) ** 2)
        if missed < _PREDICTED**2 * np.var(values):
            return model
        return replace(model, ceilings=candidates.ceilings(self.n, *last))

    def _guarded(self, model: Layered) -> Factors:
        """Shrink the result as far as random pairs do not confirm it."""
        i, j, truth = self._random_pairs(self.reserve)
        low, high = self._range()
        model = replace(model, guard=Guard(0.0, 1.0, low, high))
        guess = model.predict(i, j).astype(np.float64)
        if model.ceilings is not None and len(truth):
            free = replace(model, ceilings=None)
            unbound = free.predict(i, j).astype(np.float64)
            if np.sum((unbound - truth) ** 2) < np.sum((guess - truth) ** 2):
                model, guess = free, unbound
        guard, verdict = _verdict(guess, truth, low, high)
        if guard is None:
            return self._mean(truth, f"nothing predicts the pairs ({self.described})")
        if verdict:
            self.words.append(verdict)
        words = "; ".join([self.described, *self.words])
        return replace(model, guard=guard, words=words).lean()

    def _range(self) -> tuple[float, float]:
        """Return what was read off the diagonal, from end to end, and a tenth more."""
        read = self.oracle.read
        i, j, values = read.uncovered()
        values = values[i != j]
        C = self._columns()
        least, most = np.inf, -np.inf
        own = np.arange(len(self.landmarks))
        if C.size:
            C = np.array(C)
            C[self.landmarks, own] = C[self.landmarks[0], own]  # no pair: anything else
            C[self.landmarks[0], 0] = C[self.landmarks[-1], 0]
            least, most = float(C.min()), float(C.max())
        least = min(least, float(values.min(initial=np.inf)))
        most = max(most, float(values.max(initial=-np.inf)))
        more = 0.1 * (most - least)
        return least - more, most + more

    def _mean(self, values: NDArray[Any], why: str) -> Factors:
        """Return the mean of random pairs, for want of anything better."""
        mean, variance = float(values.mean()), float(values.var()) / len(values)
        if len(self.landmarks) >= _FEWEST_LANDMARKS and variance > 0:
            mean += self._pooled(mean, variance)
        return Factors(
            np.full((self.n, 1), math.sqrt(abs(mean))),
            self.landmarks.astype(np.int64),
            f"{why}: every unread pair gets the mean of random ones, {mean:.4g}",
            signature=np.array([1.0 if mean >= 0 else -1.0]),
        )

    def _pooled(self, mean: float, variance: float) -> float:
        """Return how far the landmarks' columns move a mean of few random pairs.

        They know it as well as landmarks agree on it; not where refinement has left
        other pairs than those that columns are made of.
        """
        C = np.array(self._columns(), dtype=np.float64)
        C[self.landmarks, np.arange(len(self.landmarks))] = np.nan
        of_each = np.nanmean(C, axis=0)
        spread = float(np.var(of_each, ddof=1)) / len(of_each)
        apart = float(of_each.mean()) - mean
        if apart**2 > 9 * (variance + spread):
            return 0.0
        return apart * variance / (variance + spread)


def _merged(
    best: NDArray[Any], i: Indices, j: Indices, values: NDArray[Any]
) -> NDArray[Any]:
    """Return every item's largest values, with those of new pairs among them."""
    n, k = best.shape
    item = np.concatenate([i, j])
    both = np.concatenate([values, values]).astype(best.dtype)
    order = np.lexsort((-both, item))
    item, both = item[order], both[order]
    rank = np.arange(len(item)) - np.searchsorted(item, item)
    top = rank < k
    fresh = np.full((n, k), -np.inf, dtype=best.dtype)
    fresh[item[top], rank[top]] = both[top]
    return -np.sort(-np.hstack([best, fresh]), axis=1)[:, :k]


def _verdict(
    guess: NDArray[Any], truth: NDArray[Any], low: float, high: float
) -> tuple[Guard | None, str]:
    """Return the guard that random pairs call for; ``None``: predict the mean."""
    if len(truth) < 10:
        return Guard(0.0, 1.0, low, high), ""
    spread = truth - truth.mean()
    if np.mean((truth - guess) ** 2) < _HELD**2 * np.mean(spread**2):
        # What holds everywhere holds beyond the range of what was read too.
        return Guard(), ""
    moved = guess - guess.mean()
    variance = float(moved @ moved)
    if variance == 0 or float(spread @ spread) == 0:
        flat = float(np.mean((truth - guess) ** 2)) <= float(np.mean(spread**2)) * 1.01
        return (Guard(0.0, 1.0, low, high), "") if flat else (None, "")
    slope = float(moved @ spread) / variance
    residual_variance = float(np.sum((spread - slope * moved) ** 2)) / len(truth)
    error = math.sqrt(residual_variance / variance)
    if slope < 3 * error:
        return None, ""
    bias = float(truth.mean() - guess.mean())
    bias_error = math.sqrt(float(np.mean((truth - guess) ** 2)) / len(truth))
    if error < 0.1 and slope > 1 - 3 * error and abs(bias) < 4 * bias_error:
        return Guard(0.0, 1.0, low, high), ""
    slope = min(slope, 1.0)
    offset = float(truth.mean() - slope * guess.mean())
    words = f"the guard shrank predictions to {slope:.0%} of their spread"
    return Guard(offset, slope, low, high), words if slope < 0.99 else ""
