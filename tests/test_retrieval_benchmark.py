"""The retrieval benchmark: rivals keep their budgets, the page says what was run."""

import numpy as np
import pytest
from benchmarks.retrieval import command, page
from benchmarks.retrieval.rivals import RIVALS
from benchmarks.retrieval.sets import NEAREST, OverBudgetError, Reader, TwoSets
from experiments.cells import Results

M, N = 40, 60


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((M, 5)), rng.standard_normal((N, 5))
    left, right = (
        (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
        for x in (left, right)
    )
    K = (
        left @ right.T
        + 0.3 * rng.standard_normal(N)
        + 0.1 * rng.standard_normal((M, N))
    )
    return TwoSets("stsb", K.astype(np.float32), left, right, np.arange(10))


@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("each", [5, 20])
def test_rivals_keep_their_budget_and_use_nearly_all_of_it(rival, each, data):
    value = command.measured(rival, data, each, 0)
    assert 0.7 * each * M < value["evaluations"] <= each * M
    assert 0 <= value["recall"] <= 1


def test_reading_more_than_the_budget_is_an_error(data):
    reader = Reader(data, 3)
    reader.take(np.array([0, 0, 0]), np.array([1, 2, 2]))
    assert reader.evaluations == 2
    with pytest.raises(OverBudgetError):
        reader.take(np.array([1, 1]), np.array([0, 1]))


def test_everything_read_is_everything_found(data):
    found = np.argsort(-data.K, axis=1)[:, :NEAREST]
    assert data.figures(found) == {
        "recall": 1.0,
        "top1": 1.0,
        "partner": pytest.approx(np.mean([t in found[t] for t in range(10)])),
    }
    reader = Reader(data, M * N)
    assert data.figures(RIVALS["reranked"](reader, None))["recall"] == 1.0


@pytest.mark.parametrize("trained", ["default", "default, trained"])
@pytest.mark.parametrize("name", ["stsb", "mrpc"])
def test_the_default_is_ahead_of_every_rival_at_every_budget(name, trained):
    results = Results(command.RESULTS)

    def recall(contender, each):
        return page.mean_of(results, contender, name, each, "recall")

    for each in command.BUDGETS:
        best = max(recall(rival, each) for rival in RIVALS)
        ahead = 0.05 if each in (20, 50) else 0.0
        ours = recall(trained, each)
        if ours is None:
            pytest.skip(f"{trained} at {each} evaluations per item was not run yet")
        assert ours > best + ahead


def test_the_page_is_what_the_results_say(tmp_path):
    page.render(Results(command.RESULTS), tmp_path)
    made = (tmp_path / "retrieval.md").read_text(encoding="utf-8")
    assert made == (page.DOCS / "retrieval.md").read_text(encoding="utf-8")
