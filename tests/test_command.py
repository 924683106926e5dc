"""The real command, in a process of its own."""

import re
import subprocess
import sys

import fewpairs as fp
from fewpairs.datasets import stdlib, stdlib_docstrings
from tests.commands import environment, run, run_here, run_in_terminal


def test_a_run_shows_a_progress_bar_in_a_terminal(tmp_path):
    texts = stdlib_docstrings(limit=300).texts
    lines = "\n".join(" ".join(text.split()) for text in texts)
    (tmp_path / "texts.txt").write_text(lines, encoding="utf-8")
    wanted = ["texts.txt", "-s", "token-sort-ratio", "--out", "run"]
    code, text = run_in_terminal("approximate", *wanted, cwd=tmp_path)
    assert code == 0, text
    # Bars that move: cursor movements between several states of the same line.
    assert text.count("evaluating") > 1
    assert re.search(r"[\d,]+ evaluations", text)


def test_version_help_and_mistakes(tmp_path, capfd, monkeypatch):
    def here(*arguments):
        return run_here(arguments, tmp_path, capfd, monkeypatch)

    assert run("--version").stdout.strip() == f"fewpairs {fp.__version__}"
    assert "demo" in here("--help").stdout
    assert "fewpairs demo --limit" in here("demo", "--help").stdout
    for done in (
        here("demo", "--limit", "3"),
        run("nothing"),
        here("demo", "--limit", "x"),
    ):
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
    stdlib._everything.cache_clear()
    assert few == stdlib_docstrings(limit=50)
    assert set(few.names) <= set(names)


def test_the_package_is_a_command_too(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "fewpairs", "--version"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.stdout == f"fewpairs {fp.__version__}\n", done.stderr
