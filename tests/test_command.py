"""The real command, in a process of its own."""

import re

import pytest

import fewpairs as fp
from fewpairs.datasets import stdlib_docstrings
from tests.commands import run, run_in_terminal


def test_the_demo_shows_receipt_truth_neighbors_and_all_methods():
    done = run("demo", "--limit", "600")
    assert done.returncode == 0, done.stderr
    for part in (
        "600 docstrings, 5% of their 179,700 pairs",
        'StringSimilarity("token_sort_ratio"), symmetric, diagonal known',
        "held-out pairs",
        "certified error",
        "true error",
        "nearest neighbors",
        "all methods at 5% of the pairs",
    ):
        assert part in done.stdout
    for method in ("auto", "nystrom", "sms", "skeleton", "sicur", "stacur", "optimal"):
        assert re.search(rf"│ {method}", done.stdout), method
    figures = re.search(
        r"certified error ([\d.]+) \(95 % interval ([\d.]+) to ([\d.]+)\), "
        r"true error ([\d.]+)",
        done.stdout,
    )
    certified, low, high, true = map(float, figures.groups())
    assert low <= true <= high
    assert certified == pytest.approx(true, rel=0.2)


def test_the_demo_shows_a_progress_bar_in_a_terminal():
    code, text = run_in_terminal("demo", "--limit", "300")
    assert code == 0, text
    # Bars that move: cursor movements between several states of the same line.
    assert text.count("evaluating") > 1
    assert re.search(r"[\d,]+ evaluations", text)


def test_version_help_and_mistakes():
    assert run("--version").stdout.strip() == f"fewpairs {fp.__version__}"
    assert "demo" in run("--help").stdout
    assert "fewpairs demo --limit" in run("demo", "--help").stdout
    for arguments in (["demo", "--limit", "3"], ["nothing"], ["demo", "--limit", "x"]):
        done = run(*arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr + done.stdout


def test_the_docstrings_are_real_distinctly_named_and_the_same_every_time():
    names, texts = stdlib_docstrings(limit=None)
    assert len(names) == len(texts) == len(set(names)) > 2_000
    assert "json.dumps" in names
    assert "Serialize" in texts[names.index("json.dumps")]
    assert min(map(len, texts)) >= 40
    few = stdlib_docstrings(limit=50)
    assert len(few.names) == 50
    assert few == stdlib_docstrings(limit=50)
    assert set(few.names) <= set(names)
