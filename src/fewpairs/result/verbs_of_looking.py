"""Verbs of an approximation for people who look at it: report, plots, thresholds."""

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewpairs.cards import card
from fewpairs.result.carrying_out import carried_out_by, verbs_of

if TYPE_CHECKING:
    from fewpairs.answers.thresholds import Thresholds

__all__ = ["LookingVerbs"]


class LookingVerbs:
    """What an approximation shows; nothing of it costs an evaluation."""

    @carried_out_by("fewpairs.report.looking:report")
    def report(
        self,
        path: str | PathLike[str] = "report.html",
        *,
        texts: Iterable[str] | None = None,
        others: Iterable[str] | None = None,
        title: str = "similarities",
        threshold: float | None = None,
    ) -> Path:
        """Write one HTML file to look at, and return its path.

        Certificate, map, neighbors, what not to trust; without network.

        Parameters
        ----------
        path
            The file; it is replaced.
        texts, others
            One per item, in place of the items that were fitted; needed where these are
            no texts, or are not known any more.
        title
            What the page is about.
        threshold
            Color the map by the clusters at this threshold.

        Examples
        --------
        >>> import tempfile, fewpairs as fp
        >>> texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(100)]
        >>> approx = fp.approximate(texts, fp.StringSimilarity("levenshtein"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     approx.report(f"{folder}/colors.html", title="Colors").name
        'colors.html'
        """

    @carried_out_by("fewpairs.answers.thresholds:thresholds")
    def thresholds(self, values: Sequence[float] | None = None) -> "Thresholds":
        """Return what thresholds would give: clusters and pairs at each, how stable.

        Takes the tree of average linkage once (`linkage`), O(n²·r) time, and the
        answers of up to 500 rows; costs no evaluation.

        Parameters
        ----------
        values
            Which thresholds; by default nine, from the similarity that half of the
            items reach with some other one up to the highest.

        Returns
        -------
        Thresholds
            Arrays, ``to_pandas()``, ``plot()``; ``print`` it for a table.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> rng = np.random.default_rng(0)
        >>> X = np.repeat(np.eye(4), 50, axis=0) + 0.1 * rng.standard_normal((200, 4))
        >>> approx = fp.approximate(X, fp.Cosine(), budget=0.1)
        >>> approx.thresholds([0.3, 0.5, 0.7]).clusters.tolist()
        [4, 4, 4]
        """

    @carried_out_by("fewpairs.report.looking:plot")
    def plot(self, ax: Any = None) -> Any:
        """Draw predicted against exact values of the held-out pairs.

        Needs Matplotlib (``pip install "fewpairs[plot]"``); returns the axes.

        Parameters
        ----------
        ax
            Axes to draw on; ``None`` makes a figure.
        """

    @carried_out_by("fewpairs.report.looking:plot_map")
    def plot_map(self, ax: Any = None, *, labels: Any = None) -> Any:
        """Draw the items in the plane, near their neighbors: the report's map.

        Needs Matplotlib (``pip install "fewpairs[plot]"``); returns the axes.

        Parameters
        ----------
        ax
            Axes to draw on; ``None`` makes a figure.
        labels
            Colors, such as ``approx.cluster(0.7)``; ``None``: broad groups.
        """

    def _repr_html_(self) -> str:
        return card(str(self))


__test__ = verbs_of(LookingVerbs)  # doctest finds no decorated methods itself
