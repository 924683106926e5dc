"""The page of matches, as people see it: in a real browser."""

import json
import re

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.report import write_matches_report
from fewpairs.report.matches import marked_words
from tests.test_report import EVIL, SHOTS, Visit, browser, contrast

__all__ = ["browser"]  # a fixture

TURNED = "invoice \u202efdp.exe"
LEFT = ["ann lee of york", "bob ray", "zoe quinn", "mary smith jr", TURNED, *EVIL]
RIGHT = [
    "ann lee from york",
    "bob rays",
    "invoice",
    "someone else",
    "mary smyth sr",
    *EVIL,
]


@pytest.fixture(scope="module")
def found():
    return fp.match(LEFT, RIGHT, fp.StringSimilarity("ratio"), threshold=0.86)


@pytest.fixture(scope="module")
def page(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("matches") / "page.html"
    write_matches_report(found, path, title="A & <b>B</b>", created="2026-01-02")
    return path


@pytest.fixture
def visit(browser, page):
    with Visit(browser, page) as opened:
        yield opened


def test_the_page_counts_what_was_found(visit, found):
    tiles = visit.page.locator("#tiles .big").all_inner_texts()
    assert tiles[:3] == [str(len(found)), "5", "5"]
    assert "8 × 8 rows make 64 pairs" in visit.page.locator("#lead").inner_text()
    assert visit.page.locator("#histogram svg .ideal").count() == 1
    assert "threshold 0.86" in visit.page.locator("#histogram").inner_text()
    assert visit.page.locator("#receipt-words dt").first.inner_text() == "asked"


def test_borderline_pairs_stand_side_by_side_with_their_differences(visit, found):
    near = found.borderline(20)
    shown = visit.page.locator("#borderline-list li")
    assert shown.count() == len(near) > len(found)
    one = shown.filter(has_text="ann lee of york")
    assert one.locator("mark").all_inner_texts() == ["of", "from"]
    verdicts = visit.page.locator("#borderline-list .value small").all_inner_texts()
    below = near.similarity < 0.86
    assert [word == "no match" for word in verdicts] == below.tolist()


def test_rows_without_a_match_are_listed_on_both_sides(visit):
    cards = visit.page.locator("#unmatched-lists .card")
    assert cards.count() == 2
    assert "zoe quinn" in cards.nth(0).inner_text()
    assert "someone else" in cards.nth(1).inner_text()
    assert "Left: 3" in cards.nth(0).inner_text()


def test_texts_are_text_nodes_and_turned_directions_show(visit, page):
    assert visit.page.title() == "A & <b>B</b> · fewpairs matches"
    best = visit.page.locator("#best-list").inner_text()
    for evil in EVIL:
        assert " ".join(evil.split()) in " ".join(best.split())
    assert visit.page.locator("img").count() == 0
    assert "invoice \\u202efdp.exe" in visit.page.locator("#unmatched").inner_text()
    source = page.read_text(encoding="utf-8")
    assert "\u202e" not in source
    assert source.count("</script>") == 2
    facts = json.loads(re.search(r'id="data">(.*?)</script>', source, re.S).group(1))
    assert facts["matches"] == 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", ["laptop", "phone"])
def test_it_reads_on_laptop_and_phone_in_light_and_dark(browser, page, device, scheme):
    phone = device == "phone"
    wide = 390 if phone else 1360
    with Visit(browser, page, width=wide, scheme=scheme, phone=phone) as visit:
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= wide
        assert contrast(visit.page) >= 4.5
        visit.page.click("#theme")
        visit.page.click("#theme")
        SHOTS.mkdir(parents=True, exist_ok=True)
        where = SHOTS / f"matches-{device}-{scheme}.png"
        visit.page.screenshot(path=where, full_page=True)


@pytest.mark.parametrize("kind", ["none", "k", "one to one", "one set", "vectors"])
def test_other_matches_make_pages_without_errors(browser, tmp_path, kind):
    ratio = fp.StringSimilarity("ratio")
    found = {
        "none": lambda: fp.match(["a"], ["b"], ratio, threshold=0.9),
        "k": lambda: fp.match(LEFT, RIGHT, ratio, k=2),
        "one to one": lambda: fp.match(LEFT, RIGHT, ratio, one_to_one=True),
        "one set": lambda: fp.duplicates(LEFT + RIGHT, ratio, 0.7),
        "vectors": lambda: fp.match(np.eye(3), np.ones((2, 3)), fp.Cosine(), k=1),
    }[kind]()
    write_matches_report(found, tmp_path / "page.html")
    with Visit(browser, tmp_path / "page.html") as visit:
        assert visit.page.locator("#tiles .big").first.inner_text() == str(len(found))


def test_words_that_differ_are_told_apart_whatever_their_case():
    a, b = marked_words("The Red cat", "the blue cat sat")
    assert a == [("The", False), ("Red", True), ("cat", False)]
    assert b == [("the", False), ("blue", True), ("cat", False), ("sat", True)]


def test_a_title_must_be_a_text(tmp_path, found):
    with pytest.raises(fp.InputError, match="write_matches_report: title is 3"):
        write_matches_report(found, tmp_path / "page.html", title=3)
    with pytest.raises(fp.InputError, match="write_matches_report: path is 3"):
        write_matches_report(found, 3)


def test_a_list_with_a_certificate_shows_it_and_what_to_look_at_next(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    K = X @ X.T + rng.standard_normal((200, 1)) * 0.1
    K = (K + K.T) / 2
    found = fp.duplicates(None, K, 6.0, budget=0.3, prior=X, recall=0.9)
    write_matches_report(found, tmp_path / "page.html")
    with Visit(browser, tmp_path / "page.html") as visit:
        shown = visit.page.locator("#next-list li")
        assert shown.count() == found.certificate.next_pairs.number == 20
        assert shown.first.locator(".value small").inner_text() == "predicted"
        receipt = visit.page.locator("#receipt-words").inner_text()
    assert "whatever the model does" in receipt
    assert "for the certificate" in receipt


def test_a_list_of_all_pairs_has_nothing_to_look_at_next(visit):
    assert visit.page.locator("#next").is_hidden()
