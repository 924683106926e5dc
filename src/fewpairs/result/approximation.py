"""Approximation: low rank plus exact entries. It answers every pair."""

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.errors import InputError
from fewpairs.kernels.linalg.spectral import leading_features, leading_of_two
from fewpairs.matrix.budget import GivenBudget
from fewpairs.matrix.entries import Entries
from fewpairs.matrix.positions import positions_of
from fewpairs.matrix.sides import Sides
from fewpairs.memory import check_fits
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.once import once
from fewpairs.reading.reader import Reader
from fewpairs.result.as_array import AsArray
from fewpairs.result.bill import Bill, receipt
from fewpairs.result.certificate import Certificate, HeldOut
from fewpairs.result.verbs import Verbs, implementation
from fewpairs.types import Indices

__all__ = ["Approximation"]

_DENSE_LIMIT = 1 << 30  # bytes


class Growable(Protocol):
    """What an approximation was made of."""

    @property
    def reader(self) -> Reader:
        """Exact values of its pairs, and of new items."""

    def grow(self, approx: "Approximation", budget: Any) -> "Approximation":
        """Go on from what was read."""


@dataclass(frozen=True, eq=False, repr=False)
class Approximation(AsArray, Verbs):
    """The whole similarity matrix, from a few of its pairs.

    Every answer is exact where the entry was read. Elsewhere it is ``left @ right.T``
    for the methods of the paper; with the default a prior may be added to it, a student
    may answer instead, and a guard bounds both (``method`` says what was used).
    ``pairs``, ``block``, ``row``, ``dense``, ``@`` and ``approx[i, j]`` agree entry by
    entry; ``left``,
    ``right``, ``factored`` and ``embedding`` are of the low-rank part, ``linkage`` and
    ``cluster`` of that with the exact entries. Nothing of size n×n is held. Any number
    of threads may ask it: they get the answers of one, and a pair that has to be
    evaluated is paid for once. Made by :func:`fewpairs.approximate`; ``print`` it for a
    receipt.

    Attributes
    ----------
    bill
        What was paid, and for what.

    Examples
    --------
    >>> import numpy as np, fewpairs as fp
    >>> X = np.random.default_rng(0).standard_normal((200, 6))
    >>> approx = fp.approximate(X, fp.Cosine(), budget=0.1)
    >>> approx.shape, approx.row(3).shape, approx.block([0, 1], slice(5)).shape
    ((200, 200), (200,), (2, 5))
    >>> bool(np.allclose(approx @ np.ones(200), approx.dense().sum(axis=1)))
    True
    """

    model: Model
    known: Entries
    evidence: Certificate | HeldOut
    bill: Bill = field(default_factory=Bill)
    source: "Growable | None" = field(default=None)

    # --- what it is --------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n); of two sets (m, n), items and others."""
        sides = self.known.sides
        return (self.known.n, self.known.n) if sides is None else sides.shape

    @property
    def left(self) -> NDArray[Any]:
        """(n, r) array; the low-rank part is ``left @ right.T``. Of two sets (m, r)."""
        sides, left = self.known.sides, self.model.left
        return left if sides is None else left[sides.left]

    @property
    def right(self) -> NDArray[Any]:
        """(n, r) array; the low-rank part is ``left @ right.T``."""
        sides, right = self.known.sides, self.model.right
        return right if sides is None else right[sides.right]

    @property
    def factors(self) -> LowRank:
        """The low-rank part of the model."""
        return self.model.low_rank

    @property
    def landmarks(self) -> Indices:
        """Positions of the items whose full row or column was read.

        Of two sets, left items are 0 to m − 1 and the others follow from m on.
        """
        return self.model.landmarks

    @property
    def evaluations(self) -> int:
        """Calls of the similarity that this approximation made."""
        return self.bill.evaluations

    @property
    def method(self) -> str:
        """What was used, and why."""
        return self.model.words

    @once
    def certificate(self) -> Certificate:
        """How far it can be off, from pairs that were read and that the fit never saw.

        The comparison is made when it is first asked for.
        """
        if isinstance(self.evidence, Certificate):
            return self.evidence
        return self.evidence.judge(self.model, self.known)

    @property
    def signature(self) -> NDArray[Any] | None:
        """±1 a feature where ``(embedding() * signature) @ embedding().T`` is the
        low-rank part; ``None`` for CUR methods, whose features are one-sided, and of
        two sets, whose right features have the signs.
        """  # noqa: D205
        return None if self.known.sides is not None else self.model.signature

    @once
    def factored(self) -> "Approximation":
        """The same with the low-rank part alone: the method's formula as printed.

        For comparing methods; its certificate is not that of this object, so it has
        none.
        """
        nothing = self.known.like()
        unknown = Certificate(np.nan, (0.0, np.inf), np.nan, 0, 1.0)
        return replace(
            self,
            model=self.model.bare(),
            known=nothing,
            evidence=unknown,
            source=None,
        )

    @once
    def indexes(self) -> dict[str, Any]:
        """What answers have built for the next ones, by name; not saved."""
        return {}

    # --- what it answers -----------------------------------------------------------

    def pairs(self, i: ArrayLike, j: ArrayLike) -> NDArray[Any]:
        """Return the similarity of item i[t] to item j[t], for every t.

        Positions broadcast against each other; negative ones count from the end. Of two
        sets, that of item i[t] to the other j[t].
        """
        a, b = self._positions(i), self._positions(j, columns=True)
        try:
            a, b = np.broadcast_arrays(a, b)
        except ValueError as error:
            msg = (
                f"Approximation.pairs: {a.shape} and {b.shape} positions do not match; "
                "pass as many of one as of the other, or use block()."
            )
            raise InputError(msg) from error
        shape = a.shape
        a, b = a.ravel(), b.ravel() + self._first_column
        out = self.model.pairs(a, b)
        known, values = self.known.lookup(a, b)
        out[known] = values[known]
        return out.reshape(shape)

    def block(self, rows: Any, columns: Any) -> NDArray[Any]:
        """Return the similarities of all ``rows`` to all ``columns``.

        Both may be positions, slices or boolean masks.
        """
        r = np.atleast_1d(self._positions(rows, 1))
        c = np.atleast_1d(self._positions(columns, 1, columns=True))
        c = c + self._first_column
        size = len(r) * len(c) * self.left.dtype.itemsize
        if size > _DENSE_LIMIT:
            what = f"the {len(r):,} × {len(c):,} similarities"
            cure = "Ask for fewer rows at a time, or for .neighbors(k)."
            check_fits("Approximation.block", size, what, cure)
        out = self.model.block(r, c)
        self.known.overlay(out, r, c)
        return out

    def row(self, i: int) -> NDArray[Any]:
        """Return the similarities of item i to all items; of two sets to all others."""
        return np.asarray(self.block(self._positions(i, 0), slice(None))[0])

    def dense(self, *, force: bool = False) -> NDArray[Any]:
        """Return the whole matrix, if it takes less than 1 GiB or ``force``."""
        m, n = self.shape
        size = m * n * self.left.dtype.itemsize
        if size > _DENSE_LIMIT and not force:
            msg = (
                f"Approximation.dense: the {m:,} × {n:,} matrix takes "
                f"{size / 2**30:.1f} GiB. Ask for .block(rows, columns), .pairs(i, j) "
                "or .neighbors(k), or pass force=True."
            )
            raise InputError(msg)
        what = f"the {m:,} × {n:,} similarities"
        cure = "Ask for .block(rows, columns) or .pairs(i, j)."
        check_fits("Approximation.dense", size, what, cure)
        return self.block(slice(None), slice(None))

    def embedding(self, dim: int | None = None) -> Any:
        """Return (n, r) features of the items, for classifiers, clusters and plots.

        Of two sets a pair of arrays, (m, r) and (n, r): left @ right.T is the low-rank
        part.

        Without ``dim``, those of the paper: Z with K ≈ Z·Zᵀ for Nyström and SMS, and
        C·W·S^½ with U = W·S·Vᵀ for CUR. Where the core is indefinite, K ≈
        (Z · signature)·Zᵀ, see ``signature``. With ``dim``, the leading directions of
        the low-rank part, by magnitude.
        """
        features, signs = self.model.features, self.model.signature
        sides = self.known.sides
        if dim is None:
            return features.copy() if sides is None else self._two_features(sides)
        if not isinstance(dim, (int, np.integer)) or not 1 <= dim <= features.shape[1]:
            msg = (
                f"Approximation.embedding: dim is {dim!r:.60}; it can be a whole "
                f"number from 1 to the rank, {features.shape[1]}."
            )
            raise InputError(msg)
        if sides is not None:
            return leading_of_two(*self._two_features(sides), int(dim))
        if signs is not None:
            return leading_features(features, int(dim), signs=signs)
        return leading_features(self.left, int(dim), right=self.right)

    def reader(self, call: str) -> Reader:
        """Return what reads exact values, or say what to pass to have one."""
        if self.source is None:
            msg = (
                f"Approximation.{call}: needs evaluations, and this one has no "
                "similarity: it was loaded, or is a yardstick. Pass items= and "
                "similarity= to fewpairs.load."
            )
            raise InputError(msg)
        return self.source.reader

    # --- what it says and keeps -------------------------------------------------------

    def grow(self, budget: GivenBudget) -> "Approximation":
        """Return a better one, for a larger budget; pays only for what is new.

        Parameters
        ----------
        budget
            For everything, what is paid for included: ``"100/item"``, a share of the
            pairs or a number of evaluations, as in :func:`fewpairs.approximate`.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> K = np.random.default_rng(0).standard_normal((200, 20))
        >>> small = fp.approximate(None, K @ K.T, budget=0.1)
        >>> large = small.grow(0.3)
        >>> small.evaluations < large.evaluations <= 0.3 * 200 * 199 / 2
        True
        """
        if self.source is None:
            msg = (
                "Approximation.grow: this one was loaded, or is a yardstick: it has no "
                "similarity to evaluate. Call fewpairs.approximate again, with the "
                "ledger of the first call as store=."
            )
            raise InputError(msg)
        return self.source.grow(self, budget)

    def __str__(self) -> str:
        return receipt(
            shape=self.shape,
            two_sets=self.known.sides is not None,
            bill=self.bill,
            certificate=self.certificate,
            found=self._found,
        )

    @once
    def _found(self) -> str | None:
        """What is known of near neighbors, for the receipt."""
        found: str | None = implementation("fewpairs.answers.left_out:found")(self)
        return found

    def __repr__(self) -> str:
        m, n = self.shape
        return (
            f"<Approximation {m}×{n}, {self.method}, {self.evaluations:,} evaluations>"
        )

    # --- inside --------------------------------------------------------------------

    def _positions(
        self, where: Any, most: int | None = None, *, columns: bool = False
    ) -> Indices:
        """Return positions as numpy reads them, of at most so many dimensions."""
        return positions_of(where, self.shape[columns], "Approximation", most=most)

    @property
    def _first_column(self) -> int:
        """Where the columns begin among all items: of two sets, after the rows."""
        return 0 if self.known.sides is None else self.known.sides.split

    def _two_features(self, sides: Sides) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the features of both sides; those of the right have the signs."""
        features, signs = self.model.features, self.model.signature
        right = features[sides.right]
        if signs is not None:
            right = right * signs.astype(right.dtype)
        return features[sides.left].copy(), np.array(right)
