"""Rows cut into blocks of one group each: gathered, shifted and in float64, in reused buffers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dlaswp

from fairspan.ground.types import FloatArray, IntArray

WIDE = 256
"""With this many features a row is long enough to be fetched by itself, and a matrix of features
too large to be rewritten for every block."""
_BLOCK_BYTES = 2**21
_BLOCK_ROWS = 256
_CHUNK_BYTES = 2**23
_FEW_GROUPS = 4
"""For so few groups, comparing codes is faster than sorting them."""

Block = tuple[int, FloatArray | None, FloatArray]
"""A group, the weights of some of its rows, if any, and those rows, shifted."""
Arranged = tuple[FloatArray, FloatArray | None, list[int]]
"""Rows by group, their weights, and where each group ends."""


def blocks_by_group(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.integer[Any]],
    n_groups: int,
    shift: FloatArray,
    weight: FloatArray | None = None,
) -> Iterator[Block]:
    """Cut rows into shifted blocks of one group each.

    Long rows are fetched one by one, group after group. Short ones, columns in Fortran order and
    files mapped into memory are read in the order of storage, and arranged by group in the cache.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        A float array.
    codes : ndarray of shape (n_rows,)
        The group of each row.
    n_groups : int
        Number of groups.
    shift : ndarray of shape (n_features,)
        What is subtracted from each row.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Yields
    ------
    int, ndarray or None, ndarray
        A group, the weights of some of its rows, and these rows; the next ones take their place.
    """
    n_rows, n_features = X.shape
    in_file = isinstance(X, np.memmap)
    in_memory = X.flags.c_contiguous and not in_file
    # Products of wide blocks are large themselves: the more rows a block has, the fewer there are.
    n_bytes = _CHUNK_BYTES if in_file or n_features >= WIDE else _BLOCK_BYTES
    size = min(max(n_bytes // (8 * n_features), _BLOCK_ROWS), n_rows)
    is_shifted = bool(shift.any())
    cut = _fetched if in_memory and n_features >= WIDE else _in_storage_order
    for a, some, block in cut(X, codes, n_groups, weight, size):
        if is_shifted:
            block -= shift
        yield a, some, block


def order_of_codes(codes: npt.NDArray[np.integer[Any]], n_codes: int) -> IntArray:
    """Sort rows by their codes, in the order given where these are equal."""
    # Short whole numbers are sorted by their digits, ten times faster.
    short = codes.astype(np.uint16) if n_codes <= 2**16 else codes
    return np.argsort(short, kind="stable")


def compact(codes: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Renumber the codes that occur, in order."""
    present = np.flatnonzero(np.bincount(codes))
    place = np.zeros(present[-1] + 1, dtype=np.intp)
    place[present] = np.arange(len(present))
    return present, place[codes]


def _members(codes: npt.NDArray[np.integer[Any]], n_groups: int) -> list[IntArray]:
    """Find the rows of each group."""
    if n_groups <= _FEW_GROUPS:
        return [np.flatnonzero(codes == a) for a in range(n_groups)]
    order = order_of_codes(codes, n_groups)
    return np.split(order, np.cumsum(np.bincount(codes, minlength=n_groups))[:-1])


def _fetched(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.integer[Any]],
    n_groups: int,
    weight: FloatArray | None,
    size: int,
) -> Iterator[Block]:
    shape, is_float64 = (size, X.shape[1]), X.dtype == np.float64
    buffer = np.empty(shape)
    raw = buffer if is_float64 else np.empty(shape, X.dtype)
    for a, rows in enumerate(_members(codes, n_groups)):
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            block, taken = buffer[: len(some)], raw[: len(some)]
            np.take(X, some, axis=0, out=taken, mode="clip")
            if not is_float64:
                block[:] = taken
            yield a, None if weight is None else weight[some], block


def _in_storage_order(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.integer[Any]],
    n_groups: int,
    weight: FloatArray | None,
    size: int,
) -> Iterator[Block]:
    by_column = X.shape[1] < WIDE and X.strides[0] < X.strides[1]
    exchanges = by_column and n_groups <= _FEW_GROUPS
    buffer = np.empty((size, X.shape[1]), order="F" if by_column else "C")
    spare = np.empty_like(buffer) if by_column and not exchanges else buffer
    for start in range(0, len(X), size):
        some = slice(start, start + size)
        rows, part = X[some], codes[some]
        weights = None if weight is None else weight[some]
        if exchanges:
            found = _exchanged(rows, part, n_groups, weights, buffer)
        else:
            found = _gathered(rows, part, n_groups, weights, buffer, spare)
        arranged, weights, ends = found
        first = 0
        for a, last in enumerate(ends):
            if last > first:
                one = slice(first, last)
                yield a, None if weights is None else weights[one], arranged[one]
            first = last


def _gathered(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.integer[Any]],
    n_groups: int,
    weight: FloatArray | None,
    buffer: FloatArray,
    spare: FloatArray,
) -> Arranged:
    """Gather rows by group."""
    members = _members(codes, n_groups)
    order, block = np.concatenate(members), buffer[: len(X)]
    if spare is buffer:
        # Rows are read one after another and written where they belong: reading is from memory,
        # writing is in the cache, and only writing jumps.
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        block[places] = X
    else:
        columns = spare[: len(X)]
        columns[:] = X
        np.take(columns.T, order, axis=1, out=block.T, mode="clip")
    ends = list(accumulate(map(len, members)))
    return block, None if weight is None else weight[order], ends


def _exchanged(
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.integer[Any]],
    n_groups: int,
    weight: FloatArray | None,
    buffer: FloatArray,
) -> Arranged:
    """Copy columns, and exchange rows that stand among those of another group.

    Columns are gathered number by number, which takes twice as long: half of the rows of two
    groups stay where they are.
    """
    codes, block = codes.copy(), buffer[: len(X)]
    block[:] = X
    pivots, ends = np.arange(len(codes), dtype=np.int32), [0]
    for a in range(n_groups - 1):
        first = ends[-1]
        last = first + int(np.count_nonzero(codes[first:] == a))
        strangers = first + np.flatnonzero(codes[first:last] != a)
        members = last + np.flatnonzero(codes[last:] == a)
        pivots[strangers], codes[members] = members, codes[strangers]
        ends.append(last)
    if len(pivots := pivots[: ends[-1]]):
        # What comes back may be a copy: LAPACK takes whole buffers only.
        block = dlaswp(block, pivots, overwrite_a=1)
        weight = None if weight is None else dlaswp(weight[:, None], pivots)[:, 0]
    return block, weight, [*ends[1:], len(codes)]
