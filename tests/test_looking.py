"""What people look at: cards in notebooks, plots, reports, thresholds."""

import re
import sys

import matplotlib as mpl
import numpy as np
import pytest

import fewpairs as fp
from fewpairs.cards import card

mpl.use("Agg")

RATIO = fp.StringSimilarity("ratio")
TEXTS = [f"{a} <{b}>" for a in ("red", "green", "blue", "pink") for b in range(25)]


@pytest.fixture(scope="module")
def approx():
    return fp.approximate(TEXTS, RATIO, budget=0.3)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_a_card_is_small_valid_and_holds_no_markup_of_its_text(approx):
    found = fp.duplicates(TEXTS, RATIO, 0.9)
    plan = fp.plan(TEXTS, RATIO)
    near = approx.neighbors(2)
    cards = [approx, approx.certificate, found, found.certificate, plan, near]
    for thing in (*cards, approx.thresholds()):
        page = thing._repr_html_()
        assert len(page) < 12_000
        assert "<script" not in page
        for tag in ("div", "table", "tr", "td"):
            assert page.count(f"<{tag}") == page.count(f"</{tag}>")
    assert "worth" in approx._repr_html_()
    assert "&lt;b&gt;" in card("a title\n  name    <b>")
    # Colors are the notebook's own, so that it is read on light and dark ground.
    assert not re.search(r"#[0-9a-f]{3,6}|color:(black|white)", approx._repr_html_())


def test_a_table_in_a_card_has_its_columns(approx):
    found = approx.thresholds()
    page = found._repr_html_()
    assert re.findall("<th [^>]*>([a-z]+)</th>", page) == list(vars(found))
    assert page.count("<td") == 5 * len(found.threshold)
    near = approx.neighbors(2)._repr_html_()
    assert "red &lt;0&gt;" in near
    assert "<th" in near
    assert near.count("<tr>") == 13  # the first six items' two, and the names


def test_what_a_prompt_shows_is_a_line(approx):
    found = fp.duplicates(TEXTS, RATIO, 0.9)
    shown = map(repr, (found.certificate, approx.duplicates(0.9).certificate))
    for line in (*shown, repr(fp.plan(TEXTS, RATIO)), repr(approx.neighbors(2))):
        assert re.fullmatch(r"<\w+: [^\n]{10,250}>", line), line


def test_what_was_read_as_a_whole_has_no_recall_about_one():
    assert "recall" not in repr(fp.neighbors(TEXTS, RATIO, 1))


def test_the_plot_shows_held_out_pairs_exactly(approx, ax):
    assert approx.plot(ax) is ax
    shown = ax.collections[0].get_offsets().data
    held = approx.evidence
    assert np.allclose(shown[:, 1], held.truth[: len(shown)])
    assert np.allclose(shown[:, 0], approx.model.pairs(held.i, held.j)[: len(shown)])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted", "exact, held out")


def test_a_plot_makes_its_own_figure():
    import matplotlib.pyplot as plt

    K = np.random.default_rng(0).random((60, 60))
    made = fp.approximate(None, K + K.T, budget=0.5).plot()
    assert made.figure.axes == [made]
    plt.close(made.figure)


def test_nothing_held_out_is_nothing_to_plot(ax):
    everything = fp.approximate(TEXTS, RATIO, budget=1.0)
    with pytest.raises(fp.InputError, match="no pairs were held out"):
        everything.plot(ax)


def test_the_map_has_a_point_per_item_and_the_given_colors(approx, ax):
    labels = approx.cluster(0.6)
    approx.plot_map(ax, labels=labels)
    points = ax.collections[0]
    assert points.get_offsets().shape == (len(TEXTS), 2)
    assert np.array_equal(points.get_array(), labels)
    with pytest.raises(fp.InputError, match=r"labels has shape \(3,\)"):
        approx.plot_map(ax, labels=[1, 2, 3])
    small = fp.approximate(TEXTS[:4], RATIO, budget=1.0)
    with pytest.raises(fp.InputError, match="4 items make no map"):
        small.plot_map(ax)
    two = fp.approximate(TEXTS[:50], RATIO, others=TEXTS[50:])
    with pytest.raises(fp.InputError, match="of two sets"):
        two.plot_map(ax)


def test_matches_are_drawn_with_their_threshold(ax):
    found = fp.duplicates(TEXTS, RATIO, 0.9)
    found.plot(ax)
    assert ax.lines[0].get_xdata()[0] == 0.9
    drawn = sum(patch.get_height() for patch in ax.containers[0])
    assert drawn == len(found)


def test_without_matplotlib_the_extra_is_named(approx, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (approx.plot, approx.plot_map, approx.thresholds([0.5]).plot):
        with pytest.raises(fp.MissingExtraError, match=r'pip install "fewpairs\[plot'):
            draw()


def test_a_report_without_a_folder_is_refused(approx, tmp_path):
    with pytest.raises(
        fp.InputError, match=r"Approximation\.report: there is no folder"
    ):
        approx.report(tmp_path / "nowhere" / "page.html")


def test_a_report_knows_its_texts(approx, tmp_path):
    path = approx.report(tmp_path / "x.html", title="Colors", threshold=0.5)
    page = path.read_text(encoding="utf-8")
    assert "Colors" in page
    assert "green \\u003c7\\u003e" in page
    two = fp.approximate(TEXTS[:50], RATIO, others=TEXTS[50:])
    assert "pink" in two.report(tmp_path / "two.html").read_text(encoding="utf-8")
    approx.save(tmp_path / "run")
    loaded = fp.load(tmp_path / "run")
    with pytest.raises(fp.InputError, match=r"the items are not known.*Pass texts="):
        loaded.report(tmp_path / "y.html")
    assert loaded.report(tmp_path / "y.html", texts=TEXTS).exists()


def groups(apart):
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(5), 30, axis=0) + apart * rng.standard_normal((150, 5))
    return fp.approximate(X, fp.Cosine(), budget=0.3)


def test_thresholds_count_clusters_and_pairs_as_cluster_and_duplicates_do():
    approx = groups(0.05)
    found = approx.thresholds([0.5, 0.97, 0.2])
    assert found.threshold.tolist() == [0.2, 0.5, 0.97]
    dense = approx.dense()
    for t, threshold in enumerate(found.threshold):
        labels = approx.cluster(threshold)
        assert found.clusters[t] == labels.max() + 1
        sizes = np.bincount(labels)
        assert found.grouped[t] == sizes[sizes > 1].sum()
        assert found.pairs[t] == (dense[np.triu_indices(150, 1)] >= threshold).sum()
    assert found.clusters[0] == 5


def test_a_stretch_where_clusters_stay_is_stable():
    found = groups(0.02).thresholds([0.3, 0.4, 0.5, 0.6, 0.9995])
    assert found.stability[:4].min() > found.stability[4]
    assert found.stability[0] == 1.0


def test_thresholds_choose_themselves_and_can_be_a_table_and_a_plot(ax):
    found = groups(0.2).thresholds()
    assert 5 <= len(found.threshold) <= 9
    for table in (found.to_pandas(), found.to_polars()):
        assert table.shape == (len(found.threshold), 5)
    assert found.to_arrow().num_columns == 5
    assert str(found).count("\n") == len(found.threshold) + 1
    found.plot(ax)
    assert ax.lines[0].get_ydata().tolist() == found.clusters.tolist()


def test_thresholds_of_values_above_one():
    X = 3 * np.random.default_rng(0).standard_normal((80, 4))
    approx = fp.approximate(None, X @ X.T, budget=0.4)
    found = approx.thresholds([5.0, 40.0])
    for threshold, clusters in zip(found.threshold, found.clusters):
        assert clusters == approx.cluster(threshold).max() + 1


def test_thresholds_that_are_none_are_refused():
    approx = groups(0.2)
    with pytest.raises(fp.InputError, match=r"values has shape \(0,\)"):
        approx.thresholds([])
    with pytest.raises(fp.InputError, match="thresholds: values"):
        approx.thresholds(["a"])
    assert approx.thresholds([0.5]).stability.tolist() == [1.0]
