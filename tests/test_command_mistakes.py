"""Bad input: one line that says the cure, exit code 2, and nothing overwritten."""

import gzip
import inspect
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import fewpairs as fp
from tests.commands import COMMAND, environment, run, run_here

LEVENSHTEIN = ("-s", "levenshtein")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("mistakes")
    texts = [f"text number {t} of many" for t in range(40)]
    (path / "good.txt").write_text("\n".join(texts) + "\n")
    (path / "good.csv").write_text(
        "id,title\n" + "".join(f"{t},{text}\n" for t, text in enumerate(texts))
    )
    (path / "holes.txt").write_text("one\n\ntwo\n   \nthree\n")
    (path / "latin.txt").write_bytes("na\u00efve\ncaf\u00e9\nplain\n".encode("latin-1"))
    (path / "wide.txt").write_bytes("one\ntwo\n".encode("utf-16"))
    (path / "one.txt").write_text("alone\n")
    (path / "nothing.txt").write_text("")
    (path / "long.txt").write_text("short\n" + "x" * 1_000_000 + "\n")
    (path / "ragged.csv").write_text("id,title\n1,a\n2,b,c\n")
    (path / "broken.jsonl").write_text('{"text": "a"}\n{"text": \n')
    (path / "numbers.jsonl").write_text('{"text": "a"}\n7\n')
    (path / "list.json").write_text('["a", "b"]')
    (path / "cut.gz").write_bytes(gzip.compress(b"one\ntwo\n" * 100)[:30])
    (path / "plain.csv.gz").write_text("id,title\n1,a\n2,b\n")
    whole = bytearray(gzip.compress(b"one\ntwo\nthree\n" * 50))
    whole[20] ^= 0xFF
    (path / "flipped.gz").write_bytes(whole)
    (path / "book.csv").write_bytes(b"PK\x03\x04 a spreadsheet")
    (path / "half.jsonl").write_text('{"text": "a"}\n{"text": "b \\ud83d c"}\n')
    (path / "aside.jsonl").write_text('{"text": "a", "x": ["\\udc00"]}\n{"text": "b"}')
    (path / "deep.jsonl").write_text("[" * 200_000 + "]" * 200_000 + "\n")
    (path / "again.jsonl").write_text('{"text": "a", "text": "b"}\n{"text": "c"}\n')
    (path / "escapes.txt").write_text("a\n\\ud800 b\nc\n")
    (path / "twins.csv").write_text("id,title,title\n1,a,b\n2,c,d\n")
    (path / "open.csv").write_text('id,title\n1,a\n2,"never closed\n3,b\n4,c\n')
    (path / "middle.csv").write_text('id,title\n1,"a\n2,"b"\n3,c\n')
    (path / "turned.csv").write_text("id,\u202etitle\n1,a\n2,b\n")
    (path / "fake.parquet").write_bytes(b"PAR1 no table")
    (path / "raises.py").write_text(
        "def fails(a, b):\n    raise ValueError('no network')\n"
        "def nan(a, b):\n    return float('nan')\n"
        "def leaves(a, b):\n    raise SystemExit('no key')\n"
        "def closes(a, b):\n    raise GeneratorExit('enough')\n"
        "number = 3\n"
    )
    (path / "broken_module.py").write_text("1 / 0\n")
    (path / "precious").mkdir()
    (path / "precious" / "thesis.txt").write_text("mine")
    done = run(
        "approximate", "good.txt", *LEVENSHTEIN, "-b", "100%", "-o", "run", cwd=path
    )
    assert done.returncode == 0, done.stderr
    return path


def refused(done, message, code=2):
    said = done.stderr.strip()
    assert done.returncode == code, said
    assert "Traceback" not in said + done.stdout
    assert len(said.splitlines()) == 1, said
    assert said.startswith("error: ")
    assert re.search(message, said), said


MISTAKES = [
    ("approximate god.txt -s ratio", r"no file god\.txt\. Did you mean good\.txt\?"),
    ("approximate precious -s ratio", r"precious is a folder\. Pass a file"),
    ("plan good.csv -s ratio", r"several columns \(id, title\)\. Pass --column"),
    ("plan good.csv -c titel -s ratio", r"no column 'titel'\. Did you mean 'title'\?"),
    (
        "plan holes.txt -s ratio",
        r"2 of 5 rows have no text \(line 2, line 4\).*--empty drop",
    ),
    ("plan latin.txt -s ratio", r"line 1: byte 0xef is not utf-8.*--encoding.*latin-1"),
    ("plan wide.txt -s ratio", r"looks like UTF-16\. Pass --encoding utf-16"),
    ("plan good.txt -s ratio --encoding utf8x", r"Python does not know\. Try latin-1"),
    ("plan one.txt -s ratio", r"has one text; it takes at least two"),
    ("plan nothing.txt -s ratio", r"has no text; it takes at least two"),
    ("plan long.txt -s ratio", r"line 2: a text of 1,000,000 characters.*--cut 1000"),
    ("plan ragged.csv -c title -s ratio", r"line 3: 3 fields, and the header has 2"),
    ("plan broken.jsonl -s ratio", r"line 2 is no JSON"),
    ("plan numbers.jsonl -s ratio", r"line 2 is 7; every line must be"),
    ("plan list.json -s ratio", r"reads JSONL, one object a line"),
    ("plan cut.gz -s ratio", r"not a whole gzip file"),
    ("plan fake.parquet -s ratio", r"cannot be read as Parquet"),
    ("plan plain.csv.gz -s ratio", r"named \.gz, and is no gzip file.*rename it"),
    ("plan flipped.gz -s ratio", r"not a whole gzip file"),
    ("plan book.csv -s ratio", r"zip archive, or a spreadsheet.*save it as CSV"),
    ("plan half.jsonl -s ratio", r"line 2: \\ud83d is half of a character"),
    ("plan aside.jsonl -s ratio", r"line 1: \\udc00 is half of a character"),
    ("plan deep.jsonl -s ratio", r"line 1: JSON is nested too deeply"),
    ("plan again.jsonl -s ratio", r"line 1 has two fields 'text'\. Rename or drop"),
    (
        "plan twins.csv -s ratio -c title",
        r"has 2 columns named 'title' \(columns 2 and 3\)\. Rename one",
    ),
    (
        "plan open.csv -s ratio -c title",
        r"line 3: a quote is opened and never closed.*--no-quotes",
    ),
    (
        "plan middle.csv -s ratio -c title",
        r"lines 2 to 3: a quote ends in the middle of a field",
    ),
    ("plan turned.csv -s ratio", r"several columns \(id, \\u202etitle\)"),
    ("plan latin.txt -s ratio --encoding idna", r"latin\.txt.* is not idna"),
    (
        "plan escapes.txt -s ratio --encoding raw_unicode_escape",
        r"line 2: \\ud800 is half of a character",
    ),
    (
        "duplicates good.txt -s levenshtein -t 80",
        r"--threshold is 80, and .*levenshtein.* between 0 and 1\. Did you mean 0\.8",
    ),
    ("duplicates good.txt -s ratio -t -2", r"--threshold is -2, .*Pass one inside"),
    ("duplicates ./run -t 80", r"--threshold is 80, and .*between 0 and 1"),
    ("plan good.txt -s ratio --format xml", r"--format is 'xml'; pass one of lines"),
    ("approximate good.txt -s ratio -b 0", r"--budget is 0; nothing can be read"),
    ("approximate good.txt -s ratio -b 0%", r"--budget is 0%; a share lies above 0"),
    ("approximate good.txt -s ratio -b 0min", r"--budget is 0min; nothing can be read"),
    ("approximate good.txt -s ratio -b 20minn", r"and 'minn' is no unit\. Pass"),
    (
        "duplicates good.txt -s ratio -t 0.5 -b $5",
        r"budget is '\$5', and StringSimilarity\(.ratio.\) has no price\. Pass price",
    ),
    ("plan good.txt -s ratio -b 30/itm", r"'/itm' is no unit\. Pass pairs per item"),
    ("approximate good.txt -s ratio -b 200%", r"--budget is 200%; .* up to 100%"),
    (
        "approximate good.txt -s ratio -b lots",
        r"--budget is 'lots', which is not a number",
    ),
    ("approximate good.txt -s ratio -b 7", r"needs [\d,]+ evaluations.*Raise budget"),
    (
        "approximate good.txt -s levenstein",
        r"no similarity 'levenstein'\. Did you mean levenshtein\?",
    ),
    ("approximate good.txt -s wmd", r"needs word vectors\. Pass --vectors FILE"),
    ("approximate good.txt -s wmd --vectors no.txt", r"there is no file no\.txt"),
    ("approximate good.txt -s cross-encoder", r"needs a model\. Pass --model"),
    ("approximate good.txt -s ratio --gamma 2", r"--gamma has no meaning for ratio"),
    (
        "approximate good.txt -s nowhere:f",
        r"no module 'nowhere'.*folder that has nowhere\.py",
    ),
    (
        "approximate good.txt -s raises:fail",
        r"raises has no 'fail'\. Did you mean fails\?",
    ),
    ("approximate good.txt -s raises:number", r"is 3; it must be a function f\(a, b\)"),
    ("approximate good.txt -s broken_module:f", r"raised ZeroDivisionError.*--debug"),
    (
        "approximate good.txt -s ratio --method magic",
        r"--method is 'magic'; pass one of auto",
    ),
    (
        "approximate good.txt -s ratio --prior no.npy",
        r"--prior: there is no file no\.npy",
    ),
    (
        "approximate good.txt -s ratio --prior nothing",
        r"--prior is 'nothing': no column",
    ),
    ("approximate good.txt -s ratio -b 100% -o run", r"run exists\. Pass --force"),
    (
        "approximate good.txt -s ratio -o precious",
        r"precious exists and is no run of fewpairs",
    ),
    ("approximate good.txt -s ratio -o precious --force", r"is no run of fewpairs"),
    ("show nowhere", r"nowhere does not exist\. Pass the folder"),
    ("show good.txt", r"good\.txt is a file\. Pass the folder"),
    ("show precious", r"precious is no run of fewpairs"),
    ("neighbors ./run", r"would list 400 neighbors\. Pass --item"),
    ("neighbors ./run -i 40", r"--item is 40; items are numbered from 0 to 39"),
    ("neighbors ./run -i many", r"40 texts hold 'many' \(0: text number 0"),
    ("neighbors ./run -i zebra", r"no text holds 'zebra'"),
    ("neighbors ./run -i 3 -k 40", r"-k is 40, and there are 40 texts"),
    ("neighbors ./run -k 2 -o good.txt", r"good\.txt exists\. Pass --force"),
    ("neighbors ./run -k 2 -o x.doc", r"end its name in \.csv"),
    ("neighbors ./run -k 2 -o no/x.csv", r"no folder no for x\.csv\. Make it first"),
    ("cluster ./run -t 7", r"threshold is 7 .*Pass a threshold in that range"),
    ("duplicates good.txt -t 0.5", r"good\.txt is a file\. Pass --similarity"),
    ("duplicates ./run -t nan", r"--threshold is nan; pass a number"),
    ("duplicates ./run -t 0.5 -o good.csv", r"good\.csv exists\. Pass --force"),
]


def snapshot(folder):
    files = [p for p in folder.rglob("*") if p.is_file()]
    return {p: p.stat().st_mtime_ns for p in files if p.suffix != ".pyc"}


@pytest.mark.parametrize(("line", "message"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_one_line_with_its_cure(folder, line, message, capfd, monkeypatch):
    before = snapshot(folder)
    refused(run_here(line.split(), folder, capfd, monkeypatch), message)
    assert snapshot(folder) == before


# One of each kind in a process of its own, as a shell sees it: a file, its bytes, a
# word on the line, and what is there already.
IN_A_SHELL = "god.txt latin.txt 200% run"


@pytest.mark.parametrize(
    ("line", "message"),
    [m for m in MISTAKES if {*m[0].split()[1:]} & {*IN_A_SHELL.split()}],
)
def test_a_shell_sees_the_same(folder, line, message):
    before = snapshot(folder)
    refused(run(*line.split(), cwd=folder), message)
    assert snapshot(folder) == before


@pytest.mark.parametrize(
    "line",
    [
        "nothing",
        "plan",
        "plan good.txt",
        "export run --to xml",
        "cluster run",
        "neighbors run -k x",
    ],
)
def test_wrong_words_on_the_line_end_with_code_2(folder, line, capfd, monkeypatch):
    done = run_here(line.split(), folder, capfd, monkeypatch)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_repeated_rows_are_no_mistake_and_are_found(tmp_path):
    (tmp_path / "twice.txt").write_text("a cat\na dog\na cat\nsomething else\na cat\n")
    done = run(
        "duplicates",
        "twice.txt",
        *LEVENSHTEIN,
        "-t",
        "0.99",
        "-b",
        "100%",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "2 of 5 texts repeat another one" in done.stderr
    assert "3 pairs at least 0.99 similar, among 3 of 5 texts" in done.stdout


def test_the_cures_cure(folder, capfd, monkeypatch):
    for line in (
        "plan holes.txt -s ratio --empty drop -b 100%",
        "plan latin.txt -s ratio --encoding latin-1 -b 100%",
        "plan wide.txt -s ratio --encoding utf-16 -b 100%",
        "plan long.txt -s ratio --cut 1000 -b 100%",
        "plan good.csv -s ratio -c title -b 100%",
        "plan twins.csv -s ratio -c id -b 100%",
        "plan open.csv -s ratio -c title --no-quotes -b 100%",
    ):
        done = run_here(line.split(), folder, capfd, monkeypatch)
        assert done.returncode == 0, f"{line}: {done.stderr}"


def test_a_failing_similarity_is_a_failure_and_debug_shows_where(
    folder, capfd, monkeypatch
):
    line = "approximate good.txt -s raises:fails -b 50% -o failed"
    done = run_here(line.split(), folder, capfd, monkeypatch)
    refused(done, r"raised ValueError: no network", code=1)
    done = run_here(line.replace("fails", "nan").split(), folder, capfd, monkeypatch)
    refused(done, r"nan", code=1)
    done = run(*line.split(), "--debug", cwd=folder)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert not (folder / "failed").exists()


def test_a_similarity_that_ends_the_program_ends_the_command(
    folder, capfd, monkeypatch
):
    line = "approximate good.txt -s raises:closes -b 50% -o failed"
    done = run_here(line.split(), folder, capfd, monkeypatch)
    refused(done, r"stopped by the similarity: GeneratorExit enough", code=1)
    line = line.replace("closes", "leaves")
    done = run_here(line.split(), folder, capfd, monkeypatch)
    assert done.returncode == "no key"  # which Python writes to stderr as it ends
    assert not (folder / "failed").exists()


def test_force_replaces_a_run_but_no_files_of_others(
    folder, tmp_path, capfd, monkeypatch
):
    def run(*arguments, cwd):
        return run_here(arguments, cwd, capfd, monkeypatch)

    line = "approximate good.txt -s ratio -b 100% -o".split()
    target = tmp_path / "out"
    assert run(*line, target, cwd=folder).returncode == 0
    assert run(*line, target, "--force", cwd=folder).returncode == 0
    (target / "thesis.txt").write_text("mine")
    done = run(*line, target, "--force", cwd=folder)
    assert done.returncode == 2
    assert "thesis.txt, which is none of fewpairs' files" in done.stderr
    assert (target / "thesis.txt").read_text() == "mine"
    assert (target / "run.json").is_file()


def test_a_run_that_cannot_be_replaced_stays(folder, tmp_path, capfd, monkeypatch):
    line = f"approximate good.txt -s ratio -b 100% -o {tmp_path / 'out'}".split()
    assert run_here(line, folder, capfd, monkeypatch).returncode == 0
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    rename = Path.rename

    def full(source, target):
        if target.name == "out" and not source.match("*-replaced"):
            raise OSError(28, "No space left on device")
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", full)
    done = run_here([*line, "--force"], folder, capfd, monkeypatch)
    assert done.returncode != 0
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_a_damaged_run_says_so(folder, tmp_path, capfd, monkeypatch):
    def run(*arguments, cwd=folder):
        return run_here(arguments, cwd, capfd, monkeypatch)

    line = "approximate good.txt -s ratio -b 100% -o".split()
    assert run(*line, tmp_path / "out", cwd=folder).returncode == 0
    (tmp_path / "out" / "approximation" / "left.npy").write_bytes(b"no array")
    done = run("neighbors", tmp_path / "out", "-i", "3")
    refused(done, "not a whole saved approximation")
    (tmp_path / "out" / "approximation" / "approximation.json").write_text("")
    done = run("neighbors", tmp_path / "out", "-i", "3")
    refused(done, "not a whole saved approximation")
    (tmp_path / "out" / "run.json").write_text("{}")
    refused(run("show", tmp_path / "out"), r"is damaged \(KeyError: 'format'\)")


def test_ctrl_c_ends_with_code_130_and_leaves_nothing_half_written(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "def slow(a, b):\n"
        "    open('started', 'a').close()\n"
        "    time.sleep(0.01)\n"
        "    return 0.5\n"
    )
    (tmp_path / "many.txt").write_text("\n".join(f"text {t}" for t in range(500)))
    process = subprocess.Popen(
        [COMMAND, *"approximate many.txt -s slow:slow -o out".split()],
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "started").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip().splitlines()[-1].startswith("error: stopped. Nothing")
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(
    not inspect.signature(fp.Ledger).parameters, reason="needs ledgers on disk"
)
def test_a_stopped_run_goes_on_from_its_store(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "def slow(a, b):\n"
        "    with open('count', 'a') as file:\n"
        "        file.write('.')\n"
        "    time.sleep(0.002)\n"
        "    return len({*a} & {*b}) / len({*a} | {*b})\n"
    )
    texts = [f"text {t} {t * t} {t**3 % 97}" for t in range(150)]
    (tmp_path / "many.txt").write_text("\n".join(texts))
    line = "approximate many.txt -s slow:slow -b 30% --store paid -o out".split()
    count = tmp_path / "count"
    process = subprocess.Popen(
        [COMMAND, *line],
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and (not count.exists() or count.stat().st_size < 700):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "What was paid for is in paid: the same command goes on" in said
    before = count.stat().st_size
    done = run(*line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    allowed = 0.3 * 150 * 149 / 2 + 16
    assert before < count.stat().st_size <= allowed
    assert run(*line, "--force", cwd=tmp_path).returncode == 0
    assert count.stat().st_size <= allowed
