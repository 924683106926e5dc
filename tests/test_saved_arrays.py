"""Folders whose arrays cannot be what was saved are refused at loading.

Folders of 0.1.0 have no checksums: what their arrays hold is all there is to go by.
"""

import json

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.result.saved_arrays import check_saved_facts, checked_arrays

N = 60
X = np.random.default_rng(0).standard_normal((N, 4))


@pytest.fixture(scope="module", params=["auto", "nystrom", "sicur"])
def arrays(request, tmp_path_factory):
    """Every array of a saved run, by name."""
    prior = X if request.param == "auto" else None
    approx = fp.approximate(
        X, fp.Cosine(), method=request.param, budget=0.4, prior=prior
    )
    folder = tmp_path_factory.mktemp("saved") / "run"
    approx.save(folder)
    return {file.stem: np.load(file) for file in folder.glob("*.npy")}


def refused(name, array):
    get = checked_arrays({name: array}.__getitem__, N)
    with pytest.raises(ValueError, match=rf"{name}\.npy"):
        get(name)


def test_what_was_saved_passes(arrays):
    get = checked_arrays(arrays.__getitem__, N)
    assert all(get(name) is array for name, array in arrays.items())


def test_nan_and_infinity_are_refused_in_every_array_of_numbers(arrays):
    for name, array in arrays.items():
        if array.dtype.kind == "f" and array.size and name != "ceilings":
            for value in (np.nan, np.inf):
                spoiled = array.copy()
                spoiled.flat[array.size // 2] = value
                refused(name, spoiled)


def test_positions_of_no_item_are_refused(arrays):
    names = [n for n in arrays if n.endswith(("landmarks", "-indices", "held-out"))]
    assert names
    for name in names:
        for value in (-1, N):
            spoiled = arrays[name].copy()
            spoiled.flat[0] = value
            refused(name, spoiled)
        refused(name, arrays[name].astype(float))


def test_arrays_of_other_items_or_of_texts_are_refused(arrays):
    refused("left", arrays["left"][:-1])
    refused("left", arrays["left"][None])
    refused("left", arrays["left"].astype("U8"))


@pytest.mark.parametrize(
    "edit",
    [{"n": 1}, {"n": "60"}, {"n": True}, {"symmetric": 1}, {"diagonal": "x"}],
    ids=str,
)
def test_facts_that_no_approximation_has_are_refused(edit):
    facts = {"n": N, "symmetric": True, "diagonal": 1.0}
    assert check_saved_facts(facts) == N
    with pytest.raises(ValueError, match=next(iter(edit))):
        check_saved_facts({**facts, **edit})


def test_load_says_which_array_is_spoiled(tmp_path):
    approx = fp.approximate(X, fp.Cosine(), method="nystrom", budget=0.4)
    approx.save(tmp_path / "run")
    left = np.load(tmp_path / "run" / "left.npy")
    left[3, 0] = np.nan
    np.save(tmp_path / "run" / "left.npy", left)
    index = tmp_path / "run" / "approximation.json"
    facts = json.loads(index.read_text(encoding="utf-8"))
    for checksum in ("arrays", "checksum"):  # as 0.1.0 wrote it
        facts.pop(checksum, None)
    index.write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(fp.InputError, match=r"left\.npy holds nan in row 3"):
        fp.load(tmp_path / "run")
