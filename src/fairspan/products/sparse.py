"""Sparse rows: centred implicitly, all groups in one sweep, no copy of the entries.

The transposed product scatters row i to the features of its group: the column indices, moved by
the group's code, address (group, feature), and entries are shared with the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array

from fairspan.ground.types import FloatArray
from fairspan.moments.sparse import far_shift

_BLOCK_ROWS = 2**16
_FILLED = 0.9


class SparseRows:
    """Rows of a scipy sparse array, by group; extra memory: one index for each entry.

    Columns far from zero, which have next to no zeros, are held dense and shifted.

    Parameters
    ----------
    X : csr or csc array of shape (n_rows, n_features)
        The rows.
    codes : ndarray of shape (n_rows,)
        The group of each row.
    n_groups : int
        Number of groups.
    weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    shift : ndarray of shape (n_features,), optional
        What rows are measured from; by default the means of columns far from zero.
    """

    width = 8

    def __init__(
        self,
        X: Any,
        codes: npt.NDArray[np.integer[Any]],
        n_groups: int,
        weight: FloatArray | None,
        shift: FloatArray | None = None,
    ) -> None:
        X = csr_array(X) if X.format == "csr" else csr_array(X.tocsr())
        X = X.astype(np.float64, copy=False)
        if not X.has_canonical_format:
            # Entries of the same place count as their sum, which has another square.
            X = X.copy()
            X.sum_duplicates()
        n_rows, d = self.shape = X.shape
        self.codes, self.n_groups, self.weight = codes, n_groups, weight
        self.shift = _shift(X) if shift is None else shift
        self._far = np.flatnonzero(self.shift)
        self._dense = np.empty((n_rows, 0))
        if len(self._far):
            self._dense = X[:, self._far].toarray() - self.shift[self._far]
            keep = (self.shift == 0)[X.indices]
            X = csr_array((np.where(keep, X.data, 0.0), X.indices, X.indptr), X.shape)
        places = np.int32 if n_groups * d < 2**31 else np.int64
        moved = np.repeat((codes.astype(places) * d).astype(places), np.diff(X.indptr))
        moved += X.indices
        self._parts = [
            _Part(X, moved, slice(start, min(start + _BLOCK_ROWS, n_rows)), n_groups)
            for start in range(0, n_rows, _BLOCK_ROWS)
        ]
        longest = int(np.diff(X.indptr).max(initial=0)) + len(self._far)
        stored = int(np.bincount(moved, minlength=1).max(initial=0)) if len(moved) else 0
        self.depth = min(stored, _BLOCK_ROWS) + len(self._parts), longest
        if len(self._far):
            self.depth = n_rows, longest

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Give the weighted sum of the rows of each group, and of their squares, (G, d)."""
        sums, squares = np.zeros((2, self.n_groups, self.shape[1]))
        for part in self._parts:
            weight = self._weight(part.rows)
            sums += (part.scatter @ weight).reshape(self.n_groups, -1)
            squares += (part.squared() @ weight).reshape(self.n_groups, -1)
        if len(self._far):
            counted = self._counted()
            sums[:, self._far] += counted @ self._dense
            squares[:, self._far] += counted @ self._dense**2
        return sums, squares

    def products(self, block: FloatArray) -> FloatArray:
        """Give X_a'W(X_a V) for every group, (G, d, b): one pass over the rows."""
        width = block.shape[1]
        block = np.ascontiguousarray(block)
        total = np.zeros((self.n_groups * self.shape[1], width))
        dense = np.zeros((self.n_groups, len(self._far), width))
        for part in self._parts:
            along = part.gather @ block
            far = self._dense[part.rows]
            if len(self._far):
                along += far @ block[self._far]
            if self.weight is not None:
                along *= self.weight[part.rows, None]
            total += part.scatter @ along
            for a in range(self.n_groups if len(self._far) else 0):
                members = self.codes[part.rows] == a
                dense[a] += far[members].T @ along[members]
        found = total.reshape(self.n_groups, self.shape[1], width)
        found[:, self._far] += dense
        return found

    def _weight(self, rows: slice) -> FloatArray:
        return np.ones(rows.stop - rows.start) if self.weight is None else self.weight[rows]

    def _counted(self) -> FloatArray:
        counted = np.zeros((self.n_groups, self.shape[0]))
        counted[self.codes, np.arange(self.shape[0])] = self._weight(slice(0, self.shape[0]))
        return counted


def _shift(X: Any) -> FloatArray:
    n_rows, d = X.shape
    # A column far from zero has next to no zeros; most data has none, and is not looked at.
    filled = np.bincount(X.indices, minlength=d) > _FILLED * n_rows
    with np.errstate(invalid="ignore", over="ignore"):
        return far_shift(X) if filled.any() else np.zeros(d)


class _Part:
    """Some rows: as they are, and transposed with a place for each group; entries are shared."""

    def __init__(self, X: Any, moved: npt.NDArray[Any], rows: slice, n_groups: int) -> None:
        first, last = int(X.indptr[rows.start]), int(X.indptr[rows.stop])
        starts = X.indptr[rows.start : rows.stop + 1] - first
        entries, n = X.data[first:last], rows.stop - rows.start
        d = X.shape[1]
        self.rows = rows
        self.gather = csr_array((entries, X.indices[first:last], starts), (n, d))
        self.scatter = csc_array((entries, moved[first:last], starts), (n_groups * d, n))

    def squared(self) -> Any:
        """Give the transposed rows with their entries squared."""
        kept = self.scatter
        return csc_array((kept.data**2, kept.indices, kept.indptr), kept.shape)
