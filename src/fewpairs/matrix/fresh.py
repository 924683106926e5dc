"""Fresh: how many items are new in a matrix that has grown."""

from typing import NamedTuple

import numpy as np

from fewpairs.matrix.cost import Cost
from fewpairs.types import Indices

__all__ = ["Fresh"]


class Fresh(NamedTuple):
    """New items: of one set ``items``, of two sets new left ones and ``others``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewpairs.matrix.cost import Cost
    >>> from fewpairs.matrix.fresh import Fresh
    >>> cost = Cost(9, symmetric=True, calls=1, free_diagonal=False, split=4)
    >>> Fresh(2, 1).pairs_at(np.array([0, 5, 6]), cost)  # 2 at each of 5, 6; 1 at 0
    5
    """

    items: int
    others: int = 0

    @property
    def both(self) -> int:
        """New items of both sides together."""
        return self.items + self.others

    def pairs_at(self, landmarks: Indices, cost: Cost) -> int:
        """Return how many pairs new items make with old ones that are landmarks."""
        if cost.split is None:
            return len(landmarks) * self.items
        left = int(np.count_nonzero(landmarks < cost.split))
        return left * self.others + (len(landmarks) - left) * self.items

    def afforded(self, landmarks: Indices, cost: Cost, most: int) -> Indices:
        """Return the first landmarks of two sets, as many of either, for so many pairs.

        All of them where there is room for all.
        """
        split = cost.split or 0
        rows, columns = landmarks[landmarks < split], landmarks[landmarks >= split]
        for number in range(max(len(rows), len(columns)), 0, -1):
            some = np.concatenate([rows[:number], columns[:number]])
            if self.pairs_at(some, cost) <= most:
                return some
        return landmarks[:0]
