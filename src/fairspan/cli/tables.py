"""Tables in files: which columns there are, and columns read as numbers or as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fairspan._types import FloatArray

Name = str | int
"""Columns of tables have names; those of arrays have numbers."""

TEXT = (".csv", ".tsv", ".txt", ".gz")
ARROW = (".parquet", ".pq", ".feather", ".arrow")


@dataclass(frozen=True)
class Coded:
    """A column of few values: row i has ``values[codes[i]]``, or none where the code is -1."""

    codes: npt.NDArray[np.int32]
    values: list[Any]

    def listed(self, rows: npt.NDArray[np.bool_] | None = None) -> list[Any]:
        """Give the value of each row, or of each row asked for; None where there is none."""
        values = [*self.values, None]
        return [values[code] for code in (self.codes if rows is None else self.codes[rows])]


@dataclass
class NotNumbers:
    """Cells that should have been numbers: how many in each column, and the first of them."""

    counts: dict[Name, int] = field(default_factory=dict)
    examples: dict[Name, str] = field(default_factory=dict)

    def add(self, name: Name, cell: str, line: int | None = None, count: int = 1) -> None:
        """Count a cell."""
        where = "" if line is None else f" in line {line}"
        self.counts[name] = self.counts.get(name, 0) + count
        self.examples.setdefault(name, f"{cell[:30]!r}{where}")


@dataclass(frozen=True)
class Table:
    """Columns that were read; missing numbers are NaN."""

    numbers: FloatArray
    texts: dict[Any, Coded]
    problems: NotNumbers


class Source(Protocol):
    """A file whose columns are known and can be read."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def names(self) -> tuple[Any, ...]:
        """The columns."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed."""

    def read(self, numbers: Sequence[Any], texts: Sequence[Any]) -> Table:
        """Read columns as numbers and columns as text."""


def open_table(path: str, *, separator: str | None = None, encoding: str = "utf-8") -> Source:
    """Open a table by the ending of its name.

    Parameters
    ----------
    path : str
        A csv, npy, parquet or feather file.
    separator : str, optional
        What stands between the cells of a csv file; found in its header if not given.
    encoding : str
        Of a csv file.

    Returns
    -------
    Source
        The file with the names of its columns.
    """
    from fairspan.cli.csv_table import CsvTable

    place, ending = Path(path), Path(path).suffix.lower()
    if ending in TEXT:
        return CsvTable.open(place, separator, encoding)
    if ending == ".npy":
        return ArrayTable.open(place)
    if ending in ARROW:
        return ArrowTable.open(place)
    known = ", ".join((".csv", ".csv.gz", ".tsv", ".txt", ".npy", *ARROW))
    raise ValueError(f"{path!r} has an ending that is not known; tables end in one of {known}.")


@dataclass(frozen=True)
class ArrayTable:
    """A two-dimensional array in an .npy file; its columns are known by number, from 0."""

    path: Path
    array: npt.NDArray[Any]
    notes: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path) -> ArrayTable:
        """Map the array into memory, without reading it."""
        with open(path, "rb"):
            pass
        try:
            array = np.lib.format.open_memmap(path, mode="r")
        # numpy parses the header as Python text, where damage raises nearly anything.
        except Exception as error:
            raise ValueError(f"{str(path)!r} cannot be read as an .npy array: {error}") from None
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise ValueError(
                f"{str(path)!r} is {array.ndim}-dimensional, of {array.dtype}; a table is a "
                "2-dimensional numeric array."
            )
        return cls(path, array)

    @property
    def names(self) -> tuple[int, ...]:
        """Numbers of the columns."""
        return tuple(range(self.array.shape[1]))

    def read(self, numbers: Sequence[Any], texts: Sequence[Any]) -> Table:
        """Read columns as numbers and columns as labels."""
        if not len(self.array):
            raise ValueError(f"{str(self.path)!r} has no rows.")
        matrix = np.asarray(self.array[:, list(numbers)], dtype=np.float64)
        return Table(matrix, {j: _code(self.array[:, j]) for j in texts}, NotNumbers())


@dataclass(frozen=True)
class ArrowTable:
    """A parquet or feather file, by pyarrow."""

    path: Path
    table: Any
    notes: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path) -> ArrowTable:
        """Open the file; columns are read when they are asked for."""
        try:
            from pyarrow import dataset
        except ImportError as error:
            raise ImportError(
                f'reading {path.name!r} needs pyarrow: pip install "fairspan[files]".'
            ) from error
        form = "parquet" if path.suffix.lower() in (".parquet", ".pq") else "feather"
        with open(path, "rb"):
            pass
        with _naming(path, form):
            return cls(path, dataset.dataset(path, format=form))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.table.schema.names)

    def read(self, numbers: Sequence[Any], texts: Sequence[Any]) -> Table:
        """Read columns as numbers and columns as labels."""
        with _naming(self.path, "a whole table"):
            columns = self.table.to_table(columns=list(dict.fromkeys([*numbers, *texts])))
        if not len(columns):
            raise ValueError(f"{str(self.path)!r} has no rows.")
        problems = NotNumbers()
        matrix = np.full((len(columns), len(numbers)), np.nan)
        for j, name in enumerate(numbers):
            matrix[:, j] = _arrow_numbers(columns[name], name, problems)
        return Table(matrix, {name: _arrow_code(columns[name]) for name in texts}, problems)


@contextmanager
def _naming(path: Path, form: str) -> Iterator[None]:
    """Name the file where pyarrow only tells what is wrong with it."""
    try:
        yield
    # What it raises for damaged files are its own exceptions, OSError and ValueError.
    except Exception as error:
        raise ValueError(f"{str(path)!r} cannot be read as {form}: {error}") from None


def _arrow_numbers(column: Any, name: str, problems: NotNumbers) -> Any:
    from pyarrow import float64, types

    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return column.cast(float64(), safe=False).to_numpy()
    if types.is_boolean(kind):
        return column.cast("uint8").cast(float64()).to_numpy()
    first = next((str(value) for value in column.to_pylist() if value is not None), "nothing")
    problems.add(name, first, count=len(column) - column.null_count)
    return np.full(len(column), np.nan)


def _arrow_code(column: Any) -> Coded:
    coded = column.combine_chunks().dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return Coded(codes, coded.dictionary.to_pylist())


def _code(column: npt.NDArray[Any]) -> Coded:
    values, codes = np.unique(column, return_inverse=True)
    found = [int(value) if float(value).is_integer() else value.item() for value in values]
    short = codes.astype(np.int32)
    if column.dtype.kind == "f":
        short[np.isnan(column)] = -1
    return Coded(short, found)
