"""Similarity: a recipe for scoring. Scorer: that recipe bound to items."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.checks import shown
from fewpairs.errors import InputError
from fewpairs.fingerprint import fingerprint
from fewpairs.similarity.function_state import by_itself, state_of
from fewpairs.similarity.items import as_items
from fewpairs.similarity.paid_answers import PaidAnswers
from fewpairs.similarity.service import Allowed
from fewpairs.types import Indices

__all__ = [
    "Interrupted",
    "Scorer",
    "Similarity",
    "check_texts",
    "cut",
    "made_of",
]


class Interrupted(Exception):  # noqa: N818 - not always an error: Ctrl-C too
    """A scorer stopped in the middle of a request.

    Attributes
    ----------
    values
        What was evaluated before, in the order of the request: it has been paid
        for, and readers keep it.
    cause
        Why it stopped.
    """

    def __init__(self, values: NDArray[Any], cause: BaseException) -> None:
        super().__init__()
        self.values = values
        self.cause = cause


class Scorer(ABC):
    """A similarity bound to n items.

    Everything that can be done once per item (tokenizing, embedding, hashing) was
    done when the scorer was made. Positions are int64 arrays, always in range.

    Attributes
    ----------
    n
        Number of items.
    dtype
        float32 or float64: the precision in which values are worth keeping.
    kept
        ``None``, as it should be: position t is item t. Only where the caller asked
        for items to be dropped, the ascending positions of the n items that stayed;
        position t is then item ``kept[t]``.
    chunk
        Pairs that make one good call. Readers split larger requests, so a chunk
        bounds memory and what an interruption can cost. It never changes a value.
    backend
        What does the work, in a few words: a fallback shows here.
    price
        Money that one evaluation costs, for the bill; 0 where it costs none. See
        ``spent`` where it depends.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> scorer = fp.from_matrix(np.eye(3)).bind(["a", "b", "c"])
    >>> scorer.block(np.array([0, 1]), np.array([1])).tolist()
    [[0.0], [1.0]]
    """

    n: int
    dtype: np.dtype[Any] = np.dtype(np.float64)
    chunk: int = 1 << 18
    kept: Indices | None = None
    price: float = 0.0
    backend: str = "Python"
    split: int | None = None  # of two sets, the position of the first right item

    @property
    def has_blocks(self) -> bool:
        """Whether it has blocks of its own, which are faster than pairs."""
        return type(self).block is not Scorer.block

    def prepare(self, tell: Callable[[str], None]) -> None:  # noqa: B027 - optional
        """Do now what the first call would do once per process, such as compiling.

        Call ``tell`` with a few words before what takes more than a moment. Runs
        prepare before they evaluate, so that it is neither timed nor a surprise.
        """

    def watch(self, note: Callable[[str], object]) -> None:  # noqa: B027 - optional
        """Call ``note`` with a few words while calls wait for something."""

    def spent(self) -> float | None:
        """Return what the calls of this thread have cost since it last asked.

        ``None``, as here: ``price`` a value. Override it where attempts that came to
        nothing are charged for, or values that are known are not.
        """
        return None

    @abstractmethod
    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the similarity of item ``i[t]`` to item ``j[t]``, for every t."""

    @property
    def stops(self) -> bool:
        """Whether ``pairs_within`` ends before money or time does."""
        return type(self).pairs_within is not Scorer.pairs_within

    def pairs_within(
        self,
        i: Indices,
        j: Indices,
        allowed: Allowed,  # noqa: ARG002 - for those who can stop
    ) -> NDArray[Any]:
        """Return pairs, within money and time.

        Override it where a request can end in its middle: raise `Interrupted` with a
        :class:`~fewpairs.errors.SpentError` before more than is allowed is spent.
        """
        return self.pairs(i, j)

    def keep_answers(self, answers: PaidAnswers) -> None:  # noqa: B027 - optional
        """Look up and keep what a service answers, by content, where a ledger is."""

    def block(self, rows: Indices, columns: Indices) -> NDArray[Any]:
        """Return the similarities of all ``rows`` to all ``columns``."""
        i = np.repeat(rows, len(columns))
        j = np.tile(columns, len(rows))
        return self.pairs(i, j).reshape(len(rows), len(columns))

    def block_above(
        self,
        rows: Indices,
        columns: Indices,
        least: float,  # noqa: ARG002 - for those who can use it
    ) -> NDArray[Any]:
        """Return a block of which only what is at least ``least`` is wanted.

        Override it where a similarity can stop early: what lies below may then be any
        number below, within its bounds.
        """
        return self.block(rows, columns)

    # --- what is known before it is evaluated -------------------------------------

    @property
    def has_bounds(self) -> bool:
        """Whether ``upper_bound`` or ``may_reach`` tells more than nothing."""
        kind = type(self)
        own = kind.upper_bound is Scorer.upper_bound
        return not (own and kind.may_reach is Scorer.may_reach)

    @property
    def prunes(self) -> bool:
        """Whether asking ``may_reach`` takes less time than evaluating a block."""
        return self.has_bounds

    def upper_bound(
        self,
        i: Indices,
        j: Indices,  # noqa: ARG002 - for those who know more
    ) -> NDArray[np.float64]:
        """Return numbers that the similarity of i[t] to j[t] is never above.

        Override it where something quick proves that a pair cannot be similar: lengths,
        counts, norms. It takes no evaluation. A bound must hold for what ``pairs`` and
        ``block`` return, their rounding included. Infinite, as here: nothing is known.
        """
        return np.full(len(i), np.inf)

    def may_reach(
        self, rows: Indices, columns: Indices, least: float
    ) -> NDArray[np.bool_]:
        """Tell which pairs of a block may be as similar as ``least``.

        Override it where whole blocks are quicker, or a quick bound can go before a
        better one. Pairs of which it says no are excluded by proof: they are not read.
        """
        i = np.repeat(rows, len(columns))
        j = np.tile(columns, len(rows))
        found = self.upper_bound(i, j) >= least
        return np.asarray(found).reshape(len(rows), len(columns))


class Similarity(ABC):
    """A recipe for scoring two items; knows nothing of matrices or budgets.

    Subclasses declare facts, and fewpairs uses them: ``symmetric`` halves the
    price, a known ``diagonal`` is never paid for.

    Attributes
    ----------
    symmetric
        Whether s(a, b) = s(b, a) for all items. ``None``: unknown, found out on a
        few sampled pairs.
    diagonal
        The similarity of any item to itself, or ``None`` if that is not known.
    bounds
        Smallest and largest possible value, or ``None``.
    psd
        Whether every matrix of this similarity is positive semidefinite.
    proven
        Whether the declared symmetry is a theorem. If not, it is checked on a few
        sampled pairs before anything else is paid for.
    metric
        Whether ``diagonal`` less the similarity is a distance that obeys the triangle
        inequality. A pass over all pairs then leaves pairs out that a few landmarks
        exclude; the claim is checked on sampled triples first.
    deterministic
        Whether the same two items get the same value every time. A run that is given
        values of an earlier one then evaluates eight of them again, to see that they
        are this similarity's; of one that is not deterministic it cannot know.
    fingerprinted
        Whether ``identify`` tells everything that the values depend on, so that a
        ledger knows another one by that alone.
    rounding
        Share of its size by which a value may differ when it is evaluated again, in
        another batch or on another machine. ``None``: 1e-5, or 1e-3 in float32.
    by_position
        Whether vectors or a matrix came with the similarity, so that an item is but a
        position. New items then bring their own, see ``beside``.
    split
        Of two sets on one axis, the position of the first right item; ``None``: one
        set. See :class:`fewpairs.similarity.two_sets.TwoSets`.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> class SameLength(fp.Similarity):
    ...     symmetric = True
    ...     diagonal = 1.0
    ...
    ...     def bind(self, items):
    ...         return Lengths([len(item) for item in items])
    >>> class Lengths(fp.Scorer):
    ...     def __init__(self, lengths):
    ...         self.n = len(lengths)
    ...         self.lengths = np.array(lengths)
    ...
    ...     def pairs(self, i, j):
    ...         return (self.lengths[i] == self.lengths[j]).astype(float)
    >>> approx = fp.approximate(["a", "b", "cc"] * 20, SameLength(), budget=0.5, seed=1)
    >>> approx.pairs(0, [1, 2]).round(6).tolist()
    [1.0, 0.0]
    """

    symmetric: bool | None = True
    diagonal: float | None = None
    bounds: tuple[float, float] | None = None
    psd: bool = False
    proven: bool = False
    metric: bool = False
    deterministic: bool = True
    fingerprinted: bool = False
    rounding: float | None = None
    by_position: bool = False
    contextual: bool = False
    split: int | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "Similarity":
        """Return the same: a recipe never changes, and models and vectors are large."""
        return self

    @abstractmethod
    def bind(self, items: Sequence[Any]) -> Scorer:
        """Do all the work that is needed once per item, and return the scorer."""

    def bind_two(self, left: Sequence[Any], right: Sequence[Any]) -> Scorer:
        """Bind m left items and n right ones, of one kind or of two, each once.

        Positions of the scorer are those of left items, then those of right ones: left
        item i is i, right item j is m + j. It is asked for pairs of a left item and a
        right one alone, in this order. Override it where sides are bound in different
        ways.
        """
        both = isinstance(left, np.ndarray) and isinstance(right, np.ndarray)
        if both and np.shape(left)[1:] == np.shape(right)[1:]:
            together: Any = np.concatenate([left, right])
            return self.bind(together)
        return self.bind([*left, *right])

    def beside(
        self, new_items: Sequence[Any], items: Sequence[Any], positions: Indices
    ) -> Scorer:
        """Bind new items, and after them some of the items that were bound before.

        Override it where ``bind`` does not look at the items: where vectors or a matrix
        came with the similarity, and new items are to bring their own.
        """
        return self.bind([*new_items, *(items[int(t)] for t in positions)])

    def beside_two(
        self, new_items: Sequence[Any], items: Sequence[Any], positions: Indices
    ) -> Scorer:
        """Bind new left items, and after them some of the right ones.

        ``positions`` are those of right items among ``items``, of which left ones come
        first.
        """
        if self.by_position:
            return self.beside(new_items, items, positions)
        return self.bind_two(new_items, [items[int(t)] for t in positions])

    def bound_by(self, scorer: Scorer) -> "Similarity":  # noqa: ARG002
        """Return the same, with what became known when it was bound."""
        return self

    @property
    def name(self) -> str:
        """How receipts and messages call this similarity."""
        return type(self).__name__

    @property
    def remark(self) -> str:
        """What receipts add to the name, of values that were asked to be less exact."""
        return ""

    def __repr__(self) -> str:
        name, kind = self.name, type(self).__name__.removeprefix("_")
        return name if name.startswith(kind) else f"{kind}({name})"

    __repr__.short = True  # type: ignore[attr-defined]  # not all that it is made of

    def standing(self) -> tuple[list[Any], str]:
        """Return the objects it is made of in this process, and a hash of their state.

        A ledger that has been used with the same ones in the same state checks nothing.
        """
        parts = [part for _, part in sorted(getattr(self, "__dict__", {}).items())]
        return [type(self), *map(by_itself, parts)], fingerprint(map(state_of, parts))

    def identify(self) -> Iterable[Any]:
        """Return what tells this similarity from others, for a ledger's fingerprint."""
        kind = type(self)
        return (kind.__module__, kind.__qualname__, self.name, self.diagonal)


def cut(places: Indices) -> Any:
    """Return consecutive positions as a slice: taking it needs no copy."""
    if len(places) == 0:
        return places
    first, last = int(places[0]), int(places[-1])
    if last - first == len(places) - 1 and bool((np.diff(places) == 1).all()):
        return slice(first, last + 1)
    return places


def check_texts(items: Sequence[Any], call: str) -> list[str]:
    """Return ``items`` as a list of strings, or say which item is not one."""
    texts = list(as_items(items, call))
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            msg = (
                f"{call}: items[{position}] is {text!r:.60}, of type "
                f"{type(text).__name__}; every item must be a str. "
                "Drop it or convert it first."
            )
            raise InputError(msg)
    return texts


def made_of(
    item: Any, position: int, function: Callable[[Any], Any], call: str, name: str
) -> Any:
    """Return what a caller's function makes of an item, or say that it fails."""
    try:
        return function(item)
    except Exception as error:
        msg = (
            f"{call}: {name} raises {type(error).__name__}: {error} for "
            f"items[{position}], {shown(item)}. Pass a function of one item."
        )
        raise InputError(msg) from error
