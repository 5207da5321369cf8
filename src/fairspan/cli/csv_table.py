"""Tables in csv files, read in pieces: numbers into one matrix, text into codes."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from fairspan._types import FloatArray
from fairspan.cli.console import Progress
from fairspan.cli.tables import Coded, NotNumbers, Table

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "."}
"""What counts as missing in columns of numbers, in any case; in text only an empty cell does."""

_ROWS = 20_000
_LARGE = 64 * 2**20
"""Rows in a piece; bytes from which on reading shows its progress."""


@dataclass(frozen=True)
class CsvTable:
    """A csv file whose header has been read."""

    path: Path
    names: tuple[str, ...]
    separator: str
    encoding: str
    notes: tuple[str, ...]

    @classmethod
    def open(cls, path: Path, separator: str | None, encoding: str) -> CsvTable:
        """Read the header and find the separator."""
        with _text(path, encoding) as (text, _):
            first = _first_line(text)
        if not first:
            raise ValueError(f"{str(path)!r} is empty; a csv file begins with column names.")
        notes = []
        if separator is None:
            counts = {mark: len(_cells(first, mark)) for mark in SEPARATORS}
            separator = max(counts, key=lambda mark: counts[mark])
            if separator != ",":
                notes.append(f"columns are separated by {SEPARATORS[separator]}s (detected)")
        names = tuple(cell.strip() for cell in _cells(first, separator))
        _check_names(path, names)
        return cls(path, names, separator, encoding, tuple(notes))

    def read(self, numbers: Sequence[Any], texts: Sequence[Any]) -> Table:
        """Read columns as numbers and columns as text."""
        wanted = [self.names.index(name) for name in numbers]
        coders = {self.names.index(name): _Coder() for name in texts}
        problems = NotNumbers()
        blocks: list[FloatArray] = []
        size = self.path.stat().st_size
        label = f"reading {self.path.name} (MB)"
        with (
            _text(self.path, self.encoding) as (text, raw),
            Progress(size // 2**20, label, hidden=size < _LARGE) as progress,
        ):
            for line, rows in self._pieces(text):
                columns = list(zip(*rows, strict=True))
                blocks.append(np.empty((len(rows), len(wanted))))
                for j, place in enumerate(wanted):
                    blocks[-1][:, j] = _numbers(columns[place], self.names[place], line, problems)
                for place, coder in coders.items():
                    coder.add(columns[place])
                progress.step(raw.tell() // 2**20 - progress.done)
        if not blocks:
            raise ValueError(f"{str(self.path)!r} has column names but no rows.")
        coded = {self.names[place]: coder.coded() for place, coder in coders.items()}
        return Table(np.concatenate(blocks), coded, problems)

    def _pieces(self, text: Any) -> Iterator[tuple[int, list[list[str]]]]:
        reader = csv.reader(text, delimiter=self.separator, skipinitialspace=True)
        next(row for row in reader if row)
        try:
            while piece := list(islice(reader, _ROWS)):
                # Blank lines are no rows; csv files often end with one.
                rows = [row for row in piece if row]
                for row in rows:
                    if len(row) != len(self.names):
                        raise ValueError(self._ragged(row, reader.line_num - len(piece), piece))
                if rows:
                    yield reader.line_num - len(piece) + 1, rows
        except csv.Error as error:
            raise ValueError(
                f"{str(self.path)!r} cannot be read as csv at line {reader.line_num}: {error}."
            ) from None

    def _ragged(self, row: list[str], before: int, piece: list[list[str]]) -> str:
        line = before + 1 + next(i for i, other in enumerate(piece) if other is row)
        return (
            f"{str(self.path)!r} has {len(self.names)} columns but {len(row)} cells in about line "
            f"{line}; check its quotes, or name the separator with --separator."
        )


@contextmanager
def _text(path: Path, encoding: str) -> Iterator[tuple[Any, Any]]:
    """Open a file as text, and say it plainly where it is not."""
    with open(path, "rb") as raw:
        data: Any = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw
        # The mark some programs put first is no part of the first name.
        name = "utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding
        text = io.TextIOWrapper(data, encoding=name, newline="")
        try:
            yield text, raw
        except UnicodeError:
            raise ValueError(
                f"{str(path)!r} is not text in {encoding}; if it is a csv file, name its encoding, "
                "for instance --encoding latin-1."
            ) from None
        except (gzip.BadGzipFile, EOFError) as error:
            raise ValueError(f"{str(path)!r} is not a whole gzip file: {error}.") from None


def _first_line(text: Any) -> str:
    for line in text:
        # A name in quotes may run over several lines.
        while line.count('"') % 2 and (more := text.readline(2**20)):
            line += more
        if line.strip():
            return str(line)
    return ""


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(line), delimiter=separator, skipinitialspace=True))
    except (csv.Error, StopIteration):
        return [line]


def _check_names(path: Path, names: tuple[str, ...]) -> None:
    if "\0" in "".join(names):
        raise ValueError(f"{str(path)!r} is not a text file.")
    if "" in names:
        raise ValueError(
            f"{str(path)!r} has no name for its column {names.index('') + 1}; write one in its "
            "first line."
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{str(path)!r} has columns of the same name: {twice[:5]}; rename them.")
    if all(_is_number(name) for name in names):
        raise ValueError(
            f"the first line of {str(path)!r} holds numbers ({', '.join(names[:3])}, ...), not "
            "column names; add a line of names at its top."
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(cells: Sequence[str], name: str, line: int, problems: NotNumbers) -> Any:
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        pass
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if _is_number(cell):
            values[i] = float(cell)
        elif cell.strip().lower() not in MISSING:
            problems.add(name, cell.strip(), line + i)
    return values


class _Coder:
    """Text in few distinct values, as numbers."""

    def __init__(self) -> None:
        self.lookup: dict[str, int] = {}
        self.pieces: list[Any] = []

    def add(self, cells: Sequence[str]) -> None:
        lookup = self.lookup
        stripped = (cell.strip() for cell in cells)
        codes = (lookup.setdefault(cell, len(lookup)) if cell else -1 for cell in stripped)
        self.pieces.append(np.fromiter(codes, np.int32, len(cells)))

    def coded(self) -> Coded:
        return Coded(np.concatenate(self.pieces), _whole(list(self.lookup)))


def _whole(values: list[str]) -> list[Any]:
    """Whole numbers become numbers if all values are such; '007' and '1.0' stay text."""
    try:
        found = [int(value) for value in values]
    except ValueError:
        return list(values)
    same = all(str(a) == b for a, b in zip(found, values, strict=True))
    return list(found) if same else list(values)
