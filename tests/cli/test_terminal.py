"""The process itself: pipes, interrupts, colours, and an install without extras."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
import sys
import time

import pytest

from fairspan.cli.console import paint

PROGRAM = [sys.executable, "-m", "fairspan"]
FIT = ["fit", "people.csv", "-s", "sex", "--drop", "id", "region", "-o", "model.npz"]


def start(arguments: list[str], **options) -> subprocess.Popen:
    return subprocess.Popen([*PROGRAM, *arguments], **options)


def test_a_reader_that_goes_away_is_no_error(folder):
    read, write = os.pipe()
    os.close(read)
    with start(FIT, stdout=write, stderr=-1) as process:
        os.close(write)
        assert process.stderr.read() == b""
        assert process.wait() == 141
    assert (folder / "model.npz").exists()


# Stops in the middle of writing, says so, and waits to be stopped. A shell may have started these
# tests in the background, where interrupts are ignored.
STUCK = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
def stuck(number):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = stuck
from fairspan.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_an_interrupted_run_says_so_and_leaves_the_old_file_whole(folder):
    (folder / "model.npz").write_text("old")
    before = sorted(path.name for path in folder.iterdir())
    with subprocess.Popen(
        [sys.executable, "-c", STUCK, *FIT], stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr.read() == "interrupted; files are as they were\n"
    assert (folder / "model.npz").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == before


DOWNSTREAM = ["downstream", "people.csv", "-s", "sex", "--target", "income", "--drop", "id"]
DOWNSTREAM += ["region", "-k", "1", "--splits", "5", "--model", "boosting", "--methods", "FairPCA"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killed_decisions_go_on_from_stored_splits_to_the_same_bytes(fairspan, folder):
    pytest.importorskip("fairlearn")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with start([*DOWNSTREAM, "--resume", "done", "-o", "killed.json"], **quiet) as process:
        while not list(folder.glob("done/*.json")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    stored = {path: path.stat().st_mtime_ns for path in folder.glob("done/*.json")}
    assert 1 <= len(stored) < 5
    assert not (folder / "killed.json").exists()
    assert fairspan(shlex.join([*DOWNSTREAM, "-o", "whole.json"])).code == 0
    assert fairspan(shlex.join([*DOWNSTREAM, "--resume", "done", "-o", "killed.json"])).code == 0
    assert (folder / "killed.json").read_bytes() == (folder / "whole.json").read_bytes()
    assert {path: path.stat().st_mtime_ns for path in stored} == stored, "none was made again"


# Tells when the first heavy import begins, and waits there to be stopped.
STARTING = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name in ("numpy", "scipy", "sklearn"):
            sys.meta_path.remove(self)
            print("importing", flush=True)
            time.sleep(60)
sys.meta_path.insert(0, Slow())
from importlib import import_module
sys.exit(import_module("fairspan.cli").main(sys.argv[1:]))
"""


def test_an_interrupt_while_it_starts_is_no_traceback(folder):
    with subprocess.Popen(
        [sys.executable, "-c", STARTING, *FIT], stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert process.stderr.read() == "interrupted; files are as they were\n"
    assert not (folder / "model.npz").exists()


def test_the_command_line_itself_imports_nothing_heavy():
    program = "import sys, fairspan.cli, fairspan.cli.console; assert 'numpy' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_colours_show_on_a_terminal_only_and_never_with_no_color(folder, monkeypatch):
    outer, inner = pty.openpty()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with start(FIT, stdout=inner, stderr=inner) as process:
        assert process.wait() == 0
    with open(inner, "w") as terminal:
        shown = os.read(outer, 2**16).decode()
        assert "\x1b[1mNo difference between groups is shown" in shown
        assert paint("error:", "red", terminal) == "\x1b[1;31merror:\x1b[0m"
        monkeypatch.setenv("NO_COLOR", "1")
        assert paint("error:", "red", terminal) == "error:"
    os.close(outer)


BASE_INSTALL = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "pyarrow", "matplotlib", "skl2onnx", "onnxruntime"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from fairspan.cli import main
columns = ["people.csv", "-s", "sex", "--drop", "id", "region", "-k", "2"]
assert main(["fit", *columns, "-o", "model.npz"]) == 0
assert main(["transform", "model.npz", "people.csv", "-o", "out.csv"]) == 0
assert "fairspan.cli.compare" not in sys.modules
assert main(["compare", *columns]) == 0
assert main(["frontier", *columns, "-o", "curve.csv"]) == 0
assert main(["transform", "model.npz", "people.csv", "-o", "out.parquet"]) == 1
"""


def test_the_base_install_is_enough_for_csv_files(folder):
    done = subprocess.run([sys.executable, "-c", BASE_INSTALL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert 'pip install "fairspan[files]"' in line
