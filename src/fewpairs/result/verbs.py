"""Verbs of an approximation: each names the function that carries it out.

Those functions live in folders above this one and are imported when they are called.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fewpairs.progress import Progress
from fewpairs.result.carrying_out import carried_out_by, implementation, verbs_of
from fewpairs.result.match_verbs import MatchVerbs
from fewpairs.result.verbs_of_growth import GrowthVerbs
from fewpairs.result.verbs_of_looking import LookingVerbs

if TYPE_CHECKING:
    from fewpairs.answers.labels import Labels
    from fewpairs.answers.neighbor_lists import Neighbors
    from fewpairs.answers.new_items import Projection
    from fewpairs.answers.search import Found

__all__ = ["Verbs", "implementation"]


class Verbs(MatchVerbs, GrowthVerbs, LookingVerbs):
    """What an approximation can be asked, besides entries."""

    @carried_out_by("fewpairs.answers.neighbors:neighbors")
    def neighbors(
        self,
        k: int = 10,
        *,
        of: str = "items",
        index: str | None = None,
        candidates: int | None = None,
        evaluations: int = 0,
        recall: str | None = None,
        delta: float = 0.05,
        progress: bool | Progress = False,
        seed: int = 0,
    ) -> "Neighbors":
        """Return every item's k most similar others: ``(indices, similarities)``.

        Two (n, k) arrays, the most similar first; of equal ones, those at lower
        positions. The similarities are those of ``pairs``, entry by entry. Memory
        O(n·k). Up to 20,000 items blockwise products of all rows with all columns; a
        student ranks what prior and low rank propose, and what is known, not all n²
        pairs. Above that nothing of order n² is computed: an index of the vectors of
        low rank and prior (faiss; on a GPU torch, which looks at all of them) proposes,
        and the best of that and of what is known are returned. Of the ten largest
        answers of 39,774 recipes (WMD, centroids as prior) it finds 99.6 %.

        Parameters
        ----------
        of
            Of two sets, whose: ``"items"``, or ``"others"``.
        index
            ``None``: what is best for the size; ``"blocks"``: all pairs; ``"faiss"``.
        candidates
            How many are proposed for each item, to a student or by an index.
        evaluations
            For an interval of the mean recall: at most so many.
        recall
            How: ``"rows"``, the default, reads random items' rows as a whole, and holds
            for any model; ``"candidates"`` reads what random items have next in the
            order of the predictions and a sample of what is behind, and holds if pairs
            are no oftener among the k most similar where they are predicted lower. It
            takes a small part of a row.
        delta
            How often the interval may fail.
        progress
            ``True`` shows a bar; or an object with the methods of ``Progress``.
        seed
            Draws the rows.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> X = np.random.default_rng(0).standard_normal((300, 4))
        >>> approx = fp.approximate(X, fp.Cosine(), budget=0.2)
        >>> indices, similarities = approx.neighbors(5)
        >>> indices.shape, bool((similarities == approx.pairs(
        ...     np.arange(300)[:, None], indices)).all())
        ((300, 5), True)
        >>> approx.neighbors(5, evaluations=5_000).recall > 0.9
        True
        """

    @carried_out_by("fewpairs.answers.search:search")
    def search(
        self,
        query: Any,
        k: int = 10,
        *,
        evaluations: int = 100,
        rounds: int = 6,
        prior: Any = None,
        new: bool | None = None,
        progress: bool | Progress = False,
    ) -> "Found":
        """Find the k most similar fitted items of a query, by exact similarities.

        The query is evaluated at the items that look best, in rounds: what the prior
        and the items' mean similarities say, corrected by a ridge regression of the
        query's exact scores on the items' embeddings and rows of the factors, fitted
        anew in every round. Everything returned was evaluated. What is known already,
        of a fitted item or by another search of the same new item, is free. The answer
        follows from the fit and the arguments: what other searches have paid for makes
        it cheaper, and never another one.

        Parameters
        ----------
        query
            The position of a fitted item, or an array of positions; or a new item, or a
            list of them. Where vectors came with the similarity, new vectors; where it
            is a matrix, rows of similarities to the fitted items.
        evaluations
            Calls of the similarity a query, at most.
        rounds
            In how many parts they are made.
        prior
            (m, d) embeddings of new items, where the fit used embeddings.
        new
            Whether the query is new items, where that cannot be told: the fitted items
            are numbers.
        progress
            ``True`` shows a bar; or an object with the methods of ``Progress``.

        Returns
        -------
        Found
            ``(indices, similarities)``, with ``.evaluations``: what it cost.

        References
        ----------
        Yadav, Monath, Angell, Zaheer & McCallum (2022), "Efficient nearest neighbor
        search for cross-encoder models using matrix factorization", EMNLP. Yadav,
        Monath, Zaheer & McCallum (2023), "Adaptive retrieval and scalable indexing for
        k-NN search with cross-encoders".

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> X = np.random.default_rng(0).standard_normal((310, 4))
        >>> approx = fp.approximate(X[:300], fp.Cosine(), budget=0.1)
        >>> found = approx.search(X[300:], k=3, evaluations=40)
        >>> found.indices.shape, found.evaluations <= 10 * 40
        ((10, 3), True)
        >>> best, similarity = approx.search(7, k=1, evaluations=40)
        """

    @carried_out_by("fewpairs.answers.new_items:project")
    def project(self, new_items: Any, *, prior: Any = None) -> "Projection":
        """Place new items among the fitted ones; see :class:`.new_items.Projection`.

        Evaluations: one per landmark for each new item; two where orders are averaged.

        Parameters
        ----------
        new_items
            A sequence of items like the fitted ones. Where vectors came with the
            similarity, their vectors; where it is a matrix, their (m, n) similarities
            to the fitted items.
        prior
            (m, d) embeddings of the new items, where the fit used embeddings.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> X = np.random.default_rng(0).standard_normal((210, 6))
        >>> approx = fp.approximate(X[:200], fp.Cosine(), method="nystrom", budget=0.1)
        >>> new = approx.project(X[200:])
        >>> new.evaluations == 10 * len(approx.landmarks), new.features.shape[0]
        (True, 10)
        """

    @carried_out_by("fewpairs.answers.new_items:transform")
    def transform(self, new_items: Any, *, prior: Any = None) -> NDArray[Any]:
        """Return features of new items: rows like those of ``embedding()``.

        They are what the items would have got in the fit, with the same landmarks.
        Warns (:class:`fewpairs.errors.StaleWarning`) where the landmarks explain the
        new items worse than the fitted ones. Evaluations and parameters: as
        ``project``, whose features these are.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> X = np.random.default_rng(0).standard_normal((210, 6))
        >>> approx = fp.approximate(X[:200], fp.Cosine(), method="nystrom", budget=0.1)
        >>> Z = approx.transform(X[:3])
        >>> bool(np.allclose(Z, approx.embedding()[:3]))
        True
        """

    @carried_out_by("fewpairs.result.saving:save")
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write a folder of JSON and .npy files; read it with :func:`fewpairs.load`."""

    @carried_out_by("fewpairs.answers.clustering.verbs:cluster")
    def cluster(
        self,
        threshold: float | None = None,
        *,
        clusters: int | None = None,
        n_clusters: int | None = None,
        by: str = "average",
        of: str = "factors",
        evaluations: int = 0,
        neighbors: int = 15,
        seed: int = 0,
        progress: bool | Progress = False,
    ) -> "Labels":
        """Return a cluster number for every item, counted from 0.

        An array; ``to_pandas()``, ``to_polars()`` and ``to_arrow()`` make a table of
        it, with the items' own ids and texts.

        Parameters
        ----------
        threshold
            Clusters are joined as long as their average similarity is at least this.
        clusters, n_clusters
            How many there are to be, instead of a threshold; two names for one thing.
        by
            ``"average"``: average linkage, which parts outliers before it parts
            topics: a number of clusters of real texts is often one large and some of
            single items. ``"components"``: connected components of the graph of all
            pairs whose similarity is at least the threshold. ``"spectral"``: normalized
            cuts of the graph of nearest neighbors into so many ``clusters``, none of
            them tiny, by scikit-learn; for topics.
        of
            ``"factors"``: of the factored part with the exact entries, O(n·r) memory;
            see :class:`~fewpairs.answers.clustering.factored.FactoredPart` for what it
            leaves out of the default's answers. ``"answers"``: of the answers
            themselves, whatever they are made of; every component at the threshold
            (without one, all of the matrix) is held as a dense matrix. Components and
            cuts are of the answers.
        evaluations
            At most so many, for exact merges: pairs between clusters whose average is
            nearest to the threshold are read, and the items are linked with their
            exact values. They are kept: asked again, they are free, and ``grow``
            starts from them. ``approx.reader("cluster").evaluations`` counts them.
        neighbors, seed
            Of every item, for spectral clustering; and what starts its eigensolver.
        progress
            ``True`` shows a bar.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> rng = np.random.default_rng(0)
        >>> X = np.repeat(np.eye(4), 50, axis=0) + 0.1 * rng.standard_normal((200, 4))
        >>> approx = fp.approximate(X, fp.Cosine(), budget=0.1)
        >>> np.bincount(approx.cluster(threshold=0.5)).tolist()
        [50, 50, 50, 50]
        """

    @carried_out_by("fewpairs.answers.clustering.verbs:linkage")
    def linkage(
        self,
        *,
        of: str = "factors",
        top: float | None = None,
        progress: bool | Progress = False,
    ) -> NDArray[np.float64]:
        """Return the tree of average linkage, as SciPy's hierarchy functions take it.

        Row t joins two clusters at the distance ``top`` minus their average
        similarity. It equals SciPy's linkage of the dense matrix, and takes O(n·r)
        memory and O(n²·r) time.

        Parameters
        ----------
        of, progress
            As in :meth:`cluster`.
        top
            The similarity at distance 0. By default that of an item to itself where it
            is declared, else 1; more, where clusters are joined above it.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> from scipy.cluster.hierarchy import fcluster
        >>> X = np.random.default_rng(0).standard_normal((100, 3))
        >>> approx = fp.approximate(X, fp.Cosine(), budget=0.2)
        >>> labels = fcluster(approx.linkage(), 1 - 0.8, "distance")
        >>> labels.max() == approx.cluster(threshold=0.8).max() + 1
        np.True_
        """

    @carried_out_by("fewpairs.answers.graph:neighbor_graph")
    def graph(
        self,
        k: int = 15,
        *,
        top: float | None = None,
        connected: bool = False,
        progress: bool | Progress = False,
    ) -> sparse.csr_matrix:
        """Return distances to the nearest neighbors, as a sparse n×n matrix.

        For everything that takes ``metric="precomputed"``: UMAP, HDBSCAN, DBSCAN. Each
        row holds an item's k neighbors, those whose neighbor it is, and itself, nearest
        first; a distance is ``top`` minus a similarity. Symmetric.

        Parameters
        ----------
        k, progress
            As in :meth:`neighbors`.
        top
            The similarity at distance 0, as in :meth:`linkage`.
        connected
            Join separate parts of the graph by their most similar pairs; HDBSCAN and
            spectral clustering need that.

        Examples
        --------
        >>> import numpy as np, fewpairs as fp
        >>> from sklearn.cluster import HDBSCAN
        >>> rng = np.random.default_rng(0)
        >>> X = np.repeat(np.eye(3), 40, axis=0) + 0.1 * rng.standard_normal((120, 3))
        >>> approx = fp.approximate(X, fp.Cosine(), budget=0.2)
        >>> graph = approx.graph(10, connected=True)
        >>> labels = HDBSCAN(metric="precomputed", copy=True).fit_predict(graph)
        >>> len(set(labels[labels >= 0]))
        3
        """


__test__ = verbs_of(Verbs)  # doctest finds no decorated methods itself
