"""Files as people have them end in a fit, or in one sentence whose advice, typed, makes one."""

from __future__ import annotations

import csv
import gzip
import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairspan.cli import main
from tests.sources.workbook import write_workbook

ROWS = 60
RNG = np.random.default_rng(3)
Column = list[Any]


def numbers(scale: float = 1.0) -> Column:
    return [round(scale * value, 2) for value in RNG.standard_normal(ROWS).tolist()]


def table(**more: Column) -> dict[str, Column]:
    """Two columns of numbers, what a case adds, and groups."""
    groups = ["u" if i % 2 else "v" for i in range(ROWS)]
    return {"x": numbers(), "y": numbers(7), **{"g": groups, **more}}


def text(columns: dict[str, Column], separator: str = ",", **options: Any) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n", **options)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def commas(column: Column) -> Column:
    return [f"{value:.2f}".replace(".", ",") for value in column]


def holes(column: Column, blank: Any = "") -> Column:
    return [blank if i % 9 == 4 else value for i, value in enumerate(column)]


def cycled(*values: Any) -> Column:
    return [values[i % len(values)] for i in range(ROWS)]


def sheets(path: Path) -> None:
    whole = table()
    rows = [list(whole), *map(list, zip(*whole.values(), strict=True))]
    write_workbook(path, {"read me": [["made in March"]], "all people": rows})


many = [f"name {i}" for i in range(3000)]
FILES: dict[str, tuple[str, Any, list[str]]] = {
    "French decimals": (
        "t.csv",
        text(table(x=commas(numbers()), y=commas(numbers(9))), ";"),
        ["--decimal ,"],
    ),
    "semicolons": ("t.csv", text(table(), ";"), []),
    "vertical bars": ("t.txt", text(table(), "|"), []),
    "carets": ("t.txt", text(table(), "^"), ["--separator '^'"]),
    "colons": ("t.txt", text(table(), ":"), ["--separator :"]),
    "utf-16 from a spreadsheet": (
        "t.txt",
        text(table(g=cycled("ä", "ö")), "\t").encode("utf-16"),
        [],
    ),
    "utf-16 without a mark": ("t.csv", text(table()).encode("utf-16-be"), ["--encoding utf-16-be"]),
    "a workbook of two sheets": ("t.xlsx", sheets, ["--sheet 'all people'"]),
    "quoted commas": ("t.csv", text(table(g=cycled("Smith, J", 'O"Neil, K'))), []),
    "blanks": ("t.csv", text(table(x=holes(numbers()))), ["--missing drop-rows"]),
    "a column of blanks": (
        "t.csv",
        text(table(z=[""] * ROWS)),
        ["--drop z"],
    ),
    "row numbers": ("t.csv", text({"id": list(range(1, ROWS + 1))} | table()), []),
    "identifiers": ("t.csv", text(table(id=[f"A-{i:04}" for i in range(ROWS)])), ["--drop id"]),
    "long codes": (
        "t.csv",
        text(table(id=[f"{i:040x}" for i in range(ROWS)])),
        ["--drop id"],
    ),
    "a line of totals": (
        "t.csv",
        text(table()) + "Total,12.5,\n",
        ["--drop x", "--missing drop-rows"],
    ),
    "dates": ("t.csv", text(table(born=cycled("31/01/1990", "1/2/1985"))), ["--drop born"]),
    "40 groups, one of them of one row": (
        "t.csv",
        text(
            {
                "x": RNG.standard_normal(781).tolist(),
                "y": RNG.standard_normal(781).tolist(),
                "g": ["g40", *(f"g{i % 39}" for i in range(780))],
            }
        ),
        ["--no-moments"],
    ),
    "3,000 names": (
        "t.csv",
        text(
            {
                "name": many,
                "x": [i % 7 for i in range(3000)],
                "y": [i % 5 for i in range(3000)],
                "g": [i % 2 for i in range(3000)],
            }
        ),
        ["--drop name"],
    ),
    "3,000 ages": (
        "t.csv",
        text(
            {
                "g": RNG.gamma(9, 5, 3000).round(2).tolist(),
                "x": [i % 7 for i in range(3000)],
                "y": [i % 5 for i in range(3000)],
            }
        ),
        ["--bin g:4"],
    ),
    "latin-1": (
        "t.csv",
        text(table(g=cycled("Nîmes", "Aix"))).encode("latin-1"),
        ["--encoding cp1252"],
    ),
    "groups called N/A": (
        "t.csv",
        text(table(g=holes(cycled("u", "v"), "N/A"))),
        ["--missing drop-rows"],
    ),
    "percent": ("t.csv", text(table(z=[f"{i}%" for i in range(ROWS)])), ["--drop z"]),
    "thousands": ("t.csv", text(table(z=cycled("1,250", "12,500"))), ["--drop z"]),
    "categories and decimals": (
        "t.csv",
        text(
            table(
                x=commas(numbers()), y=commas(numbers()), job=cycled("clerk", "nurse", "home help")
            ),
            ";",
        ),
        ["--decimal ,", "--drop job"],
    ),
    "names with spaces": (
        "t.csv",
        text({"home town": cycled("Aix", "Bonn")} | table()),
        ["--drop 'home town'"],
    ),
    "an index": ("t.csv", text({"": list(range(ROWS))} | table()), []),
    "an index with gaps": (
        "t.csv",
        text({"": list(range(0, 2 * ROWS, 2))} | table()),
        ["--drop ''"],
    ),
    "a mark and blank lines": (
        "t.csv",
        ("\n" + text(table()).replace("\n", "\r\n\r\n")).encode("utf-8-sig"),
        [],
    ),
    "compressed": ("t.csv.gz", gzip.compress(text(table()).encode()), []),
    "one value": ("t.csv", text(table(z=[7] * ROWS)), []),
}


def advice(sentence: str) -> list[str]:
    """Give what the first advice of a sentence says to type: an option and its values."""
    found = re.search(r"(?<!\()(--[a-z-]+)((?: (?:'[^']*'|,(?= )|[^\s,;.()']+))*)", sentence)
    assert found, sentence
    option, values = found[1], shlex.split(found[2])
    if option in ("--drop", "--one-hot"):
        stop = values.index("or") if "or" in values else len(values)
        return [option, *values[:stop]]
    return [option] if option == "--no-moments" else [option, values[0]]


@pytest.mark.parametrize("name", FILES)
def test_the_sentence_typed_works(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file, content, expected = FILES[name]
    if isinstance(content, Callable):
        pytest.importorskip("python_calamine")
        content(Path(file))
    else:
        Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
    line, typed = ["fit", file, "-s", "g", "-k", "1", "-o", "model.npz"], []
    while code := main([*line, *(word for words in typed for word in words)]):
        sentence = capsys.readouterr().err.splitlines()[-1]
        assert code in (1, 2)
        assert sentence.startswith("error: ")
        words = advice(sentence)
        assert words not in typed, sentence
        typed.append(words)
    assert [shlex.join(words) for words in typed] == expected
    assert "model.npz" in capsys.readouterr().out
