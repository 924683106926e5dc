"""What goes out: its names, its numbers, and the files in the wheel and the sdist."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string

import pytest

import fewpairs as fp
from tests.commands import HERE

Requirement = pytest.importorskip("packaging.requirements").Requirement
pytest.importorskip("hatchling", reason="needs the extra test")

PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Asked for by people with a GPU, or by those who work on fewpairs itself.
NOT_FOR_ALL = {"all", "cuda", "handover", "experiments"}
NOT_FOR_ALL |= {"test", "docs", "check", "release"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the wheel and the sdist, built by the backend and nothing else."""
    folder = tmp_path_factory.mktemp("dist")
    program = (
        "import sys; from hatchling import build; "
        "build.build_wheel(sys.argv[1]); build.build_sdist(sys.argv[1])"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        cwd=HERE,
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def metadata(built):
    with zipfile.ZipFile(built[0]) as wheel:
        name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
        return message_from_string(wheel.read(name).decode("utf-8"))


def floors(requirements):
    """Return the oldest version that is allowed, by the library's name."""
    found = {}
    for line in requirements:
        requirement = Requirement(line)
        (limit,) = requirement.specifier
        assert limit.operator == ">=", line
        found[requirement.name] = limit.version
    return found


def test_the_wheel_is_no_larger_than_four_megabytes(built):
    assert built[0].stat().st_size <= 4_000_000


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built):
    there = {
        str(file.relative_to(HERE / "src"))
        for file in (HERE / "src" / "fewpairs").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with zipfile.ZipFile(built[0]) as wheel:
        names = {n for n in wheel.namelist() if ".dist-info/" not in n}
    assert names == there
    assert "fewpairs/py.typed" in names
    assert "fewpairs/datasets/docstring_scores/scores.npz" in names


def test_the_sdist_can_be_built_tested_and_read(built):
    with tarfile.open(built[1]) as sdist:
        names = {name.split("/", 1)[1] for name in sdist.getnames()}
    needed = {
        "pyproject.toml", "LICENSE", "src/fewpairs/__init__.py", "docs/index.md",
        "tests/test_packaging.py", "benchmarks/__main__.py", "constraints-oldest.txt",
    }  # fmt: skip
    assert needed <= names
    assert built[1].stat().st_size <= 8_000_000


def test_the_version_stands_in_one_place(metadata):
    assert metadata["Version"] == fp.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev)\d+)?", fp.__version__)
    assert "version" in PROJECT["dynamic"]
    citation = (HERE / "CITATION.cff").read_text("utf-8")
    assert not re.search(r"^\s*version:", citation, re.M)
    changelog = (HERE / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## (\d\S*)", changelog, re.M)
    assert newest
    assert newest[1] == fp.__version__


def test_the_package_says_where_to_read_on(metadata):
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL"))
    assert urls == PROJECT["urls"]
    readme = metadata.get_payload()
    assert urls["Paper"] in readme
    assert all(url.startswith("https://") for url in urls.values())


def test_every_extra_of_an_extra_is_one():
    for name, lines in EXTRAS.items():
        for requirement in map(Requirement, lines):
            if requirement.name == "fewpairs":
                assert requirement.extras <= set(EXTRAS), name
            else:
                assert requirement.specifier, f"{name}: {requirement} has no floor"


def test_all_is_every_extra_for_users():
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.extras == set(EXTRAS) - NOT_FOR_ALL


def test_every_extra_for_users_is_explained():
    page = (HERE / "docs" / "install.md").read_text("utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    assert told == set(EXTRAS) - NOT_FOR_ALL | {"all", "cuda"}


def test_every_extra_that_is_spoken_of_exists():
    files = [HERE / "README.md", *(HERE / "src").rglob("*.py")]
    files += (HERE / "docs").rglob("*.md")
    named = {
        extra
        for file in files
        for found in re.findall(r"fewpairs\[([a-z,]+)\]", file.read_text("utf-8"))
        for extra in found.split(",")
    }
    assert {"torch", "wmd", "index"} <= named
    assert named <= set(EXTRAS)


def test_the_oldest_versions_in_ci_are_the_oldest_that_are_allowed():
    lines = (HERE / "constraints-oldest.txt").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    allowed = floors(PROJECT["dependencies"])
    # The oldest typer warns with the newest click, which it brings.
    assert set(pinned) == {*allowed, "click"}
    for name, version in allowed.items():
        assert f"{pinned[name]}.".startswith(f"{version}."), name
