"""Workbooks for tests, as a spreadsheet program writes them, without such a program."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_FIRST_DAY = datetime.date(1899, 12, 30)


def write_workbook(path: Path | str, sheets: dict[str, list[list[Any]]]) -> None:
    """Write sheets of rows; None is no cell, and text such as #N/A an error."""
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{i}" r:id="rId{i}"/>'
        for i, name in zip(numbers, sheets, strict=True)
    )
    links = "".join(
        f'<Relationship Id="rId{i}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in numbers
    )
    links += f'<Relationship Id="rId0" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    root = f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    format_of_dates = '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{root}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f"{links}</Relationships>",
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">{format_of_dates}</styleSheet>',
    }
    for i, rows in zip(numbers, sheets.values(), strict=True):
        parts[f"xl/worksheets/sheet{i}.xml"] = _sheet(rows)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')


def _sheet(rows: list[list[Any]]) -> str:
    lines = (
        f'<row r="{i}">{"".join(_cell(f"{_column(j)}{i}", one) for j, one in enumerate(row))}</row>'
        for i, row in enumerate(rows, 1)
    )
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def _column(place: int) -> str:
    return ("" if place < 26 else chr(64 + place // 26)) + chr(65 + place % 26)


def _cell(place: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, datetime.date):
        return f'<c r="{place}" s="1"><v>{(value - _FIRST_DAY).days}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    if value.startswith("#"):
        return f'<c r="{place}" t="e"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
