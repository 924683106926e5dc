"""Data frames in and out: the items' own ids and texts, in whatever library."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fewpairs as fp

TEXTS = [f"{a} {b}" for a in ("red", "green", "blue", "pink") for b in range(15)]
IDS = [f"id-{t}" for t in range(len(TEXTS))]
RATIO = fp.StringSimilarity("ratio")
TABLES = {
    "pandas": pd.DataFrame({"id": IDS, "text": TEXTS}),
    "polars": pl.DataFrame({"id": IDS, "text": TEXTS}),
    "Arrow": pa.table({"id": IDS, "text": TEXTS}),
    "dicts": [{"id": i, "text": text} for i, text in zip(IDS, TEXTS)],
}
OUT = ["to_pandas", "to_polars", "to_arrow"]
over_tables = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def rows(frame):
    """Any of the three tables, as a list of dicts."""
    if isinstance(frame, pd.DataFrame):
        return frame.to_dict("records")
    return frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_pylist()


@pytest.fixture(scope="module", params=list(TABLES))
def approx(request):
    table = TABLES[request.param]
    return fp.approximate(
        table, RATIO, column="text", ids="id", method="nystrom", budget=0.3
    )


@pytest.mark.parametrize("out", OUT)
def test_neighbors_are_a_table_of_own_ids_and_texts(approx, out):
    found = approx.neighbors(2)
    table = rows(getattr(found, out)())
    assert len(table) == 2 * len(TEXTS)
    for t, row in enumerate(table):
        i, place = divmod(t, 2)
        j = found.indices[i, place]
        assert (row["item"], row["neighbor"]) == (IDS[i], IDS[j])
        assert (row["rank"], row["text"]) == (place + 1, TEXTS[i])
        assert row["neighbor_text"] == TEXTS[j]
        assert row["similarity"] == pytest.approx(found.similarities[i, place])


@pytest.mark.parametrize("out", OUT)
def test_clusters_are_a_table_of_own_ids_and_texts(approx, out):
    labels = approx.cluster(0.5)
    table = rows(getattr(labels, out)())
    assert [row["item"] for row in table] == IDS
    assert [row["text"] for row in table] == TEXTS
    assert [row["cluster"] for row in table] == labels.tolist()


@pytest.mark.parametrize("out", OUT)
def test_duplicates_are_a_table_of_own_ids_and_columns(approx, out):
    found = approx.duplicates(0.8)
    table = rows(getattr(found, out)())
    assert len(table) == len(found) > 0
    for t, row in enumerate(table):
        assert row["left"] == row["left_id"] == IDS[found.left[t]]
        assert row["right_text"] == TEXTS[found.right[t]]


@over_tables
@pytest.mark.parametrize("out", OUT)
def test_jobs_in_one_call_keep_ids_too(table, out):
    found = fp.neighbors(table, RATIO, 1, column="text", ids="id")
    assert rows(getattr(found, out)())[3]["item"] == "id-3"
    pairs = fp.duplicates(table, RATIO, 0.9, column="text", ids="id")
    assert set(rows(getattr(pairs, out)())[0]) >= {"left", "right", "left_text"}
    match = fp.match(
        table, table, RATIO, k=1, column="text", left_id="id", right_id="id"
    )
    first = rows(getattr(match, out)())[0]
    assert first["left"] == first["right"]


def test_pandas_makes_a_frame_of_neighbors_by_itself():
    texts = pd.Series(TEXTS, index=IDS)
    found = fp.neighbors(texts, RATIO, 2)
    frame = pd.DataFrame(found)
    assert frame.shape == (2 * len(TEXTS), 6)
    assert frame["item"].tolist() == [name for name in IDS for _ in range(2)]
    pd.testing.assert_frame_equal(frame, found.to_pandas())


def test_others_make_tables_of_matches_and_thresholds_by_themselves():
    found = fp.duplicates(pd.Series(TEXTS, index=IDS), RATIO, 0.9)
    assert pl.DataFrame(found).equals(found.to_polars())
    names = ["left", "right", "similarity", "left_item"]  # margins have NaN
    assert pa.table(found).select(names).equals(found.to_arrow().select(names))
    approx = fp.approximate(TEXTS, RATIO, method="nystrom", budget=0.3)
    given = approx.thresholds()
    assert pl.DataFrame(given).equals(given.to_polars())


def test_neighbors_are_still_two_arrays():
    found = fp.neighbors(TEXTS, RATIO, 2)
    indices, similarities = found
    assert indices is found.indices is found[0]
    assert similarities is found.similarities is found[1] is found[-1]
    assert len(found) == 2
    assert found[:1] == (indices,)
    assert found != fp.neighbors(TEXTS, RATIO, 2)
    assert "rank" in found
    assert found.get("nothing", 3) == 3
    with pytest.raises(KeyError, match="nothing"):
        found["nothing"]
    with pytest.raises(IndexError):
        found[2]


def test_results_come_through_pickle(approx):
    found = pickle.loads(pickle.dumps(approx.neighbors(2)))  # noqa: S301
    pd.testing.assert_frame_equal(found.to_pandas(), approx.neighbors(2).to_pandas())
    labels = pickle.loads(pickle.dumps(approx.cluster(0.5)))  # noqa: S301
    assert labels.to_pandas()["item"].tolist() == IDS


def test_what_is_computed_from_labels_is_a_plain_array(approx):
    labels = approx.cluster(0.5)
    assert isinstance(labels, np.ndarray)
    assert type(labels == 0) is type(labels + 1) is np.ndarray
    assert np.bincount(labels).sum() == len(TEXTS)
    with pytest.raises(fp.InputError, match="a part of the labels"):
        labels[:3].to_pandas()


def test_a_function_makes_items_of_rows():
    for table in TABLES.values():
        approx = fp.approximate(
            table, RATIO, column=lambda row: row["text"].upper(), budget=0.3
        )
        wanted = fp.approximate([t.upper() for t in TEXTS], RATIO, budget=0.3)
        assert np.array_equal(approx.dense(), wanted.dense())
    message = r"column raises KeyError: 'txt' for row 0 of items, \{'id': 'id-0'"
    with pytest.raises(fp.InputError, match=message):
        fp.neighbors(TABLES["dicts"], RATIO, column=lambda row: row["txt"])


def test_a_pandas_index_names_items_unless_it_repeats():
    texts = pd.Series(TEXTS, index=IDS)
    approx = fp.approximate(texts, RATIO, method="nystrom", budget=0.3)
    assert approx.neighbors(1).to_pandas()["item"].tolist() == IDS
    twice = pd.concat([texts[:30], texts[:30] + "!"])
    with pytest.warns(fp.FewpairsWarning, match=r"index of items repeats.*by position"):
        found = fp.neighbors(twice, RATIO, 1).to_pandas()
    assert found["item"].tolist() == list(range(60))


@pytest.mark.parametrize("to", OUT)
def test_an_index_of_two_levels_names_items_by_both(to):
    index = pd.MultiIndex.from_product([["a", "b"], range(30)])
    found = fp.neighbors(pd.Series(TEXTS, index=index), RATIO, 1)
    names = [row["item"] for row in rows(getattr(found, to)())]
    if to == "to_arrow":  # which has no tuples of several kinds
        assert names[:2] == ["('a', 0)", "('a', 1)"]
    else:
        assert names == list(index)
    frame = pd.DataFrame({("x", "id"): IDS, ("x", "text"): TEXTS})
    pairs = fp.duplicates(frame, RATIO, 0.9, column=("x", "text"), ids=IDS)
    assert np.array_equal(pairs.left, fp.duplicates(TEXTS, RATIO, 0.9).left)


@pytest.mark.parametrize("hold", [pd.Series, pl.Series, pa.array, list])
def test_a_column_may_hold_the_vectors_of_a_prior(hold):
    vectors = np.random.default_rng(0).standard_normal((60, 4)).round(3)
    wanted = fp.approximate(TEXTS, RATIO, prior=vectors, budget="8/item")
    held = hold([row.tolist() for row in vectors])
    approx = fp.approximate(TEXTS, RATIO, prior=held, budget="8/item")
    assert np.array_equal(approx.dense(), wanted.dense())


def test_a_loaded_approximation_knows_the_names_of_its_items(tmp_path):
    texts = pd.Series(TEXTS, index=IDS)
    fp.approximate(texts, RATIO, method="nystrom", budget=0.3).save(tmp_path / "run")
    again = fp.load(tmp_path / "run", items=texts, similarity=RATIO)
    assert again.neighbors(1).to_pandas()["item"].tolist() == IDS
    twice = pd.Series(TEXTS, index=["same"] * len(TEXTS))
    again = fp.load(tmp_path / "run", items=twice, similarity=RATIO)
    assert again.cluster(0.5).to_polars()["item"].to_list() == list(range(60))
    alone = fp.load(tmp_path / "run").neighbors(1).to_pandas()
    assert list(alone) == ["item", "rank", "neighbor", "similarity"]


def test_names_may_be_passed_one_per_item():
    found = fp.neighbors(TEXTS, RATIO, 1, ids=np.arange(100, 160))
    assert found.to_pandas()["item"].tolist() == list(range(100, 160))
    with pytest.raises(fp.InputError, match="2 ids for 60 rows"):
        fp.neighbors(TEXTS, RATIO, ids=["a", "b"])
    with pytest.raises(fp.InputError, match=r"ids is a DataFrame\. Pass the name"):
        fp.neighbors(TEXTS, RATIO, ids=TABLES["pandas"])


@over_tables
def test_ids_that_repeat_are_refused_before_anything_is_paid_for(table):
    def never(a, b):
        raise AssertionError

    same = pd.DataFrame({"id": ["x"] * 60, "text": TEXTS})
    with pytest.raises(fp.InputError, match="column 'id' of items repeats: 'x'"):
        fp.approximate(same, never, column="text", ids="id")
    with pytest.raises(fp.InputError, match="items repeats: 'x' stands at"):
        fp.approximate(table, never, column="text", ids=["x"] * 60)


GAPS = [*TEXTS[:5], None, *TEXTS[5:], float("nan"), " "]


@pytest.mark.parametrize(
    "held",
    [GAPS, pd.Series(GAPS), pl.Series([*GAPS[:-2], None, " "]), pd.array(GAPS[:-2])],
    ids=["list", "pandas", "polars", "pandas string"],
)
def test_missing_texts_are_counted_before_anything_is_paid_for(held):
    def never(a, b):
        raise AssertionError

    message = r"items\[5\] is .* of 6\d texts are missing\. Pass empty='drop'"
    for verb in (fp.approximate, fp.neighbors, fp.plan):
        with pytest.raises(fp.InputError, match=message):
            verb(held, never)
    with pytest.raises(fp.InputError, match=r"left\[5\] is .*every item must be a str"):
        fp.match(held, TEXTS, never, k=1)


def test_missing_texts_are_left_out_and_ids_stay():
    frame = pd.DataFrame({"text": GAPS}, index=[f"row {t}" for t in range(len(GAPS))])
    prior = np.random.default_rng(0).standard_normal((len(GAPS), 4))
    approx = fp.approximate(
        frame, RATIO, column="text", empty="drop", prior=prior, budget=0.3
    )
    assert approx.shape == (60, 60)
    assert "3 items dropped" in str(approx)
    present = [t for t in range(len(GAPS)) if t not in (5, 61, 62)]
    names = approx.cluster(0.5).to_pandas()["item"].tolist()
    assert names == [f"row {t}" for t in present]
    exact = fp.neighbors(frame, RATIO, 1, column="text", empty="drop", prior=prior)
    table = exact.to_polars()
    assert table["text"].to_list() == TEXTS
    found = fp.duplicates(frame, RATIO, 0.9, column="text", empty="drop").to_pandas()
    assert (found["left_text"] != " ").all()


def test_missing_texts_of_two_sets_are_left_out_on_either_side():
    left, right = pd.Series(GAPS), pl.Series(GAPS[3:9])
    priors = np.ones((63, 2)), np.ones((6, 2))
    found = fp.match(left, right, RATIO, k=1, empty="drop", prior=priors).to_pandas()
    assert 5 not in found["left"].tolist()
    assert set(found["right"]) <= {0, 1, 3, 4, 5}
    approx = fp.approximate(left, RATIO, others=right, empty="drop", prior=priors)
    assert approx.shape == (60, 5)
    assert approx.neighbors(1).to_pandas()["item"].tolist()[5] == 6
    with pytest.raises(fp.InputError, match="empty is 'skip'"):
        fp.approximate(TEXTS, RATIO, empty="skip")


def test_items_of_other_kinds_may_be_none():
    items = [None, 1.0, 2.0, 3.0]
    approx = fp.approximate(items, lambda a, b: float(a == b), budget=1.0)
    assert approx.shape == (4, 4)


def test_a_missing_library_is_named(monkeypatch):
    import sys

    found = fp.neighbors(TEXTS, RATIO, 1)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(fp.MissingExtraError, match=r"Neighbors.to_arrow: pyarrow is"):
        found.to_arrow()
