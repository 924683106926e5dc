"""The report of two sets, as people see it: in a real browser."""

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.report import write_report
from tests.test_report import EVIL, SHOTS, Visit, browser

__all__ = ["browser"]  # a fixture

WORDS = ("red", "green", "blue", "small", "large", "old", "new")
QUERIES = [f"{a} {b} lamp" for a in WORDS for b in WORDS if a != b]
DOCUMENTS = [f"a {q}, used {t}" for q in QUERIES for t in range(2)] + EVIL


@pytest.fixture(scope="module")
def approx():
    return fp.approximate(
        QUERIES, fp.StringSimilarity("token_sort_ratio"), others=DOCUMENTS,
        budget="20/item",
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory, approx):
    path = tmp_path_factory.mktemp("two") / "page.html"
    write_report(approx, QUERIES, path, others=DOCUMENTS, title="Lamps")
    return path


def test_a_query_shows_its_documents(browser, page, approx):
    with Visit(browser, page) as visit:
        visit.page.fill("#search", QUERIES[5])
        visit.page.locator("#hits li").filter(has_text=QUERIES[5]).first.click()
        assert visit.chosen() == QUERIES[5]
        shown = visit.page.locator("#near button .text").all_inner_texts()
        values = visit.page.locator("#near button .value").all_inner_texts()
        row = approx.row(5)
        best = np.argsort(-row, kind="stable")[: len(values)]
        assert [float(v.rstrip(" ≈")) for v in values] == pytest.approx(
            row[best], abs=1e-3
        )
        assert shown[0] in DOCUMENTS
        text = visit.page.locator("body").inner_text()
        assert f"{len(QUERIES)} × {len(DOCUMENTS)}" in text
        SHOTS.mkdir(parents=True, exist_ok=True)
        visit.page.screenshot(path=SHOTS / "two-sets.png", full_page=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(browser, page, scheme):
    with Visit(browser, page, width=390, scheme=scheme, phone=True) as visit:
        wide = visit.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390
