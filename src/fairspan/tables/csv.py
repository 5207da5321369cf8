"""Csv files: encoding, separator, header and rows.

Python's csv module cuts files into cells, and :mod:`fairspan.tables.pieces` reads these. Where
pyarrow is installed, it does both much faster for as long as it has no doubt: from the first block
that it refuses, for whatever reason, the plain reader goes on. So there is one set of rules, and
one place that says what is wrong with a file.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any

from fairspan.tables.dialect import Dialect, Tell, check_names
from fairspan.tables.findings import Findings, Name, TableError
from fairspan.tables.pieces import (
    MISSING_WORDS,
    TEXT,
    Coded,
    Piece,
    Table,
    Wanted,
    labels_of,
    numbers_of,
)

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_ROWS, _CELLS, _LONGEST, _BLOCK = 20_000, 2**21, 2**24, 2**21
"""Most rows and cells held at once; characters of a cell; bytes that pyarrow reads at once."""
_MARK = "4.4501477170144023e-308"
"""A cell that no file holds, in a row put after the last."""
_BREAK = re.compile(r"\r\n|\r|\n")


def open_csv(path: str, dialect: Dialect) -> Table:
    """Open a csv file: read its header, find its encoding and its separator."""
    with _opened(path) as (data, _):
        marked = (name for mark, name in _MARKS.items() if data.peek(4).startswith(mark))
        encoding = dialect.encoding or next(marked, "utf-8")
        text = _text(data, encoding)
        first, second = _line(text), _line(text)
    if not first:
        raise TableError(f"{path!r} is empty; a csv file begins with column names.")
    usual = "\t" if ".tsv" in Path(path).name.lower() else ","
    separator = dialect.mark or _separator(usual, first, second)
    cells = _cells(first, separator)
    is_spaced = len(cells) > 1 and all(cell.startswith(" ") for cell in cells[1:])
    names = [cell.strip() for cell in _cells(first, separator, is_spaced=True)]
    file = _CsvFile(
        path, names, len(names), separator, encoding, dialect.point, is_spaced, dialect.tell
    )
    if len(names) > 1 and not names[-1]:
        names.pop()
    spaced = 0 if is_spaced else sum(cell != cell.strip() for cell in cells)
    notes = {
        f"encoding is {encoding} (byte-order mark)": encoding not in (dialect.encoding, "utf-8"),
        f"columns are separated by {_SEPARATORS.get(separator)} (detected)": separator
        not in (dialect.mark, usual),
        f"spaces around column names removed ({spaced})": spaced,
        "dropped the last column: it has no name and no values": len(names) < file.width,
        f"column names are the numbers 0 to {len(names) - 1}": check_names(path, names),
    }
    return Table(
        repr(path),
        dict.fromkeys(names, TEXT),
        file.read,
        frozenset(names[:1]) & {""},
        tuple(note for note, holds in notes.items() if holds),
    )


@dataclass(frozen=True)
class _CsvFile:
    """A csv file whose header has been read.

    Rows have one cell more than there are names if they end with a separator. Where a space
    follows every separator of the header, it is no part of the cells.
    """

    path: str
    names: list[str]
    width: int
    separator: str
    encoding: str
    point: str
    is_spaced: bool
    tell: Tell

    def read(self, wanted: Wanted, met: Findings) -> Iterator[Piece]:
        """Read columns, by pyarrow for as long as it has no doubt."""
        if wanted.has_counter and not self.names[0]:
            wanted = wanted._replace(numbers=(*wanted.numbers, ""))
        is_plain = codecs.lookup(self.encoding).name == "utf-8" and not self.is_spaced
        is_read_once = len(wanted.names) == sum(map(len, wanted[1:4]))
        done = 0
        if is_plain and is_read_once:
            try:
                for piece in self._fast(wanted, met):
                    yield piece
                    done += piece.size
            # Without pyarrow, and whatever it finds wrong, the plain reader goes on.
            except Exception:
                pass
            else:
                return
        yield from self._plain(wanted, met, done)

    def _plain(self, wanted: Wanted, met: Findings, done: int) -> Iterator[Piece]:
        """Cut rows into cells, after those that are done."""
        with _opened(self.path) as (data, raw):
            text = _text(data, self.encoding)
            size = min(wanted.rows, _ROWS, _CELLS // self.width + 1)
            for lines, rows in self._blocks(text, size):
                cells, numbers = rows[done:], partial(_numbers, lines[done:], self.point)
                done = max(done - len(rows), 0)
                if cells:
                    self.tell(raw.tell())
                    columns = dict(zip(self.names, zip(*cells, strict=True), strict=False))
                    read = partial(numbers, columns), partial(_labels, columns)
                    yield Piece.read(len(cells), wanted, met, *read)

    def _blocks(self, text: Any, size: int) -> Iterator[tuple[list[int], list[list[str]]]]:
        """Give lines and rows; one too wide, put last, tells that all quotes are closed."""
        ended = chain(text, [self.separator * self.width])
        reader = csv.reader(ended, delimiter=self.separator, skipinitialspace=self.is_spaced)
        # The limit is that of the process; pyarrow has a similar one.
        csv.field_size_limit(max(_LONGEST, csv.field_size_limit()))
        lines: list[int] = []
        rows: list[list[str]] = []
        try:
            next(row for row in reader if row)
            before = reader.line_num
            while block := list(islice(reader, size)):
                ends = _ends(block, before, reader.line_num)
                before = reader.line_num
                # Blank lines are no rows; csv files often end with one.
                lines = lines[-1:] + [end for end, row in zip(ends, block, strict=True) if row]
                rows = rows[-1:] + [row for row in block if row]
                self._check(lines, rows[:-1])
                yield lines, rows[:-1]
        except csv.Error as error:
            raise TableError(
                f"{self.path!r} cannot be read as csv at line {reader.line_num}: {error}."
            ) from None
        if rows[-1:] != [[""] * (self.width + 1)]:
            line = max(lines[-1:], default=1)
            raise TableError(
                f"{self.path!r} has a quote that is not closed, in line {line} or above."
            )

    def _check(self, lines: list[int], rows: list[list[str]]) -> None:
        has_spare = len(self.names) < self.width
        for line, row in zip(lines, rows, strict=False):
            if len(row) != self.width:
                raise TableError(
                    f"{self.path!r} has {self.width} columns, but line {line} has another number "
                    f"of cells ({len(row)}); check its quotes, or give a separator=... for it."
                )
            if has_spare and row[-1].strip() not in MISSING_WORDS:
                raise TableError(
                    f"column {self.width} of {self.path!r} has no name, but holds {row[-1][:30]!r} "
                    f"in line {line}; name it in the first line."
                )

    def _fast(self, wanted: Wanted, met: Findings) -> Iterator[Piece]:
        """Let pyarrow cut and convert, by options under which it reads nothing otherwise."""
        import pyarrow as pa

        from fairspan.tables.typed import arrow_piece, in_tables, one_ahead

        texts = [*wanted.labels, *wanted.kept]
        types: dict[Any, Any] = dict.fromkeys(texts, pa.dictionary(pa.int32(), pa.string()))
        if len(self.names) < self.width:
            types["\0"] = pa.null()
        with _opened(self.path) as (data, _), self._arrow(data, wanted.names, types) as head:
            truths = {one.name for one in head.schema if one.type == pa.bool_()}
        for name in wanted.numbers:
            types[name] = pa.bool_() if name in truths else pa.float64()
        marked = next(name for name in types if name != "\0" and name not in truths)
        mark = _MARK.replace(".", self.point)
        cells = [mark if name == marked else "" for name in self._columns]
        with _opened(self.path) as (data, raw):
            ended = _Ended(data, self.separator.join(cells))
            with self._arrow(ended, list(types), types) as reader:
                for table in one_ahead(in_tables(_whole(reader, marked, mark), wanted.rows)):
                    self.tell(raw.tell())
                    yield arrow_piece(table, wanted, met, is_text=True)

    @property
    def _columns(self) -> list[str]:
        return [*self.names, *["\0"] * (self.width - len(self.names))]

    def _arrow(self, data: Any, wanted: list[Any], types: dict[Any, Any]) -> Any:
        from pyarrow import csv as arrow

        convert = arrow.ConvertOptions(include_columns=wanted, column_types=types)
        convert.null_values, convert.decimal_point = [*MISSING_WORDS], self.point
        convert.true_values = ["true", "True", "TRUE"]
        convert.false_values = ["false", "False", "FALSE"]
        return arrow.open_csv(
            data,
            arrow.ReadOptions(
                block_size=_BLOCK, column_names=self._columns, skip_rows_after_names=1
            ),
            arrow.ParseOptions(delimiter=self.separator, newlines_in_values=True),
            convert,
        )


class _Ended(io.RawIOBase):
    """A stream of bytes with one more row at its end."""

    def __init__(self, data: Any, row: str) -> None:
        self._data, self._rest = data, f"\n{row}\n".encode()

    def readable(self) -> bool:
        """Say yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Give the next bytes."""
        found: bytes = self._data.read(size)
        if not found:
            found, self._rest = self._rest, b""
        return found


def _whole(batches: Any, name: Any, mark: str) -> Iterator[Any]:
    """Take off the row that was put last; in a quote that is not closed it gets lost."""
    held = None
    for batch in batches:
        if held is not None:
            yield held
        held = batch
    if held is None or held.column(name)[-1].as_py() not in (mark, float(_MARK)):
        raise ValueError("a quote is not closed")
    yield held.slice(0, held.num_rows - 1)


def _ends(block: list[list[str]], before: int, last: int) -> Iterable[int]:
    """Lines in which rows end; cells in quotes may hold line breaks."""
    if len(block) == last - before:
        return range(before + 1, last + 1)
    heights = (1 + sum(len(_BREAK.findall(cell)) for cell in row) for row in block)
    return islice(accumulate(heights, initial=before), 1, None)


def _numbers(
    lines: list[int], point: str, columns: dict[str, Any], name: Name, met: Findings
) -> Any:
    return numbers_of(name, columns[str(name)], lines, met, point)


def _labels(columns: dict[str, Any], name: Name, met: Findings | None) -> Coded:
    return labels_of(name, Coded.of(columns[str(name)]), met)


@contextmanager
def _opened(path: str) -> Iterator[tuple[Any, Any]]:
    """Open a file, compressed or not; give what it holds and the file itself."""
    with open(path, "rb") as raw:
        data: Any = gzip.GzipFile(fileobj=raw) if path.lower().endswith(".gz") else raw
        try:
            yield data, raw
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise TableError(f"{path!r} cannot be read as gzip: {error}.") from None


def _text(data: Any, encoding: str) -> Any:
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
    # The mark some programs put first is no name; columns that are not used may hold anything.
    name, errors = ("utf-8-sig", "surrogateescape") if is_utf8 else (encoding, "strict")
    return io.TextIOWrapper(data, encoding=name, errors=errors, newline="")


def _line(text: Any) -> str:
    """Give the next line that is not blank; a cell in quotes may run over several."""
    while line := text.readline(_LONGEST):
        while line.count('"') % 2 and len(line) < _LONGEST and (more := text.readline(_LONGEST)):
            line += more
        if line.strip():
            return str(line)
    return ""


def _separator(usual: str, first: str, second: str) -> str:
    """Find the mark that cuts the first two lines into as many cells, and into most."""

    def fit(mark: str) -> tuple[bool, int, bool]:
        count = len(_cells(first, mark))
        agrees = not second or len(_cells(second, mark)) == count
        return count > 1 and agrees, count, mark == usual

    return max(_SEPARATORS, key=fit)


def _cells(line: str, separator: str, *, is_spaced: bool = False) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(line), delimiter=separator, skipinitialspace=is_spaced))
    except (csv.Error, StopIteration):
        return [line]
