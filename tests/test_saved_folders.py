"""A saved folder gives the answers that were saved, or an error; never others."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewpairs as fp
from tests import children
from tests.conftest import random_matrix

OLD = Path(__file__).parent / "fixtures" / "saved-0.1.0"
KINDS = ["default", "student", "nystrom", "regularized", "sicur"]
K = random_matrix(40, symmetric=True)


def answers(approx):
    """Entries to the bit; sums over all of them round as they lie in memory."""
    told = approx.certificate
    certificate = told.pairs, told.doubt, f"{told.r2:.9g} {told.relative_error:.9g}"
    certificate += tuple(f"{end:.9g}" for end in told.interval)
    return approx.dense().tobytes(), approx.method, certificate, str(approx.bill)


def flip(rng, folder, _):
    file = rng.choice(sorted(folder.iterdir()))
    data = bytearray(file.read_bytes())
    data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    file.write_bytes(data)


def truncate(rng, folder, _):
    file = rng.choice(sorted(folder.iterdir()))
    data = file.read_bytes()
    file.write_bytes(data[: rng.integers(len(data))])


def swap(rng, folder, other):
    mine = rng.choice(sorted(folder.iterdir()))
    theirs = rng.choice(sorted((folder if rng.random() < 0.5 else other).iterdir()))
    data = theirs.read_bytes()
    theirs.write_bytes(mine.read_bytes())
    mine.write_bytes(data)


def edit(rng, folder, _):
    file = folder / "approximation.json"
    text = file.read_text()
    numbers = list(re.finditer(r"\d+(\.\d+)?", text))
    at = numbers[rng.integers(len(numbers))]
    new = str(rng.integers(1000)) if rng.random() < 0.5 else str(rng.random())
    file.write_text(text[: at.start()] + new + text[at.end() :])


@pytest.mark.parametrize("damage", [flip, truncate, swap, edit])
def test_damage_is_refused_or_changes_no_answer(tmp_path, damage):
    rng = np.random.default_rng(0)
    folders, before, files = {}, {}, {}
    for kind in KINDS:
        folders[kind] = tmp_path / kind
        approx = fp.load(OLD / kind)
        approx.save(folders[kind])
        before[kind] = answers(approx)
        files |= {file: file.read_bytes() for file in folders[kind].iterdir()}
    refused = 0
    for _ in range(250):
        kind, other = rng.choice(KINDS, 2)
        damage(rng, folders[kind], folders[other])
        try:
            found = fp.load(folders[kind])
        except fp.InputError:
            refused += 1
        else:
            assert answers(found) == before[kind]
        for file, data in files.items():
            if file.stat().st_size != len(data) or file.read_bytes() != data:
                file.write_bytes(data)
    assert refused > 150


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_earlier_version_saved_is_saved_again_with_checksums(tmp_path, kind):
    old = fp.load(OLD / kind)
    old.save(tmp_path / kind)
    index = json.loads((tmp_path / kind / "approximation.json").read_text())
    assert index["version"] == 4
    assert {entry["file"] for entry in index["arrays"].values()} == {
        file.name for file in (tmp_path / kind).glob("*.npy")
    }
    for mmap in (False, True):
        assert answers(fp.load(tmp_path / kind, mmap=mmap)) == answers(old)


def test_arrays_may_be_mapped_unverified_and_facts_may_not(tmp_path):
    approx = fp.approximate(None, K, method="nystrom", budget=0.4)
    approx.save(tmp_path / "run")
    left = tmp_path / "run" / "left.npy"
    data = bytearray(left.read_bytes())
    data[-3] ^= 8
    left.write_bytes(data)
    for mmap in (False, True):
        with pytest.raises(fp.InputError, match=r"left\.npy is damaged, its checksum"):
            fp.load(tmp_path / "run", mmap=mmap)
        other = fp.load(tmp_path / "run", mmap=mmap, verify=False)
        assert not np.array_equal(other.left, approx.left)
    left.write_bytes(data[:-1])
    with pytest.raises(fp.InputError, match=r"has [\d,]+ bytes, and [\d,]+ were saved"):
        fp.load(tmp_path / "run")
    index = tmp_path / "run" / "approximation.json"
    index.write_text(index.read_text().replace('"n": 40', '"n": 41'))
    with pytest.raises(fp.InputError, match="checksum of approximation"):
        fp.load(tmp_path / "run", verify=False)
    index.write_text("[]")
    with pytest.raises(fp.InputError, match="holds a list"):
        fp.load(tmp_path / "run")


def test_the_index_names_files_of_its_folder_alone(tmp_path):
    approx = fp.approximate(None, K, method="nystrom", budget=0.4)
    approx.save(tmp_path / "run")
    shutil.copy(tmp_path / "run" / "left.npy", tmp_path / "left.npy")
    from fewpairs.fingerprint import checksum_of

    index = tmp_path / "run" / "approximation.json"
    facts = json.loads(index.read_text())
    facts["arrays"]["left"]["file"] = "../left.npy"
    del facts["checksum"]
    index.write_text(json.dumps({**facts, "checksum": checksum_of(facts)}))
    (tmp_path / "run" / "left.npy").unlink()
    with pytest.raises(fp.InputError, match="not a whole saved approximation"):
        fp.load(tmp_path / "run")


def test_overwriting_replaces_all_and_keeps_what_is_not_its_own(tmp_path):
    first = fp.approximate(None, K, method="nystrom", budget=0.3)
    second = fp.approximate(None, K, method="sicur", budget=0.6)
    first.save(tmp_path / "run")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    mapped = fp.load(tmp_path / "run", mmap=True)
    for approx in (second, first, second):
        approx.save(tmp_path / "run", overwrite=True)
        assert answers(fp.load(tmp_path / "run")) == answers(approx)
        index = json.loads((tmp_path / "run" / "approximation.json").read_text())
        kept = {entry["file"] for entry in index["arrays"].values()}
        there = {file.name for file in (tmp_path / "run").iterdir()}
        assert there == kept | {"approximation.json", "notes.txt"}
    assert answers(mapped) == answers(first)
    # Over what it is mapped from, too.
    again = fp.load(tmp_path / "run", mmap=True)
    again.save(tmp_path / "run", overwrite=True)
    assert answers(fp.load(tmp_path / "run")) == answers(second)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run"]


def test_an_error_while_overwriting_leaves_what_was_there(tmp_path, monkeypatch):
    first = fp.approximate(None, K, method="nystrom", budget=0.3)
    second = fp.approximate(None, K, method="sicur", budget=0.6)
    first.save(tmp_path / "run")
    before = {file: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    save, left = np.save, [4]

    def full(*arguments, **options):
        left[0] -= 1
        if not left[0]:
            raise OSError(28, "No space left on device")
        save(*arguments, **options)

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space left"):
        second.save(tmp_path / "run", overwrite=True)
    after = {file: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    assert after == before


@pytest.mark.parametrize("job", ["kill_saves", "kill_runs"])
def test_a_kill_while_overwriting_leaves_the_old_or_the_new(tmp_path, job):
    root = Path(children.__file__).parents[1]
    path = os.pathsep.join([str(root), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "tests.children", job, tmp_path / "run"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
    )
    assert int(done.stdout) > 12  # steps, each of which was killed
