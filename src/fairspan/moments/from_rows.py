"""From rows to moments in one pass, at the cost of one X'X.

Rows are gathered group by group in blocks that fit the cache, moved near the origin by one
shared shift, and handed to BLAS. float32 rows are summed in float64, so that results do not depend
on how the rows are cut into blocks. Rows that are far fewer than features are summed in the space
that they span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk
from scipy.sparse import issparse

from fairspan.ground.rows import check_finite, check_memory, check_weights
from fairspan.ground.types import FloatArray, IntArray
from fairspan.moments.groups import Groups

_PILOT_ROWS = 2048
_BLOCK_BYTES = 2**21
_BLOCK_ROWS = 256
_CHUNK_BYTES = 2**23
NEAR = 8
_WIDE = 256
"""With this many features a row is long enough to be fetched by itself, and a matrix of features
too large to be rewritten for every block."""
_FEW_ROWS = 2
"""Wide data with this many features a row is held in the space that the rows span."""
_VANISHES = 1e-150
"""Squares of smaller numbers are 0, or nearly."""

Block = tuple[int, int, IntArray, FloatArray]
"""A group, where counting starts, the numbers of some of its rows, and those rows, shifted."""


class RawMoments(NamedTuple):
    """Rows, and weighted sums of them and of their outer products around a shift, by group."""

    shift: FloatArray
    counts: npt.NDArray[np.int64]
    sums: FloatArray
    scatters: FloatArray


def fields_of_rows(
    X: Any, groups: Groups, sample_weight: Any, feature_names: Sequence[str] | None
) -> dict[str, Any]:
    """Compute the fields of GroupMoments from rows.

    Parameters
    ----------
    X : ndarray, csr or csc array of shape (n_rows, n_features)
        A float32 or float64 array.
    groups : Groups
        The group of each row.
    sample_weight : array-like of shape (n_rows,) or None
        How often each row counts.
    feature_names : sequence of str or None
        Names of the features.

    Returns
    -------
    dict
        The fields of GroupMoments, and their values.
    """
    n_rows, n_features = X.shape
    few = _FEW_ROWS * n_rows <= n_features >= _WIDE
    fields = (_in_row_space if few else _centered)(X, groups, sample_weight, feature_names)
    names = None if feature_names is None else tuple(feature_names)
    return fields | {"labels": groups.labels, "feature_names": names}


def _centered(
    X: Any, groups: Groups, sample_weight: Any, feature_names: Sequence[str] | None
) -> dict[str, Any]:
    weight = None if sample_weight is None else check_weights(sample_weight, X.shape[0])
    check_memory(len(groups.labels), X.shape[1])
    if issparse(X):
        from fairspan.moments.sparse import scatter_sparse as sum_rows
    else:
        sum_rows = scatter_by_group
    codes, n_groups = groups.codes, len(groups.labels)
    shift, counts, sums, scatters = sum_rows(X, codes, n_groups, weight)
    # Missing and infinite values show in the sums, which spares a pass over X to look for
    # them; only then is X searched, to name the columns.
    if not np.isfinite(sums).all():
        check_finite(X, feature_names)
    weights, squares = counts.astype(np.float64), counts.astype(np.float64)
    if weight is not None:
        weights = np.bincount(codes, weight, n_groups).astype(np.float64)
        squares = np.bincount(codes, weight**2, n_groups).astype(np.float64)
    for label, total in zip(groups.labels, weights, strict=True):
        if total <= 0:
            raise ValueError(
                f"sample_weight is zero for every row of group {label!r}; "
                "each group needs a positive total weight. Drop its rows to exclude it."
            )
    offsets = sums / weights[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        for a, offset in enumerate(offsets):
            scatters[a] -= weights[a] * np.outer(offset, offset)
    if not np.isfinite(scatters).all():
        raise ValueError(
            "X holds values too large to square in double precision (above about 1e154); "
            "rescale its features."
        )
    if not scatters.any():
        _check_underflow(X, shift)
    return {
        "counts": counts,
        "weights": weights,
        "squared_weights": squares,
        "shift": shift,
        "offsets": offsets,
        "scatters": scatters,
    }


def _check_underflow(X: Any, shift: FloatArray) -> None:
    """Refuse values whose squares underflow, so that nothing would seem to vary."""
    largest = np.abs(X.data if issparse(X) else X - shift).max(initial=0.0)
    if 0 < largest < _VANISHES:
        raise ValueError(
            f"X varies by {largest:.2g} at most, too little to square in double precision; rescale "
            "its features."
        )


def _in_row_space(
    X: Any, groups: Groups, sample_weight: Any, feature_names: Sequence[str] | None
) -> dict[str, Any]:
    """Compute the moments of far fewer rows than features, in the space the rows span."""
    # Sparse rows are filled up here: the basis is as large.
    X = X.toarray() if issparse(X) else X
    check_finite(X, feature_names)
    X = np.asarray(X, dtype=np.float64)
    shift = X.mean(axis=0)
    columns, triangle = np.linalg.qr((X - shift).T)
    small = _centered(triangle.T, groups, sample_weight, None)
    means = small["shift"] + small["offsets"]
    return small | {"shift": shift, "offsets": means @ columns.T, "basis": columns.T}


def scatter_by_group(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.integer[Any]],
    n_groups: int,
    sample_weight: FloatArray | None,
) -> RawMoments:
    """Sum x - shift and its outer product over the rows of each group.

    Extra memory: row numbers (8 bytes a row), two blocks, one matrix a group.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        A float array.
    codes : ndarray of shape (n_rows,)
        The group of each row.
    n_groups : int
        Number of groups.
    sample_weight : ndarray of shape (n_rows,) or None
        Weights of the rows.

    Returns
    -------
    RawMoments
        Sums around a shift taken from a sample of the rows.
    """
    n_features = X.shape[1]
    shift = _pilot_shift(X)
    counts, sums = np.zeros(n_groups, dtype=np.int64), np.zeros((n_groups, n_features))
    scatters = np.zeros((n_groups, n_features, n_features))
    with np.errstate(invalid="ignore", over="ignore"):
        for a, start, rows, block in _blocks(X, codes, n_groups, shift):
            counts[a] += len(block)
            if sample_weight is None:
                sums[a] += np.ones(len(block)) @ block
            else:
                weight = sample_weight[start + rows]
                sums[a] += weight @ block
                block *= np.sqrt(weight)[:, None]
            if n_features < _WIDE:
                scatters[a] += block.T @ block
            else:
                # The transpose of a C-ordered matrix is what Fortran takes without a copy. Only
                # one triangle is filled, the upper one in C order.
                dsyrk(1.0, block.T, beta=1.0, c=scatters[a].T, lower=1, overwrite_c=1)
        if n_features >= _WIDE:
            for scatter in scatters:
                mirror(scatter)
    return RawMoments(shift, counts, sums, scatters)


def _pilot_shift(X: npt.NDArray[Any]) -> FloatArray:
    """Choose a point near the rows: the mean of some of them, or 0 if that is near enough.

    Moments around a point r standard deviations off lose about r^2 units in the last place.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        pilot = X[:: max(len(X) // _PILOT_ROWS, 1)]
        mean = np.asarray(pilot.mean(axis=0, dtype=np.float64))
        near = np.abs(mean) <= NEAR * pilot.std(axis=0, dtype=np.float64)
    return np.zeros_like(mean) if near.all() else mean


def _blocks(
    X: npt.NDArray[Any], codes: npt.NDArray[np.integer[Any]], n_groups: int, shift: FloatArray
) -> Iterator[Block]:
    """Cut the rows into shifted blocks of one group each.

    Gathering long rows by number costs nothing. Short ones, columns in Fortran order and files
    mapped into memory are read in storage order instead, and sorted in the cache.
    """
    n_rows, n_features = X.shape
    in_memory = X.flags.c_contiguous and not isinstance(X, np.memmap)
    n_bytes = _BLOCK_BYTES if in_memory else _CHUNK_BYTES
    size = min(max(n_bytes // (8 * n_features), _BLOCK_ROWS), n_rows)
    move = _mover(shift, size, X.dtype)
    if in_memory and n_features >= _WIDE:
        for a, rows in enumerate(_members(codes, n_groups)):
            for first in range(0, len(rows), size):
                some = rows[first : first + size]
                yield a, 0, some, move(X, some)
        return
    for start in range(0, n_rows, size):
        part = codes[start : start + size]
        members = _members(part, n_groups)
        in_order = move(X[start : start + len(part)], np.concatenate(members))
        first = 0
        for a, rows in enumerate(members):
            if len(rows):
                yield a, start, rows, in_order[first : first + len(rows)]
            first += len(rows)


def _members(codes: npt.NDArray[np.integer[Any]], n_groups: int) -> list[IntArray]:
    """Find the rows of each group; for few groups, comparing is faster than sorting."""
    if n_groups <= 4:
        return [np.flatnonzero(codes == a) for a in range(n_groups)]
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=n_groups))[:-1])


def _mover(
    shift: FloatArray, size: int, dtype: np.dtype[Any]
) -> Callable[[npt.NDArray[Any], IntArray], FloatArray]:
    """Return a function that gathers and shifts rows in reused buffers."""
    buffer = np.empty((size, len(shift)))
    if dtype == np.float64 and not shift.any():
        return lambda X, rows: np.take(X, rows, axis=0, out=buffer[: len(rows)], mode="clip")
    raw = np.empty((size, len(shift)), dtype)

    def move(X: npt.NDArray[Any], rows: IntArray) -> FloatArray:
        taken = np.take(X, rows, axis=0, out=raw[: len(rows)], mode="clip")
        return np.subtract(taken, shift, out=buffer[: len(rows)])

    return move


def mirror(scatter: FloatArray) -> None:
    """Copy the upper triangle over the lower one, in tiles."""
    size = 512
    for i in range(0, len(scatter), size):
        for j in range(0, i, size):
            scatter[i : i + size, j : j + size] = scatter[j : j + size, i : i + size].T
        tile = scatter[i : i + size, i : i + size]
        tile[:] = np.triu(tile) + np.triu(tile, 1).T
