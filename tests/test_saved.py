"""What 0.1.0 saved is read by this version, and answers the same."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import fewpairs as fp

SAVED = Path(__file__).parent / "fixtures" / "saved-0.1.0"


@pytest.mark.parametrize(
    "name", ["default", "student", "regularized", "nystrom", "sicur"]
)
def test_an_approximation_of_0_1_0_loads_and_answers_the_same(name):
    approx, answers = fp.load(SAVED / name), np.load(SAVED / f"{name}.npy")
    i, j, values = approx.known.uncovered()
    assert (answers[i, j] == values).all()
    assert (
        answers[:, approx.landmarks]
        == np.load(SAVED / "matrix.npy")[:, approx.landmarks]
    ).all()
    # Products round as the processor has it; a student's are in single precision.
    close = {"rtol": 1e-4, "atol": 1e-6} if name == "student" else {"rtol": 1e-9}
    np.testing.assert_allclose(approx.dense(), answers, **close)
    assert str(approx).startswith("fewpairs: 64 × 64 similarities")


def test_what_0_1_0_loads_is_saved_again_without_a_change(tmp_path):
    approx = fp.load(SAVED / "student")
    approx.save(tmp_path / "again")
    for file in (SAVED / "student").iterdir():
        again = tmp_path / "again" / file.name
        if file.suffix == ".json":
            facts = json.loads(again.read_text())
            added = {facts.pop(name) and name for name in ("arrays", "checksum")}
            assert added == {"arrays", "checksum"}
            assert facts["bill"].pop("for_store") == 0
            assert facts["bill"].pop("prior") is None
            assert {**facts, "version": 3} == json.loads(file.read_text())
        else:
            assert again.read_bytes() == file.read_bytes()


def test_a_ledger_of_0_1_0_is_read_and_nothing_paid_again(tmp_path):
    shutil.copytree(SAVED / "ledger", tmp_path / "ledger")
    K = np.load(SAVED / "matrix.npy")
    store = tmp_path / "ledger"
    approx = fp.approximate(None, K, budget=0.3, method="sms", store=store)
    assert approx.evaluations == 0
    answers = np.load(SAVED / "ledger.npy")
    assert np.allclose(approx.dense(), answers, rtol=1e-9)
