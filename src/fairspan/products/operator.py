"""Second moments of groups, known by their products with thin blocks.

With c the mean of all rows and m_a that of group a,

    M_a V = X_a'W(X_a V) / w_a - m_a (c'V) - c (m_a'V) + c (c'V),

so that rows stay as they are, sparse or dense. Standardising divides V and the result by the scale.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from fairspan.ground.listed import listed
from fairspan.ground.rows import check_finite, check_weights
from fairspan.ground.types import UNIT, FloatArray, Label
from fairspan.moments.from_rows import pooled_scale
from fairspan.moments.groups import Groups
from fairspan.products.dense import DenseRows
from fairspan.products.parts import PartRows, RowParts
from fairspan.products.sparse import SparseRows

logger = logging.getLogger("fairspan")


class Sums(NamedTuple):
    """What one pass finds of each group, about the shift of the rows."""

    sums: FloatArray
    squares: FloatArray


class Rows(Protocol):
    """Rows of some kind, by group: all that the fit needs of them.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of features.
    shift : ndarray of shape (d,)
        What rows are measured from; 0 unless they lie far from it.
    depth : tuple of int
        At most this many numbers are added up, one after another, over the rows and over the
        features: what rounding is bounded by.
    width : int
        Columns of a pass: few save products, many save passes.
    """

    shape: tuple[int, int]
    shift: FloatArray
    depth: tuple[int, int]
    width: int

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Give the weighted sum of the rows of each group, and of their squares, (G, d)."""

    def products(self, block: FloatArray) -> FloatArray:
        """Give X_a'W(X_a V) for every group, (G, d, b): one pass over the rows."""


def relative_error(operations: int) -> float:
    """Bound what rounding may change in a sum of so many products, in any order."""
    return operations * UNIT / (1 - operations * UNIT)


@dataclass
class SecondMoments:
    """Second moments of all groups around the mean of all rows, as an operator.

    Attributes
    ----------
    rows : Rows
        Where products come from.
    labels, counts, weights : tuple and ndarray of shape (n_groups,)
        The groups, their rows and sums of sample weights.
    feature_names : sequence of str or None
        Names of the features.
    standardize : bool
        Whether features are divided by their standard deviation.
    passes, columns : int
        Passes over the rows so far, and columns that were multiplied.
    offsets : ndarray of shape (n_groups, d)
        Mean of each group, minus the shift of the rows.
    diagonals : ndarray of shape (n_groups, d)
        Diagonal of each second moment, in squared units of the data.
    """

    rows: Rows
    labels: tuple[Label, ...]
    counts: npt.NDArray[np.int64]
    weights: FloatArray
    feature_names: Any = None
    standardize: bool = False
    passes: int = 0
    columns: int = 0

    def __post_init__(self) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            sums, squares = self.rows.sums()
        self.passes += 1
        self.is_finite = bool(np.isfinite(sums).all())
        self.offsets = sums / self.weights[:, None]
        self._center = self.shares @ self.offsets
        self._raw = squares / self.weights[:, None]
        c = self._center
        self.diagonals = np.maximum(self._raw - 2 * self.offsets * c + c * c, 0.0)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.labels)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @property
    def width(self) -> int:
        """Columns of a pass, as many as are worth it."""
        return min(self.rows.width, self.n_features)

    @property
    def shares(self) -> FloatArray:
        """Each group's share of the total weight."""
        return np.asarray(self.weights / self.weights.sum())

    @property
    def mean(self) -> FloatArray:
        """Mean of all rows, in the units of the data."""
        return self.rows.shift + self._center

    @property
    def group_means(self) -> FloatArray:
        """Mean of each group, in the units of the data."""
        return self.rows.shift + self.offsets

    @cached_property
    def variances(self) -> FloatArray:
        """Variance of each feature over all rows, in squared units of the data."""
        return np.asarray(self.shares @ self.diagonals)

    @cached_property
    def scale(self) -> FloatArray | None:
        """Divisors of the features, if they are standardised."""
        return pooled_scale(self) if self.standardize else None

    @cached_property
    def traces(self) -> FloatArray:
        """Trace of each group's second moment, in the units of the fit."""
        return self._summed(self.diagonals)

    @cached_property
    def _size(self) -> FloatArray:
        """Bound what products pass through: second moments about the shift, before centring."""
        root = np.sqrt(self._summed(self._raw))
        return np.asarray((root + root.max()) ** 2)

    @cached_property
    def _size_of_means(self) -> FloatArray:
        """Bound the terms that centre the products, in squared units of the fit."""
        means = np.sqrt(self._summed(self.offsets**2))
        centre = math.sqrt(float(self._summed(self._center[None] ** 2)[0]))
        return np.asarray(centre * (2 * means + centre))

    def _summed(self, by_feature: FloatArray) -> FloatArray:
        factor = 1.0 if self.scale is None else 1 / self.scale**2
        # Exact sums: only rounding over the rows is left.
        return np.array([math.fsum(one) for one in by_feature * factor])

    @property
    def trace_error(self) -> FloatArray:
        """How far rounding may have moved each trace."""
        return np.asarray(relative_error(self.rows.depth[0] + 16) * self._size)

    def image_error(self, columns: int) -> FloatArray:
        """Bound, for each group, rounding in the images of an orthonormal block (Frobenius).

        With Z = XV: what is lost in X'Z is a share of |X| |Z|, and |Z|^2 / w is at most the
        trace whatever the number of columns; what is lost in Z itself counts for each column.
        Means are full even where rows are sparse: their products with a column add up d numbers.
        """
        over_rows, over_features = (relative_error(n + 16) for n in self.rows.depth)
        along_means = relative_error(self.n_features + 16) * self._size_of_means
        by_column = over_features * self._size + along_means
        return np.asarray(over_rows * self._size + math.sqrt(columns) * by_column)

    def images(self, block: FloatArray) -> FloatArray:
        """Multiply the second moment of every group with a block.

        Parameters
        ----------
        block : ndarray of shape (d, b)
            Any columns.

        Returns
        -------
        ndarray of shape (n_groups, d, b)
            The products.
        """
        self.passes += 1
        self.columns += block.shape[1]
        told = {"passes": self.passes}
        logger.debug("pass %d: %d columns", self.passes, block.shape[1], extra=told)
        if self.scale is not None:
            block = block / self.scale[:, None]
        found = self.rows.products(block)
        c, along = self._center, self._center @ block
        for image, weight, mean in zip(found, self.weights, self.offsets, strict=True):
            image /= weight
            image -= np.stack([mean, c], axis=1) @ np.stack([along, mean @ block - along])
        return found if self.scale is None else found / self.scale[:, None]


def second_moments(
    X: Any,
    groups: Groups,
    *,
    sample_weight: Any = None,
    feature_names: Any = None,
    standardize: bool = False,
) -> SecondMoments:
    """Make the operator of rows in memory, or mapped into it.

    Parameters
    ----------
    X : ndarray, memmap, csr or csc array of shape (n_rows, n_features)
        A float32 or float64 array; it is not copied, unless it is a csc array, or sparse and of
        single precision, or has unsorted or repeated entries.
    groups : Groups
        The group of each row.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    feature_names : sequence of str, optional
        Names of the features.
    standardize : bool
        Whether to divide features by their standard deviation.

    Returns
    -------
    SecondMoments
        The operator, after a first pass for means and traces.
    """
    n_rows, n_groups = X.shape[0], len(groups.labels)
    weight = None if sample_weight is None else check_weights(sample_weight, n_rows)
    counts = np.bincount(groups.codes, minlength=n_groups)
    weights = np.bincount(groups.codes, weight, n_groups).astype(np.float64)
    _check_weighted(groups.labels, weights)
    kind = SparseRows if issparse(X) else DenseRows
    rows: Rows = kind(X, groups.codes, n_groups, weight)
    found = SecondMoments(rows, groups.labels, counts, weights, feature_names, standardize)
    if not found.is_finite:
        check_finite(X, feature_names)
    _check_traces(found)
    return found


def moments_of_parts(
    source: RowParts, *, missing_groups: str = "raise", standardize: bool = False
) -> SecondMoments:
    """Make the operator of rows that are read again in each pass.

    Parameters
    ----------
    source : RowParts
        The rows.
    missing_groups : {"raise", "own_group", "total_only"}
        What to do with rows without a label.
    standardize : bool
        Whether to divide features by their standard deviation.

    Returns
    -------
    SecondMoments
        The operator, after a first pass for groups, means and traces.
    """
    rows = PartRows(source, missing_groups)
    _check_weighted(rows.labels, rows.weights)
    found = SecondMoments(
        rows, rows.labels, rows.counts, rows.weights, source.feature_names, standardize
    )
    if not found.is_finite:
        places = np.flatnonzero(~np.isfinite(found.offsets).all(axis=0)).tolist()
        names = source.feature_names
        columns = listed([place if names is None else names[place] for place in places])
        raise ValueError(f"The rows contain NaN or infinity (columns with such values: {columns}).")
    _check_traces(found)
    return found


def _check_weighted(labels: tuple[Label, ...], weights: FloatArray) -> None:
    for label, total in zip(labels, weights, strict=True):
        if total <= 0:
            raise ValueError(
                f"sample_weight is zero for every row of group {label!r}; each group needs a "
                "positive total weight. Drop its rows to exclude it."
            )


def _check_traces(found: SecondMoments) -> None:
    if not np.isfinite(found.traces).all():
        raise ValueError(
            "X holds values too large to square in double precision (above about 1e154); rescale "
            "its features."
        )
