"""The scripts in examples/ do what they say, from pandas and from polars."""

import ast
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.commands import HERE, environment

SCRIPTS = sorted((HERE / "examples").glob("*.py"))
BY = pytest.mark.parametrize("library", ["pandas", "polars"])
SERVICE = """
import os, pathlib
calls = pathlib.Path("calls")
async def ask(a, b):
    calls.open("a").write("x")
    if os.environ.get("KILL") and calls.stat().st_size > 150:
        os._exit(9)
    a, b = set(a.split()), set(b.split())
    return len(a & b) / len(a | b)
"""


def run(name, library, folder, **more):
    script = HERE / "examples" / f"{name}_{library}.py"
    return subprocess.run(
        [sys.executable, str(script)],
        cwd=folder,
        env=environment(**{"PYTHONPATH": f"{HERE / 'src'}:{folder}", **more}),
        capture_output=True,
        text=True,
    )


def done(name, library, folder):
    made = run(name, library, folder)
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.fixture
def folder(tmp_path):
    """Titles with copies and a gap, as people have them."""
    colors, things = "red teal blue pink violet".split(), "cup lamp chair door".split()
    sizes = "tiny folding enormous".split()
    titles = [f"{c} {t}, {s}" for c in colors for t in things for s in sizes]
    titles += [f"{title}!" for title in titles[:6]] + [None]
    frame = pd.DataFrame({"id": [f"r{t}" for t in range(67)], "title": titles})
    frame.to_csv(tmp_path / "titles.csv", index=False)
    (tmp_path / "service.py").write_text(SERVICE)
    return tmp_path


def test_every_job_has_a_script_of_fifteen_lines_for_either_library():
    jobs = {script.stem.rsplit("_", 1)[0] for script in SCRIPTS}
    assert len(jobs) == 5
    assert len(SCRIPTS) == 10
    for script in SCRIPTS:
        text = script.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 15, script.name
        assert ast.get_docstring(ast.parse(text))


@BY
def test_copies_are_found_and_left_out(library, folder):
    said = done("deduplicate", library, folder)
    assert "pairs" in said
    clean = pl.read_csv(folder / "clean.csv")
    copies = [title for title in clean["title"] if title and title.endswith("!")]
    assert copies == []
    assert len(clean) == 61


@BY
def test_neighbors_by_a_cross_encoder_have_the_rows_ids(library, folder):
    pytest.importorskip("torch", reason="needs the extra torch")
    from tests import tiny_models

    tiny_models.save_tiny(folder / "model")
    np.save(folder / "embeddings.npy", np.random.default_rng(0).random((67, 8)))
    done("cross_encoder", library, folder)
    found = pl.read_csv(folder / "neighbors.csv")
    assert len(found) == 3 * 66
    assert found["item"][0] == "r0"
    assert set(found["neighbor"]) <= {f"r{t}" for t in range(66)}


@BY
def test_recipes_of_three_kinds_make_three_clusters(library, folder):
    kinds = {
        "sweet": "sugar butter flour",
        "sea": "fish salt lemon",
        "hot": "chili oil",
    }
    rng = np.random.default_rng(0)
    lines, recipes = [], []
    for t, words in enumerate(kinds.values()):
        for word in words.split():
            vector = 4 * np.eye(3)[t] + 0.3 * rng.standard_normal(3)
            lines.append(f"{word} {' '.join(f'{x:.3f}' for x in vector)}")
        for n in range(20):
            own = rng.choice(words.split(), size=2).tolist()
            recipes.append(
                {"id": f"{t}-{n}", "ingredients": [" ".join(own), "xanthan"]}
            )
    (folder / "vectors.txt").write_text("\n".join(lines))
    (folder / "recipes.json").write_text(json.dumps(recipes))
    said = done("recipes", library, folder)
    assert "[('xanthan', 60)]" in said
    found = pl.read_csv(folder / "clusters.csv")
    groups = [set(part["item"].str.head(1)) for part in found.partition_by("cluster")]
    assert sorted(map(sorted, groups)) == [["0"], ["1"], ["2"]]


@BY
def test_a_killed_judge_goes_on_and_pays_for_nothing_twice(library, folder):
    killed = run("paid_judge", library, folder, KILL="1")
    assert killed.returncode == 9
    paid = (folder / "calls").stat().st_size
    said = done("paid_judge", library, folder)
    total = (folder / "calls").stat().st_size
    whole = folder / "whole"
    whole.mkdir()
    for name in ("titles.csv", "service.py"):
        (whole / name).write_bytes((folder / name).read_bytes())
    done("paid_judge", library, whole)
    # A kill loses at most the calls of the chunk that was under way.
    once = (whole / "calls").stat().st_size
    assert paid < once <= total <= once + 16 + 8
    assert "in money" in said
    same = [(place / "neighbors.csv").read_text() for place in (folder, whole)]
    assert same[0] == same[1]


@BY
def test_a_pipeline_learns_from_a_column(library, folder):
    rows = [(f"{kind} note {n}", kind) for n in range(20) for kind in ("buy", "sell")]
    pd.DataFrame(rows, columns=["text", "kind"]).to_csv(
        folder / "labeled.csv", index=False
    )
    assert float(done("pipeline", library, folder).split()[-1]) > 0.9
