"""Rows of tables and matrices that are read again in each pass, for fits with many features."""

from __future__ import annotations

import glob
import logging
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from importlib import import_module
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy.sparse import load_npz
from sklearn.utils import check_array

from fairspan.ground.parameters import check_choice, is_listing
from fairspan.ground.rows import check_real
from fairspan.ground.types import FLOATS, Label
from fairspan.products.parts import Block, RowParts, Step
from fairspan.tables.columns import Columns
from fairspan.tables.dialect import Dialect
from fairspan.tables.files import ENGINES, FileOptions, find_parts
from fairspan.tables.findings import TableError
from fairspan.tables.first_pass import Add, Run
from fairspan.tables.groups import groups_of, typed_labels
from fairspan.tables.parts import Files
from fairspan.tables.pieces import Table, Wanted
from fairspan.tables.rows import RowReader
from fairspan.tables.typed import mapped

logger = logging.getLogger("fairspan")

_BLOCK_BYTES = 2**26
_MATRICES = (".npz", ".npy")


def rows_from_files(
    paths: Any,
    sensitive: Any = None,
    features: Sequence[str | int] | None = None,
    *,
    engine: str = "process",
    **options: Unpack[FileOptions],
) -> RowParts:
    """Open files whose rows are read again in each pass of a fit with many features.

    Nothing is held but a block of rows and the basis of the fit. ``RobustFairPCA.fit`` takes the
    result in place of X, and fits it by products; see the page "Many features".

    Parameters
    ----------
    paths : str, path or sequence of them
        Tables, as for :func:`fairspan.sources.moments_from_files`. Or matrices: files of
        ``scipy.sparse.save_npz``, or ``.npy`` arrays, of features alone.
    sensitive : str or sequence of str, optional
        Columns of groups. For matrices, ``.npy`` files with a label for each row, one for each
        matrix and in their order. None: one group.
    features : sequence of str, optional
        Columns of features, in this order; None takes all others. Not for matrices.
    engine : {"process", "dask", "spark"}, default="process"
        Who reads: this process, or tasks, one for each file, of the current Dask client or of
        Spark. Each pass is one map-reduce; tasks return sums only.
    **options
        See :class:`fairspan.tables.files.FileOptions`. For matrices, only ``weight``: ``.npy``
        files, given as those of the labels.

    Returns
    -------
    RowParts
        The rows, for ``fit``.
    """
    check_choice("engine", engine, ENGINES)
    if _are_matrices(paths, sensitive):
        if features is not None or options.keys() - {"weight"}:
            raise ValueError(
                "Files of matrices have no columns to choose from; the only option for them is "
                "weight=..., .npy files with a weight for each row."
            )
        return _matrices(paths, sensitive, options.get("weight"), engine)
    dialect = Dialect(
        *(options.pop(name, None) for name in ("separator", "encoding", "decimal", "sheet"))  # type: ignore[misc]
    )
    files = Files(find_parts(paths), dialect, engine)
    columns = files.choose(sensitive, features, options)
    first = replace(files, parts=files.parts[:1], engine="process")
    untyped = files.untyped(columns)
    return row_parts(columns, partial(files.run, columns), partial(first.run, columns), untyped)


def row_parts(columns: Columns, run: Run, first: Run, untyped: Sequence[bool] = ()) -> RowParts:
    """Make rows by parts of a table.

    Parameters
    ----------
    columns : Columns
        The part each column plays, all categories known.
    run, first : Run
        The engine, and one for some of the first rows.
    untyped : sequence of bool
        For each sensitive column, whether it has no type of its own.

    Returns
    -------
    RowParts
        The rows; notes are logged once.
    """
    d = len(columns.names)
    if columns.batch_rows is None:
        columns = replace(columns, batch_rows=max(_BLOCK_BYTES // (8 * d), 64))
    said: set[str] = set()

    def all_rows(step: Step, add: Add) -> Any:
        task = partial(_table_step, columns, step)
        total, met = run(task, partial(_added, add), columns.wanted)
        for note in met.sentences(columns.categories, columns.fills, columns.bins):
            if note not in said:
                logger.info("%s.", note)
                said.add(note)
        return total

    def first_rows(step: Step) -> Any:
        task = partial(_table_step, columns, step)
        return first(task, partial(_added, _earlier), columns.wanted)[0]

    relabel: Callable[[Sequence[Label]], Sequence[Label]] | None = None
    if any(untyped):
        relabel = partial(typed_labels, untyped)
    return RowParts(
        all_rows,
        first_rows,
        d,
        columns.feature_names,
        has_groups=bool(columns.sensitive),
        relabel=relabel,
    )


def _table_step(columns: Columns, step: Step, table: Table, wanted: Wanted) -> Any:
    reader = RowReader(columns, table)
    return step(_table_blocks(columns, reader, wanted)), reader.met


def _table_blocks(columns: Columns, reader: RowReader, wanted: Wanted) -> Iterator[Block]:
    for rows in reader.read(wanted):
        labels = {name: rows.labels[name] for name in columns.sensitive}
        yield Block(rows.X, groups_of(labels, len(rows.X)), rows.weight)


def _added(add: Add, one: Any, two: Any) -> Any:
    return add(one[0], two[0]), one[1] + two[1]


def _earlier(one: Any, two: Any) -> Any:
    return two if one is None else one


class _Matrix(NamedTuple):
    """A file of features, and those of labels and weights."""

    path: str
    labels: str | None
    weight: str | None


def _are_matrices(paths: Any, sensitive: Any) -> bool:
    names, labels = (
        [str(one) for one in (given if is_listing(given) else [given])]
        for given in (paths, sensitive)
    )
    # Numbers name columns of an array, files the labels of its rows.
    has_labels_beside = all(name.endswith(".npy") for name in (*names, *labels))
    return has_labels_beside or any(name.endswith(".npz") for name in names)


def _matrices(paths: Any, sensitive: Any, weight: Any, engine: str) -> RowParts:
    found = _found(paths, _MATRICES)
    labels, weights = _beside(found, sensitive, "sensitive"), _beside(found, weight, "weight")
    parts = [_Matrix(*one) for one in zip(found, labels, weights, strict=True)]

    def run(step: Step, add: Add) -> Any:
        task = partial(_matrix_step, step)
        if engine == "process":
            return reduce(add, map(task, parts))
        return import_module(f"fairspan.tables.{engine}").map_and_add(task, parts, add)

    def first(step: Step) -> Any:
        return _matrix_step(step, parts[0])

    return RowParts(run, first, _width(found[0]), has_groups=sensitive is not None)


def _width(path: str) -> int:
    """Tell the number of features without reading the matrix."""
    if path.endswith(".npy"):
        return int(mapped(path).shape[-1])
    with _naming(path), np.load(path) as archive:
        return int(archive["shape"][1])


def _found(given: Any, endings: tuple[str, ...]) -> list[str]:
    names = [os.fspath(one) for one in (given if is_listing(given) else [given])]
    found = [
        one
        for name in names
        for one in (sorted(glob.glob(name)) if glob.has_magic(name) else [name])
    ]
    for name in found:
        if not name.endswith(endings):
            raise ValueError(f"{name!r} is not a file of {' or '.join(endings)}.")
    if not found:
        raise FileNotFoundError(f"{given!r} holds no files.")
    if len(set(map(os.path.realpath, found))) < len(found):
        raise ValueError(f"{given!r} holds a file twice; its rows would count twice.")
    return found


def _beside(parts: list[str], given: Any, argument: str) -> list[str] | list[None]:
    if given is None:
        return [None] * len(parts)
    found = _found(given, (".npy",))
    if len(found) != len(parts):
        raise ValueError(f"{argument} has {len(found)} files, but there are {len(parts)} matrices.")
    return found


def _matrix_step(step: Step, part: _Matrix) -> Any:
    return step(_matrix_blocks(part))


def _matrix_blocks(part: _Matrix) -> Iterator[Block]:
    X: Any = mapped(part.path) if part.path.endswith(".npy") else _sparse(part.path)
    if X.ndim != 2:
        raise TableError(f"{part.path!r} has {X.ndim} dimensions; a matrix has 2.")
    check_real(X)
    columns = [None if name is None else mapped(name) for name in (part.labels, part.weight)]
    for name, column in zip((part.labels, part.weight), columns, strict=True):
        if column is not None and column.shape != X.shape[:1]:
            raise TableError(
                f"{name!r} has shape {column.shape}; {part.path!r} has {X.shape[0]} rows."
            )
    n_rows, d = X.shape
    size = max(_BLOCK_BYTES // (8 * d), 64) if part.path.endswith(".npy") else max(n_rows, 1)
    for start in range(0, n_rows, size):
        some = slice(start, start + size)
        rows = check_array(X[some], dtype=FLOATS, accept_sparse="csr", ensure_all_finite=False)
        yield Block(rows, *(None if one is None else np.array(one[some]) for one in columns))


def _sparse(path: str) -> Any:
    with _naming(path):
        return load_npz(path)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise TableError(f"{path!r} cannot be read as a sparse matrix: {error}") from None
