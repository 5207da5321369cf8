"""Spreadsheets are read by the rules of csv files; of several sheets, one is to be chosen."""

from __future__ import annotations

import datetime
import sys

import numpy as np
import pytest

from fairspan.sources import moments_from_files
from tests.sources.routes import by_command, by_library
from tests.sources.workbook import write_workbook

pytest.importorskip("python_calamine")

HEAD = ["x", "y ", "g"]
ROWS = [[1, 2.5, "u"], [3, -1e-9, "v"], [0.1, 7, " u"], [4, 1, "v"]]


def test_a_sheet_gives_the_moments_of_the_same_csv_file(tmp_path):
    lines = [",".join(map(str, row)) for row in [HEAD, *ROWS]]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    # Blank rows and columns around the table, a sheet without cells, whole numbers as floats.
    shifted = [[None] * 5, *([None, *row, None] for row in [HEAD, *ROWS]), ["", None, None, " "]]
    write_workbook(tmp_path / "t.xlsx", {"people": shifted, "Sheet2": []})
    by_csv = by_library(str(tmp_path / "t.csv"), {})
    found = by_library(str(tmp_path / "t.xlsx"), {})
    assert found == by_command(str(tmp_path / "t.xlsx"), {})
    found = by_library(str(tmp_path / "t.xlsx"), {"batch_rows": 3})
    np.testing.assert_allclose(found.pop("scatters"), by_csv.pop("scatters"), rtol=1e-12)
    np.testing.assert_allclose(found.pop("means"), by_csv.pop("means"), rtol=1e-12)
    assert found.pop("notes") == ["read sheet 'people'; the others are empty", *by_csv.pop("notes")]
    assert found == by_csv


def test_cells_of_every_kind(tmp_path):
    rows = [
        ["x", "y", "day", "g"],
        [True, "1,5", datetime.date(2026, 1, 31), 1],
        [False, 2.25, datetime.date(2026, 2, 1), 2],
        [True, "#DIV/0!", None, 1],
        [False, "3,5", datetime.date(2026, 2, 3), 2],
        [True, 1, datetime.date(2026, 2, 3), 1],
    ]
    path = str(tmp_path / "t.xlsx")
    write_workbook(path, {"one": rows})
    text = by_library(path, {})["error"]
    assert "'y' ('1,5' in line 2), 'day' ('2026-01-31' in line 2)" in text
    assert "use decimal=','" in text
    assert "Dates in 'day'" in text
    options = {"decimal": ",", "drop": ["day"], "missing": "drop_rows"}
    found = moments_from_files(path, "g", **options)
    assert found.labels == (1, 2)
    assert found.counts.tolist() == [2, 2]
    np.testing.assert_allclose(found.means, [[1, 1.25], [0, 2.875]])


def test_several_sheets_are_named_with_what_to_type(tmp_path):
    path = str(tmp_path / "t.xlsx")
    write_workbook(path, {"notes": [["made by hand"]], "all people": [HEAD, *ROWS]})
    text = by_library(path, {})["error"]
    assert text.endswith(
        "2 sheets: 'notes', 'all people'; choose one, for instance with sheet='all people'."
    )
    assert by_command(path, {})["error"].endswith("--sheet 'all people'.")
    assert by_command(path, {"sheet": ["all people"]})["counts"] == [2, 2]
    assert (
        "has no sheet 'all'; there are 'notes', 'all people'"
        in by_library(path, {"sheet": "all"})["error"]
    )
    assert "'notes' of" not in by_library(path, {"sheet": "notes"})["error"]
    (tmp_path / "t.csv").write_text("x,g\n1,u\n")
    assert (
        "has no sheets; leave out sheet='a'"
        in by_library(str(tmp_path / "t.csv"), {"sheet": "a"})["error"]
    )


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" * 50, None])
def test_what_is_no_table_is_refused_by_name(content, tmp_path):
    path = tmp_path / "t.xlsx"
    write_workbook(path, {"one": [], "two": []})
    if content is not None:
        path.write_bytes(content)
    assert by_library(str(path), {})["error"].count(str(path)) == 1


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    write_workbook(tmp_path / "t.xlsx", {"one": [HEAD, *ROWS]})
    with pytest.raises(ImportError, match=r'python-calamine: pip install "fairspan\[excel\]"'):
        moments_from_files(tmp_path / "t.xlsx", "g")
