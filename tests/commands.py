"""Running the real command: in a process of its own, in a folder of its own."""

import os
import pty
import subprocess
import sys
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("fewpairs"))
HERE = Path(__file__).parents[1]


def environment(**more):
    # The source that is tested, also where another checkout is installed.
    path = os.pathsep.join([str(HERE / "src"), os.environ.get("PYTHONPATH", "")])
    bin_folder = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PYTHONPATH": path.rstrip(os.pathsep),
        "PATH": bin_folder + os.pathsep + os.environ.get("PATH", ""),
        "COLUMNS": "200",
        "NO_COLOR": "1",
        **more,
    }


def run(*arguments, cwd=None, text=None, **more):
    """Run `fewpairs …` and return what it wrote and how it ended."""
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        text=not isinstance(text, bytes),
        input=text,
        cwd=cwd,
        env=environment(**more),
    )


def run_here(arguments, cwd, capfd, monkeypatch):
    """Run `fewpairs …` in this process: the same program, without its start."""
    from fewpairs.cli import main

    monkeypatch.chdir(cwd)
    monkeypatch.setattr(sys, "argv", ["fewpairs", *map(str, arguments)])
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name, value in {"COLUMNS": "200", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    written = capfd.readouterr()
    return subprocess.CompletedProcess(arguments, code, written.out, written.err)


def run_in_terminal(*arguments, cwd=None):
    """Run `fewpairs …` in a pseudo-terminal; return its exit code and all it showed."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        stdout=slave,
        stderr=slave,
        stdin=slave,
        cwd=cwd,
        env={**environment(), "TERM": "xterm", "COLUMNS": "120"},
    ) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the terminal is closed when the command ends
                break
            if not part:
                break
            shown += part
        process.wait()
    os.close(master)
    return process.returncode, shown.decode(errors="replace")
