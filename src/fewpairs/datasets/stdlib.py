"""Real texts that are on every machine: the standard library's docstrings."""

import ast
import sysconfig
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Texts", "stdlib_docstrings"]

# Tests, vendored and generated code hold no documentation of the library itself.
_SKIPPED = {"test", "tests", "idlelib", "lib2to3", "site-packages", "ensurepip"}


class Texts(NamedTuple):
    """Texts and what they are called, in the same order."""

    names: list[str]
    texts: list[str]


def stdlib_docstrings(limit: int | None = 3_000, *, shortest: int = 40) -> Texts:
    """Return docstrings of Python's standard library, with dotted names.

    The sources are parsed, never imported, so nothing of them runs. Which texts come
    depends on the Python version.

    Parameters
    ----------
    limit
        How many, spread evenly over the library; ``None``: all of them.
    shortest
        Docstrings of fewer characters are left out.

    Examples
    --------
    >>> from fewpairs.datasets import stdlib_docstrings
    >>> names, texts = stdlib_docstrings(limit=100)
    >>> len(names), len(texts)
    (100, 100)
    """
    found: dict[str, str] = {}
    for name, text in _everything():
        if len(text) >= shortest:
            found.setdefault(name, text)
    names = list(found)
    if limit is not None and limit < len(names):
        names = [names[t * len(names) // limit] for t in range(limit)]
    return Texts(names, [found[name] for name in names])


@cache
def _everything() -> tuple[tuple[str, str], ...]:
    """Return all names and docstrings; kept, as parsing the library takes seconds."""
    root = Path(sysconfig.get_path("stdlib"))
    found: list[tuple[str, str]] = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        private = any(part.startswith("_") and part != "__init__" for part in parts)
        if private or _SKIPPED.intersection(parts):
            continue
        module = ".".join(part for part in parts if part != "__init__")
        found += [(f"{module}.{name}", text) for name, text in _documented(path)]
    return tuple(found)


def _documented(path: Path) -> list[tuple[str, str]]:
    """Return the dotted names and docstrings of a file's functions and classes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the library's own escapes
            tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):  # templates that are no Python
        return []
    out: list[tuple[str, str]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}{child.name}"
                text = ast.get_docstring(child)
                if text and not child.name.startswith("_"):
                    out.append((name, text))
                visit(child, f"{name}.")

    visit(tree, "")
    return out
