"""From rows to moments in one pass, at the cost of one X'X.

Rows are gathered group by group in blocks that fit the cache (``blocks.py``), moved near the origin
by one shared shift, and handed to BLAS. float32 rows are summed in float64, so that results do not
depend on how the rows are cut into blocks. Rows that are far fewer than features are summed in the
space that they span. How much each feature varies decides what double precision can resolve: see
:func:`check_magnitude` and :func:`hidden_by`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dger, dsyrk
from scipy.sparse import issparse

from fairspan.exceptions import HiddenFeatureWarning
from fairspan.ground.listed import listed
from fairspan.ground.parameters import LARGEST
from fairspan.ground.rows import (
    FITTED,
    check_finite,
    check_memory,
    check_memory_of_basis,
    check_weights,
)
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.ground.warn import warn
from fairspan.moments.blocks import WIDE, blocks_by_group
from fairspan.moments.groups import Groups
from fairspan.moments.summary import GroupSummary

_PILOT_ROWS = 256
NEAR = 8
_FEW_ROWS = 2
"""Wide data with this many features a row is held in the space that the rows span."""
_VANISHES = 1e-150
"""Squares of smaller numbers are 0, or nearly."""


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
        The fields of GroupMoments, and their values; the variances, where rows tell them at once.
    """
    n_rows, n_features = X.shape
    few = _FEW_ROWS * n_rows <= n_features >= WIDE
    fields = (_in_row_space if few else _centered)(X, groups, sample_weight, feature_names)
    names = None if feature_names is None else tuple(feature_names)
    return fields | {"labels": groups.labels, "feature_names": names}


def _centered(
    X: Any, groups: Groups, sample_weight: Any, feature_names: Sequence[str] | None
) -> dict[str, Any]:
    weight = None if sample_weight is None else check_weights(sample_weight, X.shape[0])
    check_memory(len(groups.labels), X.shape[1], FITTED)
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
            if len(offset) < WIDE:
                scatters[a] -= weights[a] * np.outer(offset, offset)
            else:
                root = np.sqrt(weights[a]) * offset
                dger(-1.0, root, root, a=scatters[a].T, overwrite_a=1)
    if not all(np.isfinite(scatter).all() for scatter in scatters):
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
    check_memory_of_basis(*X.shape)
    # Sparse rows are filled up here: the basis is as large.
    X = X.toarray() if issparse(X) else X
    check_finite(X, feature_names)
    X = np.asarray(X, dtype=np.float64)
    shift = X.mean(axis=0)
    columns, triangle = orthonormal((X - shift).T)
    small = _centered(triangle.T, groups, sample_weight, None)
    means = small["shift"] + small["offsets"]
    fields = {"shift": shift, "offsets": means @ columns.T, "basis": columns.T}
    if sample_weight is None:
        fields["variances"] = X.var(axis=0)
    return small | fields


def orthonormal(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Factor a matrix into orthonormal columns and a triangle, where rows of zeros remain zeros.

    Parameters
    ----------
    columns : ndarray of shape (n_features, rank)
        One row a feature, of zeros if the feature is constant.

    Returns
    -------
    tuple
        The columns and the triangle.
    """
    found, triangle = np.linalg.qr(columns)
    # Rounding would make a constant feature vary, so little that it seems to be hidden by others.
    found[~columns.any(axis=1)] = 0.0
    return found, triangle


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
    shift = pilot_shift(X)
    counts, sums = np.zeros(n_groups, dtype=np.int64), np.zeros((n_groups, n_features))
    scatters = np.zeros((n_groups, n_features, n_features))
    with np.errstate(invalid="ignore", over="ignore"):
        for a, weight, block in blocks_by_group(X, codes, n_groups, shift, sample_weight):
            counts[a] += len(block)
            if weight is None:
                sums[a] += np.ones(len(block)) @ block
            else:
                sums[a] += weight @ block
                block *= np.sqrt(weight)[:, None]
            if n_features < WIDE:
                scatters[a] += block.T @ block
            else:
                # The transpose of a C-ordered matrix is what Fortran takes without a copy. Only
                # one triangle is filled, the upper one in C order.
                dsyrk(1.0, block.T, beta=1.0, c=scatters[a].T, lower=1, overwrite_c=1)
        if n_features >= WIDE:
            for scatter in scatters:
                mirror(scatter)
    return RawMoments(shift, counts, sums, scatters)


def pilot_shift(X: npt.NDArray[Any]) -> FloatArray:
    """Choose a point near the rows: the mean of some of them, or 0 if that is near enough.

    Moments around a point r standard deviations off lose about r^2 units in the last place.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        pilot = X[:: max(len(X) // _PILOT_ROWS, 1)].astype(np.float64)
        mean = np.asarray(pilot.sum(axis=0) / len(pilot))
        pilot -= mean
        near = mean * mean <= (NEAR**2 / len(pilot)) * np.einsum("ij,ij->j", pilot, pilot)
    return np.zeros_like(mean) if near.all() else mean


def mirror(scatter: FloatArray) -> None:
    """Copy the upper triangle over the lower one, in tiles."""
    size = 512
    for i in range(0, len(scatter), size):
        for j in range(0, i, size):
            scatter[i : i + size, j : j + size] = scatter[j : j + size, i : i + size].T
        tile = scatter[i : i + size, i : i + size]
        tile[:] = np.triu(tile) + np.triu(tile, 1).T


def pooled_scale(moments: GroupSummary) -> FloatArray:
    """Return the standard deviation of each feature; 1 if it is constant up to rounding."""
    deviation = _deviations(moments)
    return np.where(deviation > 0, deviation, 1.0)


def check_magnitude(moments: GroupSummary) -> FloatArray:
    """Refuse variances that cannot be squared.

    Parameters
    ----------
    moments : GroupMoments
        Moments in the units of a fit.

    Returns
    -------
    ndarray of shape (n_features,)
        Variance of each feature over all rows.
    """
    variances = _deviations(moments) ** 2
    largest = float(variances.max())
    if not largest <= LARGEST:
        raise ValueError(
            f"{_named(moments, variances > LARGEST)} a variance above {LARGEST:g}, too large to "
            "compute with in double precision. Look for outliers, rescale X or use "
            "standardize=True."
        )
    if 0 < largest < 1 / LARGEST:
        raise ValueError(
            f"The largest variance of a feature is {largest:.2g}, below {1 / LARGEST:g}: too "
            "small to compute with in double precision. Rescale X or use standardize=True."
        )
    return variances


def hidden_by(moments: GroupSummary, rounding: float) -> BoolArray:
    """Return which features vary less than some rounding of errors can show."""
    variances = check_magnitude(moments)
    return np.asarray((variances > 0) & (variances <= 10 * rounding))


def warn_of_hidden_features(moments: GroupSummary, hidden: BoolArray) -> None:
    """Warn of the features that rounding hides, if there are any.

    Parameters
    ----------
    moments : GroupMoments
        Moments in the units of a fit.
    hidden : ndarray of shape (n_features,)
        What :func:`hidden_by` found.
    """
    if hidden.any():
        warn(
            f"{_named(moments, hidden)} a variance so small compared with the largest "
            f"({moments.variances.max():.2g}) that rounding hides it: group errors, objective and "
            "bound say nothing about it. Look for outliers, or use standardize=True.",
            HiddenFeatureWarning,
        )


def _named(moments: GroupSummary, chosen: BoolArray) -> str:
    names = moments.feature_names or range(moments.n_features)
    found = [name for name, one in zip(names, chosen, strict=True) if one]
    return f"Feature {listed(found)} has" if len(found) == 1 else f"Features {listed(found)} have"


def _deviations(moments: GroupSummary) -> FloatArray:
    """Return the standard deviation of each feature; 0 if rounding explains it."""
    deviation = np.sqrt(np.maximum(moments.variances, 0.0))
    constant = deviation <= 1e-10 * np.abs(moments.mean)
    # A part of the data may be constant far from the shift of the whole; what is left of its
    # scatter there is rounding.
    constant |= deviation <= 1e-7 * np.sqrt(moments.shares @ moments.offsets**2)
    return np.where(constant, 0.0, deviation)
