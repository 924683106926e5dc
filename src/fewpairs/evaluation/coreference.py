"""How well clusters of mentions agree: MUC, B³, CEAFe, their average, and LEA.

Gold and predicted clusters need not have the same mentions; a mention that one side
lacks counts against it, as in the reference scorer (Pradhan et al. 2014). Scores whose
denominator is 0 are 0.

References
----------
Vilain, Burger, Aberdeen, Connolly & Hirschman (1995), "A model-theoretic coreference
scoring scheme", MUC-6. Bagga & Baldwin (1998), "Algorithms for scoring coreference
chains", LREC workshop. Luo (2005), "On coreference resolution performance metrics",
HLT/EMNLP. Pradhan, Luo, Recasens, Hovy, Ng & Strube (2014), "Scoring coreference
partitions of predicted mentions: a reference implementation", ACL. Moosavi & Strube
(2016), "Which coreference evaluation metric do you trust?", ACL.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from fewpairs.errors import InputError

__all__ = [
    "Coreference",
    "Score",
    "b_cubed",
    "ceaf_e",
    "conll",
    "coreference",
    "lea",
    "muc",
]

Clusters = list[frozenset[Hashable]]
Owners = dict[Hashable, int]


class Score(NamedTuple):
    """Recall, precision and their harmonic mean."""

    recall: float
    precision: float
    f1: float

    @classmethod
    def of(cls, recall: float, precision: float) -> "Score":
        """Return a score with its F₁."""
        both = recall + precision
        return cls(recall, precision, 2 * recall * precision / both if both else 0.0)


class Coreference(NamedTuple):
    """Every metric of one prediction; ``conll`` is the mean F₁ of the first three."""

    muc: Score
    b_cubed: Score
    ceaf_e: Score
    lea: Score
    conll: float


def coreference(gold: Any, predicted: Any) -> Coreference:
    """Return every metric.

    Parameters
    ----------
    gold, predicted
        Clusters: collections of mentions, such as ``[{"a", "b"}, {"c"}]``; or a label
        for every mention, such as what ``approx.cluster`` returns. Both the same way.

    Examples
    --------
    >>> from fewpairs.evaluation import coreference
    >>> scores = coreference([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    >>> round(scores.conll, 3), round(scores.muc.f1, 3)
    (0.733, 0.667)
    """
    a, b = _both(gold, predicted)
    links, mentions, entities = _muc(a, b), _b_cubed(a, b), _ceaf_e(a, b)
    mean = (links.f1 + mentions.f1 + entities.f1) / 3
    return Coreference(links, mentions, entities, _lea(a, b), mean)


def muc(gold: Any, predicted: Any) -> Score:
    """Return MUC: links that are missing to join what belongs together.

    Recall is Σ(|K| − parts(K)) / Σ(|K| − 1), where a gold cluster K falls into
    parts(K) among the predicted clusters. Singletons have no links and do not count.

    Examples
    --------
    >>> from fewpairs.evaluation import muc
    >>> muc([{"a", "b", "c", "d"}], [{"a", "b"}, {"c", "d"}]).recall
    0.6666666666666666
    """
    return _muc(*_both(gold, predicted))


def b_cubed(gold: Any, predicted: Any) -> Score:
    """Return B³: the mean over mentions of how much of their two clusters is shared.

    Recall is Σ_K Σ_R |K ∩ R|² / |K| over the number of gold mentions.

    Examples
    --------
    >>> from fewpairs.evaluation import b_cubed
    >>> b_cubed([{"a", "b"}, {"c"}], [{"a", "b", "c"}]).precision
    0.5555555555555556
    """
    return _b_cubed(*_both(gold, predicted))


def ceaf_e(gold: Any, predicted: Any) -> Score:
    """Return CEAFe: the best one-to-one match of clusters.

    Matched clusters share φ₄ = 2|K ∩ R| / (|K| + |R|); recall is their sum over the
    number of gold clusters.

    Examples
    --------
    >>> from fewpairs.evaluation import ceaf_e
    >>> ceaf_e([{"a", "b"}, {"c"}], [{"a", "b", "c"}]).recall
    0.4
    """
    return _ceaf_e(*_both(gold, predicted))


def lea(gold: Any, predicted: Any) -> Score:
    """Return LEA: how many links of each entity are found, weighted by its size.

    Recall is Σ |K| · found(K) / links(K) over the number of gold mentions; a singleton
    has one link, to itself, which a singleton of the same mention finds.

    Examples
    --------
    >>> from fewpairs.evaluation import lea
    >>> lea([{"a", "b"}, {"c"}], [{"a", "b"}, {"c"}])
    Score(recall=1.0, precision=1.0, f1=1.0)
    """
    return _lea(*_both(gold, predicted))


def conll(gold: Any, predicted: Any) -> float:
    """Return the CoNLL score: the mean F₁ of MUC, B³ and CEAFe.

    Examples
    --------
    >>> from fewpairs.evaluation import conll
    >>> conll([{"a", "b"}, {"c", "d"}], [{"a", "b"}, {"c", "d"}])
    1.0
    """
    return coreference(gold, predicted).conll


def _muc(gold: Clusters, predicted: Clusters) -> Score:
    return Score.of(_muc_recall(gold, predicted), _muc_recall(predicted, gold))


def _muc_recall(clusters: Clusters, other: Clusters) -> float:
    owner = _owners(other)
    found = links = 0
    for cluster in clusters:
        inside = {owner[mention] for mention in cluster if mention in owner}
        alone = sum(mention not in owner for mention in cluster)
        found += len(cluster) - len(inside) - alone
        links += len(cluster) - 1
    return _share(found, links)


def _b_cubed(gold: Clusters, predicted: Clusters) -> Score:
    return Score.of(_b_cubed_recall(gold, predicted), _b_cubed_recall(predicted, gold))


def _b_cubed_recall(clusters: Clusters, other: Clusters) -> float:
    owner = _owners(other)
    shared = sum(
        sum(number**2 for number in _overlaps(cluster, owner).values()) / len(cluster)
        for cluster in clusters
    )
    return _share(shared, sum(map(len, clusters)))


def _ceaf_e(gold: Clusters, predicted: Clusters) -> Score:
    owner = _owners(predicted)
    # Clusters that share no mention add nothing: match within what hangs together.
    total = 0.0
    for rows, columns, overlap in _blocks(gold, predicted, owner):
        sizes = np.add.outer(
            [len(gold[row]) for row in rows], [len(predicted[c]) for c in columns]
        )
        similarity = 2 * overlap / sizes
        total += float(
            similarity[linear_sum_assignment(similarity, maximize=True)].sum()
        )
    return Score.of(_share(total, len(gold)), _share(total, len(predicted)))


def _blocks(
    gold: Clusters, predicted: Clusters, owner: Owners
) -> Iterable[tuple[list[int], list[int], Any]]:
    """Yield gold and predicted clusters that are connected by mentions."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = [
        (row, column, number)
        for row, cluster in enumerate(gold)
        for column, number in _overlaps(cluster, owner).items()
    ]
    if not edges:
        return
    rows, columns, numbers = (np.array(side) for side in zip(*edges, strict=True))
    size = len(gold) + len(predicted)
    graph = coo_array((numbers, (rows, len(gold) + columns)), shape=(size, size))
    label = connected_components(graph, directed=False)[1]
    order = np.argsort(label[rows], kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(label[rows][order])) + 1):
        own_rows, r = np.unique(rows[part], return_inverse=True)
        own_columns, c = np.unique(columns[part], return_inverse=True)
        overlap = np.zeros((len(own_rows), len(own_columns)))
        overlap[r, c] = numbers[part]
        yield own_rows.tolist(), own_columns.tolist(), overlap


def _lea(gold: Clusters, predicted: Clusters) -> Score:
    return Score.of(_lea_recall(gold, predicted), _lea_recall(predicted, gold))


def _lea_recall(clusters: Clusters, other: Clusters) -> float:
    owner = _owners(other)
    found = 0.0
    for cluster in clusters:
        if len(cluster) == 1:
            found += cluster in _alone(cluster, other, owner)
            continue
        overlaps = _overlaps(cluster, owner).values()
        links = sum(number * (number - 1) for number in overlaps)
        found += links / (len(cluster) - 1)
    return _share(found, sum(map(len, clusters)))


def _alone(
    cluster: frozenset[Hashable], other: Clusters, owner: Owners
) -> Collection[frozenset[Hashable]]:
    """Return the other side's cluster of a singleton's mention, if there is one."""
    (mention,) = cluster
    return [other[owner[mention]]] if mention in owner else []


def _overlaps(cluster: frozenset[Hashable], owner: Owners) -> Counter[int]:
    """Count a cluster's mentions by the other side's clusters."""
    return Counter(owner[mention] for mention in cluster if mention in owner)


def _owners(clusters: Clusters) -> Owners:
    return {mention: t for t, cluster in enumerate(clusters) for mention in cluster}


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _both(gold: Any, predicted: Any) -> tuple[Clusters, Clusters]:
    if _are_clusters(gold) != _are_clusters(predicted) and len(gold) and len(predicted):
        msg = (
            "fewpairs.evaluation: one side has labels and the other clusters. Pass "
            "both as labels, one a mention, or both as collections of mentions."
        )
        raise InputError(msg)
    if not _are_clusters(gold) and len(gold) != len(predicted):
        msg = (
            f"fewpairs.evaluation: {len(gold)} gold labels and {len(predicted)} "
            "predicted ones. Pass one for every mention, in the same order."
        )
        raise InputError(msg)
    return _clusters(gold, "gold"), _clusters(predicted, "predicted")


def _are_clusters(given: Any) -> bool:
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, dict)):
        msg = (
            f"fewpairs.evaluation: clusters are {given!r:.60}. Pass a list of "
            "collections of mentions, or a label for every mention."
        )
        raise InputError(msg)
    first: Any = next(iter(given), None)
    return isinstance(first, Collection) and not isinstance(first, (str, bytes))


def _clusters(given: Sequence[Any], name: str) -> Clusters:
    if not _are_clusters(given):
        groups: dict[Any, list[int]] = {}
        for mention, label in enumerate(np.asarray(given).tolist()):
            groups.setdefault(label, []).append(mention)
        return [frozenset(group) for group in groups.values()]
    clusters = [frozenset(cluster) for cluster in given if len(cluster)]
    seen = Counter(mention for cluster in clusters for mention in cluster)
    twice = [mention for mention, times in seen.items() if times > 1]
    if twice:
        msg = (
            f"fewpairs.evaluation: {twice[0]!r:.60} is in {seen[twice[0]]} {name} "
            "clusters; a mention belongs to one."
        )
        raise InputError(msg)
    return clusters
