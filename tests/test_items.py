"""Items in any container are items by position."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fewpairs as fp
from fewpairs.similarity.items import as_items

TEXTS = [f"{a} {b}" for a in ("red", "green", "blue", "pink") for b in range(15)]
NEW = ["red 7 x", "blue 3 y", "pink 11"]
LEVENSHTEIN = fp.StringSimilarity("levenshtein")


class Column:
    """A column of a data set: a length, places and an order, and nothing else."""

    def __init__(self, values):
        self._values = values

    def __len__(self):
        return len(self._values)

    def __getitem__(self, at):
        return self._values[at]


def shuffled(texts):
    """A Series whose labels are other items' positions."""
    order = np.random.default_rng(0).permutation(len(texts))
    return pd.Series(texts, index=order)


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "generator": lambda texts: (text for text in texts),
    "dict values": lambda texts: dict(enumerate(texts)).values(),
    "dict keys": lambda texts: dict.fromkeys(texts).keys(),
    "shuffled Series": shuffled,
    "filtered Series": lambda texts: pd.Series(["no", *texts])[1:],
    "Series by name": lambda texts: pd.Series(texts, index=[f"n{t}" for t in texts]),
    "string Series": lambda texts: pd.Series(texts, dtype="string[pyarrow]")[::1],
    "categories": lambda texts: pd.Series(texts, dtype="category").iloc[::1],
    "Index": pd.Index,
    "numpy strings": np.array,
    "numpy objects": lambda texts: np.array(texts, dtype=object),
    "Arrow": pa.array,
    "Arrow chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    "polars": pl.Series,
    "data set": Column,
}


@pytest.fixture(scope="module")
def plain():
    return fp.approximate(TEXTS, LEVENSHTEIN, method="nystrom", budget=0.3)


@pytest.mark.parametrize("hold", CONTAINERS.values(), ids=CONTAINERS)
def test_every_container_gives_what_a_list_gives(hold, plain, tmp_path):
    approx = fp.approximate(hold(TEXTS), LEVENSHTEIN, method="nystrom", budget=0.3)
    assert np.array_equal(approx.dense(), plain.dense())
    planned = fp.plan(hold(TEXTS), LEVENSHTEIN, 0.3, method="nystrom")
    assert (
        planned.evaluations
        == fp.plan(TEXTS, LEVENSHTEIN, 0.3, method="nystrom").evaluations
    )
    plain.save(tmp_path / "run")
    loaded = fp.load(tmp_path / "run", items=hold(TEXTS), similarity=LEVENSHTEIN)
    wanted = plain.search(NEW, 3, evaluations=20)
    for run in (approx, loaded):
        assert np.array_equal(run.transform(hold(NEW)), plain.transform(NEW))
        assert np.array_equal(run.project(hold(NEW)).left, plain.project(NEW).left)
        found = run.search(hold(NEW), 3, evaluations=20)
        assert np.array_equal(found.indices, wanted.indices)
        assert np.array_equal(found.similarities, wanted.similarities)
        for t, own in enumerate(found.indices):
            exact = LEVENSHTEIN.bind([NEW[t], *(TEXTS[i] for i in own)])
            assert np.allclose(
                exact.block(np.array([0]), 1 + np.arange(3)), found.similarities[t]
            )


@pytest.mark.parametrize("hold", CONTAINERS.values(), ids=CONTAINERS)
def test_estimators_take_every_container(hold):
    labels = [text.split()[0] for text in TEXTS]
    plain, other = (
        fp.sklearn.SimilarityClassifier(LEVENSHTEIN, landmarks=12) for _ in range(2)
    )
    plain.fit(TEXTS, labels)
    other.fit(hold(TEXTS), labels)
    wanted = plain.decision_function(NEW)
    assert np.array_equal(other.decision_function(hold(NEW)), wanted)


def test_positions_in_any_container_are_positions(plain):
    wanted = plain.search([5, 2], 3, evaluations=20)
    for held in (pd.Series([5, 2], index=[9, 4]), pl.Series([5, 2]), pa.array([5, 2])):
        assert np.array_equal(plain.search(held, 3, evaluations=20)[0], wanted[0])
    assert np.array_equal(
        plain.search((t for t in (5, 2)), 3, evaluations=20)[0], wanted[0]
    )


def test_vectors_in_a_series_are_new_items_one_by_one():
    X = np.random.default_rng(0).standard_normal((90, 4))
    approx = fp.approximate(range(80), fp.Cosine(X[:80]), method="nystrom", budget=0.3)
    wanted = approx.search(X[80:], 3, evaluations=30)
    held = pd.Series(list(X[80:]), index=range(100, 110))
    assert np.array_equal(approx.search(held, 3, evaluations=30)[0], wanted[0])


def test_an_array_of_objects_keeps_its_objects():
    records = [{"name": text} for text in TEXTS]
    array = np.empty(len(records), dtype=object)
    array[:] = records
    assert all(a is b for a, b in zip(as_items(array, "call"), records))
    approx = fp.approximate(
        array, lambda a, b: float(a["name"][0] == b["name"][0]), budget=0.3
    )
    assert approx.search({"name": "red"}, 2, evaluations=20).indices.shape == (2,)


def test_rows_of_numbers_stay_an_array_and_strings_become_str():
    X = np.eye(3)
    assert as_items(X, "call") is X
    assert type(as_items(np.array(["a", "b"]), "call")[0]) is str


def test_a_list_that_changes_after_the_fit_changes_nothing():
    texts = list(TEXTS)
    approx = fp.approximate(texts, LEVENSHTEIN, method="nystrom", budget=0.3)
    wanted = approx.search("red 3", 3, evaluations=20)
    texts.reverse()
    assert np.array_equal(approx.search("red 3", 3, evaluations=20)[0], wanted[0])


@pytest.mark.parametrize("hold", [list, np.array], ids=["list", "numpy strings"])
def test_a_ledger_knows_items_by_what_they_were_given_as(hold, tmp_path):
    # Folders that were paid for before items became lists go on.
    from fewpairs.fingerprint import fingerprint

    given = hold(TEXTS)
    things = (given,) if isinstance(given, np.ndarray) else given
    ledger = fp.Ledger()
    fp.approximate(given, LEVENSHTEIN, budget=0.3, store=ledger)
    assert ledger._identify()[1] == fingerprint(things)


TABLE = {"id": list(range(len(TEXTS))), "text": TEXTS}
TABLES = {
    "pandas": pd.DataFrame(TABLE, index=shuffled(TEXTS).index),
    "polars": pl.DataFrame(TABLE),
    "Arrow": pa.table(TABLE),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_says_how_to_name_a_column(table, plain):
    cure = r"with the columns 'id', 'text'\. Pass one column, such as table\['id'\]"
    for verb in (fp.approximate, fp.plan):
        with pytest.raises(fp.InputError, match=rf"{cure}, or rows with `column=`"):
            verb(table, LEVENSHTEIN)
    for verb in (plain.search, plain.transform, plain.project):
        with pytest.raises(fp.InputError, match=cure):
            verb(table)
    with pytest.raises(fp.InputError, match=r"column is 'txt'; items is a \w+ with"):
        fp.approximate(table, LEVENSHTEIN, column="txt")


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_column_of_a_table_or_of_dicts_holds_the_items(table, plain):
    rows = [{"id": t, "text": text} for t, text in enumerate(TEXTS)]
    for held in (table, rows):
        approx = fp.approximate(
            held, LEVENSHTEIN, column="text", method="nystrom", budget=0.3
        )
        assert np.array_equal(approx.dense(), plain.dense())
        fp.plan(held, LEVENSHTEIN, 0.3, column="text")
    with pytest.raises(fp.InputError, match=r"column is 'text', and items\[0\] is 'a'"):
        fp.approximate(["a", "b"], LEVENSHTEIN, column="text")


def test_a_query_that_has_not_run_has_to_run_first():
    with pytest.raises(
        fp.InputError, match=r"a LazyFrame, a query that .*\.collect\(\)"
    ):
        fp.approximate(TABLES["polars"].lazy(), LEVENSHTEIN)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_ids_that_are_not_there_are_named_as_ids(table):
    with pytest.raises(fp.InputError, match=r"ids is 'key'; items is a \w+ with the"):
        fp.duplicates(table, LEVENSHTEIN, 0.5, column="text", ids="key")


def test_of_several_tables_one_is_asked_for():
    cure = r"Pass one of its tables, such as items\['train'\], with `column=`"
    with pytest.raises(fp.InputError, match=cure):
        fp.duplicates({"train": TABLES["pandas"]}, LEVENSHTEIN, 0.5, column="text")


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ({"a", "b"}, r"of type set\. It has no order\. Pass a sequence"),
        (
            {"a": 1, "b": 2},
            r"of type dict\. Pass a sequence: list\(items\.v",
        ),
        (np.array("ab"), r"of type ndarray\. Pass a sequence"),
        (np.ma.masked_equal([1, 2, 3], 2), "items is a masked array"),
        (list, r"of type type\. Pass a sequence"),
    ],
)
def test_what_has_no_order_or_no_items_is_refused(items, message):
    with pytest.raises(fp.InputError, match=message):
        fp.approximate(items, LEVENSHTEIN)


def test_a_sparse_matrix_is_not_a_list_of_items():
    from scipy import sparse

    with pytest.raises(fp.InputError, match="items is a sparse array"):
        fp.approximate(sparse.eye_array(5), fp.Cosine())


def test_a_tensor_that_cannot_become_an_array_is_named():
    class Remote:
        ndim = 2

        def __array__(self, *_, **__):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")

    with pytest.raises(fp.InputError, match="items cannot be read as an array: can't"):
        fp.approximate(Remote(), fp.Cosine())


def test_a_run_from_a_series_comes_through_pickle():
    approx = fp.approximate(shuffled(TEXTS), LEVENSHTEIN, method="nystrom", budget=0.3)
    again = pickle.loads(pickle.dumps(approx))  # noqa: S301
    wanted = approx.search(NEW, 3, evaluations=20)
    assert np.array_equal(again.search(NEW, 3, evaluations=20)[0], wanted[0])
