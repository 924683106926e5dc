"""The demo shows what a few calls of a real cross-encoder are worth."""

import contextlib
import html
import io
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import fewpairs as fp
from fewpairs.cli import demo
from fewpairs.cli.demo.ways import BUDGETS, Truth, few_of, follow, rerank, top
from fewpairs.datasets import docstring_scores
from tests.commands import run, run_in_terminal

HERE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The whole demo, as it is shown, and where its report is."""
    # Not a terminal: of what is redrawn, the last is shown.
    console = Console(
        record=True, width=110, file=io.StringIO(), color_system="truecolor"
    )
    report = Path("fewpairs-demo.html")
    with contextlib.chdir(tmp_path_factory.mktemp("demo")):
        demo.run(console, out=report)
        report = report.resolve()
    pictures = HERE / "build" / "screenshots"
    pictures.mkdir(parents=True, exist_ok=True)
    picture = console.export_svg(title="fewpairs demo", clear=False)
    picture = re.sub(r"@font-face \{[^}]*\}\s*", "", picture)  # asks no network
    (pictures / "demo.svg").write_text(picture, encoding="utf-8")
    return console.export_text(), report


@pytest.fixture(scope="module")
def curves():
    *_, (last, _) = follow(docstring_scores())
    return {name: dict(points) for name, points in last.items()}


def test_four_fifths_are_found_at_sixty_calls_per_item(curves):
    assert curves["fewpairs"][60] >= 0.80


def test_fewpairs_is_above_reranking_at_every_shown_budget(curves):
    for budget in BUDGETS:
        assert curves["fewpairs"][budget] > curves["re-ranking"][budget] + 0.05
        assert curves["re-ranking"][budget] >= curves["cosine alone"][budget] - 0.01


def test_the_screen_shows_curve_queries_certificate_report_and_methods(shown):
    text, report = shown
    for words in (
        "recall@10",
        "re-ranking 0.",
        "calls of the model per line",
        "found by fewpairs",
        "gzip.open: Open a gzip-compressed",
        "the certificate beside the truth",
        "the methods of the paper at 60/item",
        "SMSNystrom",
    ):
        assert words in text
    assert report.stat().st_size > 100_000
    assert report.name in text.replace("\n", "")


def test_the_certificate_on_the_screen_holds_the_truth(shown):
    found = re.search(
        r"relative error \D*(0\.\d+) \(95 % interval (0\.\d+) to (0\.\d+)\)\D*(0\.\d+)",
        shown[0],
    )
    _, low, high, true = map(float, found.groups())
    assert low <= true <= high


def test_the_picture_in_the_docs_is_of_this_demo(shown, curves):
    """It is build/screenshots/demo.svg of a run of these tests."""
    picture = (HERE / "docs" / "images" / "demo.svg").read_text(encoding="utf-8")
    words = html.unescape(re.sub(r"<[^>]+>|&#160;", " ", picture))
    words = " ".join(words.split())
    assert "lines of Python's documentation" in words
    for name, values in curves.items():
        drawn = re.search(rf"{name} (0\.\d+)", words)
        assert float(drawn[1]) == pytest.approx(values[60], abs=0.02)


def test_the_readme_is_one_screen_and_its_numbers_are_those_of_the_demo(curves):
    page = (HERE / "README.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 120
    ours, theirs = re.findall(r"\*\*(\d+) %\*\*", page)
    assert int(ours) / 100 == pytest.approx(curves["fewpairs"][60], abs=0.01)
    assert int(theirs) / 100 == pytest.approx(curves["re-ranking"][60], abs=0.01)
    for ground in ("light", "dark"):
        picture = HERE / "docs" / "images" / f"demo-{ground}.svg"
        drawn = re.findall(r">(\D+) (0\.\d\d)</text>", picture.read_text("utf-8"))
        for name, value in drawn:
            assert float(value) == pytest.approx(curves[name][60], abs=0.01)


def test_reranking_pays_for_a_pair_once_and_ranks_what_it_read():
    # Two items that are each other's nearest cost one call.
    scores = np.full((20, 20), 0.1, dtype=np.float32)
    cosines = np.random.default_rng(0).random((20, 20)).astype(np.float32)
    cosines = cosines + cosines.T
    truth = Truth.of(scores)
    everything = rerank(truth, cosines, 190)
    assert np.array_equal(np.sort(everything), np.sort(top(scores, 10)))
    nothing = rerank(truth, cosines, 0)
    assert np.array_equal(nothing, top(cosines, 10))


def test_the_data_are_small_complete_and_say_where_they_come_from():
    data = docstring_scores()
    assert len(data) == len(set(data.names)) == len(set(data.texts)) == 1_500
    assert np.array_equal(data.scores, data.scores.T)
    assert np.array_equal(np.diagonal(data.scores), np.ones(1_500))
    assert np.allclose(np.linalg.norm(data.vectors, axis=1), 1, atol=1e-6)
    folder = Path(fp.__file__).parent / "datasets" / "docstring_scores"
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 3e6
    assert "PSF" in data.about["lines"]["license"]
    assert "Apache-2.0" in data.about["vectors"]["model"]
    assert repr(data) == "<DocstringScores: 1,500 texts, all their scores>"


def test_a_part_of_the_data_has_the_same_scores():
    data = docstring_scores()
    some = few_of(data, 100)
    at = [data.names.index(name) for name in some.names]
    assert np.array_equal(some.scores, data.scores[np.ix_(at, at)])


def test_the_command_writes_its_report_where_it_is_told(tmp_path):
    done = run("demo", "--limit", "200", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "report  fewpairs-demo.html" in done.stdout
    assert (tmp_path / "fewpairs-demo.html").exists()


def test_the_curve_is_redrawn_in_a_terminal(tmp_path):
    code, text = run_in_terminal("demo", "--limit", "150", "--out", tmp_path / "x.html")
    assert code == 0
    assert text.count("calls of the model per line") >= 2 * len(BUDGETS)
