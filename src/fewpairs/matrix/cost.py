"""Cost: what reading a part of the matrix takes, in evaluations."""

from dataclasses import dataclass

from fewpairs.similarity.base import Similarity

__all__ = ["Cost"]


@dataclass(frozen=True)
class Cost:
    """Prices of one matrix, in evaluations of the similarity.

    Attributes
    ----------
    n
        Number of items.
    symmetric
        Whether the matrix that is read is symmetric (by itself, or as ½(K + Kᵀ)).
    calls
        Evaluations an off-diagonal entry costs: 2 when ½(K + Kᵀ) is read of an
        asymmetric similarity, else 1.
    free_diagonal
        Whether the diagonal is declared and therefore free.
    split
        Of two sets on one axis, the number of left items, which come first; only a left
        and a right item make a pair. ``None``: one set.
    """

    n: int
    symmetric: bool
    calls: int
    free_diagonal: bool
    split: int | None = None

    @classmethod
    def of(
        cls,
        similarity: Similarity,
        n: int,
        *,
        symmetrize: bool,
        symmetric: bool | None = None,
    ) -> "Cost":
        """Return the cost of the matrix that is read of a similarity of n items.

        ``symmetric`` is what was found; by default what is declared, where a symmetry
        that is not known is taken for granted.
        """
        if symmetric is None:
            symmetric = similarity.symmetric is not False
        return cls(
            n,
            symmetric=symmetric or symmetrize,
            calls=2 if symmetrize and not symmetric else 1,
            free_diagonal=similarity.diagonal is not None,
            split=similarity.split,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix: of two sets, left items and right ones."""
        if self.split is None:
            return self.n, self.n
        return self.split, self.n - self.split

    @property
    def pairs(self) -> int:
        """Distinct pairs of items: n(n−1)/2, or of two sets all m·n."""
        if self.split is not None:
            return self.split * (self.n - self.split)
        return self.n * (self.n - 1) // 2

    def lines(self, k: int) -> int:
        """Price of k whole columns: n·k − k(k−1)/2 entries when symmetric, else n·k.

        Of two sets, that of k/2 columns and as many rows.
        """
        if self.split is not None:
            m, n = self.shape
            rows = min(m, max(k // 2, k - n))
            return self.cross(min(n, k - rows), rows)
        shared = k * (k - 1) // 2 if self.symmetric else 0
        return self._price(k * (self.n - 1) - shared, k)

    def cross(self, columns: int, rows: int, both: int = 0) -> int:
        """Price of whole columns and rows, at least ``both`` of which coincide.

        Of an asymmetric matrix all may: coinciding items share a diagonal entry, which
        leaves more others to pay for where the diagonal is free.
        """
        if self.split is not None:
            m, n = self.shape
            return m * columns + n * rows - columns * rows
        if self.symmetric:
            return self.lines(columns + rows - both)
        diagonal = max(columns, rows)
        entries = self.n * (columns + rows) - columns * rows
        return self._price(entries - diagonal, diagonal)

    def principal(self, k: int) -> int:
        """Price of a k×k principal block of which nothing is known."""
        pairs = k * (k - 1) // 2 if self.symmetric else k * (k - 1)
        return self._price(pairs, k)

    def everything(self) -> int:
        """Price of the whole matrix."""
        if self.split is not None:
            return self.pairs
        return self.principal(self.n)

    @property
    def each(self) -> int:
        """Evaluations per distinct pair, both entries where they differ."""
        return self.calls if self.symmetric else 2

    def share(self, evaluations: int) -> float:
        """Return evaluations as a share of the distinct pairs: a float budget."""
        return evaluations / (self.pairs * self.each)

    def per_item(self, evaluations: int) -> float:
        """Return the pairs per item that evaluations buy: a pair has two items.

        Of two sets, pairs per left item.
        """
        if self.split is not None:
            return evaluations / self.split
        return 2 * evaluations / (self.n * self.each)

    def _price(self, entries: int, diagonal: int) -> int:
        return entries * self.calls + (0 if self.free_diagonal else diagonal)
