"""The report, as people see it: in a real browser, on a laptop and on a phone."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmarks.titles import titles_with_copies

import fewpairs as fp
from fewpairs.answers.left_out import hide_rows
from fewpairs.report import findings, layout, write_report

SHOTS = Path(__file__).parents[1] / "build" / "screenshots"
EVIL = [
    "</script><script>document.title='stolen'</script>",
    "<img src=x onerror=\"document.title='stolen'\">",
    "<!-- <script> \u2028 {{data}} {{script}} & \"quotes\" 'too'",
]

UNTRAINED = fp.Auto(student=False)


@pytest.fixture(scope="module")
def texts():
    return [*titles_with_copies(300, seed=3)[0][:297], *EVIL]


@pytest.fixture(scope="module")
def approx(texts):
    # Without a prior, so that there are landmarks to draw.
    return fp.approximate(
        texts, fp.StringSimilarity("token_sort_ratio"), budget=0.2, prior=None
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory, approx, texts):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(
        approx, texts, path, title="Titles & <b>more</b>", created="2026-01-02"
    )
    return path


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("FEWPAIRS_BROWSER") or next(
        filter(None, map(shutil.which, names)), None
    )
    with sync_api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(
                executable_path=found, args=["--no-sandbox", "--disable-gpu"]
            )
        except sync_api.Error as error:
            pytest.skip(f"needs a Chromium: {str(error).splitlines()[0]}")
        yield started
        started.close()


class Visit:
    """A page in the browser, and everything that went wrong on it."""

    def __init__(self, browser, path, *, width=1360, scheme="light", phone=False):
        self.context = browser.new_context(
            viewport={"width": width, "height": 860},
            color_scheme=scheme,
            is_mobile=phone,
            has_touch=phone,
        )
        self.page = self.context.new_page()
        self.wrong = []
        self.page.on("console", lambda m: self.wrong.append(m.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", self._asked)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def _asked(self, request):
        if not request.url.startswith("file:"):
            self.wrong.append(request.url)

    def chosen(self):
        return self.page.locator("#chosen .item p").inner_text()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.context.close()
        if problem[0] is None:
            assert self.wrong == []


@pytest.fixture
def visit(browser, page):
    with Visit(browser, page) as opened:
        yield opened


def test_searching_an_item_shows_its_neighbors(visit, approx, texts):
    item = 11
    visit.page.fill("#search", texts[item][:40])
    hits = visit.page.locator("#hits li")
    assert hits.count() >= 1
    hits.filter(has_text=texts[item]).first.click()
    assert visit.chosen() == texts[item]
    row = approx.row(item)
    row[item] = -1
    best = np.argsort(-row, kind="stable")[:10]
    shown = visit.page.locator("#near button .text").all_inner_texts()
    values = visit.page.locator("#near button .value").all_inner_texts()
    assert len(shown) == 10
    assert shown[0] == texts[best[0]]
    assert [float(v.rstrip(" ≈")) for v in values] == pytest.approx(row[best], abs=1e-3)
    # ≈ stands where nothing was read.
    read, _ = approx.known.lookup(np.full(10, item), best)
    assert ["≈" not in value for value in values] == read.tolist()


def test_clicking_a_point_chooses_it_and_its_neighbors_lead_on(visit, texts):
    for item in (42, 120):
        visit.page.mouse.click(*place_of(visit.page, item))
        # Of several that lie on each other, any may be meant.
        index = texts.index(visit.chosen())
        assert (
            np.hypot(*np.subtract(*(place_of(visit.page, t) for t in (item, index))))
            < 6
        )
    shown = visit.page.locator("#near button .text").all_inner_texts()
    visit.page.locator("#near button").nth(1).click()
    assert visit.chosen().startswith(shown[1][:40])


def place_of(page, item):
    """Where an item is drawn, on the screen."""
    page.locator("#map").scroll_into_view_if_needed()
    return page.evaluate(
        """(item) => {
            const canvas = document.getElementById("map");
            const box = canvas.getBoundingClientRect();
            const [x, y] = canvas.items.at(item);
            return [box.x + x, box.y + y];
        }""",
        item,
    )


def test_pointing_shows_the_text(visit):
    tip = visit.page.locator("#tip")
    assert not tip.is_visible()
    visit.page.mouse.move(*place_of(visit.page, 42))
    assert tip.is_visible()
    assert re.match(r"\d+ \S", tip.inner_text())
    visit.page.mouse.move(5, 5)
    assert not tip.is_visible()


def test_everything_can_be_done_by_keyboard(visit, texts):
    page = visit.page
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type(texts[20].split()[0].lower())
    assert page.get_attribute("#search", "aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    active = page.get_attribute("#search", "aria-activedescendant")
    wanted = page.locator(f"#{active}").inner_text()
    page.keyboard.press("Enter")
    assert visit.chosen().startswith(wanted[:40])
    page.keyboard.type("zzzz nothing")
    assert page.locator("#count").inner_text() == "0 items"
    page.keyboard.press("Escape")
    page.focus("#map")
    seen = {visit.chosen()}
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
        seen.add(visit.chosen())
    assert len(seen) >= 3
    spoken = page.locator("#spoken").inner_text()
    assert spoken.startswith("Item ")
    page.keyboard.press("+")
    page.keyboard.press("0")
    # Every control has a name and can be reached.
    for control in page.locator("button, input, a").all():
        name = control.get_attribute("aria-label") or control.inner_text()
        placeholder = control.get_attribute("placeholder")
        assert (name or placeholder or "").strip()


def test_texts_are_never_read_as_markup(visit, page, texts):
    assert visit.page.title() == "Titles & <b>more</b> · fewpairs report"
    for evil in EVIL:
        visit.page.fill("#search", evil[:12])
        visit.page.locator("#hits li").filter(has_text=evil[:20]).first.click()
        assert visit.chosen() == evil
    assert visit.page.title() != "stolen"
    assert visit.page.locator("img").count() == 0
    source = page.read_text(encoding="utf-8")
    assert source.count("</script>") == 2
    assert "<img src=x" not in source


def test_the_page_lets_no_other_script_run(visit):
    visit.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "document.title = 'stolen'";
            document.body.append(script);
        }"""
    )
    assert visit.page.title() != "stolen"
    assert "Content Security Policy" in visit.wrong.pop()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", ["laptop", "phone"])
def test_it_reads_on_laptop_and_phone_in_light_and_dark(browser, page, device, scheme):
    phone = device == "phone"
    with Visit(
        browser, page, width=390 if phone else 1360, scheme=scheme, phone=phone
    ) as visit:
        wide = visit.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= (390 if phone else 1360)
        for picture in (
            "gauge",
            "pairs",
            "curve-error",
            "curve-recall",
            "spectrum",
            "core",
        ):
            assert visit.page.locator(f"#{picture} svg").count() == 1, picture
        assert visit.page.locator("#odd-list li").count() == 12
        assert contrast(visit.page) >= 4.5
        SHOTS.mkdir(parents=True, exist_ok=True)
        visit.page.screenshot(path=SHOTS / f"{device}-{scheme}.png", full_page=True)


def contrast(page):
    """The least contrast of a text with what lies behind it (WCAG 2)."""
    return page.evaluate(
        """() => {
            const light = (c) => {
                const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map((v) => {
                    v /= 255;
                    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
                });
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const behind = (node) => {
                for (let n = node; n; n = n.parentElement) {
                    const color = getComputedStyle(n).backgroundColor;
                    if (!/, 0\\)$/.test(color)) return color;
                }
                return "rgb(255, 255, 255)";
            };
            let least = 21;
            const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) {
                const node = walk.currentNode.parentElement;
                if (!walk.currentNode.textContent.trim()) continue;
                if (!node.getClientRects().length) continue;
                const style = getComputedStyle(node);
                const ink = node.closest("svg") ? style.fill : style.color;
                const [a, b] = [light(ink), light(behind(node))];
                const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
                least = Math.min(least, ratio);
            }
            return least;
        }"""
    )


def test_the_theme_can_be_switched(visit):
    def paper():
        return visit.page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = paper()
    visit.page.click("#theme")
    assert paper() != light
    visit.page.click("#theme")
    assert paper() == light


def test_a_group_can_be_seen_alone(visit):
    button = visit.page.locator("#legend button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize(
    "kind", ["everything read", "cur", "few", "yardstick", "asymmetric"]
)
def test_other_results_make_pages_without_errors(browser, tmp_path, kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6))
    K = X @ X.T
    options = {
        "everything read": {"budget": 1.0},
        "cur": {"method": "sicur", "budget": 0.3},
        "few": {"budget": 1.0},
        "yardstick": {"method": fp.Optimal(rank=3), "budget": 1.0},
        "asymmetric": {"method": "skeleton", "budget": 0.3, "symmetrize": False},
    }[kind]
    if kind == "asymmetric":
        K = K + rng.standard_normal(K.shape)
    if kind == "few":
        K = K[:3, :3]
    approx = fp.approximate(None, fp.from_matrix(K), **options)
    path = tmp_path / "page.html"
    write_report(approx, [f"item {t}" for t in range(len(K))], path)
    with Visit(browser, path) as visit:
        assert "item" in visit.chosen()


def test_without_landmarks_nothing_of_them_is_shown(browser, tmp_path):
    data = fp.datasets.docstring_scores()
    some = np.arange(0, 1_500, 5)
    scores = fp.from_matrix(data.scores[np.ix_(some, some)])
    approx = fp.approximate(
        None, scores, prior=data.vectors[some], budget="10/item", method=UNTRAINED
    )
    assert len(approx.landmarks) == 0
    write_report(approx, [data.texts[t] for t in some], tmp_path / "page.html")
    with Visit(browser, tmp_path / "page.html") as visit:
        page = visit.page
        for gone in ("curve-error", "curve-recall", "odd", "core"):
            assert page.locator(f"#{gone}").count() == 0, gone
        shown = page.locator("nav a").evaluate_all("links => links.map(a => a.hash)")
        assert all(page.locator(where).count() for where in shown)
        assert "#odd" not in shown
        assert page.locator("#pairs svg").count() == 1
        assert "landmarks" not in page.locator("main").inner_text()


def test_of_many_items_a_sample_is_shown(browser, tmp_path, approx, texts, monkeypatch):
    monkeypatch.setattr("fewpairs.report.MOST_ITEMS", 100)
    write_report(approx, texts, tmp_path / "page.html")
    with Visit(browser, tmp_path / "page.html") as visit:
        note = visit.page.locator("#map-note").inner_text()
        assert "A random sample of 100 of the 300 items is shown" in note
        shown = re.match(r"item (\d+)", visit.page.locator("#chosen .no").inner_text())
        assert visit.chosen() == texts[int(shown.group(1))]
        # Items that are not on the map are listed by their text alone.
        assert visit.page.locator("#odd-list li").count() == 12
        assert visit.page.locator("#odd-list li > div > span").count() > 0


def test_clusters_color_the_map(tmp_path, approx, texts):
    write_report(approx, texts, tmp_path / "page.html", threshold=0.7)
    source = (tmp_path / "page.html").read_text(encoding="utf-8")
    facts = json.loads(re.search(r'id="data">(.*?)</script>', source, re.S).group(1))
    sizes = np.sort(np.bincount(approx.cluster(threshold=0.7)))[::-1]
    assert facts["items"]["kind"] == "clusters"
    groups = [group["size"] for group in facts["items"]["groups"]]
    assert groups == [size for size in sizes[:10] if size > 1]


def test_texts_must_match_the_items(tmp_path, approx):
    with pytest.raises(fp.InputError, match=r"write_report: 2 texts for 300 items"):
        write_report(approx, ["a", "b"], tmp_path / "page.html")


def test_the_spectrum_is_that_of_the_low_rank_part():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 4)) * [3, 2, 1.5, 1]
    K = (X * [1, -1, 1, -1]) @ X.T
    for method in ("nystrom", "sicur"):
        approx = fp.approximate(None, K, method=method, budget=0.5)
        truth = np.linalg.eigvalsh(K)
        truth = truth[np.argsort(-np.abs(truth))][:4]
        assert findings.spectrum(approx)[:4] == pytest.approx(truth)
    assert (findings.core_values(approx) < 0).any()


def test_rows_that_are_hidden_are_predicted_by_the_others():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 3))
    approx = fp.approximate(None, X @ X.T, method="nystrom", budget=0.3)
    rows = hide_rows(approx)
    assert set(rows.items) <= set(approx.landmarks.tolist())
    assert rows.landmarks < len(approx.landmarks)
    off = np.isfinite(rows.truth)
    # Rank 3: any three landmarks know the rest.
    assert rows.guess[off] == pytest.approx(rows.truth[off], abs=1e-6)
    assert rows.recall(10) > 0.99
    curve = findings.learning_curve(approx)["points"]
    assert [p["error"] for p in curve[1:]] == pytest.approx([0, 0, 0], abs=1e-6)
    assert curve[-1]["evaluations"] == approx.evaluations


def test_refinement_makes_recall_rise_and_full_reading_makes_it_one():
    rng = np.random.default_rng(3)
    K = rng.random((100, 100))
    approx = fp.approximate(None, K + K.T, method="nystrom", budget=0.4)
    rows = hide_rows(approx)
    recalls = [rows.recall(5, refined) for refined in (0, 20, 60, 200)]
    assert recalls == sorted(recalls)
    assert recalls[-1] == 1.0


def test_neighbors_lie_near_each_other_on_the_map():
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(5), 60)
    X = 4 * np.eye(5)[labels] + rng.standard_normal((300, 5))
    near = np.argsort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)[:, 1:11]
    far = np.linalg.norm(X[:, None] - X[near], axis=2)
    graph = layout.neighbor_graph(near, -far)
    assert abs(graph - graph.T).max() < 1e-12
    features = layout.spectral_features(graph, 5)
    at = layout.place_items(graph, features[:, :2])
    closest = np.argsort(np.linalg.norm(at[:, None] - at[None], axis=2), axis=1)[
        :, 1:11
    ]
    assert np.mean(labels[closest] == labels[:, None]) > 0.9
    groups = layout.broad_groups(features, 5)
    pairs = np.bincount(5 * labels + groups, minlength=25).reshape(5, 5)
    assert pairs.max(axis=1).sum() > 0.9 * 300
    assert (at == layout.place_items(graph, features[:, :2])).all()
