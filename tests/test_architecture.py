"""Imports point one way, stay light, and every public name is documented."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.methods import BY_NAME
from fewpairs.result.carrying_out import implementation, verbs_of
from fewpairs.result.verbs import Verbs

SOURCE = Path(fp.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"

# From the bottom up: a module imports from its own line and from those before it.
FOR_ALL = "cards checks datasets errors fingerprint interrupts memory once"
ORDER = [
    f"{FOR_ALL} plotting progress types",
    "kernels",
    "similarity",
    "matrix",
    "execution",
    "ledger",
    "reading",
    "model",
    "methods",
    "result",
    "answers",
    "run",
    "testing evaluation sklearn report",
    "cli __init__ __main__",
]
ENTRANCES = {"__init__", "__main__"}
LEVEL = {name: level for level, line in enumerate(ORDER) for name in line.split()}


def modules():
    paths = sorted(SOURCE.rglob("*.py"))
    names = [".".join(p.relative_to(SOURCE).with_suffix("").parts) for p in paths]
    return [(n.removesuffix(".__init__"), p) for n, p in zip(names, paths)]


def imports(path):
    """The fewpairs modules that a file imports, anywhere but for type checking."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in skipped:
            package, _, module = (node.module or "").partition(".")
            if package == "fewpairs":
                names = [module] if module else [alias.name for alias in node.names]
                yield from (n for n in names if n.partition(".")[0] in LEVEL)


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda x: str(x)[-30:])
def test_imports_point_one_way(name, path):
    for imported in imports(path):
        level = LEVEL[imported.partition(".")[0]]
        assert level <= LEVEL[name.partition(".")[0]], f"{name} imports {imported}"


def test_the_root_holds_folders_and_at_most_ten_modules():
    assert len({p.stem for p in SOURCE.glob("*.py")} - ENTRANCES) <= 10


def test_modules_are_short():
    lengths = [len(p.read_text(encoding="utf-8").splitlines()) for _, p in modules()]
    longest = max(zip(lengths, (name for name, _ in modules())))
    assert longest[0] <= 400, longest
    assert np.median(lengths) <= 150


def test_the_page_lists_the_folders_in_the_order_of_their_imports():
    page = PAGE.read_text(encoding="utf-8")
    table = page[page.index("| folder |") : page.index("Beside the library")]
    lines = [line.split(" | ")[0] for line in table.splitlines()[2:] if line]
    listed = [{n.strip("`/ ") for n in line.strip("| ").split(",")} for line in lines]
    assert listed == [set(line.split()) - ENTRANCES for line in ORDER]
    paths = [p for p in SOURCE.iterdir() if p.suffix == ".py" or p.is_dir()]
    there = {p.stem for p in paths} - ENTRANCES - {"__pycache__"}
    assert there == set().union(*listed)
    assert len(page.splitlines()) < 150


def test_the_words_are_few():
    page = PAGE.read_text(encoding="utf-8")
    table = page[page.index("| word |") : page.index("## The default")]
    assert 10 <= len(re.findall(r"^\| [a-z]+ \|", table, re.MULTILINE)) - 1 <= 15


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda x: str(x)[-30:])
def test_no_metaphor_has_to_be_learned(name, path):
    """Nor a word that stood for several things."""
    metaphors = (
        "purse crew vault shelf shelves school desk groundwork layered lesson clues? "
        "tariff settl(e|es|ed|ing)"
    ).split()
    words = re.findall(r"[A-Za-z]+", path.read_text(encoding="utf-8").lower())
    pattern = re.compile("|".join(metaphors))
    assert not [word for word in words if pattern.fullmatch(word)], name


def test_no_class_has_the_name_of_another():
    names = [
        node.name
        for _, path in modules()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    assert sorted(names) == sorted(set(names))


def test_nothing_asks_which_class_a_model_or_a_method_is():
    methods = {type_.__name__ for type_ in BY_NAME.values()}
    kinds = methods | {"Model", "LowRank", "Student", "Guard", "LandmarkMethod"}
    for name, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                asked = set(re.findall(r"\w+", ast.unparse(node.args[1])))
                assert not asked & kinds, f"{name}: {ast.unparse(node)}"


def test_every_verb_is_carried_out_by_a_function_of_the_same_parameters():
    verbs = verbs_of(Verbs)
    assert {"neighbors", "search", "cluster", "transform", "save"} <= set(verbs)
    for name, verb in verbs.items():
        stated = list(inspect.signature(verb).parameters)[1:]
        function = implementation(verb.carried_out_by)
        taken = inspect.signature(function).parameters
        assert list(taken)[1 : len(stated) + 1] == stated, name


class Watched(fp.Scorer):
    """Says who called it, and how many pairs it was asked for."""

    def __init__(self, X):
        self.n, self.X = len(X), X
        self.callers, self.asked = set(), 0

    def pairs(self, i, j):
        self.callers.add(sys._getframe(1).f_globals["__name__"])
        self.asked += len(i)
        return np.einsum("nd,nd->n", self.X[i], self.X[j])

    def block(self, rows, columns):
        self.callers.add(sys._getframe(1).f_globals["__name__"])
        self.asked += len(rows) * len(columns)
        return self.X[rows] @ self.X[columns].T


class Watching(fp.Similarity):
    def bind(self, items):
        self.scorer = Watched(np.asarray(items))
        return self.scorer


def test_a_scorer_is_called_in_one_place_and_every_call_is_counted():
    X = np.random.default_rng(0).standard_normal((80, 4))
    similarity = Watching()
    approx = fp.approximate(X, similarity, budget=0.4)
    scorer, reader = similarity.scorer, approx.reader("test")
    assert scorer.asked == approx.evaluations
    approx.neighbors(3, evaluations=400)
    approx.search(5, k=3, evaluations=20)
    approx.cluster(0.5, evaluations=20)
    assert scorer.asked == approx.evaluations + reader.evaluations
    assert reader.evaluations > 0
    larger = approx.grow(0.9)
    assert larger.evaluations == scorer.asked
    assert scorer.callers == {"fewpairs.execution.calling"}


def test_importing_fewpairs_imports_no_heavy_library():
    heavy = (
        "sklearn torch transformers safetensors numba dask pandas matplotlib rich "
        "typer rapidfuzz zarr fsspec asyncio multiprocessing scipy.special "
        "scipy.linalg scipy.sparse.linalg statistics"
    )
    found = f"[m for m in {heavy.split()!r} if m in sys.modules]"
    code = f"import sys, fewpairs; print({found})"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_public_names_are_few_and_each_has_an_example_that_runs():
    assert len(fp.__all__) < 45
    finder = doctest.DocTestFinder(recurse=False)
    for name in fp.__all__:
        thing = getattr(fp, name)
        assert inspect.getdoc(thing), f"{name} has no docstring"
        if not (isinstance(thing, type) and issubclass(thing, Exception)):
            examples = [t for t in finder.find(thing, name) if t.examples]
            assert examples, f"{name} has no example"


def test_no_module_prints():
    for name, path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        named = [c.func.id for c in calls if isinstance(c.func, ast.Name)]
        assert "print" not in named, f"{name} prints"
