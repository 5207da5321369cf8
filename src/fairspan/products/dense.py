"""Dense rows in memory, or mapped into it: read in storage order, block by block, never copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground.types import FloatArray
from fairspan.moments.from_rows import pilot_shift

_BLOCK_BYTES = 2**24


class DenseRows:
    """Rows of a float32 or float64 array, by group.

    Parameters
    ----------
    X : ndarray or memmap of shape (n_rows, n_features)
        The rows.
    codes : ndarray of shape (n_rows,)
        The group of each row.
    n_groups : int
        Number of groups.
    weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    shift : ndarray of shape (n_features,), optional
        What rows are measured from; by default a point near them.
    """

    width = 8

    def __init__(
        self,
        X: npt.NDArray[Any],
        codes: npt.NDArray[np.integer[Any]],
        n_groups: int,
        weight: FloatArray | None,
        shift: FloatArray | None = None,
    ) -> None:
        self.X, self.codes, self.n_groups, self.weight = X, codes, n_groups, weight
        n_rows, d = self.shape = X.shape
        self.shift = pilot_shift(X) if shift is None else shift
        self._far = bool(self.shift.any())
        self._size = min(max(_BLOCK_BYTES // (8 * d), 64), n_rows)
        self.depth = self._size + -(-n_rows // self._size), d

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Give the weighted sum of the rows of each group, and of their squares, (G, d)."""
        sums, squares = np.zeros((2, self.n_groups, self.shape[1]))
        for block, counted in self._blocks():
            sums += counted @ block
            squares += counted @ (block * block)
        return sums, squares

    def products(self, block: FloatArray) -> FloatArray:
        """Give X_a'W(X_a V) for every group, (G, d, b): one pass over the rows."""
        width = block.shape[1]
        total = np.zeros((self.shape[1], self.n_groups * width))
        for rows, counted in self._blocks():
            along = rows @ block
            # A column for each group and vector: a row counts in those of its group alone.
            spread = (counted.T[:, :, None] * along[:, None, :]).reshape(len(rows), -1)
            total += rows.T @ spread
        return np.ascontiguousarray(
            total.reshape(self.shape[1], self.n_groups, width).transpose(1, 0, 2)
        )

    def _blocks(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Give rows about the shift, and how much each counts in each group."""
        for start in range(0, self.shape[0], self._size):
            some = slice(start, start + self._size)
            rows = np.asarray(self.X[some], dtype=np.float64)
            codes = self.codes[some]
            counted = np.zeros((self.n_groups, len(codes)))
            counted[codes, np.arange(len(codes))] = (
                1.0 if self.weight is None else self.weight[some]
            )
            yield rows - self.shift if self._far else rows, counted
