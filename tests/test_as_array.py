"""An approximation in brackets is what NumPy's users expect."""

import numpy as np
import pytest

import fewpairs as fp

X = np.random.default_rng(0).standard_normal((40, 25))
K = X @ X.T


@pytest.fixture(scope="module", params=["one set", "two sets"])
def approx(request):
    matrix = K if request.param == "one set" else K[:30, :25]
    return fp.approximate(None, matrix, budget=0.4)


@pytest.mark.parametrize(
    "key",
    [
        (0, 1),
        (-1, 2),
        3,
        -2,
        (slice(2, 6), slice(None, None, 3)),
        slice(1, 4),
        (4, slice(None)),
        (slice(3), 5),
        ([1, 2, 3], [4, 5, 6]),
        (np.array([[1], [2]]), [4, 5]),
        ([3, 1], slice(4)),
        [2, 0],
        (np.int64(3), np.int64(4)),
        ([0, 2], 7),
    ],
    ids=str,
)
def test_brackets_give_what_the_dense_matrix_gives(approx, key):
    found, wanted = approx[key], approx.dense()[key]
    assert np.shape(found) == np.shape(wanted)
    assert np.allclose(found, wanted)
    assert isinstance(found, type(wanted))


def test_masks_name_rows(approx):
    mask = np.arange(len(approx)) % 3 == 0
    assert np.array_equal(approx[mask], approx.dense()[mask])


def test_length_rows_and_the_whole(approx):
    assert len(approx) == approx.shape[0]
    assert np.array_equal(np.stack(list(approx)), np.asarray(approx))
    assert np.array_equal(approx[3], approx.row(3))
    assert bool(approx)


def test_the_whole_is_refused_above_a_size():
    X = np.random.default_rng(0).standard_normal((20_000, 2)).astype(np.float32)
    large = fp.approximate(X, fp.Cosine(), method=fp.Nystrom(landmarks=3), budget=None)
    with pytest.raises(fp.InputError, match=r"Approximation\.dense: the 20,000 × 20,0"):
        np.asarray(large)
    assert next(iter(large)).shape == (20_000,)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ((1, 2, 3), "3 positions; a matrix has two axes"),
        (..., "Ellipsis is no position"),
        ((None, 2), "None is no position"),
        ((0, 99), "does not name items"),
        ("a", "does not name items"),
        (([1, 2], [1, 2, 3]), "do not match"),
    ],
    ids=str,
)
def test_what_names_nothing_is_refused(approx, key, message):
    with pytest.raises(fp.InputError, match=message):
        approx[key]
