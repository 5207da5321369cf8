"""A full disk, a kill, an unwritable folder: no half file, and a sentence that names the path."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")
for package in ("pyarrow", "matplotlib", "bokeh", "fairlearn"):
    pytest.importorskip(package)
writing = pytest.importorskip("tests.hardening.writing")
WRITERS = writing.WRITERS


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("writing"))
    command = [sys.executable, "-m", "tests.hardening.writing", folder]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_old_file_and_is_told_with_its_path(name, told):
    code, text = told[name]["full"]
    assert code == 1
    error = [line for line in text.splitlines() if line.startswith("error: ")]
    assert len(error) == 1
    assert f"'{name}'" in error[0]
    assert "too large" in error[0]
    assert "Traceback" not in text
    assert told[name]["after"] == "old"
    assert told[name]["left"] == []


@pytest.mark.parametrize("name", WRITERS)
def test_a_kill_leaves_the_old_file_and_the_next_write_clears_up(name, told):
    one = told[name]
    assert one["killed"] == -signal.SIGKILL
    assert one["after_kill"] == "old"
    assert one["hidden"] == 1
    assert one["again"] == 0
    assert one["cleared"]


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_cannot_be_written_to_is_told_before_any_work(
    name, tmp_path, monkeypatch, capsys
):
    from fairspan.cli import main

    monkeypatch.chdir(tmp_path)
    line = WRITERS[name].replace("people.csv", "absent.csv")
    # Nobody may make files there, not even who may do everything else.
    assert main([*line.split(), "-o", f"/proc/{name}"]) == 1
    (error,) = capsys.readouterr().err.splitlines()
    assert f"cannot write to '/proc/{name}'" in error


def test_the_files_are_those_of_all_writing_commands():
    from fairspan.cli import COMMANDS

    writers = {line.split()[0] for line in WRITERS.values()}
    # The demo and the paper's tables have files of fixed names, written the same way.
    readers = {"demo", "reproduce", "advise", "certify", "info"}
    assert writers | readers == set(COMMANDS)
