"""Stores heal, or say which file is broken; no damage is paid for in silence."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewpairs as fp
from tests import children
from tests.conftest import random_matrix

N = 60
K = random_matrix(N, symmetric=True)


def judge(a, b):
    return float(K[a, b])


def run(store, *, method="sms", function=judge, **options):
    similarity = fp.from_function(function, symmetric=True, name="judge", chunk=50)
    return fp.approximate(
        range(N), similarity, method=method, budget=0.4, store=store, **options
    )


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00" * 9),
    "a list": lambda path: path.write_text("[]"),
    "nested": lambda path: path.write_text("[" * 100_000),
    "a group of others": lambda path: path.write_text('{"attributes": 3}'),
    "deleted": lambda path: path.unlink(),
}
PLACES = ["zarr.json", "columns/*/zarr.json", "pairs/*/zarr.json", "runs/*/zarr.json"]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("place", PLACES)
def test_a_damaged_file_is_named_and_restored_from_its_copy(tmp_path, place, damage):
    first = run(tmp_path)
    path = sorted(tmp_path.glob(place))[0]
    before = path.read_bytes()
    DAMAGES[damage](path)
    if place == "runs/*/zarr.json" and damage == "deleted":
        # A run without a record is one that never was; its values are all there.
        assert run(tmp_path).bill.for_fit == 0
        return
    name = path.relative_to(tmp_path).as_posix()
    with pytest.raises(fp.StoreError, match=rf"{name} is .*repair\(\)"):
        run(tmp_path)
    ledger = fp.Ledger(tmp_path)
    assert ledger.repair() == 1
    assert path.read_bytes() == before
    assert ledger.repair() == 0
    again = run(tmp_path)
    assert again.evaluations == again.bill.for_store
    assert np.array_equal(again.dense(), first.dense())


@pytest.mark.parametrize("place", PLACES)
def test_a_changed_number_is_damage_too(tmp_path, place):
    first = run(tmp_path)
    path = sorted(tmp_path.glob(place))[0]
    facts = json.loads(path.read_text())
    before = path.read_text()
    if place == "zarr.json":
        facts["attributes"]["n"] += 1
    elif place.startswith("columns"):
        facts["attributes"]["indices"][0] += 1
    elif place.startswith("pairs"):
        facts["data_type"] = "float64"
    else:
        facts["attributes"]["evaluations"] += 1
    path.write_text(json.dumps(facts))
    with pytest.raises(fp.StoreError, match=r"checksum|no array|other lines"):
        run(tmp_path)
    assert fp.Ledger(tmp_path).repair() == 1
    assert path.read_text() == before
    assert np.array_equal(run(tmp_path).dense(), first.dense())


@pytest.mark.parametrize("kind", ["columns", "pairs", "runs"])
def test_what_has_no_copy_is_set_aside_and_paid_for_again(tmp_path, kind):
    first = run(tmp_path)
    path = sorted(tmp_path.glob(f"{kind}/*/zarr.json"))[0]
    path.write_text("")
    (tmp_path / "copies" / path.relative_to(tmp_path)).unlink()
    assert fp.Ledger(tmp_path).repair() == 1
    assert (tmp_path / "damaged" / path.relative_to(tmp_path)).exists()
    again = run(tmp_path)
    assert (again.evaluations > again.bill.for_store) == (kind != "runs")
    assert np.array_equal(again.dense(), first.dense())
    assert run(tmp_path).evaluations == 8


def test_a_root_without_a_copy_says_what_is_lost(tmp_path):
    run(tmp_path)
    (tmp_path / "zarr.json").unlink()
    (tmp_path / "copies" / "zarr.json").write_text("{")
    with pytest.raises(fp.StoreError, match=r"zarr\.json is missing"):
        run(tmp_path)
    ledger = fp.Ledger(tmp_path)
    assert "damaged" in repr(ledger)
    with pytest.raises(fp.StoreError, match=r"no copy.*forget\(\)"):
        ledger.repair()
    ledger.forget()
    assert run(tmp_path).evaluations > 8


def test_the_folders_between_are_mended_too(tmp_path):
    first = run(tmp_path)
    for kind in ("columns", "pairs", "runs"):
        (tmp_path / kind / "zarr.json").write_text("")
    assert fp.Ledger(tmp_path).repair() == 3
    again = run(tmp_path, seed=5)
    assert again.evaluations > 8
    assert np.array_equal(run(tmp_path).dense(), first.dense())


def test_a_folder_between_that_is_damaged_stops_no_run(tmp_path):
    first = run(tmp_path)
    for kind in ("columns", "pairs", "runs"):
        (tmp_path / kind / "zarr.json").write_text("")
    assert run(tmp_path, seed=5).evaluations > 8
    assert np.array_equal(run(tmp_path).dense(), first.dense())


def test_an_object_store_is_mended_as_well(request):
    import fsspec

    url = f"memory://{request.node.name}"
    first = run(url)
    fs, root = fsspec.core.url_to_fs(url)
    fs.rm_file(f"{root}/zarr.json")
    with pytest.raises(fp.StoreError, match=r"zarr\.json is missing"):
        run(url)
    assert fp.Ledger(url).repair() == 1
    assert np.array_equal(run(url).dense(), first.dense())


def test_a_store_of_the_first_version_gets_its_copies(tmp_path):
    first = run(tmp_path)
    shutil.rmtree(tmp_path / "copies")
    for path in tmp_path.rglob("zarr.json"):
        facts = json.loads(path.read_text())
        facts["attributes"].pop("checksum", None)
        if path.parent == tmp_path:
            facts["attributes"]["version"] = 1
        path.write_text(json.dumps(facts))
    again = run(tmp_path)
    assert again.evaluations == 8
    assert np.array_equal(again.dense(), first.dense())
    (tmp_path / "zarr.json").unlink()
    assert fp.Ledger(tmp_path).repair() == 1
    assert run(tmp_path).evaluations == 8
    path = sorted(tmp_path.glob("columns/*/zarr.json"))[0]
    facts = json.loads(path.read_text())
    facts["attributes"]["indices"][0] += 1
    path.write_text(json.dumps(facts))
    with pytest.raises(fp.StoreError, match="its name is that of other lines"):
        run(tmp_path)
    assert fp.Ledger(tmp_path).repair() == 1
    assert run(tmp_path).evaluations == 8


def test_strange_files_among_the_chunks_are_none(tmp_path):
    first = run(tmp_path)
    chunk = sorted(tmp_path.glob("columns/*/c/0/0"))[0]
    (chunk.parents[1] / "99").mkdir()
    (chunk.parents[1] / "99" / "0").write_bytes(chunk.read_bytes())
    (chunk.parents[1] / "note").write_text("x")
    assert np.array_equal(run(tmp_path).dense(), first.dense())


def test_a_kill_during_repair_leaves_what_repair_mends(tmp_path):
    root = Path(children.__file__).parents[1]
    path = os.pathsep.join([str(root), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "tests.children", "kill_repairs", tmp_path / "store"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
    )
    assert int(done.stdout) > 6  # steps, each of which was killed
    assert not list(tmp_path.rglob("*.partial"))
