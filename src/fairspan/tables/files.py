"""Moments of files, read in batches: memory does not depend on the number of rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib.util import find_spec
from typing import Any, Unpack, cast

from fairspan.ground.parameters import check_choice, is_listing
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.columns import Columns, TableOptions
from fairspan.tables.parts import FilePart, find_parts
from fairspan.tables.readers import kind_of, mapped, read_tables, types_of
from fairspan.tables.table import Add, Step, missing_extra, moments_of_parts
from fairspan.tables.values import ColumnError

ENGINES = ("process", "dask", "spark")


def moments_from_files(
    paths: Any,
    sensitive: str | int | Sequence[str | int] | None = None,
    features: Sequence[str | int] | None = None,
    *,
    engine: str = "process",
    **options: Unpack[TableOptions],
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
        See :class:`fairspan.tables.columns.TableOptions`: ``drop``, ``weight``, ``one_hot``,
        ``missing``, ``batch_rows``.

    Returns
    -------
    GroupMoments
        The moments; ``dropped_rows`` says how many rows ``missing="drop_rows"`` left out.

    Notes
    -----
    Columns of ``.npy`` tables are named by their position, -1 being the last; the name of a
    ``.npy`` file of labels or weights stands for a column beside a single table.

    Labels of csv files and of folders have the type that all of them share: whole numbers, numbers,
    truth values (true, false) or text, such as "007". Blanks and NA count as missing.
    """
    if find_spec("pyarrow") is None:
        raise missing_extra("files", "pyarrow")
    check_choice("engine", engine, ENGINES)
    parts = find_parts(paths)
    (types, index), kind = _types_of(parts), kind_of(parts[0].path)
    if kind == "npy":
        sensitive, features, options = _positions(types, parts, sensitive, features, options)
    with_path = parts[0].path if len(parts) == 1 else f"{parts[0].path} and others"
    try:
        columns = Columns.choose(
            types, sensitive, features, options, is_named=kind != "npy", index=index
        )
    except ColumnError as error:
        raise error.at(with_path) from None
    text = _text_labels(parts, kind, columns, types)
    columns = _with_text(columns, [*text, *(columns.one_hot if kind == "csv" else ())])
    only = None if features is not None else frozenset(types) - index
    return moments_of_parts(columns, _FileRun(parts, types, only, columns, engine), text)


@dataclass(frozen=True)
class _FileRun:
    """Runs steps over files, here or on an engine; ``only`` are all columns a file may have."""

    parts: list[FilePart]
    types: dict[str, Any]
    only: frozenset[str] | None
    columns: Columns
    engine: str

    def __call__(self, step: Step, add: Add, names: Sequence[str], rows: int) -> Any:
        task = _FileTask(step, tuple(names), rows, self.types, self.only, self.columns)
        if self.engine == "dask":
            from fairspan.tables.dask import map_and_add

            return map_and_add(task, self.parts, add)
        if self.engine == "spark":
            from fairspan.tables.spark import map_and_add as map_and_add_on_spark

            return map_and_add_on_spark(task, self.parts, add)
        return reduce(add, map(task, self.parts))


@dataclass(frozen=True)
class _FileTask:
    """Applies a step to one file; whatever goes wrong, the file is named."""

    step: Step
    names: tuple[str, ...]
    rows: int
    types: dict[str, Any]
    only: frozenset[str] | None
    columns: Columns

    def __call__(self, part: FilePart) -> Any:
        import pyarrow as pa

        self._check_columns(part)
        try:
            return self.step(self._tables(part, self.names, self.types))
        except ColumnError:
            raise self._all_problems(part) from None
        except (pa.ArrowException, OSError, EOFError) as error:
            raise self._reason(part, error) from error
        except ValueError as error:
            raise ValueError(f"{part.path!r}: {error}") from error

    def _tables(self, part: FilePart, names: Sequence[str], types: Mapping[str, Any]) -> Any:
        both = set(part.keys) & set(_own_types(part.path)[0]) if part.keys else set()
        own = [name for name in names if name not in part.keys or name in both]
        for table in read_tables(part.path, own, types, self.rows):
            yield part.with_keys(table, names, types)

    def _reason(self, part: FilePart, error: Exception) -> ValueError:
        import pyarrow as pa

        if "conversion error" in str(error):
            try:
                return self._all_problems(part)
            except pa.ArrowInvalid as other:  # not a matter of text where numbers should be
                error = other
        return _unreadable(part.path, error)

    def _all_problems(self, part: FilePart) -> ColumnError:
        """Read the whole file, csv as text, so that one error names all columns."""
        import pyarrow as pa

        numbers = [name for name in self.columns.features if name not in self.columns.one_hot]
        as_text = dict.fromkeys(numbers, pa.string()) if kind_of(part.path) == "csv" else {}
        tables = self._tables(part, self.columns.needed, {**self.types, **as_text})
        return self.columns.problems(tables).at(repr(part.path))

    def _check_columns(self, part: FilePart) -> None:
        types, index = _own_types(part.path)
        found = {*types, *part.keys}
        expected = {*self.names, *(self.only or ())}
        lacking = sorted(name for name in expected - found if kind_of(name) != "npy")
        extra = sorted(found - expected - index) if self.only is not None else []
        if lacking or extra:
            raise ValueError(
                f"{part.path!r} has other columns than the first file: it lacks {lacking[:5]} and "
                f"has besides {extra[:5]}. Name the columns with features=[...]."
            )


def _own_types(path: str) -> tuple[dict[str, Any], frozenset[str]]:
    import pyarrow as pa

    try:
        return types_of(path)
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> ValueError:
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8" in str(error):
        return ValueError(f"{path!r} is not text in UTF-8; save or convert it to that encoding.")
    if "Empty CSV file" in str(error):
        return ValueError(f"{path!r} is empty; a csv file begins with column names.")
    hint = ""
    if kind_of(path) == "csv":
        hint = (
            ". Here csv files have commas and are in UTF-8; the command fairspan moments reads "
            "other separators and encodings"
        )
    return ValueError(f"{path!r} cannot be read: {error}{hint}.")


def _types_of(parts: list[FilePart]) -> tuple[dict[str, Any], frozenset[str]]:
    """Types of the columns of the first file and of those that folders give; and its index."""
    import pyarrow as pa

    types, index = _own_types(parts[0].path)
    for key in parts[0].keys:
        values = [part.keys[key] for part in parts]
        try:
            pa.array(values, pa.string()).cast(pa.float64())
        except pa.ArrowInvalid:
            types[key] = pa.string()
        else:
            types[key] = pa.float64()
    return types, index


def _text_labels(
    parts: list[FilePart], kind: str | None, columns: Columns, types: dict[str, Any]
) -> tuple[str, ...]:
    """Settle how files and folders that are text are read; give the labels that come as text."""
    import pyarrow as pa

    keys = set(parts[0].keys)
    text = [name for name in columns.sensitive if kind == "csv" or name in keys]
    labels = {*text, *columns.one_hot}
    both = sorted(name for name in text if name in columns.features)
    if both:
        raise ValueError(
            f"Columns that are read as text cannot be groups and features at once: {both}."
        )
    for name in columns.needed:
        if name in keys and name in labels:
            types[name] = pa.string()
        elif kind == "csv" and name in labels:
            types[name] = pa.dictionary(pa.int32(), pa.string())
        elif kind == "csv" and name not in keys and not pa.types.is_boolean(types[name]):
            types[name] = pa.float64()
    return tuple(text)


def _with_text(columns: Columns, names: Sequence[str]) -> Columns:
    """Write values in place of missing ones as text, where columns are read as text."""
    if isinstance(columns.missing, str):
        return columns
    missing = {
        name: str(value) if name in names else value for name, value in columns.missing.items()
    }
    return replace(columns, missing=missing)


def _positions(
    types: dict[str, Any],
    parts: list[FilePart],
    sensitive: Any,
    features: Any,
    options: TableOptions,
) -> tuple[Any, Any, TableOptions]:
    """Turn positions of columns into names; files of labels become columns beside the table."""
    import numpy as np
    import pyarrow as pa

    width = len(types)

    def name(column: Any) -> Any:
        if isinstance(column, int | np.integer):
            return str(int(column) + width if column < 0 else int(column))
        if isinstance(column, str | os.PathLike) and kind_of(column) == "npy":
            beside = os.fspath(column)
            if len(parts) > 1:
                raise ValueError(
                    f"{beside!r} belongs to one table, but there are {len(parts)}; add the moments "
                    "of each table with its file of labels."
                )
            try:
                types[beside] = pa.from_numpy_dtype(mapped(beside).dtype)
            except (pa.ArrowException, EOFError, ValueError) as error:
                raise _unreadable(beside, error) from error
            return beside
        return column

    def names(columns: Any) -> Any:
        return [name(column) for column in columns] if is_listing(columns) else name(columns)

    changed = cast(TableOptions, dict(options))
    for key in ("drop", "weight"):
        if key in changed:
            changed[key] = names(changed[key])
    return names(sensitive), names(features), changed
