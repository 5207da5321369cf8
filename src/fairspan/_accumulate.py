"""One pass over the rows: weighted sums and scatter of each group, at the speed of one X'X.

Rows are gathered group by group in blocks that fit the cache, moved near the origin by one
shared shift, and handed to BLAS. float32 rows are summed in float64, so that results do not depend
on how the rows are cut into blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk

from fairspan._types import FloatArray

_PILOT_ROWS = 2048
_BLOCK_BYTES = 2**20
_BLOCK_ROWS = 256
_CHUNK_BYTES = 2**23


class RawMoments(NamedTuple):
    """Sums around a shift, by group."""

    shift: FloatArray
    counts: npt.NDArray[np.int64]
    weights: FloatArray
    squared_weights: FloatArray
    sums: FloatArray
    scatters: FloatArray


def scatter_by_group(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.integer[Any]],
    n_groups: int,
    sample_weight: FloatArray | None,
) -> RawMoments:
    """Sum x - shift and its outer product over the rows of each group.

    Extra memory: the groups' row numbers (8 bytes a row), one block, one matrix a group.

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
    n_rows, n_features = X.shape
    shift = _pilot_mean(X)
    sums = np.zeros((n_groups, n_features))
    scatters = np.zeros((n_groups, n_features, n_features))
    # Gathering rows by number is fast only where a row lies together in memory. Elsewhere
    # (columns in Fortran order, files mapped into memory) rows are read in storage order.
    gather = X.flags.c_contiguous and not isinstance(X, np.memmap)
    step = n_rows if gather else max(_CHUNK_BYTES // (8 * n_features), _BLOCK_ROWS)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, n_rows, max(step, 1)):
            part = slice(start, start + step)
            weight = None if sample_weight is None else sample_weight[part]
            _add_rows(np.ascontiguousarray(X[part]), codes[part], weight, shift, sums, scatters)
        for scatter in scatters:
            _mirror(scatter)
    counts = np.bincount(codes, minlength=n_groups)
    if sample_weight is None:
        weights = squares = counts.astype(np.float64)
    else:
        weights = np.bincount(codes, sample_weight, n_groups).astype(np.float64)
        squares = np.bincount(codes, sample_weight**2, n_groups).astype(np.float64)
    return RawMoments(shift, counts, weights, squares, sums, scatters)


def _pilot_mean(X: npt.NDArray[Any]) -> FloatArray:
    stride = max(len(X) // _PILOT_ROWS, 1)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(X[::stride].mean(axis=0, dtype=np.float64))


def _add_rows(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.integer[Any]],
    weight: FloatArray | None,
    shift: FloatArray,
    sums: FloatArray,
    scatters: FloatArray,
) -> None:
    n_groups, n_features = sums.shape
    size = max(_BLOCK_BYTES // (8 * n_features), _BLOCK_ROWS)
    buffer = np.empty((min(size, len(X)), n_features))
    ones = np.ones(len(buffer))
    order = np.argsort(codes, kind="stable") if n_groups > 1 else None
    ends = np.cumsum(np.bincount(codes, minlength=n_groups))
    start = 0
    for a in range(n_groups):
        for first in range(start, ends[a], size):
            last = min(first + size, ends[a])
            rows = slice(first, last) if order is None else order[first:last]
            block = np.subtract(X[rows], shift, out=buffer[: last - first])
            if weight is None:
                sums[a] += ones[: last - first] @ block
            else:
                sums[a] += weight[rows] @ block
                block *= np.sqrt(weight[rows])[:, None]
            # The transpose of a C-ordered matrix is what Fortran takes without a copy; only
            # one triangle is filled.
            dsyrk(1.0, block.T, beta=1.0, c=scatters[a].T, overwrite_c=1)
        start = ends[a]


def _mirror(scatter: FloatArray) -> None:
    """Copy the triangle that dsyrk filled (the lower, in C order) over the other one."""
    size = 512
    for i in range(0, len(scatter), size):
        for j in range(0, i, size):
            scatter[j : j + size, i : i + size] = scatter[i : i + size, j : j + size].T
        block = scatter[i : i + size, i : i + size]
        block[:] = np.tril(block) + np.tril(block, -1).T
