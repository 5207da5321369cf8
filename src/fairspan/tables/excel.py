"""Spreadsheets: a sheet is read by the rules of csv files, but its numbers are typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from fairspan.ground.extras import needing
from fairspan.ground.types import FloatArray
from fairspan.tables.dialect import Dialect, check_names
from fairspan.tables.findings import Findings, TableError, no_choice
from fairspan.tables.pieces import TEXT, Coded, Piece, Table, Wanted, labels_of, numbers_of
from fairspan.tables.refusals import Name


def open_excel(path: str, dialect: Dialect) -> Table:
    """Open a sheet of a workbook; cells with errors, such as #DIV/0!, are blank."""
    with needing(f"Reading {path!r} needs python-calamine", "excel"):
        from python_calamine import CalamineWorkbook
    with CalamineWorkbook.from_path(path) as book:
        sheets = {name: book.get_sheet_by_name(name) for name in book.sheet_names}
        name = _chosen(path, sheets, dialect.sheet)
        top = (sheets[name].start or (0, 0))[0] + 1
        # Blank rows are no rows, as in csv files.
        cells = enumerate(sheets[name].to_python(), top)
        rows = [(line, row) for line, row in cells if any(map(_is_cell, row))]
    if not rows:
        raise TableError(f"sheet {name!r} of {path!r} is empty; a table begins with column names.")
    columns = list(zip(*(row for _, row in rows), strict=True))
    # A column that was only formatted has neither a name nor values.
    columns = [cells for cells in columns if any(map(_is_cell, cells))]
    names = [_text(cells[0]).strip() for cells in columns]
    lines = [line for line, _ in rows[1:]]
    held: dict[str, Sequence[Any]]
    held = dict(zip(names, (cells[1:] for cells in columns), strict=True))
    spaced = sum(_text(cells[0]) != name for name, cells in zip(names, columns, strict=True))
    notes = {
        f"read sheet {name!r}; the others are empty": len(sheets) > 1 and dialect.sheet is None,
        f"spaces around column names removed ({spaced})": spaced,
        f"column names are the numbers 0 to {len(names) - 1}": check_names(path, names),
    }

    def read(wanted: Wanted, met: Findings) -> Iterator[Piece]:
        if wanted.has_counter and not names[0]:
            wanted = wanted._replace(numbers=(*wanted.numbers, ""))
        for start in range(0, len(lines), wanted.rows):
            rows = slice(start, start + wanted.rows)
            numbers = partial(_numbers, held, lines, rows, dialect.point)
            labels = partial(_labels, held, rows)
            yield Piece.read(len(lines[rows]), wanted, met, numbers, labels)

    return Table(
        repr(path),
        dict.fromkeys(names, TEXT),
        read,
        frozenset(names[:1]) & {""},
        tuple(note for note, holds in notes.items() if holds),
    )


def _chosen(path: str, sheets: dict[str, Any], given: str | None) -> str:
    """Choose the sheet that is asked for, or the only one that holds anything."""
    if given is not None:
        if given not in sheets:
            raise TableError(no_choice(path, "sheet", given, sheets))
        return given
    filled = [name for name, sheet in sheets.items() if sheet.height]
    if len(filled) > 1:
        largest = max(filled, key=lambda name: sheets[name].height)
        raise TableError(
            f"{path!r} has {len(filled)} sheets: {', '.join(map(repr, filled))}; choose one, for "
            f"instance with sheet={largest!r}."
        )
    return next(iter(filled or sheets))


def _numbers(
    held: dict[str, Sequence[Any]],
    lines: Sequence[int],
    rows: slice,
    point: str,
    name: Name,
    met: Findings,
) -> FloatArray:
    cells = held[str(name)][rows]
    if all(type(cell) is float for cell in cells):
        return np.array(cells, dtype=np.float64)
    # Numbers that are kept as text are read as in csv files.
    return numbers_of(name, [_text(cell, point) for cell in cells], lines[rows], met, point)


def _labels(held: dict[str, Sequence[Any]], rows: slice, name: Name, met: Findings | None) -> Coded:
    return labels_of(name, Coded.of([_text(cell) for cell in held[str(name)][rows]]), met)


def _is_cell(value: Any) -> bool:
    return not isinstance(value, str) or bool(value.strip())


def _text(cell: Any, point: str = ".") -> str:
    """Write a cell as a csv file would hold it; spreadsheets have no integers."""
    if type(cell) is float:
        is_whole = cell.is_integer() and abs(cell) < 2**53
        return str(int(cell)) if is_whole else repr(cell).replace(".", point)
    return str(cell)
