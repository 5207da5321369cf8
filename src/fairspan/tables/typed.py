"""Tables that say what they hold: Parquet, Arrow and Feather, npy, and frames of Dask and Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground.extras import needing
from fairspan.ground.types import FloatArray
from fairspan.moments.groups import encode_groups
from fairspan.tables.findings import Findings, Name, TableError, check_once
from fairspan.tables.pieces import NUMBER, Coded, Piece, Table, Wanted, labels_of, objects

_BUFFER = 2**16
_NUMBERS = "biuf"
"""Kinds of numpy's numbers."""


def open_arrow(path: str, _: Any = None, *, is_parquet: bool = False) -> Table:
    """Open a Parquet file, or an Arrow or Feather file."""
    with needing(f"Reading {path!r} needs pyarrow", "files"):
        from pyarrow import parquet
    schema = parquet.read_schema(path) if is_parquet else _stream(path).schema
    check_once(path, schema.names)
    # Pandas marks the index; one that only counts rows is no column.
    index = (schema.pandas_metadata or {}).get("index_columns", ())

    def read(wanted: Wanted, met: Findings) -> Iterator[Piece]:
        batches = (_parquet if is_parquet else _batches)(path, wanted, schema)
        for table in one_ahead(in_tables(batches, wanted.rows)):
            yield arrow_piece(table, wanted, met)

    names = frozenset(name for name in index if isinstance(name, str))
    return Table(repr(path), kinds_of(schema), read, names)


def _parquet(path: str, wanted: Wanted, schema: Any) -> Iterator[Any]:
    from pyarrow import parquet

    # Text means labels here, which are few: they are not written out for every row.
    text = [name for name in wanted.names if str(schema.field(name).type).endswith("string")]
    # Columns are read through small buffers, so that memory does not grow with row groups.
    with parquet.ParquetFile(
        path, pre_buffer=False, read_dictionary=text, buffer_size=_BUFFER
    ) as file:
        yield from file.iter_batches(wanted.rows, columns=wanted.names)


def _stream(path: str) -> Any:
    import pyarrow as pa

    source = pa.memory_map(path)
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)


def _batches(path: str, wanted: Wanted, schema: Any) -> Iterator[Any]:
    reader = _stream(path)
    count = getattr(reader, "num_record_batches", None)
    batches = reader if count is None else map(reader.get_batch, range(count))
    return (batch.select(wanted.names) for batch in batches)


def frame_part(batches: Iterable[Any]) -> Table:
    """Give a partition of a frame."""

    def read(wanted: Wanted, met: Findings) -> Iterator[Piece]:
        return (arrow_piece(table, wanted, met) for table in in_tables(batches, wanted.rows))

    return Table("one partition of the frame", {}, read)


def kinds_of(schema: Any) -> dict[Name, str]:
    """Give the columns of a schema, and which of them are numbers."""
    return {one.name: NUMBER if _is_number(one.type) else str(one.type) for one in schema}


@cache
def _is_number(kind: Any) -> bool:
    """Whether values of an Arrow type are numbers; truth values count as 0 and 1."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(kind) for test in tests)


def arrow_piece(table: Any, wanted: Wanted, met: Findings, *, is_text: bool = False) -> Piece:
    """Read columns of an Arrow table.

    Parameters
    ----------
    table : pyarrow.Table
        Some rows.
    wanted : Wanted
        The columns.
    met : Findings
        Where everything that is met is noted.
    is_text : bool
        Whether labels are cells of a csv file.

    Returns
    -------
    Piece
        The rows.
    """
    numbers, labels = partial(_numbers, table, is_text), partial(_labels, table, is_text)
    return Piece.read(table.num_rows, wanted, met, numbers, labels)


def _numbers(table: Any, is_text: bool, name: Name, met: Findings) -> FloatArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    if not _is_number(column.type):
        for value in column.unique().drop_null().to_pylist():
            met.add_text(name, str(value))
        return np.full(len(column), np.nan)
    if is_text and pa.types.is_boolean(column.type):
        met.truths[name] += len(column) - column.null_count
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.type != pa.float64():
        # Whole numbers beyond 2^53 are rounded, as numpy does.
        column = pc.cast(column, pa.float64(), safe=False)
    return np.asarray(column.to_numpy())


def _labels(table: Any, is_text: bool, name: Name, met: Findings | None) -> Coded:
    """Read a column as labels, of the types that they have in a frame."""
    import pyarrow as pa

    column = table.column(name)
    is_coded = pa.types.is_dictionary(column.type)
    coded = column.unify_dictionaries() if is_coded else column.dictionary_encode()
    coded = coded.combine_chunks()
    values, codes = coded.dictionary, coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    absent = values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if absent.any():
        codes = np.where(np.append(absent, False)[codes], -1, codes)
    as_objects = pa.types.is_date(values.type) or pa.types.is_decimal(values.type)
    found = objects(values.to_pylist()) if as_objects else values.to_numpy(zero_copy_only=False)
    return labels_of(name, Coded(codes, found), met) if is_text else Coded(codes, found)


def one_ahead(tables: Iterator[Any]) -> Iterator[Any]:
    """Read the next table while the last one is computed with."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = reader.submit(next, tables, None)
            yield table


def in_tables(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Cut and join record batches into tables of a given number of rows.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch or pyarrow.Table
        Rows in pieces of any size.
    rows : int
        Rows of a table.

    Yields
    ------
    pyarrow.Table
        The next rows.
    """
    import pyarrow as pa

    held: list[Any] = []
    room = rows
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, room)
            held.append(piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece]))
            start += piece.num_rows
            room -= piece.num_rows
            if room == 0:
                yield pa.concat_tables(held)
                held, room = [], rows
    if held:
        yield pa.concat_tables(held)


def open_npy(path: str, _: Any = None) -> Table:
    """Open an array, whose columns are known by position; names are files beside it."""
    array = mapped(path)
    if array.ndim != 2 or array.dtype.kind not in _NUMBERS:
        raise TableError(
            f"{path!r} holds an array of shape {array.shape} and type {array.dtype}; a table is a "
            "2-dimensional numeric array."
        )

    def read(wanted: Wanted, met: Findings) -> Iterator[Piece]:
        beside = {name: mapped(name) for name in wanted.names if isinstance(name, str)}
        for name, column in beside.items():
            if column.shape != (len(array),):
                raise TableError(
                    f"{name!r} has shape {column.shape}; {path!r} has {len(array)} rows."
                )
        for start in range(0, len(array), wanted.rows):
            rows = slice(start, start + wanted.rows)
            # One transposed copy makes all columns contiguous.
            columns: dict[Name, Any] = dict(enumerate(np.array(array[rows].T, order="C")))
            columns |= {name: np.array(column[rows]) for name, column in beside.items()}
            yield Piece.read(
                len(array[rows]), wanted, met, partial(_floats, columns), partial(_codes, columns)
            )

    return Table(repr(path), dict.fromkeys(range(array.shape[1]), NUMBER), read)


def _floats(columns: dict[Name, Any], name: Name, met: Findings) -> FloatArray:
    return np.asarray(columns[name], dtype=np.float64)


def _codes(columns: dict[Name, Any], name: Name, met: Findings | None) -> Coded:
    present = columns[name] == columns[name]
    found = encode_groups(columns[name][present])
    codes = np.full(len(present), -1, np.int32)
    codes[present] = found.codes
    return Coded(codes, objects(found.labels))


def kind_of_array(path: str) -> str:
    """Check what a file of labels or weights holds."""
    dtype = mapped(path).dtype
    return NUMBER if dtype.kind in _NUMBERS else str(dtype)


def mapped(path: str) -> npt.NDArray[Any]:
    """Map an array into memory."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    # numpy parses the header as Python text, where damage raises nearly anything.
    except Exception as error:
        reason = str(error)
        if "Python objects" in reason:
            reason = (
                "it holds Python objects, which only unsafe ways read; save texts or numbers, as "
                "in np.save(path, labels.astype(str))"
            )
        raise TableError(f"{path!r} cannot be read as an .npy array: {reason}.") from None
