"""The process itself: exit codes, pipes, interrupts, colours, and kills in the middle of a write."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = [sys.executable, "-m", "fairspan"]
FIT = ["fit", "people.csv", "-s", "sex", "--drop", "id", "region", "-o", "model.npz"]


def start(arguments: list[str], **options) -> subprocess.Popen:
    return subprocess.Popen([*PROGRAM, *arguments], **options)


def test_the_process_ends_with_the_codes_of_the_help(folder):
    def code(*arguments: str) -> tuple[int, bytes]:
        with start(list(arguments), stdout=-1, stderr=-1) as process:
            return process.wait(), process.stderr.read()

    assert code(*FIT) == (0, b"")
    assert code("info", "absent") == (1, b"error: there is no file 'absent'.\n")
    assert code("fly")[0] == 2


def test_a_reader_that_goes_away_is_no_error(folder):
    line = f"{sys.executable} -m fairspan fit people.csv -s sex --drop region --json | head -c 1"
    done = subprocess.run(
        ["bash", "-c", f"{line}; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[0].lstrip("{") in ("0", "141")
    read, write = os.pipe()
    os.close(read)
    with start(FIT, stdout=write, stderr=-1) as process:
        os.close(write)
        assert process.stderr.read() == b""
        assert process.wait() == 141
    assert (folder / "model.npz").exists()


# Stops in the middle of writing, says so, and waits to be stopped.
STUCK = """
import os, sys, time
def stuck(number):
    print("writing", flush=True)
    time.sleep(60)
os.fsync = stuck
from fairspan.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_the_old_file_whole(how, folder):
    (folder / "model.npz").write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", STUCK, *FIT], stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout.readline() == "writing\n"
        process.send_signal(how)
        code, errors = process.wait(), process.stderr.read()
    assert (folder / "model.npz").read_text() == "old"
    if how == signal.SIGINT:
        assert (code, errors) == (130, "interrupted; files are as they were\n")
        assert not list(folder.glob(".model*"))


@pytest.mark.parametrize(("environment", "colours"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_show_on_a_terminal_only_and_never_with_no_color(environment, colours, folder):
    outer, inner = pty.openpty()
    base = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    base["TERM"] = "xterm"
    with start(FIT, stdout=inner, stderr=inner, env=base | environment) as process:
        assert process.wait() == 0
    os.close(inner)
    shown = os.read(outer, 2**16)
    os.close(outer)
    assert b"PCA reconstructs" in shown
    assert (b"\x1b[1m" in shown) is colours


def test_only_the_called_command_is_imported(folder):
    script = (
        "import sys; from fairspan.cli import main; main(['info', 'absent']); "
        "print([m for m in sys.modules if m.startswith('fairspan.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "fairspan.cli.info" in done.stdout
    assert "fairspan.cli.compare" not in done.stdout
    assert not Path("absent").exists()
