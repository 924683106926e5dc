"""What the command writes: safe in a spreadsheet, honest in a terminal, not silent."""

import csv
import gzip
import io
import itertools
import json
import threading
from types import SimpleNamespace

import pyarrow.parquet
import pytest
from rich.console import Console

import fewpairs as fp
from fewpairs.cli.output import Out, doing, progress_bar, shown
from fewpairs.progress import EVALUATING, LogProgress, RichProgress, Status, meter
from tests.commands import run_here

FORMULAS = ["=1+2 a cat", "+49 a cat", "-a cat", "@SUM(A1) a cat", "\ta cat", "＝a cat"]
PLAIN = ["a cat", "a = b cat", "-5", "+5.5"]


@pytest.fixture
def folder(tmp_path):
    rows = [("id", "title"), *enumerate(FORMULAS + PLAIN)]
    with (tmp_path / "cells.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return tmp_path


def command(line, folder, capfd, monkeypatch, code=0):
    done = run_here(line.split(), folder, capfd, monkeypatch)
    assert done.returncode == code, done.stderr
    return done


def cells(path, delimiter=","):
    with path.open(newline="") as file:
        return [cell for row in csv.reader(file, delimiter=delimiter) for cell in row]


def test_spreadsheets_do_not_run_what_is_written(folder, capfd, monkeypatch):
    line = "approximate cells.csv -c title -s levenshtein -b 100% -o run"
    command(line, folder, capfd, monkeypatch)
    for line in (
        "cluster run -t 0.5 -o clusters.csv",
        "neighbors run -k 9 -o near.tsv",
        "duplicates cells.csv -c title -s levenshtein -b 100% -t 0 -o pairs.csv",
    ):
        done = command(line, folder, capfd, monkeypatch)
        assert "apostrophe, so that spreadsheets do not run them; --raw" in done.stderr
        path = folder / line.split()[-1]
        written = cells(path, "\t" if path.suffix == ".tsv" else ",")
        assert {"'" + text for text in FORMULAS} <= set(written)
        assert set(PLAIN) <= set(written)
        assert not set(FORMULAS) & set(written)
        done = command(f"{line} --raw --force", folder, capfd, monkeypatch)
        assert "apostrophe" not in done.stderr
        written = cells(path, "\t" if path.suffix == ".tsv" else ",")
        assert set(FORMULAS + PLAIN) <= set(written)


def test_json_and_parquet_are_no_spreadsheets(folder, capfd, monkeypatch):
    line = "approximate cells.csv -c title -s levenshtein -b 100% -o run"
    command(line, folder, capfd, monkeypatch)
    command("cluster run -t 0.5 -o clusters.jsonl", folder, capfd, monkeypatch)
    lines = (folder / "clusters.jsonl").read_text().splitlines()
    assert [json.loads(line)["title"] for line in lines] == FORMULAS + PLAIN
    command("cluster run -t 0.5 -o clusters.parquet", folder, capfd, monkeypatch)
    table = pyarrow.parquet.read_table(folder / "clusters.parquet")
    assert table.column("title").to_pylist() == FORMULAS + PLAIN


def test_a_field_that_a_line_does_not_have_is_an_empty_cell(
    tmp_path, capfd, monkeypatch
):
    lines = [{"text": f"text {t}", **({"note": "x"} if t else {})} for t in range(9)]
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, lines)))
    line = "approximate some.jsonl -c text -s ratio -b 100% -o run"
    command(line, tmp_path, capfd, monkeypatch)
    command("cluster run -t 0.9 -o out.csv", tmp_path, capfd, monkeypatch)
    assert (tmp_path / "out.csv").read_text().splitlines()[1].startswith("text 0,,")


def test_of_two_columns_of_one_name_none_is_lost(tmp_path, capfd, monkeypatch):
    (tmp_path / "twins.csv").write_text(
        "id,note,note\n" + "".join(f"text {t},x{t},y{t}\n" for t in range(9))
    )
    command(
        "approximate twins.csv -c id -s ratio -b 100% -o run",
        tmp_path,
        capfd,
        monkeypatch,
    )
    command("cluster run -t 0.9 -o out.jsonl", tmp_path, capfd, monkeypatch)
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert (first["note"], first["note_2"]) == ("x0", "y0")
    command("cluster run -t 0.9 -o out.csv", tmp_path, capfd, monkeypatch)
    assert (tmp_path / "out.csv").read_text().startswith("id,note,note,cluster\n")
    command("cluster run -t 0.9 -o out.parquet", tmp_path, capfd, monkeypatch)
    names = pyarrow.parquet.read_table(tmp_path / "out.parquet").column_names
    assert names == ["id", "note", "note_2", "cluster"]


def test_a_parquet_file_may_have_two_columns_of_one_name(tmp_path, capfd, monkeypatch):
    columns = [pyarrow.array([f"{name} {t}" for t in range(9)]) for name in "abc"]
    table = pyarrow.Table.from_arrays(columns, ["id", "note", "note"])
    pyarrow.parquet.write_table(table, tmp_path / "twins.parquet")
    line = "plan twins.parquet -s ratio -b 100% -c"
    command(f"{line} id", tmp_path, capfd, monkeypatch)
    done = command(f"{line} note", tmp_path, capfd, monkeypatch, code=2)
    assert "2 columns named 'note' (columns 2 and 3)" in done.stderr


def test_two_halves_of_a_character_are_one(tmp_path, capfd, monkeypatch):
    texts = "".join(f'{{"text": "smile \\ud83d\\ude00 {t}"}}\n' for t in range(9))
    (tmp_path / "smiles.jsonl.gz").write_bytes(gzip.compress(texts.encode()))
    line = "approximate smiles.jsonl.gz -s ratio -b 100% -o run"
    command(line, tmp_path, capfd, monkeypatch)
    done = command("neighbors run -i 0 -k 2", tmp_path, capfd, monkeypatch)
    assert "smile \U0001f600 0" in done.stdout
    assert "values marked * were evaluated" in done.stderr


def test_a_file_whose_name_is_no_unicode_is_read(tmp_path, capfd, monkeypatch):
    name = b"texts-\xff.txt".decode(errors="surrogateescape")
    (tmp_path / name).write_text("\n".join(f"text {t}" for t in range(9)))
    line = ["approximate", name, *"-s ratio -b 100% -o run".split()]
    done = run_here(line, tmp_path, capfd, monkeypatch)
    assert done.returncode == 0, done.stderr
    done = command("show run", tmp_path, capfd, monkeypatch)
    assert "texts-\\udcff.txt" in done.stdout


def test_what_turns_the_direction_of_writing_is_shown(tmp_path, capfd, monkeypatch):
    assert shown("a\u202eb\u2066c\u200fd") == "a\\u202eb\\u2066c\\u200fd"
    texts = [f"invoice {t} \u202efdp.exe" for t in range(9)]
    (tmp_path / "t.txt").write_text("\n".join(texts))
    line = "duplicates t.txt -s ratio -b 100% -t 0.5"
    done = command(line, tmp_path, capfd, monkeypatch)
    assert "\\u202efdp.exe" in done.stdout
    assert "\u202e" not in done.stdout


# --- progress ------------------------------------------------------------------------


class Heard:
    """LogProgress that were written; one can wait for the next."""

    def __init__(self):
        self.lines = []
        self.came = threading.Event()

    def __call__(self, line):
        self.lines.append(line)
        self.came.set()

    def wait(self):
        self.came.clear()
        assert self.came.wait(60)


def test_without_a_terminal_a_line_comes_now_and_then():
    heard = Heard()
    lines = LogProgress(heard, every=0.001)

    def slow(a, b):
        if not heard.lines:
            heard.wait()
        return 1.0 / (1 + abs(a - b))

    fp.approximate(range(30), slow, budget=0.5, method="nystrom", progress=lines)
    assert any(line.startswith("evaluating: ") for line in heard.lines)
    number = len(heard.lines)
    lines.start("neighbors", 100)
    lines.unit = "items"
    lines.advance(40)
    heard.wait()
    lines.note("sorting")
    heard.wait()
    heard.wait()
    lines.finish()
    assert any("neighbors: 40 of 100 items" in line for line in heard.lines[number:])
    assert any(
        line.startswith("sorting for ") and "40 of 100 items" in line
        for line in heard.lines[number:]
    )


def test_lines_end_with_the_run_also_after_an_error():
    heard = Heard()
    lines = LogProgress(heard, every=0.001)

    def fails(a, b):
        heard.wait()
        raise ValueError("no network")

    with pytest.raises(fp.SimilarityError):
        fp.approximate(range(30), fails, budget=0.5, progress=lines)
    names = [thread.name for thread in threading.enumerate()]
    for thread in threading.enumerate():
        if thread.name == "fewpairs.progress":
            thread.join(60)
    assert "fewpairs.progress" not in [t.name for t in threading.enumerate()], names


def test_a_watcher_hears_what_is_done_between_evaluations():
    statuses: list[Status] = []
    texts = [f"text {t} {t * t} {t**3 % 97}" for t in range(120)]
    similarity = fp.StringSimilarity("levenshtein")
    fp.approximate(texts, similarity, budget=0.3, progress=statuses.append)
    said = {status.what for status in statuses}
    assert {EVALUATING, "fitting the low rank", "finding candidates"} <= said
    assert all(s.computing == (s.what != EVALUATING) for s in statuses if s.total)
    assert all(s.still_left is None for s in statuses if s.computing)


def test_the_time_left_goes_down_between_evaluations_and_then_is_not_known():
    status = Status(EVALUATING, 500, 2_000, seconds=10.0, since=4.0)
    assert status.still_left == 26.0
    assert "26 s left" in str(status)
    assert Status(EVALUATING, 500, 2_000, 10.0, since=31.0).still_left is None
    computing = Status("computing", 500, 2_000, 10.0, since=31.0, computing=True)
    assert str(computing) == "computing for 31 s: 500 of 2,000 evaluations"


def test_a_bar_says_what_is_done_and_no_time_that_nobody_knows(monkeypatch):
    clock = SimpleNamespace(monotonic=itertools.count(0.0, 1e-3).__next__)
    monkeypatch.setattr(meter, "time", clock)
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=200)
    bar = RichProgress(console)
    bar.start(EVALUATING, 100)
    for _ in range(50):
        bar.advance(1)
    bar._bars.refresh()
    assert "left 0:00:0" in written.getvalue()
    bar.note("finding candidates")
    bar._bars.refresh()
    last = written.getvalue().rsplit("finding candidates", 1)[1]
    assert "50 evaluations" in last
    assert "left" not in last
    bar.note(EVALUATING)
    bar.advance(1)
    bar._bars.refresh()
    bar.finish()


def test_commands_tell_what_they_do_without_a_terminal_too(capfd):
    out = Out(as_json=False)
    heard = Heard()
    out.lines = LogProgress(heard, every=0.001)
    with doing(out, "writing run"):
        heard.wait()
        heard.wait()
    assert heard.lines[-1].startswith("writing run")
    assert progress_bar(out, "items") is out.lines
    assert out.lines.unit == "items"
