"""Every example of the help runs, on real files, in the order in which a user meets them."""

from __future__ import annotations

import re

import pytest

from fairspan.cli import COMMANDS

OURS = [name for name, (_, module) in COMMANDS.items() if module.startswith("fairspan.cli.")]
OURS.insert(0, "demo")


def examples(text: str) -> list[str]:
    lines = re.findall(r"^  fairspan (.*?)(?:\s{3,}\(.*\))?$", text, re.MULTILINE)
    assert lines
    return lines


NEEDED = {
    "transform": "pyarrow",
    "frontier": "matplotlib",
    "report": "bokeh",
    "downstream": "fairlearn",
}
"""Commands with an example that needs an extra."""


@pytest.mark.parametrize("command", OURS)
def test_the_examples_of_the_help_run(command, fairspan, folder):
    if command in NEEDED:
        pytest.importorskip(NEEDED[command])
    rows = [line.split(",") for line in (folder / "people.csv").read_text().splitlines()]
    for line in examples(fairspan(f"{command} --help").out):
        # The table has the columns that the example speaks of: id, features, sex, region.
        wanted = slice("id" not in line.split(), 7 if "region" in line else 6)
        (folder / "people.csv").write_text("\n".join(",".join(row[wanted]) for row in rows))
        prepare(line, fairspan, folder)
        answer = fairspan(line)
        assert answer.code in ((0, 3) if "--moments" in line else (0,)), answer
        assert answer.out.strip()
        if "--json" in line:
            assert answer.json


def prepare(line: str, fairspan, folder) -> None:
    """Make the files an example needs from the examples that come before it."""
    if "model.npz" in line and not line.startswith("fit"):
        assert fairspan("fit people.csv -s sex -k 2 -o model.npz").code == 0
    if re.search(r"(merge|fit|report) .*(all|north)", line):
        for site in ("north", "south"):
            assert fairspan(f"moments {site}.csv -s sex -o {site}.npz").code == 0
        assert fairspan("merge north.npz south.npz -o all.npz").code == 0
    if "site.npz" in line:
        assert fairspan("moments people.csv -s sex -o site.npz").code == 0


def test_every_command_has_examples_and_the_main_help_names_it(fairspan):
    main_help = fairspan("--help").out
    for command in OURS:
        text = fairspan(f"{command} --help").out
        assert examples(text)
        assert f"    {command} " in main_help
        assert "--debug" in text
    for code in ("0 ", "1 ", "2 ", "3 ", "130", "141"):
        assert re.search(rf"^  {code}", main_help, re.MULTILINE)


def test_the_version_is_told(fairspan):
    import fairspan as package

    assert fairspan("--version").out == f"fairspan {package.__version__}\n"


def test_the_demo_works_without_matplotlib(fairspan, folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    answer = fairspan("demo")
    assert answer.code == 0
    assert 'pip install "fairspan[plot]"' in answer.out
    assert not list(folder.glob("*.png"))
