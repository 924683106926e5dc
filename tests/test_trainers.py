"""A run that goes on elsewhere has the trainer that it began with, or says why not."""

import json
import sys

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.kernels.pair_network import network as pair_network
from fewpairs.kernels.pair_network import torch_training
from fewpairs.model import trainers

METHOD = fp.Auto(student=True, student_seconds=0.2)


def run(store, **options):
    angles = np.linspace(0, 40, 80)
    matrix = np.cos(np.subtract.outer(angles, angles**2))
    matrix = (matrix + matrix.T) / 2
    return fp.approximate(
        None, matrix, method=METHOD, budget=0.5, store=store, **options
    )


def recorded(store):
    (record,) = fp.Ledger(store).records.values()
    return record.decisions["trainer"]


@pytest.fixture
def used(monkeypatch):
    """Which trainers were called; torch trains on the CPU where there is no GPU."""
    pytest.importorskip("torch", reason="needs the torch extra")
    calls = []
    by_torch, by_numpy = torch_training.train, pair_network.train

    def noted(name, train):
        def call(*arguments, **options):
            calls.append(name)
            return train(*arguments, **options)

        return call

    monkeypatch.setattr(torch_training, "train", noted("torch", by_torch))
    monkeypatch.setattr(pair_network, "train", noted("numpy", by_numpy))
    return calls


@pytest.mark.parametrize("begun", ["numpy", "torch"])
def test_a_machine_that_has_both_goes_on_with_the_recorded_one(
    tmp_path, monkeypatch, used, begun
):
    here = {"numpy": "torch sees no GPU here", "torch": ""}
    monkeypatch.setattr(trainers, "_why_no_torch", lambda: here[begun])
    first = run(tmp_path)
    assert recorded(tmp_path) == begun
    assert set(used) == {begun}
    used.clear()
    monkeypatch.setattr(trainers, "_why_no_torch", str)  # now there is a GPU
    again = run(tmp_path)
    assert again.evaluations == 0
    assert set(used) == {begun}
    assert np.array_equal(again.dense(), first.dense())
    assert again.certificate == first.certificate


def test_a_machine_without_it_says_why(tmp_path, monkeypatch, used):
    monkeypatch.setattr(trainers, "_why_no_torch", str)
    first = run(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(fp.StoreError, match=r"by torch.*sees no GPU here.*seed="):
        run(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(fp.StoreError, match=r"torch is not installed here"):
        run(tmp_path)
    other = run(tmp_path, seed=1)  # the cure
    assert other.evaluations < first.evaluations


def test_a_trainer_of_another_version_is_refused(tmp_path):
    with pytest.raises(fp.StoreError, match="has no such trainer"):
        trainers.trainer("abacus")


def test_without_torch_numpy_trains(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert trainers.best_here() == "numpy"
    assert trainers.trainer("numpy") is pair_network.train


def test_a_run_of_the_first_version_did_not_say_and_goes_on(tmp_path):
    first = run(tmp_path)
    (path,) = tmp_path.glob("runs/*/zarr.json")
    facts = json.loads(path.read_text())
    del facts["attributes"]["decisions"]["trainer"], facts["attributes"]["checksum"]
    path.write_text(json.dumps(facts))
    assert np.array_equal(run(tmp_path).dense(), first.dense())
    assert recorded(tmp_path) == trainers.best_here()
