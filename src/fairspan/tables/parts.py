"""Tables in files: what opens a file, what its folders say about its rows, and several as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from fairspan.ground.parameters import is_listing, is_number
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.columns import Columns, choose
from fairspan.tables.csv import open_csv
from fairspan.tables.dialect import Dialect
from fairspan.tables.excel import open_excel
from fairspan.tables.findings import Findings, Name, TableError
from fairspan.tables.first_pass import Add, Step, settled
from fairspan.tables.groups import parser
from fairspan.tables.pieces import TEXT, Coded, Piece, Table, Wanted, number_of, objects
from fairspan.tables.rows import RowReader, TableMoments, table_moments
from fairspan.tables.typed import kind_of_array, open_arrow, open_npy


class Kind(NamedTuple):
    """A kind of files: how their names end, and what opens one."""

    endings: tuple[str, ...]
    open: Callable[[str, Dialect], Table]


KINDS = {
    "csv": Kind((".csv", ".csv.gz", ".tsv", ".tsv.gz"), open_csv),
    "excel": Kind((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), open_excel),
    "npy": Kind((".npy",), open_npy),
    "parquet": Kind((".parquet", ".pq"), partial(open_arrow, is_parquet=True)),
    "arrow": Kind((".arrow", ".feather", ".ipc"), open_arrow),
}
KNOWN = ", ".join(ending for kind in KINDS.values() for ending in kind.endings)


def kind_of(path: str, *, is_named: bool = True) -> str | None:
    """Give the kind of a file by its name; named files may also end in .txt."""
    name = path.lower()
    text = "csv" if is_named and name.endswith((".txt", ".gz")) else None
    return next((kind for kind, known in KINDS.items() if name.endswith(known.endings)), text)


def known_kind(path: str) -> str:
    """Give the kind of a file by its name; refuse unknown kinds."""
    kind = kind_of(path)
    if kind is None:
        raise TableError(f"{path!r} is not a known kind of table; names end with {KNOWN}.")
    return kind


@dataclass(frozen=True)
class FilePart:
    """A file, and the columns that the names of its folders give (``sex=f/part.parquet``).

    Attributes
    ----------
    path : str
        The file.
    keys : dict of str to str or None
        Columns with the same value in all rows.
    """

    path: str
    keys: dict[str, str | None] = field(default_factory=dict)

    def keyed(self, table: Table) -> Table:
        """Add the columns that the folders give to a table; it may have them, if they agree."""
        both = tuple(name for name in self.keys if name in table.kinds)

        def read(wanted: Wanted, met: Findings) -> Iterator[Piece]:
            # What the file has, too, is read as labels, to be compared.
            numbers, labels, kept = (
                tuple(name for name in names if name not in self.keys) for names in wanted[1:4]
            )
            compared = tuple(name for name in both if name in wanted.names)
            own = Wanted(wanted.rows, numbers, labels + compared, kept, wanted.has_counter)
            for piece in table.read(own, met):
                yield self._added(piece, wanted, met)

        return replace(table, kinds=table.kinds | dict.fromkeys(self.keys, TEXT), read=read)

    def _added(self, piece: Piece, wanted: Wanted, met: Findings) -> Piece:
        for name, value in self.keys.items():
            if name in piece.labels and not _agrees(value, piece.labels[name]):
                raise ValueError(
                    f"its column {name!r} does not match its folder {name}={value}; rename one of "
                    "them, or give the files themselves (a pattern such as '*/*') to use the "
                    "column alone."
                )
            coded = Coded(np.full(piece.size, 0 if value else -1), objects([value]))
            piece.labels[name] = piece.kept[name] = coded
            if name in wanted.numbers:
                number = number_of(value or "")
                if number is None:
                    met.add_text(name, str(value), " in the name of a folder")
                piece.numbers[name] = np.full(piece.size, np.nan if number is None else number)
        labels = {name: piece.labels[name] for name in wanted.labels}
        return piece._replace(labels=labels, kept={name: piece.kept[name] for name in wanted.kept})


def _agrees(text: str | None, column: Coded) -> bool:
    """Whether the name of a folder means the value of every row."""
    if not text or (column.codes < 0).any():
        return not text and bool((column.codes < 0).all())
    return all(
        text.lower() == str(value).lower() or (is_number(value) and number_of(text) == value)
        for value in column.used
    )


def open_table(part: FilePart, dialect: Dialect) -> Table:
    """Open a table by the ending of its name; whatever is wrong with it, the file is named."""
    # What is no file says so itself.
    with open(part.path, "rb"):
        kind = KINDS[known_kind(part.path)]
    if dialect.sheet is not None and kind is not KINDS["excel"]:
        raise TableError(f"{part.path!r} has no sheets; leave out sheet={dialect.sheet!r}.")
    with _naming(part.path):
        table = kind.open(part.path, dialect)

    def read(wanted: Wanted, met: Findings) -> Iterator[Piece]:
        with _naming(part.path):
            yield from table.read(wanted, met)

    named = replace(table, read=read)
    return part.keyed(named) if part.keys else named


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Name the file; what pyarrow raises are its own exceptions, OSError and ValueError."""
    try:
        yield
    except (TableError, ImportError, MemoryError):
        raise
    except UnicodeError as error:
        given = getattr(error, "encoding", "its encoding")
        # What spreadsheets write on Windows; every byte is a letter of latin-1.
        other = "cp1252" if given == "utf-8" else "latin-1"
        raise TableError(
            f"{path!r} is not text in {given}; if it is a csv file, name its encoding, for "
            f"instance encoding={other!r}."
        ) from None
    except Exception as error:
        hint = ""
        if kind_of(path) == "excel":
            hint = " If a spreadsheet program opens it, save it there as csv and use that."
        raise TableError(f"{path!r} cannot be read: {str(error).rstrip('.')}.{hint}") from None


@dataclass(frozen=True)
class TableRows:
    """Complete rows of a table in memory, with columns that were kept as they are."""

    X: FloatArray
    weight: FloatArray | None
    groups: Any
    kept: dict[Name, Any]
    columns: Columns
    notes: tuple[str, ...]
    dropped: int

    def scaled(self, scale: FloatArray) -> TableRows:
        """Divide the features."""
        columns = replace(self.columns, scales=tuple(scale.tolist()))
        return replace(self, X=self.X / scale, columns=columns)

    def moments(self) -> GroupMoments:
        """Reduce the rows to moments."""
        found = GroupMoments.from_arrays(self.X, self.groups, sample_weight=self.weight)
        names = self.columns.feature_names
        return replace(found, feature_names=names, dropped_rows=self.dropped)


@dataclass(frozen=True)
class Files:
    """Tables of one kind in files, read here or on an engine."""

    parts: list[FilePart]
    dialect: Dialect
    engine: str = "process"

    @cached_property
    def first(self) -> Table:
        """The first file, whose columns are those of all."""
        return open_table(self.parts[0], self.dialect)

    @property
    def where(self) -> str:
        """The files, as errors name them."""
        return repr(self.parts[0].path) + (" and others" if len(self.parts) > 1 else "")

    def choose(self, sensitive: Any, features: Any, options: Any) -> Columns:
        """Choose columns, and find the categories that are not known."""
        kinds, options = dict(self.first.kinds), dict(options)
        if isinstance(next(iter(kinds), ""), int):
            sensitive = self._beside(sensitive, kinds)
            options["weight"] = self._beside(options.get("weight"), kinds)
        columns = choose(self.where, kinds, sensitive, features, options, self.first.index)
        return settled(columns, partial(self.run, columns), self.where)

    def _beside(self, given: Any, kinds: dict[Name, str]) -> Any:
        """Accept names of npy files with one value per row as columns."""
        names = [
            os.fspath(one) if isinstance(one, os.PathLike) else one
            for one in (given if is_listing(given) else [given])
        ]
        for name in names:
            if isinstance(name, str) and kind_of(name) == "npy":
                if len(self.parts) > 1:
                    raise ValueError(
                        f"{name!r} belongs to one table, but there are {len(self.parts)}; add the "
                        "moments of each table with its file of labels."
                    )
                kinds[name] = kind_of_array(name)
        return names if is_listing(given) else names[0]

    def moments(self, columns: Columns) -> TableMoments:
        """Add the moments of all files."""
        known = zip(columns.sensitive, self.untyped(columns), strict=True)
        untyped = [name for name, is_untyped in known if is_untyped]
        return table_moments(columns, partial(self.run, columns), self.where, untyped)

    def rows(self, columns: Columns) -> TableRows:
        """Hold all complete rows of one file in memory."""
        reader = RowReader(columns, self.first)
        found = [replace(rows, X=rows.X.copy()) for rows in reader.read(columns.wanted)]
        met = reader.met
        if not sum(len(rows.X) for rows in found):
            raise TableError(f"{self.where} {met.none_left}.")
        labels, kept = [rows.labels for rows in found], [rows.kept for rows in found]
        groups = {name: self._joined(name, labels) for name in columns.sensitive}
        return TableRows(
            np.concatenate([rows.X for rows in found]),
            None if columns.weight is None else np.concatenate([rows.weight for rows in found]),
            groups if len(groups) > 1 else next(iter(groups.values()), None),
            {name: self._joined(name, kept, is_kept=True) for name in columns.kept},
            columns,
            met.sentences(columns.categories, columns.fills, columns.bins),
            met.dropped,
        )

    def _joined(self, name: Name, parts: list[dict[Name, Coded]], *, is_kept: bool = False) -> Any:
        """Join the labels of a column and find their type; what is kept is text or whole."""
        labels = np.concatenate([part[name].listed() for part in parts])
        values = {*labels} - {None}
        parse = parser(list(values))
        if not self._is_untyped(name) or (is_kept and parse is not int):
            return labels
        return objects(map({value: parse(value) for value in values}.get, labels))

    def untyped(self, columns: Columns) -> list[bool]:
        """Say, for each sensitive column, whether it has no type of its own."""
        return [self._is_untyped(name) for name in columns.sensitive]

    def _is_untyped(self, name: Name) -> bool:
        return isinstance(name, int) or self.first.kinds.get(name) == TEXT

    def run(self, columns: Columns, step: Step, add: Add, wanted: Wanted) -> Any:
        """Apply a step to each file and add what comes out."""
        only = None if columns.dropped is None else frozenset(self.first.kinds) - self.first.index
        task = _FileTask(step, wanted, self.dialect, only)
        if self.engine == "process":
            return reduce(add, map(task, self.parts))
        engine = import_module(f"fairspan.tables.{self.engine}")
        return engine.map_and_add(task, self.parts, add)


@dataclass(frozen=True)
class _FileTask:
    """Applies a step to one file; ``only`` are all columns that it may have."""

    step: Step
    wanted: Wanted
    dialect: Dialect
    only: frozenset[Name] | None

    def __call__(self, part: FilePart) -> Any:
        table = open_table(part, self.dialect)
        self._check_columns(part, table)
        try:
            return self.step(table, self.wanted)
        except TableError:
            raise
        except ValueError as error:
            raise TableError(f"{part.path!r}: {error}") from error

    def _check_columns(self, part: FilePart, table: Table) -> None:
        found = {*table.kinds}
        beside = [name for name in self.wanted.names if kind_of(str(name)) == "npy"]
        expected = {*self.wanted.names, *(self.only or ())} - {*beside}
        lacking = sorted(map(str, expected - found))
        extra = sorted(map(str, found - expected - table.index)) if self.only is not None else []
        if lacking or extra:
            raise TableError(
                f"{part.path!r} has other columns than the first file. Missing: {lacking[:5]}; "
                f"unexpected: {extra[:5]}. Name the columns with features=[...]."
            )
