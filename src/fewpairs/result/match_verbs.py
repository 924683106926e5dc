"""Verbs that find matches: pairs above a threshold, rows that belong together."""

from typing import TYPE_CHECKING

from fewpairs.progress import Progress
from fewpairs.result.carrying_out import carried_out_by

if TYPE_CHECKING:
    from fewpairs.answers.matches import Matches

__all__ = ["MatchVerbs"]


class MatchVerbs:
    """What an approximation can be asked about pairs that belong together."""

    @carried_out_by("fewpairs.answers.matching:duplicates")
    def duplicates(
        self,
        threshold: float,
        *,
        evaluations: int | None = None,
        margin: float | None = None,
        progress: bool | Progress = False,
    ) -> "Matches":
        """Return the pairs whose similarity is at least a threshold, each evaluated.

        Candidates are what is predicted above the threshold less a margin; those that
        were not read are evaluated. Evaluations: one a candidate. They are kept: asked
        again, they are free, and ``grow`` starts from them.

        Parameters
        ----------
        threshold
            Of the similarity.
        evaluations
            At most so many, for the candidates predicted highest; ``None``: for all.
        margin
            ``None``: two standard deviations of the errors of the held-out pairs that
            are predicted highest.
        progress
            ``True`` shows a bar; or an object with the methods of ``Progress``.

        Returns
        -------
        Matches
            ``left``, ``right`` and ``similarity``, the most similar first, and
            ``missed``: what can be said of those that were not found.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> K = np.eye(100) * 0.4 + 0.1
        >>> K[3, 7] = K[7, 3] = 0.9
        >>> approx = fp.approximate(None, K, budget=0.9)
        >>> found = approx.duplicates(0.5)
        >>> found.evaluations <= 100
        True
        """

    @carried_out_by("fewpairs.answers.linking:match")
    def match(
        self,
        *,
        threshold: float | None = None,
        k: int | None = None,
        one_to_one: bool = False,
        evaluations: int | None = None,
        progress: bool | Progress = False,
    ) -> "Matches":
        """Return which rows of two sets belong together, each pair evaluated.

        Candidates are what is predicted above the threshold less a margin, or what is
        predicted to be among the k best; those that were not read are evaluated.
        Evaluations: one a candidate. They are kept: asked again, they are free.

        Parameters
        ----------
        threshold
            For all pairs at least so similar.
        k
            For the k most similar right rows of every left row.
        one_to_one
            Let no row come twice, see :func:`fewpairs.match`.
        evaluations
            At most so many, for the candidates predicted highest; ``None``: for all.
        progress
            ``True`` shows a bar; or an object with the methods of ``Progress``.

        Returns
        -------
        Matches
            ``left``, ``right`` and ``similarity``, the most similar first.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> X = np.random.default_rng(0).standard_normal((60, 3))
        >>> approx = fp.approximate(None, X[:20] @ X[20:].T, budget=0.6)
        >>> found = approx.match(k=2)
        >>> len(found), found.evaluations <= 120
        (40, True)
        """
