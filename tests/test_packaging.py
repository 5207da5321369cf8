"""What is published agrees with itself: one version, pinned workflows, real targets, types."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

import fairspan
from fairspan import cli

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_one_everywhere(capsys):
    ours = fairspan.__version__
    assert version("fairspan") == ours
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert re.findall(r"^version: (\S+)$", text("CITATION.cff"), re.M) == [ours]
    assert re.search(r"^## (\S+) \(", text("CHANGELOG.md"), re.M)[1] == ours
    assert re.findall(r"version (\d+\.\d+\.\d+)", text("docs/cite.md")) == [ours]
    assert cli.main(["--version"]) == cli.OK
    assert capsys.readouterr().out == f"fairspan {ours}\n"


def test_the_citation_is_dated_when_the_changelog_is():
    dated = re.search(r"^## \S+ \((\S+)\)", text("CHANGELOG.md"), re.M)[1]
    released = re.findall(r"^date-released: (\S+)$", text("CITATION.cff"), re.M)
    assert dated in ("unreleased", *released)


def test_pythons_that_are_tested_are_those_that_are_claimed():
    matrix = re.search(r"python: \[(.*)\]", text(".github/workflows/ci.yml"))[1]
    tested = re.findall(r"3\.\d+", matrix)
    named = metadata("fairspan").get_all("Classifier")
    assert [f"Programming Language :: Python :: {python}" for python in tested] == [
        line for line in named if re.search(r":: 3\.\d+$", line)
    ]
    assert metadata("fairspan")["Requires-Python"] == f">={tested[0]}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_pinned_read_only_and_call_targets_that_exist(path):
    workflow = path.read_text(encoding="utf-8")
    used = re.findall(r"uses:\s*(.*)", workflow)
    assert used
    for action in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    assert "\npermissions:\n  contents: read\n" in workflow
    assert set(re.findall(r"(\S+): write", workflow)) <= {"id-token"}
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.M))
    called = re.findall(r"run: make ([a-z-]+)", workflow)
    for several in re.findall(r"target: \[(.*)\]", workflow):
        called += several.split(", ")
    assert called
    assert set(called) <= targets


def test_each_make_target_of_the_release_steps_exists():
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.M))
    assert set(re.findall(r"`?make ([a-z-]+)", text("RELEASING.md"))) <= targets


def test_a_strict_checker_of_types_accepts_good_programs_and_finds_mistakes():
    """What mypy says of the installed package: lazy names have their types, by py.typed."""
    pytest.importorskip("mypy")
    files = ["tests/typed_client/client.py", "tests/typed_client/mistakes.py"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--hide-error-context", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "MYPY_FORCE_COLOR": "0"},
        timeout=600,
    )
    found = re.findall(r"^(\S+?):(\d+): error: .*\[(.*)\]$", done.stdout, re.M)
    lines = enumerate(text(files[1]).splitlines(), start=1)
    expected = [
        (files[1], str(number), line.partition("# expected: ")[2])
        for number, line in lines
        if "# expected: " in line
    ]
    assert len(expected) >= 5
    assert found == expected, done.stdout + done.stderr


def test_the_good_client_runs_too(tmp_path):
    pytest.importorskip("pyarrow")
    from tests.typed_client import client

    assert client.judgements(client.files(tmp_path)) > 0
    assert len(client.fits()) == 6
