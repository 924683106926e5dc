"""Lines of documentation with every score of a real cross-encoder, shipped."""

import json
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DocstringScores", "docstring_scores"]

_FOLDER = "docstring_scores"


@dataclass(frozen=True, eq=False)
class DocstringScores:
    """Texts, the expensive scores of all their pairs, and cheap vectors.

    Attributes
    ----------
    names
        Dotted names of functions and classes.
    texts
        The first sentence of what their documentation says.
    vectors
        (n, 384) sentence embeddings, rows of length 1: their cosine is the cheap
        similarity, such as an embedding model gives.
    about
        Which models made them, under which licenses, and what a score takes
        (``"seconds_per_pair"``).
    """

    names: list[str]
    texts: list[str]
    vectors: NDArray[np.float32]
    about: dict[str, Any]
    triangle: NDArray[np.int16]

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        """(n, n) scores of the cross-encoder, both orders averaged; 1 for oneself."""
        n = len(self.texts)
        K = np.empty((n, n), dtype=np.float32)
        above = np.triu_indices(n, 1)
        K[above] = self.triangle * np.float32(self.about["step"])
        K.T[above] = K[above]
        np.fill_diagonal(K, 1.0)
        return K

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<DocstringScores: {len(self):,} texts, all their scores>"


def docstring_scores() -> DocstringScores:
    """Return 1,500 lines of Python's documentation with every score of a cross-encoder.

    A similarity that is worth approximating, without a model and without a download:
    the 1,124,250 scores are shipped, in steps of 0.0001. Reading an entry stands for a
    call of the model.

    Examples
    --------
    >>> import fewpairs as fp
    >>> data = fp.datasets.docstring_scores()
    >>> data.texts[data.names.index("json.dumps")]
    'Serialize ``obj`` to a JSON formatted ``str``.'
    >>> data.scores.shape, data.vectors.shape
    ((1500, 1500), (1500, 384))
    >>> approx = fp.approximate(data.texts, data.scores, prior=data.vectors)
    >>> approx.evaluations <= 25 * len(data)
    True
    """
    folder = files("fewpairs.datasets") / _FOLDER
    rows = (folder / "lines.tsv").read_text(encoding="utf-8").splitlines()
    names, texts = zip(*(row.split("\t") for row in rows), strict=True)
    vectors = np.load(BytesIO((folder / "vectors.npy").read_bytes()))
    vectors = vectors.astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with np.load(BytesIO((folder / "scores.npz").read_bytes())) as packed:
        triangle = packed["scores"]
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    return DocstringScores(list(names), list(texts), vectors, about, triangle)
