"""The site: it builds without a warning, and people find what they look for."""

import json
import re
import subprocess
import sys
import zlib

import pytest

import fewpairs as fp
from tests.commands import HERE, environment

sphinx = pytest.importorskip("sphinx", reason="needs the extra docs")
pytest.importorskip("numpydoc", reason="needs the extra docs")
pytest.importorskip("myst_parser", reason="needs the extra docs")
pytest.importorskip("pydata_sphinx_theme", reason="needs the extra docs")


def test_the_site_builds_without_a_warning_and_answers(tmp_path):
    """One build, which takes a while, for everything that is claimed of it."""
    site = tmp_path / "site"
    command = "-m sphinx -W --keep-going -q -c docs/site docs".split()
    done = subprocess.run(
        [sys.executable, *command, str(site), "-d", str(tmp_path / "doctrees")],
        cwd=HERE,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    every_page_is_there(site)
    every_public_name_is_in_the_reference(site)
    long_signatures_have_a_line_per_parameter(site)
    the_search_finds_the_words_of_others(site)
    nothing_is_asked_of_other_hosts(site)


def every_page_is_there(site):
    pages = list((HERE / "docs").rglob("*.md"))
    assert len(pages) > 30
    for page in pages:
        assert (site / page.relative_to(HERE / "docs")).with_suffix(".html").is_file()


def every_public_name_is_in_the_reference(site):
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    listed = {
        line.split()[0]
        for line in zlib.decompress(inventory).decode().split("\n")
        if line
    }
    last = {name.rsplit(".", 1)[-1] for name in listed if name.startswith("fewpairs.")}
    assert set(fp.__all__) - last == set()


def long_signatures_have_a_line_per_parameter(site):
    page = (site / "api" / "approximate.html").read_text("utf-8")
    signature = page[page.index('id="fewpairs.approximate"') :]
    signature = signature[: signature.index("</dt>")]
    parameters = signature.count('class="sig-param"')
    assert parameters > 10
    assert signature.count("<dd>") == parameters
    plain = re.sub("<[^>]+>", "", signature)
    assert "ndarray" in plain
    assert "dtype" not in plain
    assert "A hard limit" in page
    assert ":class:" not in page


def pages_found(site, words):
    """Return the pages that have all the words, as the search of the site does."""
    from sphinx.search.en import SearchEnglish

    language = SearchEnglish({})
    script = (site / "searchindex.js").read_text("utf-8")
    index = json.loads(script[script.index("(") + 1 : script.rindex(")")])

    def with_word(word):
        found = set()
        for where in ("terms", "titleterms"):
            at = index[where].get(language.stem(word.lower()), [])
            found.update([at] if isinstance(at, int) else at)
        return found

    common = set.intersection(*map(with_word, language.split(words)))
    return {index["docnames"][at] for at in common}


def the_search_finds_the_words_of_others(site):
    for words, page in {
        "deduplicate": "tutorials/deduplication",
        "pandas": "frames",
        "record linkage": "tutorials/linking",
        "entity resolution": "tutorials/linking",
        "reranker": "tutorials/cross-encoder",
        "LLM judge": "tutorials/paid-judge",
        "logging": "faq",
    }.items():
        assert page in pages_found(site, words), words


def nothing_is_asked_of_other_hosts(site):
    for name in ("index", "few", "api/approximate"):
        page = (site / f"{name}.html").read_text("utf-8")
        asked = re.findall(r'(?:src|href)="https?://[^"]+\.(?:js|css|woff2?)"', page)
        assert not asked
