"""Files as streams of Arrow tables: Parquet, Arrow and Feather, csv, and npy maps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairspan.tables.values import MISSING_WORDS

Types = Mapping[str, Any]
Reader = Callable[[str, Sequence[str], Types, int], Iterator[Any]]

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".npy": "npy",
}
_BUFFER = 2**16
_CSV_BLOCK = 2**22
_BATCH_BYTES = 2**24


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Tell the kind of a file by its name."""
    suffixes = Path(path).suffixes
    return SUFFIXES.get("".join(suffixes[-2:]).lower()) or SUFFIXES.get(
        "".join(suffixes[-1:]).lower()
    )


def types_of(path: str) -> tuple[dict[str, Any], frozenset[str]]:
    """Give names and Arrow types of the columns, and which of them are the index of a frame.

    No more than a block is read.
    """
    schema = _FORMATS[kind_of(path) or ""].schema(path)
    names = list(schema.names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"several columns have the same name: {twice[:5]}")
    return dict(zip(names, schema.types, strict=True)), _index_of(schema)


def _index_of(schema: Any) -> frozenset[str]:
    """Columns that pandas wrote as the index; one that only counts rows is no column."""
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    return frozenset(name for name in index if isinstance(name, str))


def batch_rows(n_features: int) -> int:
    """Choose how many rows are held at once."""
    d = max(n_features, 1)
    # Adding costs as much as a few rows for each feature, whatever the size of the batch.
    return max(_BATCH_BYTES // (8 * d), 2 * d)


def read_tables(path: str, names: Sequence[str], types: Types, rows: int) -> Iterator[Any]:
    """Stream some columns of a file as tables of so many rows.

    Parameters
    ----------
    path : str
        The file.
    names : sequence of str
        Columns to read.
    types : mapping of str to pyarrow.DataType
        Types by which columns of text files are read.
    rows : int
        Rows of a table.

    Yields
    ------
    pyarrow.Table
        The next rows.
    """
    batches = _FORMATS[kind_of(path) or ""].read(path, names, types, rows)
    yield from _one_ahead(in_tables(batches, rows))


def _one_ahead(tables: Iterator[Any]) -> Iterator[Any]:
    """Read the next table while the last one is computed with."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = reader.submit(next, tables, None)
            yield table


def in_tables(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Cut and join record batches into tables of so many rows.

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


def _parquet_schema(path: str) -> Any:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return file.schema_arrow


def _read_parquet(path: str, names: Sequence[str], types: Types, rows: int) -> Iterator[Any]:
    from pyarrow import parquet

    # Text means labels here, which are few: they are not written out for every row.
    labels = [name for name in names if str(types[name]).endswith("string")]
    # Columns are read through small buffers, so that memory does not grow with row groups.
    with parquet.ParquetFile(
        path, pre_buffer=False, read_dictionary=labels, buffer_size=_BUFFER
    ) as file:
        yield from file.iter_batches(rows, columns=list(names))


def _open_arrow(path: str) -> Any:
    import pyarrow as pa

    source = pa.memory_map(path)
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)


def _arrow_schema(path: str) -> Any:
    return _open_arrow(path).schema


def _read_arrow(path: str, names: Sequence[str], types: Types, rows: int) -> Iterator[Any]:
    reader = _open_arrow(path)
    if not hasattr(reader, "num_record_batches"):
        yield from (batch.select(list(names)) for batch in reader)
        return
    for number in range(reader.num_record_batches):
        yield reader.get_batch(number).select(list(names))


def _open_csv(path: str, names: Sequence[str] | None, types: Types) -> Any:
    from pyarrow import csv

    tabs = ".tsv" in [suffix.lower() for suffix in Path(path).suffixes]
    return csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=_CSV_BLOCK),
        parse_options=csv.ParseOptions(delimiter="\t" if tabs else ",", newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            include_columns=None if names is None else list(names),
            column_types=dict(types),
            null_values=list(MISSING_WORDS),
            # Blanks are missing values in columns of text, too.
            strings_can_be_null=True,
        ),
    )


def _csv_schema(path: str) -> Any:
    with _open_csv(path, None, {}) as reader:
        return reader.schema


def _read_csv(path: str, names: Sequence[str], types: Types, rows: int) -> Iterator[Any]:
    with _open_csv(path, names, {name: types[name] for name in names if name in types}) as reader:
        yield from reader


def _npy_schema(path: str) -> Any:
    import pyarrow as pa

    matrix = _matrix(path)
    kind = pa.from_numpy_dtype(matrix.dtype)
    return pa.schema([(str(j), kind) for j in range(matrix.shape[1])])


def _read_npy(path: str, names: Sequence[str], types: Types, rows: int) -> Iterator[Any]:
    import pyarrow as pa

    matrix = _matrix(path)
    beside = {name: mapped(name) for name in names if kind_of(name) == "npy"}
    for name, column in beside.items():
        if column.shape != (len(matrix),):
            raise ValueError(f"{name!r} has shape {column.shape}; {path!r} has {len(matrix)} rows.")
    for start in range(0, len(matrix), rows):
        # Arrow wants columns: one transposed copy makes all of them contiguous.
        columns = np.array(matrix[start : start + rows].T, order="C")
        arrays = [
            pa.array(np.array(beside[name][start : start + rows]))
            if name in beside
            else pa.array(columns[int(name)])
            for name in names
        ]
        yield pa.table(arrays, names=list(names))


def mapped(path: str) -> Any:
    """Map an array of a file into memory."""
    try:
        return np.load(path, mmap_mode="r")
    except ValueError as error:
        if "Python objects" not in str(error):
            raise
        raise ValueError(
            "it holds Python objects, which only unsafe ways read; save texts or numbers, as in "
            "np.save(path, labels.astype(str))"
        ) from None


def _matrix(path: str) -> Any:
    matrix = mapped(path)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise ValueError(
            f"it holds an array of shape {matrix.shape} and type {matrix.dtype}; a table of "
            "numbers has two dimensions"
        )
    return matrix


class _Format(NamedTuple):
    schema: Callable[[str], Any]
    read: Reader


_FORMATS = {
    "parquet": _Format(_parquet_schema, _read_parquet),
    "arrow": _Format(_arrow_schema, _read_arrow),
    "csv": _Format(_csv_schema, _read_csv),
    "npy": _Format(_npy_schema, _read_npy),
}
