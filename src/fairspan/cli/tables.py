"""Tables in files: which columns there are, and columns read as numbers or as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from fairspan.cli.cells import NotNumbers
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.tables.readers import batch_rows, read_tables, types_of
from fairspan.tables.values import MISSING_WORDS, as_numbers, decoded, is_missing, is_number_type

TEXT = (".csv", ".tsv", ".txt", ".gz")
ARROW = (".parquet", ".pq", ".feather", ".arrow", ".ipc")


@dataclass(frozen=True)
class Coded:
    """A column of few values: row i has ``values[codes[i]]``, or none where the code is -1."""

    codes: npt.NDArray[np.integer[Any]]
    values: list[Any]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Put pieces of a column one after the other."""
        lookup: dict[Any, int] = {}
        codes = []
        for part in parts:
            places = [lookup.setdefault(value, len(lookup)) for value in part.values]
            codes.append(np.array([*places, -1], dtype=np.int32)[part.codes])
        return cls(np.concatenate(codes), list(lookup))

    def listed(self) -> list[Any]:
        """Give the value of each row; None where there is none."""
        values = [*self.values, None]
        return [values[code] for code in self.codes]

    def taken(self, rows: BoolArray) -> Self:
        """Give some of the rows."""
        return type(self)(self.codes[rows], self.values)

    def without_words(self) -> Self:
        """Take words such as NA for what they mean: no value."""
        known = [value for value in self.values if value not in MISSING_WORDS]
        if len(known) == len(self.values):
            return self
        place = {value: i for i, value in enumerate(known)}
        places = [place.get(value, -1) for value in self.values]
        return type(self)(np.array([*places, -1], dtype=np.int32)[self.codes], known)


@dataclass(frozen=True)
class Table:
    """Some rows of the columns that were read; missing numbers are NaN."""

    numbers: FloatArray
    texts: dict[Any, Coded]
    problems: NotNumbers

    @classmethod
    def joined(cls, tables: Iterable[Table]) -> Table:
        """Put tables one below the other."""
        parts = list(tables)
        problems = NotNumbers()
        for part in parts:
            problems.merge(part.problems)
        numbers = np.concatenate([part.numbers for part in parts])
        names = parts[0].texts
        texts = {name: Coded.joined([part.texts[name] for part in parts]) for name in names}
        return cls(numbers, texts, problems)


class Source(Protocol):
    """A file whose columns are known and can be read, some rows at a time."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def names(self) -> tuple[Any, ...]:
        """The columns."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed."""

    @property
    def is_text(self) -> bool:
        """Whether the file does not say what is a number, and what is missing."""

    def pieces(self, numbers: Sequence[Any], texts: Sequence[Any]) -> Iterator[Table]:
        """Read columns as numbers and columns as text; no table is without rows."""


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
    is_text: bool = False

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

    def pieces(self, numbers: Sequence[Any], texts: Sequence[Any]) -> Iterator[Table]:
        """Read columns as numbers and columns as labels."""
        rows = batch_rows(self.array.shape[1])
        for start in range(0, len(self.array), rows):
            block = self.array[start : start + rows]
            matrix = np.asarray(block[:, list(numbers)], dtype=np.float64)
            yield Table(matrix, {j: _code(block[:, j]) for j in texts}, NotNumbers())


@dataclass(frozen=True)
class ArrowTable:
    """A parquet or feather file, by pyarrow."""

    path: Path
    types: dict[str, Any]
    notes: tuple[str, ...] = ()
    is_text: bool = False

    @classmethod
    def open(cls, path: Path) -> ArrowTable:
        """Read the names and types of the columns."""
        if find_spec("pyarrow") is None:
            raise ImportError(
                f'reading {path.name!r} needs pyarrow: pip install "fairspan[files]".'
            )
        form = "parquet" if path.suffix.lower() in (".parquet", ".pq") else "feather"
        with open(path, "rb"):
            pass
        with _naming(path, form):
            types, index = types_of(str(path))
        left = {name: kind for name, kind in types.items() if name not in index}
        notes = [
            f"Left out the index that pandas wrote, {name!r}." for name in types if name in index
        ]
        return cls(path, left, tuple(notes))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.types)

    def pieces(self, numbers: Sequence[Any], texts: Sequence[Any]) -> Iterator[Table]:
        """Read columns as numbers and columns as labels."""
        names = list(dict.fromkeys([*numbers, *texts]))
        with _naming(self.path, "a whole table"):
            for rows in read_tables(str(self.path), names, self.types, batch_rows(len(names))):
                problems = NotNumbers()
                matrix = np.empty((len(rows), len(numbers)))
                for j, name in enumerate(numbers):
                    matrix[:, j] = _arrow_numbers(rows[name], name, problems)
                yield Table(matrix, {name: _arrow_code(rows[name]) for name in texts}, problems)


@contextmanager
def _naming(path: Path, form: str) -> Iterator[None]:
    """Name the file where pyarrow only tells what is wrong with it."""
    try:
        yield
    # What it raises for damaged files are its own exceptions, OSError and ValueError.
    except Exception as error:
        raise ValueError(f"{str(path)!r} cannot be read as {form}: {error}") from None


def _arrow_numbers(column: Any, name: str, problems: NotNumbers) -> Any:
    if is_number_type(column.type):
        return as_numbers(column)
    met = [str(value) for value in column.unique().to_pylist() if value is not None] or ["nothing"]
    problems.add(name, met[0], count=len(column) - column.null_count)
    for text in met[1:]:
        problems.add(name, text, count=0)
    return np.nan


def _arrow_code(column: Any) -> Coded:
    coded = decoded(column).combine_chunks().dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    codes[is_missing(column)] = -1
    return Coded(codes, coded.dictionary.to_pylist())


def _code(column: npt.NDArray[Any]) -> Coded:
    values, codes = np.unique(column, return_inverse=True)
    found = [int(value) if float(value).is_integer() else value.item() for value in values]
    short = codes.astype(np.int32)
    if column.dtype.kind == "f":
        short[np.isnan(column)] = -1
    return Coded(short, found)
