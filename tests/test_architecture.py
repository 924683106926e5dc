"""Imports point one way, stay light, and every public name is documented."""

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import fewpairs as fp

SOURCE = Path(fp.__file__).parent

# Rooms from the bottom up: a module may import from its own room and those before.
ROOMS = [
    {"errors", "fingerprint", "interrupts"},
    {"kernels"}
    | {
        f"kernels.{name}"
        for name in (
            "average_linkage bags blas large_pages largest lists reference scratch "
            "segments selection simd vectors"
        ).split()
    },
    {"kernels.transport", "kernels.adam", "kernels.pair_gradient", "kernels.spectral"}
    | {"kernels.packed_products", "kernels.vector_functions"},
    {"kernels.documents", "kernels.pair_network", "kernels.transformer"},
    {"kernels.word_movers", "kernels.pair_network_torch", "kernels.encoder_layer"}
    | {"kernels.word_movers_cuda"},
    {f"similarity{part}" for part in ("", ".base", ".cosine", ".function", ".matrix")}
    | {
        f"similarity.{name}"
        for name in (
            "asynchronous strings token_overlap word_bags word_vectors wmd wme "
            "bert_forward bert_layers classifier_loading cross_encoder cross_options "
            "exponential flat_forward flat_layers flat_pairs items joined lanes "
            "pair_assembly pair_batches pair_mlp pair_training remembered"
        ).split()
    },
    {"progress", "entries", "tariff", "landmarks", "priors", "grid"},
    {"calling", "locking", "bookkeeping", "symmetry"},
    {"execution", "execution.crew", "execution.pools", "execution.dask_cluster"},
    {"objects"},
    {"vault"},
    {"shelves"},
    {"ledger"},
    {"evaluator"},
    {"filling"},
    {"oracle"},
    {"reader"},
    {"methods"}
    | {
        f"methods.{name}"
        for name in (
            "auto base candidates cur groundwork guarding layered lesson mapping "
            "nystrom optimal purse ranking refinement regularized residual sicur "
            "skeleton sms stacur student teaching"
        ).split()
    },
    {"certificate"},
    {"arguments", "layer_files", "pricing", "receipt"},
    {"factored", "clustering", "settling"},
    {"grouping"},
    {"approximation"},
    {"indexes"},
    {"guiding", "new_items", "neighbors", "approximating"},
    {"search", "graph"},
    {"persistence"},
    {"planning", "testing", "datasets", "left_out", "matching"}
    | {f"evaluation{part}" for part in ("", ".agreement", ".coreference", ".matrices")},
    {f"sklearn{part}" for part in ("", ".base", ".clusterer", ".embedding")},
    {"report.layout"},
    {"report.findings", "report.gathering"},
    {"report"},
    {"demo"},
    {"cli.tables", "cli.output"},
    {"cli.inputs"},
    {"cli.recipes"},
    {"cli.folder", "cli.options"},
    {"cli.running", "cli.answering"},
    {"cli.duplicating", "cli.exporting", "cli.reporting"},
    {"cli", "__init__"},
]


# Methods of Approximation whose work lives above it, imported when they are called.
LATE = {"save", "project", "transform", "neighbors", "search", "graph", "_guide"}


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
        if isinstance(node, ast.FunctionDef) and node.name in LATE:
            skipped |= set(ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in skipped:
            module = node.module or ""
            if module == "fewpairs":
                yield from (alias.name for alias in node.names)
            elif module.startswith("fewpairs."):
                module = module.removeprefix("fewpairs.")
                parts = [f"{module}.{alias.name}" for alias in node.names]
                # Modules of a package count as themselves.
                yield from (p if room_of(p) is not None else module for p in parts)


def room_of(name):
    found = [level for level, room in enumerate(ROOMS) if name in room]
    return found[0] if found else None


def test_every_module_has_a_room():
    assert {name for name, _ in modules()} == set().union(*ROOMS)


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda x: str(x)[-30:])
def test_imports_point_one_way(name, path):
    for imported in imports(path):
        if room_of(imported) is not None:
            assert room_of(imported) <= room_of(name), f"{name} imports {imported}"


def test_a_scorer_is_called_in_one_place():
    callers = set()
    for name, path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                if node.func.attr in ("pairs", "block") and "scorer" in owner:
                    callers.add(name)
    assert callers == {"calling", "testing"}


def test_importing_fewpairs_imports_no_heavy_library():
    heavy = (
        "sklearn torch transformers safetensors numba dask pandas matplotlib rich "
        "typer rapidfuzz zarr fsspec asyncio multiprocessing"
    )
    found = f"[m for m in {heavy.split()!r} if m in sys.modules]"
    code = f"import sys, fewpairs; print({found})"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_public_names_are_few_and_each_has_an_example_that_runs():
    assert len(fp.__all__) < 40
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
