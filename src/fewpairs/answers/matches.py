"""Matches: pairs that were asked for, each evaluated, of one set of items or two."""

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewpairs.answers.assignment import assign
from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.frames import as_arrow, as_pandas, as_polars, write_csv
from fewpairs.answers.recall import NOTHING, RecallCertificate
from fewpairs.answers.sides import Side
from fewpairs.answers.way import Way
from fewpairs.cards import card
from fewpairs.checks import check_flag, check_number, check_path, check_whole
from fewpairs.errors import InputError
from fewpairs.once import once
from fewpairs.plotting import axes_of
from fewpairs.types import Indices

__all__ = ["NOTHING_MISSED", "Matches", "Missed", "Unmatched"]


class Missed(NamedTuple):
    """What is known of the pairs that were not found, without paying for more.

    Attributes
    ----------
    held_out, above
        Held-out pairs, drawn from all that were not read, and how many of them lie
        above the threshold without having been a candidate.
    estimate, at_most
        That share, and the upper end of its one-sided 95 % interval, of all unread
        pairs (Clopper & Pearson 1934).
    hidden, found
        Pairs above the threshold in landmarks' rows that were hidden from a fit to
        the other landmarks, and how many of them that fit proposes.
    found_at_least
        Lower end of the one-sided 95 % interval of the share found / hidden: of a ratio
        over rows, since pairs of a row are missed together.
    """

    held_out: int
    above: int
    estimate: float
    at_most: float
    hidden: int
    found: int
    found_at_least: float


NOTHING_MISSED = Missed(0, 0, 0.0, 0.0, 0, 0, 0.0)


class Unmatched(NamedTuple):
    """Positions of the rows that are in no match; of one set of items, the same twice.

    Attributes
    ----------
    left, right
        Ascending positions.
    """

    left: Indices
    right: Indices


@dataclass(frozen=True, eq=False)
class Matches:
    """Pairs of a left and a right row that belong together, every one evaluated.

    Of one set of items (`fewpairs.duplicates`) both sides are that set, and left <
    right. ``print(matches)`` reads like a receipt.

    Attributes
    ----------
    left, right, similarity
        Positions of the pairs, most similar first, and their exact values.
    threshold, k, one_to_one
        What was asked for; ``None`` where it was not.
    sides
        The rows of both sides: their names and columns.
    others
        Evaluated pairs that are no matches: near below the threshold, and for one to
        one those that lost.
    evaluations
        Calls of the similarity: for the candidates; by `fewpairs.duplicates` and
        `fewpairs.match`, all.
    way
        Whether those read all pairs, and why; else ``None``.
    missed
        What can be said of those that were not found; ``None``: nothing.
    certificate
        How much of all such pairs was found, and how surely.
    candidate_margin, known, checked
        Pairs predicted above threshold − candidate_margin were checked; pairs of the
        result that had been read before; candidates evaluated now.
    edge
        Every pair that was predicted at or above it was read, or excluded by proof.
    excluded
        Pairs that provably do not reach the threshold, and were not read.
    ties
        Of one to one: rows with another candidate as similar as the one they got.

    Examples
    --------
    >>> import fewpairs as fp
    >>> texts = ["red cat", "green dog", "red cats", "a green dog", "blue"]
    >>> found = fp.duplicates(texts, fp.StringSimilarity("ratio"), threshold=0.85)
    >>> len(found), found.unmatched.left.tolist(), found.rethreshold(0.93).left
    (2, [4], array([0]))
    """

    left: Indices
    right: Indices
    similarity: NDArray[np.float64]
    threshold: float | None
    sides: tuple[Side, Side]
    k: int | None = None
    one_to_one: bool = False
    others: Pairs = field(default_factory=Pairs.none)
    evaluations: int = 0
    way: Way | None = None
    missed: Missed | None = None
    certificate: RecallCertificate = NOTHING
    candidate_margin: float = 0.0
    edge: float = np.inf
    known: int = 0
    checked: int = 0
    excluded: int = 0
    ties: int = 0

    @property
    def i(self) -> Indices:
        """``left``, as in ``approx.pairs(i, j)``."""
        return self.left

    @property
    def j(self) -> Indices:
        """``right``, as in ``approx.pairs(i, j)``."""
        return self.right

    @property
    def pairs(self) -> Pairs:
        """The three arrays."""
        return Pairs(self.left, self.right, self.similarity)

    @property
    def one_set(self) -> bool:
        """Whether left and right are the same items."""
        return self.sides[0] is self.sides[1]

    @once
    def unmatched(self) -> Unmatched:
        """Rows of both sides that are in no match."""
        if self.one_set:
            both = np.concatenate([self.left, self.right])
            alone = np.setdiff1d(np.arange(self.sides[0].n), both)
            return Unmatched(alone, alone)
        return Unmatched(
            np.setdiff1d(np.arange(self.sides[0].n), self.left),
            np.setdiff1d(np.arange(self.sides[1].n), self.right),
        )

    @property
    def rank(self) -> Indices:
        """Which place, from 1 on, a match has among its left row's evaluated pairs."""
        return self._standing[0]

    @property
    def margin(self) -> NDArray[np.float64]:
        """How far the left row's next evaluated pair lies below; NaN: none was kept.

        Of pairs below a threshold only the nearest are kept: NaN then says that the
        next lies below it.
        """
        return self._standing[1]

    @once
    def _standing(self) -> tuple[Indices, NDArray[np.float64]]:
        whole = self.pairs.plus(self.others)
        if self.one_set:  # an item's pairs stand on either side
            whole = whole.plus(whole.turned())
        return whole.rank()[: len(self)], whole.margin()[: len(self)]

    def rethreshold(self, threshold: float) -> "Matches":
        """Return the matches at a higher threshold; nothing is evaluated.

        One to one is assigned anew: of pairs above the new threshold.

        Parameters
        ----------
        threshold
            At least that of these matches; any, where they have none.
        """
        call = "Matches.rethreshold"
        threshold = float(check_number(call, "threshold", threshold))
        if self.threshold is not None and threshold < self.threshold:
            msg = (
                f"{call}: threshold is {threshold:g}, and pairs were looked for from "
                f"{self.threshold:g} on: what lies below is not known. Ask again with "
                f"threshold={threshold:g}; with the same store, what was evaluated is "
                "not paid for twice."
            )
            raise InputError(msg)
        pool = self.pairs.plus(self.others) if self.one_to_one else self.pairs
        high = pool.similarity >= threshold
        below = pool.at(~high)
        changed = replace(
            self,
            threshold=threshold,
            missed=self.missed if self.missed == NOTHING_MISSED else None,
            certificate=self.certificate.of_part(int(high.sum())),
            known=0,
        )
        if self.one_to_one:
            return changed.assigned(pool.at(high), below)
        return changed.with_pairs(pool.at(high), below.plus(self.others))

    def borderline(self, k: int = 20) -> "Matches":
        """Return the k evaluated pairs nearest to the threshold, from both sides of it.

        The ones to look at before a threshold is trusted. Half of them lie below, where
        as many were kept. Without a threshold: the matches that are least ahead of
        their left row's next.

        Parameters
        ----------
        k
            How many pairs.
        """
        k = check_whole("Matches.borderline", "k", k, least=1)
        if self.threshold is None:
            order = np.argsort(self.margin, kind="stable")  # NaN comes last
            after = self.pairs.at(order[k:]).plus(self.others)
            return self._some(self.pairs.at(order[:k]), after)
        pool = self.pairs.plus(self.others)
        off = np.abs(pool.similarity - self.threshold)
        above = pool.similarity >= self.threshold
        order = np.argsort(off, kind="stable")
        high, low = order[above[order]], order[~above[order]]
        under = min(len(low), max(k // 2, k - len(high)))
        chosen = np.concatenate([high[: k - under], low[:under]])
        rest = np.setdiff1d(np.arange(pool.number), chosen)
        return self._some(pool.at(chosen), pool.at(rest))

    def to_pandas(self, *, unmatched: bool = False) -> Any:
        """Return a pandas DataFrame: a row a match, with the input's own columns.

        ``left`` and ``right`` are the names of the rows (a pandas index, a column of
        ids, else positions), then come ``similarity``, ``rank`` and ``margin``, and the
        columns of both inputs as ``left_…`` and ``right_…``.

        Parameters
        ----------
        unmatched
            Append the rows without a match, of the left side and then of the right.
        """
        return as_pandas(self._columns("to_pandas", unmatched), "Matches")

    def to_polars(self, *, unmatched: bool = False) -> Any:
        """Return a polars DataFrame; see `to_pandas`."""
        return as_polars(self._columns("to_polars", unmatched), "Matches")

    def to_arrow(self, *, unmatched: bool = False) -> Any:
        """Return a pyarrow Table; see `to_pandas`."""
        return as_arrow(self._columns("to_arrow", unmatched), "Matches")

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Let polars, Arrow and others make a table of it."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_csv(self, path: str | PathLike[str], *, unmatched: bool = False) -> None:
        """Write a CSV file; see `to_pandas`."""
        columns = self._columns("to_csv", unmatched)
        write_csv(columns, check_path("Matches.to_csv", "path", path))

    def plot(self, ax: Any = None) -> Any:
        """Draw how similar the evaluated pairs are, with the threshold.

        Needs Matplotlib (``pip install "fewpairs[plot]"``); returns the axes.

        Parameters
        ----------
        ax
            Axes to draw on; ``None`` makes a figure.
        """
        ax = axes_of(ax, "Matches.plot")
        parts = [self.similarity, self.others.similarity]
        ax.hist(
            parts, bins=40, stacked=True, label=["matches", "others that were read"]
        )
        if self.threshold is not None:
            ax.axvline(self.threshold, color="0.4", linestyle="--", label="threshold")
        ax.set_xlabel("similarity")
        ax.set_ylabel("pairs")
        ax.legend()
        return ax

    def _columns(self, verb: str, unmatched: bool) -> dict[str, Any]:
        from fewpairs.answers.matches_table import as_columns

        whole = check_flag(f"Matches.{verb}", "unmatched", unmatched)
        return as_columns(self, unmatched=whole)

    # --- making others -------------------------------------------------------------

    def with_pairs(self, pairs: Pairs, others: Pairs) -> "Matches":
        """Return the same of other pairs, the most similar first."""
        left, right, similarity = pairs.sorted()
        return replace(
            self, left=left, right=right, similarity=similarity, others=others
        )

    def assigned(self, candidates: Pairs, below: Pairs) -> "Matches":
        """Return one to one: the best assignment among candidates."""
        found = assign(candidates, most=self.threshold is None)
        lost = candidates.at(~found.chosen).plus(below)
        made = self.with_pairs(candidates.at(found.chosen), lost)
        return replace(made, one_to_one=True, ties=found.ties)

    def _some(self, pairs: Pairs, others: Pairs) -> "Matches":
        """Return pairs that nobody has asked for as matches."""
        plain = replace(self, threshold=None, k=None, one_to_one=False, missed=None)
        return plain.with_pairs(pairs, others)

    # --- in words ------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        way = "" if self.way is None else f"; {self.way}"
        return f"<Matches: {len(self):,} pairs{self._asked()}{way}>"

    def _repr_html_(self) -> str:
        return card(str(self))

    def __str__(self) -> str:
        from fewpairs.answers.matches_receipt import receipt

        return receipt(self)

    def _asked(self) -> str:
        """Return what was asked for, in words."""
        words = "" if self.threshold is None else f" at least {self.threshold:g}"
        words += "" if self.k is None else f", the {self.k} best of each left row"
        return words + (", one to one" if self.one_to_one else "")
