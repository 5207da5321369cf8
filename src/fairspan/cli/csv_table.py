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

from fairspan.cli.cells import NotNumbers
from fairspan.cli.console import Progress
from fairspan.cli.tables import Coded, Table
from fairspan.tables.values import MISSING_WORDS

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_TRUTHS = {"true": 1.0, "false": 0.0} | dict.fromkeys(map(str.lower, MISSING_WORDS), np.nan)
_ROWS, _CELLS = 20_000, 2**21
_LARGE = 64 * 2**20
"""Most rows and cells in a piece; bytes from which on reading shows its progress."""


@dataclass(frozen=True)
class CsvTable:
    """A csv file whose header has been read."""

    path: Path
    names: tuple[str, ...]
    separator: str
    encoding: str
    notes: tuple[str, ...]
    is_spaced: bool = False
    is_text: bool = True

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
        # Where a space follows each separator of the header, it is no part of the cells.
        is_spaced = f"{separator} " in first
        return cls(path, names, separator, encoding, tuple(notes), is_spaced)

    def pieces(self, numbers: Sequence[Any], texts: Sequence[Any]) -> Iterator[Table]:
        """Read columns as numbers and columns as text."""
        wanted = [self.names.index(name) for name in numbers]
        size = self.path.stat().st_size
        label = f"reading {self.path.name} (MB)"
        with (
            _text(self.path, self.encoding) as (text, raw),
            Progress(size // 2**20, label, hidden=size < _LARGE) as progress,
        ):
            for line, rows in self._blocks(text):
                columns = list(zip(*rows, strict=True))
                problems = NotNumbers()
                matrix = np.empty((len(rows), len(wanted)))
                for j, place in enumerate(wanted):
                    matrix[:, j] = _numbers(columns[place], self.names[place], line, problems)
                coded = {name: _code(columns[self.names.index(name)]) for name in texts}
                for name in texts:
                    problems.add_spaces(name, columns[self.names.index(name)])
                progress.step(raw.tell() // 2**20 - progress.done)
                yield Table(matrix, coded, problems)

    def _blocks(self, text: Any) -> Iterator[tuple[int, list[list[str]]]]:
        reader = csv.reader(text, delimiter=self.separator, skipinitialspace=self.is_spaced)
        next(row for row in reader if row)
        try:
            while piece := list(islice(reader, min(_ROWS, _CELLS // len(self.names) + 1))):
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
    words = [cell.strip().lower() for cell in cells]
    if {"true", "false"} & set(words) and _TRUTHS.keys() >= set(words):
        problems.add_truths(name, len(cells))
        return np.array([_TRUTHS[word] for word in words])
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        if _is_number(cell):
            values[i] = float(cell)
        elif cell.strip() not in MISSING_WORDS:
            problems.add(name, cell.strip(), line + i)
    return values


def _code(cells: Sequence[str]) -> Coded:
    """Give text of few distinct values as numbers."""
    lookup: dict[str, int] = {}
    stripped = (cell.strip() for cell in cells)
    codes = (lookup.setdefault(cell, len(lookup)) if cell else -1 for cell in stripped)
    return Coded(np.fromiter(codes, np.int32, len(cells)), list(lookup))
