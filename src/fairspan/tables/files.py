"""Moments of files, read in batches: memory does not depend on the number of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any, Unpack

import numpy as np

from fairspan.ground.parameters import check_choice, is_listing
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.choose import choose
from fairspan.tables.columns import Columns, TableOptions
from fairspan.tables.csv import Dialect
from fairspan.tables.findings import Findings, Name, TableError
from fairspan.tables.groups import parser
from fairspan.tables.parts import KINDS, FilePart, find_parts, kind_of, known_kind
from fairspan.tables.pieces import TEXT, Coded, Piece, Table, Wanted, objects
from fairspan.tables.rows import Add, RowReader, Step, TableMoments, settled, table_moments
from fairspan.tables.typed import kind_of_array

ENGINES = ("process", "dask", "spark")


class FileOptions(TableOptions, total=False):
    """How files are read: the keywords of ``TableOptions``, and two for csv files.

    Attributes
    ----------
    separator : str
        What stands between the cells, one character or "tab"; by default the comma, semicolon or
        tab that the first two lines show.
    encoding : str
        By default UTF-8, or UTF-16 where a byte-order mark says so.
    """

    separator: str | None
    encoding: str | None


def moments_from_files(
    paths: Any,
    sensitive: str | int | Sequence[str | int] | None = None,
    features: Sequence[str | int] | None = None,
    *,
    engine: str = "process",
    **options: Unpack[FileOptions],
) -> GroupMoments:
    """Compute the moments of tables in files, in one pass and in batches.

    Memory holds one batch and one matrix a group, however large the files are. The moments are
    those of all rows together, whatever the order of the files and the size of the batches.

    Parameters
    ----------
    paths : str, path or sequence of them
        Files, folders or patterns of one kind: Parquet (``.parquet``, ``.pq``), Arrow
        (``.arrow``, ``.feather``, ``.ipc``), csv (``.csv``, ``.tsv``, ``.gz`` after them) or numpy
        (``.npy``). Folders are searched; their names may give columns (``sex=f/part.parquet``),
        which columns of the same name in the files must not contradict.
    sensitive : str or sequence of str, optional
        Columns of groups; several are intersected, and labels become tuples. None: one group.
    features : sequence of str, optional
        Columns of features, in this order. None takes all that are not used otherwise, but not
        those that pandas wrote as the index of a frame.
    engine : {"process", "dask", "spark"}, default="process"
        Who reads: this process, or tasks, one for each file, of the current Dask client or of
        Spark; tasks return moments only.
    **options
        See :class:`fairspan.tables.files.FileOptions`: ``drop``, ``weight``, ``one_hot``,
        ``missing``, ``batch_rows``, ``separator``, ``encoding``.

    Returns
    -------
    GroupMoments
        The moments; ``dropped_rows`` says how many rows ``missing="drop_rows"`` left out.

    Notes
    -----
    Csv and npy files need no further package; where pyarrow is installed, it reads csv files
    several times faster, by the same rules. What was assumed about a file is logged.

    Columns of ``.npy`` tables are named by their position, -1 being the last; the name of a
    ``.npy`` file of labels or weights stands for a column beside a single table.

    Labels of csv files and of folders have the type that all of them share: whole numbers, numbers,
    truth values (true, false) or text, such as "007". Blanks and NA count as missing.
    """
    check_choice("engine", engine, ENGINES)
    dialect = Dialect(options.pop("separator", None), options.pop("encoding", None))
    files = Files(find_parts(paths), dialect, engine)
    return files.moments(files.choose(sensitive, features, options)).moments


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

    def moments(self) -> GroupMoments:
        """Boil the rows down."""
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
        return settled(columns, partial(self._run, columns))

    def _beside(self, given: Any, kinds: dict[Name, str]) -> Any:
        """Let the names of npy files of one value a row stand for columns."""
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
        untyped = [name for name in columns.sensitive if self._is_untyped(name)]
        return table_moments(columns, partial(self._run, columns), self.where, untyped)

    def rows(self, columns: Columns) -> TableRows:
        """Hold all complete rows of one file in memory."""
        reader = RowReader(columns, self.first)
        found = [replace(rows, X=rows.X.copy()) for rows in reader.read(columns.wanted)]
        met = reader.met
        if not sum(len(rows.X) for rows in found):
            raise TableError(f"{self.where} has no rows to compute moments of{met.why_none}.")
        labels, kept = [rows.labels for rows in found], [rows.kept for rows in found]
        groups = {name: self._joined(name, labels) for name in columns.sensitive}
        return TableRows(
            np.concatenate([rows.X for rows in found]),
            None if columns.weight is None else np.concatenate([rows.weight for rows in found]),
            groups if len(groups) > 1 else next(iter(groups.values()), None),
            {name: self._joined(name, kept, is_kept=True) for name in columns.kept},
            columns,
            met.sentences(columns.categories),
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

    def _is_untyped(self, name: Name) -> bool:
        return isinstance(name, int) or self.first.kinds.get(name) == TEXT

    def _run(self, columns: Columns, step: Step, add: Add, wanted: Wanted) -> Any:
        only = None if columns.dropped is None else frozenset(self.first.kinds) - self.first.index
        task = _FileTask(step, wanted, self.dialect, only)
        if self.engine == "dask":
            from fairspan.tables.dask import map_and_add

            return map_and_add(task, self.parts, add)
        if self.engine == "spark":
            from fairspan.tables.spark import map_and_add as map_and_add_on_spark

            return map_and_add_on_spark(task, self.parts, add)
        return reduce(add, map(task, self.parts))


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


def open_table(part: FilePart, dialect: Dialect) -> Table:
    """Open a table by the ending of its name; whatever is wrong with it, the file is named."""
    # What is no file says so itself.
    with open(part.path, "rb"):
        kind = KINDS[known_kind(part.path)]
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
        raise TableError(
            f"{path!r} is not text in {getattr(error, 'encoding', 'its encoding')}; if it is a csv "
            "file, name its encoding, for instance encoding='latin-1'."
        ) from None
    except Exception as error:
        raise TableError(f"{path!r} cannot be read: {error}") from None
