"""How well scores, decisions and rankings agree with the truth."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewpairs.errors import InputError

__all__ = [
    "Classified",
    "accuracy",
    "classification",
    "f1",
    "pearson",
    "recall_at_k",
    "spearman",
]


def pearson(truth: ArrayLike, scores: ArrayLike) -> float:
    """Return the correlation of scores with the truth; NaN where one is constant.

    Examples
    --------
    >>> from fewpairs.evaluation import pearson
    >>> round(pearson([1, 2, 3, 4], [1, 3, 2, 4]), 3)
    0.8
    """
    return _correlation(truth, scores, "pearson")


def spearman(truth: ArrayLike, scores: ArrayLike) -> float:
    """Return the correlation of ranks, ties at their mean rank.

    Examples
    --------
    >>> from fewpairs.evaluation import spearman
    >>> spearman([1, 2, 3, 4], [1, 8, 9, 100])
    1.0
    """
    return _correlation(truth, scores, "spearman")


class Classified(NamedTuple):
    """What thresholding scores makes of yes and no, and where the threshold lies."""

    accuracy: float
    precision: float
    recall: float
    f1: float
    threshold: float


def accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the share of labels that are right; any labels.

    Examples
    --------
    >>> from fewpairs.evaluation import accuracy
    >>> accuracy(["a", "b", "b"], ["a", "b", "a"])
    0.6666666666666666
    """
    a, b = np.asarray(truth), np.asarray(predicted)
    _check_shapes(a, b, "accuracy")
    return float(np.mean(a == b))


def f1(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return F₁ of yes (true, 1) against no (false, 0); 0 where nothing is found.

    Examples
    --------
    >>> from fewpairs.evaluation import f1
    >>> f1([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """
    a, b = _yes(truth, "f1"), _yes(predicted, "f1")
    _check_shapes(a, b, "f1")
    found, both = int((a & b).sum()), int(a.sum() + b.sum())
    return 2 * found / both if both else 0.0


def classification(
    truth: ArrayLike, scores: ArrayLike, threshold: float | None = None
) -> Classified:
    """Score yes or no by a threshold, such as paraphrases by their similarity.

    Parameters
    ----------
    truth
        1 (yes) or 0.
    scores
        The higher, the more likely yes.
    threshold
        Scores at or above it mean yes. ``None`` takes the one with the best F₁ on
        these very pairs: choose it on others before reporting.

    Examples
    --------
    >>> from fewpairs.evaluation import classification
    >>> classification([1, 1, 0, 0], [0.9, 0.6, 0.7, 0.1], threshold=0.65).f1
    0.5
    >>> classification([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.1]).threshold
    0.8
    """
    yes = _yes(truth, "classification")
    values = _numbers(scores, "classification")
    _check_shapes(yes, values, "classification")
    if threshold is None:
        order = np.argsort(-values, kind="stable")
        found = np.cumsum(yes[order])
        last = np.append(np.diff(values[order]) != 0, True)  # equal scores go together
        quality = np.where(
            last, 2 * found / (np.arange(1, len(yes) + 1) + yes.sum()), -1
        )
        threshold = float(values[order][np.argmax(quality)])
    said = values >= threshold
    right = int((yes & said).sum())
    return Classified(
        accuracy=float(np.mean(yes == said)),
        precision=right / int(said.sum()) if said.any() else 0.0,
        recall=right / int(yes.sum()) if yes.any() else 0.0,
        f1=f1(yes, said),
        threshold=float(threshold),
    )


def recall_at_k(truth: ArrayLike, found: ArrayLike, k: int | None = None) -> float:
    """Return the share of each item's true neighbors that were found, on average.

    Parameters
    ----------
    truth, found
        (m, t) and (m, f) arrays of neighbors, most similar first, one row per item,
        such as the indices that ``approx.neighbors`` returns.
    k
        Looks at the first k of both; ``None``: all of the truth, and as many found.

    Examples
    --------
    >>> from fewpairs.evaluation import recall_at_k
    >>> recall_at_k([[1, 2], [0, 3]], [[2, 1], [3, 4]])
    0.75
    """
    a, b = np.asarray(truth), np.asarray(found)
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or a.size == 0:
        msg = (
            f"recall_at_k: arrays of shapes {a.shape} and {b.shape}; pass one row of "
            "neighbors per item in both."
        )
        raise InputError(msg)
    most = min(a.shape[1], b.shape[1])
    if k is None:
        k = min(a.shape[1], most)
    if (
        not isinstance(k, (int, np.integer))
        or isinstance(k, bool)
        or not 1 <= k <= most
    ):
        msg = f"recall_at_k: k is {k!r:.60}; pass a number from 1 to {most}."
        raise InputError(msg)
    hits = (a[:, :k, None] == b[:, None, :k]).any(axis=2)
    return float(hits.mean())


def _correlation(truth: Any, scores: Any, call: str) -> float:
    from scipy import stats

    a, b = _numbers(truth, call), _numbers(scores, call)
    _check_shapes(a, b, call)
    if len(a) < 2:
        msg = f"{call}: needs at least two values; got {len(a)}."
        raise InputError(msg)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    function: Any = stats.pearsonr if call == "pearson" else stats.spearmanr
    return float(function(a, b).statistic)


def _numbers(values: Any, call: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{call}: {values!r:.60} are not numbers."
        raise InputError(msg) from error
    if not np.isfinite(array).all():
        msg = f"{call}: a value is NaN or infinite; leave such pairs out."
        raise InputError(msg)
    return array


def _yes(values: Any, call: str) -> NDArray[np.bool_]:
    array = np.asarray(values)
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        msg = f"{call}: labels must be 0 and 1, or true and false; got {values!r:.60}."
        raise InputError(msg)
    return array.astype(bool)


def _check_shapes(a: NDArray[Any], b: NDArray[Any], call: str) -> None:
    if a.ndim != 1 or a.shape != b.shape or not len(a):
        msg = (
            f"{call}: arrays of shapes {a.shape} and {b.shape}; pass two lists of the "
            "same length, with at least one entry."
        )
        raise InputError(msg)
