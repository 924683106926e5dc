"""What the pages tell to type works."""

import random
import re
import shlex

import numpy as np
import pytest
from benchmarks.linking.names import clean_names, misspelt
from benchmarks.titles import titles_with_copies, write_titles

from tests.commands import HERE, run_here

PAGES = [HERE / "README.md", *sorted((HERE / "docs").rglob("*.md"))]


def commands(page):
    """Every line that a page tells to type."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    for line in "".join(blocks).splitlines():
        assert line.startswith("$ fewpairs "), f"{page.name}: {line}"
        yield line.removeprefix("$ fewpairs ")


@pytest.fixture
def folder(tmp_path):
    """What the pages say that the reader has."""
    titles = titles_with_copies(300, seed=2)[0]
    write_titles(tmp_path / "titles.csv", titles)
    write_names(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(titles[:120]), "utf-8")
    (tmp_path / "more.txt").write_text("\n".join(titles[120:140]), "utf-8")
    (tmp_path / "judges.py").write_text(
        "def judge(a, b):\n"
        "    a, b = set(a.lower().split()), set(b.lower().split())\n"
        "    return len(a & b) / len(a | b)\n"
    )
    words = sorted({word for title in titles for word in title.lower().split()})
    vectors = np.random.default_rng(0).standard_normal((len(words), 8))
    (tmp_path / "vectors.txt").write_text(
        "\n".join(
            f"{word} {' '.join(f'{x:.3f}' for x in row)}"
            for word, row in zip(words, vectors)
        ),
        "utf-8",
    )
    return tmp_path


def write_names(folder):
    """Write two tables to link: names as they are, and as somebody typed them."""
    rng = random.Random(0)
    names = clean_names(60)
    typed = [misspelt(name, rng) for name in rng.sample(names, 40)]
    for file, column, rows in (
        ("customers", "name", names),
        ("orders", "buyer", typed),
    ):
        lines = [f"id,{column}", *(f'{t},"{row}"' for t, row in enumerate(rows))]
        (folder / f"{file}.csv").write_text("\n".join(lines), "utf-8")


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "$ fewpairs" in page.read_text("utf-8")],
    ids=lambda page: page.name,
)
def test_what_a_page_tells_to_type_works(page, folder, capfd, monkeypatch):
    for line in commands(page):
        if "MODEL" in line:
            pytest.importorskip("torch", reason="needs the extra torch")
            from tests import tiny_models

            if not (folder / "model").exists():
                tiny_models.save_tiny(folder / "model")
        line = line.replace("MODEL", "model").replace("VECTORS", "vectors.txt")
        done = run_here(shlex.split(line), folder, capfd, monkeypatch)
        assert done.returncode == 0, f"{page.name}: {line}\n{done.stderr}"


@pytest.mark.parametrize(
    "words",
    (
        "deduplicate|pandas|polars|record linkage|entity resolution|reranker|LLM judge|"
        "logging|threshold|notebook"
    ).split("|"),
)
def test_what_people_look_for_stands_on_a_page_of_the_guide(words):
    pages = [page for page in PAGES if not {"lab", "api"} & set(page.parts)]
    texts = [" ".join(page.read_text("utf-8").split()).lower() for page in pages]
    assert any(words.lower() in text for text in texts)
