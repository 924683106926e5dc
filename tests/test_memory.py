"""What cannot be held is refused before it is paid for, with a way that works."""

import re

import numpy as np
import pytest

import fewpairs as fp
from fewpairs import memory
from fewpairs.evaluation import exact_matrix
from tests.commands import run_here
from tests.conftest import Counting, never, random_matrix

N = 200
K = random_matrix(N, symmetric=True)


@pytest.fixture
def little(monkeypatch):
    """A machine with 300 kB to spare: N × N numbers take 320."""
    monkeypatch.setattr(memory, "available_memory", lambda: 300_000)


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 1.0},
        {"budget": 1.0, "method": "nystrom"},
        {"budget": None, "method": "optimal"},
        {"budget": None, "method": fp.SiCUR(N)},
    ],
    ids=str,
)
def test_all_columns_that_do_not_fit_are_refused_unpaid(little, options):
    message = r"200 columns of the 200 × 200 matrix .* take 0\.0 GiB of memory"
    similarity = fp.from_function(never, symmetric=True)
    with pytest.raises(fp.InputError, match=message):
        fp.approximate(range(N), similarity, **options)


def test_the_budget_that_a_refusal_names_works(little):
    with pytest.raises(fp.InputError, match=r"Pass budget=\d+ or less") as caught:
        fp.approximate(None, K, method="nystrom", budget=1.0)
    budget = int(re.search(r"budget=(\d+)", str(caught.value))[1])
    fp.approximate(None, K, method="nystrom", budget=budget)
    with pytest.raises(fp.InputError, match="columns fit"):
        fp.approximate(None, K, method=fp.Nystrom(100), budget=None)


def test_growing_to_everything_is_refused_and_what_there_is_stays(little):
    function = Counting(K)
    similarity = fp.from_function(function, symmetric=True)
    approx = fp.approximate(range(N), similarity, method="nystrom", budget=0.1)
    paid = len(function.calls)
    with pytest.raises(fp.InputError, match=r"Approximation\.grow: 200 columns"):
        approx.grow(1.0)
    assert len(function.calls) == paid


def test_a_target_is_aimed_at_as_far_as_memory_goes(little):
    approx = fp.approximate(None, K, method="nystrom", budget=1.0, target_error=1e-6)
    assert "the budget ended before the target error" in approx.method


def test_n_by_n_answers_that_do_not_fit_are_refused(little):
    similarity = fp.from_function(never, symmetric=True)
    message = "exact_matrix: all similarities of 200 × 200 items take"
    with pytest.raises(fp.InputError, match=message):
        exact_matrix(range(N), similarity)
    approx = fp.approximate(None, K, method="nystrom", budget=0.1)
    with pytest.raises(fp.InputError, match=r"Approximation\.dense: the 200 × 200"):
        approx.dense(force=True)


def test_all_columns_for_duplicates_are_refused_unpaid_and_a_pass_is_not(
    little, tmp_path, capfd, monkeypatch
):
    texts = "".join(f"text number {t}\n" for t in range(N))
    (tmp_path / "texts.txt").write_text(texts, encoding="utf-8")
    arguments = ["duplicates", "texts.txt", "-s", "levenshtein", "-t", "0.9"]
    arguments += ["--budget", "100%"]
    done = run_here([*arguments, "--method", "nystrom"], tmp_path, capfd, monkeypatch)
    assert done.returncode != 0
    assert "of memory, and 0.0 GiB are available" in " ".join(done.stderr.split())
    done = run_here(arguments, tmp_path, capfd, monkeypatch)
    assert done.returncode == 0
    assert "missed: none, all pairs were read" in done.stdout


def test_columns_on_disk_need_memory_for_their_core_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "available_memory", lambda: 100_000)
    similarity = fp.from_matrix(K)
    method = fp.Nystrom(40)
    with pytest.raises(fp.InputError, match="40 columns of the 200 × 200 matrix"):
        fp.approximate(None, similarity, method=method, budget=None)
    store = tmp_path / "ledger"
    fp.approximate(None, similarity, method=method, budget=None, store=store)


def test_available_memory_is_what_the_machine_and_its_container_leave(
    monkeypatch, tmp_path
):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 900 kB\nMemAvailable: 500 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert memory.available_memory() == 500 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available_memory() == 500 * 1024
    (tmp_path / "memory.max").write_text("300000\n")
    (tmp_path / "memory.current").write_text("250000\n")
    (tmp_path / "memory.stat").write_text("anon 7\ninactive_file 40000\n")
    assert memory.available_memory() == 90_000
    memory.check_fits("call", 90_000, "these", "no")
    with pytest.raises(fp.InputError, match=r"call: these take 0\.0 GiB of memory"):
        memory.check_fits("call", 90_001, "these", "no")


def test_numpy_gets_the_matrix_where_it_is_small_and_a_refusal_where_it_is_not(
    monkeypatch,
):
    approx = fp.approximate(None, K, method="nystrom", budget=0.1)
    assert np.array_equal(np.asarray(approx), approx.dense())
    assert np.asarray(approx, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy=False cannot be"):
        np.array(approx, copy=False)
    monkeypatch.setattr("fewpairs.result.approximation._DENSE_LIMIT", 100_000)
    with pytest.raises(fp.InputError, match=r"200 × 200 matrix takes .* \.neighbors"):
        np.asarray(approx)


def test_a_block_that_does_not_fit_is_refused(little, monkeypatch):
    approx = fp.approximate(None, K, method="nystrom", budget=0.1)
    monkeypatch.setattr("fewpairs.result.approximation._DENSE_LIMIT", 100_000)
    with pytest.raises(fp.InputError, match=r"block: the 200 × 200 .* fewer rows"):
        approx.block(slice(None), slice(None))
    assert approx.block(slice(0, 50), slice(None)).shape == (50, N)


def test_linkage_of_many_answers_is_refused_with_its_size(monkeypatch):
    approx = fp.approximate(None, K, method="nystrom", budget=0.1)
    monkeypatch.setattr("fewpairs.answers.clustering.linkage._DENSE_LIMIT", 100_000)
    monkeypatch.setattr("fewpairs.answers.clustering.linkage.SMALL", 100)
    message = r"linkage: 200 items would .* dense matrix of 0\.0 GiB\. Pass of='factors"
    with pytest.raises(fp.InputError, match=message):
        approx.linkage(of="answers")
    assert len(approx.linkage()) == N - 1


def test_all_pairs_are_read_where_they_could_not_be_held(little):
    with pytest.raises(fp.InputError, match=r"fewpairs\.neighbors and fewpairs\.dup"):
        fp.approximate(None, K, budget=1.0)
    assert fp.neighbors(None, K, k=3, budget=1.0).way.exact
    assert fp.duplicates(None, K, 1.0, budget=1.0).way.exact


def test_a_command_that_runs_out_of_memory_says_so_and_what_works(
    tmp_path, capfd, monkeypatch
):
    def large(*_, **__):
        raise MemoryError("Unable to allocate 26.8 GiB for an array")

    (tmp_path / "texts.txt").write_text("a\nb\nc\n", encoding="utf-8")
    monkeypatch.setattr("fewpairs.cli.texts.read_input", large)
    arguments = ["approximate", "texts.txt", "-s", "ratio", "-b", "100%"]
    done = run_here(arguments, tmp_path, capfd, monkeypatch)
    assert done.returncode == 1
    words = " ".join(done.stderr.split())
    assert "not enough memory (Unable to allocate 26.8 GiB" in words
    assert "duplicates FILE` compare all pairs without holding them" in words
    assert "mistake in fewpairs" not in words
