"""Dask: each partition is reduced to moments where it is stored; a tree of sums adds them."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import partial, reduce
from typing import Any, Unpack

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from fairspan.ground.extras import needing
from fairspan.ground.rows import (
    check_memory,
    check_real,
    check_two_dimensions,
    check_weights,
    feature_names_of,
    is_dask,
)
from fairspan.ground.types import FLOATS
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.moments.sparse import SPARSE_FORMATS
from fairspan.products.parts import Block, RowParts
from fairspan.products.parts import Step as RowStep
from fairspan.tables.columns import TableOptions, choose
from fairspan.tables.first_pass import Add, Step
from fairspan.tables.groups import Partial, partial_moments
from fairspan.tables.pieces import Wanted
from fairspan.tables.rows import table_moments
from fairspan.tables.typed import frame_part, kinds_of

_BRANCHES = 8
"""Sums of so many parts are tasks of their own."""


def moments_from_dask(
    frame: Any,
    sensitive: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    **options: Unpack[TableOptions],
) -> GroupMoments:
    """Compute the moments of a Dask dataframe, partition by partition.

    Rows stay with the workers; what travels is one matrix a group. For arrays, and for labels that
    are collections of their own, use :meth:`fairspan.GroupMoments.from_arrays` or ``fit``.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table.
    sensitive : str or sequence of str, optional
        Columns of groups; several are intersected, and labels become tuples. None: one group.
    features : sequence of str, optional
        Columns of features, in this order. None takes all that are not used otherwise.
    **options
        See :class:`fairspan.tables.columns.TableOptions`: ``drop``, ``weight``, ``one_hot``,
        ``missing``, ``bins``, ``batch_rows``.

    Returns
    -------
    GroupMoments
        The moments; ``dropped_rows`` says how many rows ``missing="drop_rows"`` left out.
    """
    with needing("Dask dataframes need pyarrow", "dask"):
        import pyarrow as pa
    if not is_dask(frame) or not hasattr(frame, "map_partitions"):
        raise TypeError(f"frame is a {type(frame).__name__}; give a dask.dataframe.DataFrame.")
    sample = pa.Table.from_pandas(frame._meta_nonempty, preserve_index=False)
    columns = choose("the frame", kinds_of(sample.schema), sensitive, features, options)

    def run(step: Step, add: Add, wanted: Wanted) -> Any:
        task = partial(_frame_step, step, wanted)
        return map_and_add(task, frame[wanted.names].to_delayed(), add)

    return table_moments(columns, run, "the frame").moments


def _frame_step(step: Step, wanted: Wanted, frame: Any) -> Any:
    import pyarrow as pa

    return step(frame_part([pa.Table.from_pandas(frame, preserve_index=False)]), wanted)


def map_and_add(task: Callable[[Any], Any], parts: Iterable[Any], add: Add) -> Any:
    """Apply a task to each part and add the results in a tree.

    Parameters
    ----------
    task : callable
        Gives a small value for a part.
    parts : iterable
        Parts, perhaps delayed.
    add : callable
        Adds two values.

    Returns
    -------
    object
        The sum, computed by the current client or scheduler.
    """
    with needing("engine='dask' needs dask", "dask"):
        import dask
    # A node of its own: what a task carries travels to each worker once, not with every part.
    shared = dask.delayed(task, pure=False, traverse=False)
    level = [dask.delayed(_applied, pure=False)(shared, part) for part in parts]
    join = dask.delayed(partial(reduce, add), pure=False)
    while len(level) > 1:
        pieces = range(0, len(level), _BRANCHES)
        level = [join(level[start : start + _BRANCHES]) for start in pieces]
    with warnings.catch_warnings():
        # A fit with many features sends a block in each pass, and sends it only once.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return level[0].compute()


def _applied(task: Callable[[Any], Any], part: Any) -> Any:
    return task(part)


def moments_of_collection(
    X: Any, sensitive_features: Any, sample_weight: Any, missing_groups: str = "raise"
) -> Partial:
    """Compute the moments of a Dask array or dataframe with its labels and weights.

    Parameters
    ----------
    X : dask array or dataframe
        Rows; the sizes of its chunks may be unknown.
    sensitive_features : dask collection, array-like, dict of them or None
        Labels, in chunks of the same sizes; cut into such where those are known.
    sample_weight : dask collection, array-like or None
        Weights, likewise.
    missing_groups : {"raise", "own_group", "total_only"}
        What to do with rows without a label.

    Returns
    -------
    Partial
        The moments, and which groups have no weight.
    """
    blocks = _blocks(X, sensitive_features, sample_weight)
    check_memory(1, X.shape[1])
    task = partial(_block_moments, missing_groups=missing_groups)
    total: Partial = map_and_add(task, blocks, operator.add)
    return total


def parts_of_collection(X: Any, sensitive_features: Any, sample_weight: Any) -> RowParts:
    """Make rows by parts of a Dask array or dataframe, for a fit by products.

    Parameters
    ----------
    X, sensitive_features, sample_weight : dask collections or array-likes
        As for :func:`moments_of_collection`.

    Returns
    -------
    RowParts
        The rows; each pass computes every partition once.
    """
    blocks = _blocks(X, sensitive_features, sample_weight)

    def run(step: RowStep, add: Add) -> Any:
        return map_and_add(partial(_block_step, step), blocks, add)

    def first(step: RowStep) -> Any:
        return map_and_add(partial(_block_step, step), blocks[:1], operator.add)

    return RowParts(run, first, X.shape[1], has_groups=sensitive_features is not None)


def _block_step(step: RowStep, block: Sequence[Any]) -> Any:
    X, labels, weight = block
    return step([Block(_checked(X), labels, weight)] if X.shape[0] else [])


def _checked(X: Any) -> Any:
    check_real(X)
    return check_array(X, dtype=FLOATS, ensure_all_finite=False, accept_sparse=SPARSE_FORMATS)


def _blocks(X: Any, sensitive_features: Any, sample_weight: Any) -> list[list[Any]]:
    """Cut rows, labels and weights alike, by the partitions of the rows."""
    check_two_dimensions(X)
    if hasattr(X, "chunks"):
        X = X.rechunk({1: -1})
    rows = tuple(X.chunks[0]) if hasattr(X, "chunks") else (np.nan,) * X.npartitions
    labels: list[Any]
    if isinstance(sensitive_features, Mapping):
        columns = {
            name: _pieces(f"sensitive_features[{name!r}]", column, rows)
            for name, column in sensitive_features.items()
        }
        labels = [{name: column[i] for name, column in columns.items()} for i in range(len(rows))]
    else:
        labels = _pieces("sensitive_features", sensitive_features, rows)
    weights = _pieces("sample_weight", sample_weight, rows)
    pieces = zip(_pieces("X", X, rows), labels, weights, strict=True)
    return [list(block) for block in pieces]


def _block_moments(block: Sequence[Any], missing_groups: str) -> Partial:
    X, labels, weight = block
    if len(X) == 0:
        return Partial()
    names = feature_names_of(X)
    X = _checked(X)
    groups = Groups.of(labels, X.shape[0], missing_groups)
    checked = None if weight is None else check_weights(weight, X.shape[0], part=True)
    return partial_moments(X, groups, checked, names)


def _pieces(name: str, values: Any, rows: tuple[float, ...]) -> list[Any]:
    """Cut values as the rows are cut."""
    if values is None:
        return [None] * len(rows)
    known = not np.isnan(rows).any()
    if is_dask(values):
        if known and hasattr(values, "chunks") and not np.isnan(values.chunks[0]).any():
            if sum(values.chunks[0]) != sum(rows):
                raise ValueError(f"{name} has {sum(values.chunks[0])} rows but X has {sum(rows)}.")
            values = values.rechunk({0: rows, **({1: -1} if values.ndim == 2 else {})})
        pieces = values.to_delayed()
        pieces = list(pieces.ravel()) if hasattr(pieces, "ravel") else list(pieces)
        if len(pieces) != len(rows):
            raise ValueError(
                f"{name} has {len(pieces)} partitions but X has {len(rows)}; cut both alike with "
                "rechunk or repartition."
            )
        return pieces
    if not known:
        raise ValueError(
            f"{name} is in memory, but the sizes of the partitions of X are not known; give a Dask "
            "collection with the same partitions, such as a column of the same table."
        )
    single = not isinstance(values, Sized) or getattr(values, "ndim", 1) == 0
    if single or isinstance(values, Mapping) or sparse.issparse(values):
        raise TypeError(
            f"{name} is a {type(values).__name__}; give one value for each row, in a list, an "
            "array, a series or a Dask collection."
        )
    if not hasattr(values, "__getitem__"):
        values = list(values)
    if len(values) != sum(rows):
        raise ValueError(f"{name} has {len(values)} rows but X has {sum(rows)}.")
    ends = np.cumsum(rows).astype(int)
    cut = getattr(values, "iloc", values)
    return [cut[end - int(n) : end] for n, end in zip(rows, ends, strict=True)]


def lazy_rows(function: Callable[[Any], Any], X: Any, width: int | None) -> Any:
    """Apply a function of rows lazily to each partition.

    Parameters
    ----------
    function : callable
        Gives an array with as many rows as it was given.
    X : dask array or dataframe
        Rows.
    width : int or None
        Columns of the result; None for one number a row.

    Returns
    -------
    dask array
        The result, not computed.
    """
    import dask
    import dask.array as da

    # The type that scikit-learn's validation would make of the rows.
    kinds = set(X.dtypes) if hasattr(X, "dtypes") else {X.dtype}
    is_single = width is not None and kinds == {np.dtype(np.float32)}
    shape = (0,) if width is None else (0, width)
    meta = np.empty(shape, dtype=np.float32 if is_single else np.float64)
    if not hasattr(X, "chunks"):
        later = dask.delayed(function, pure=False)
        pieces = [
            da.from_delayed(later(piece), shape=(np.nan, *shape[1:]), meta=meta)
            for piece in X.to_delayed()
        ]
        return da.concatenate(pieces, allow_unknown_chunksizes=True)
    X = X.rechunk({1: -1})
    if width is None:
        return X.map_blocks(function, drop_axis=1, dtype=meta.dtype, meta=meta)
    return X.map_blocks(function, chunks=(X.chunks[0], (width,)), dtype=meta.dtype, meta=meta)
