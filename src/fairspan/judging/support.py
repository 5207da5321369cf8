"""How many rows carry what is known about a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from fairspan.ground.rows import check_real, check_weights
from fairspan.ground.types import FLOATS, FloatArray, IntArray

LEAST_SUPPORT = 20
"""With less, no interval or bound was found to hold as often as it says."""
CONSTANT = 1e-8
"""A column is constant in some rows if less than this share of its variance is left there."""
_BLOCK_BYTES = 2**18
_PILOT_ROWS = 256
_ORDINARY = 1e30
"""Columns of ranges between its inverse and this can be squared twice as they are."""


def support(X: Any, *, sample_weight: Any = None, clusters: Any = None) -> FloatArray:
    """Effective number of rows that carry the variance of each column.

    It is ``n / kurtosis``: n for a column of two values that are equally frequent, n / 3 for a
    normal one, 1 where a single row makes up the variance and 0 for a constant column. Below 20,
    whether an extreme row is in the sample decides about the variance, and intervals for errors of
    standardised rows hold far less often than they say.

    Parameters
    ----------
    X : array-like or sparse array of shape (n_rows, n_features)
        The rows.
    sample_weight : array-like of shape (n_rows,), optional
        How much each row counts.
    clusters : array-like of shape (n_rows,), optional
        Rows that belong together, such as those of one person, have the same entry; then clusters
        are counted instead of rows.

    Returns
    -------
    ndarray of shape (n_features,)
        The support of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from fairspan.inference import support
    >>> X = np.zeros((100, 2))
    >>> X[::2, 0], X[0, 1] = 1.0, 5.0
    >>> support(X).round()
    array([100.,   1.])
    """
    check_real(X)
    X = check_array(X, accept_sparse="csr", dtype=FLOATS, input_name="X")
    n_rows = X.shape[0]
    weight = None if sample_weight is None else check_weights(sample_weight, n_rows)
    units = None if clusters is None else units_of(clusters, n_rows)
    return deviations_and_support(X, weight, units)[1]


def deviations_and_support(
    X: Any, weight: FloatArray | None, units: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """Give the standard deviation and the support of each column.

    Parameters
    ----------
    X : ndarray or csr array of shape (n_rows, n_features)
        Finite rows.
    weight : ndarray of shape (n_rows,) or None
        How much each row counts.
    units : ndarray of shape (n_rows,) or None
        The cluster of each row.

    Returns
    -------
    tuple
        Both, 0 for columns that are constant up to rounding.
    """
    n_rows, d = X.shape
    given = np.ones(n_rows) if weight is None else weight
    mean = np.asarray(given @ X) / given.sum()
    # Divided by the range of some rows, columns can be squared twice; most can be as they are.
    divisor = np.abs(_dense(X[:: max(n_rows // _PILOT_ROWS, 1)]) - mean).max(axis=0)
    divisor[divisor < np.finfo(np.float64).tiny] = 1.0
    is_ordinary = bool((divisor > 1 / _ORDINARY).all() and (divisor < _ORDINARY).all())
    if is_ordinary:
        divisor[:] = 1.0
    size = max(_BLOCK_BYTES // (8 * d), 1)
    second, fourth = np.zeros(d), np.zeros(d)
    sums = np.zeros((1 if units is None else int(units.max()) + 1, d))
    # Always the same place: new memory costs more than what is done with it.
    place = np.empty((min(size, n_rows), d))
    for start in range(0, n_rows, size):
        rows = slice(start, start + size)
        given_rows = _dense(X[rows])
        block = np.subtract(given_rows, mean, out=place[: len(given_rows)])
        if not is_ordinary:
            block *= 1 / divisor
        block *= block
        if weight is not None:
            block *= weight[rows, None]
        # Products with ones add up columns faster than sums do.
        second += np.ones(len(block)) @ block
        if units is None:
            fourth += np.einsum("ij,ij->j", block, block)
        else:
            np.add.at(sums, units[rows], block)
    if units is not None:
        fourth = np.einsum("ij,ij->j", sums, sums)
    deviation = divisor * np.sqrt(second / given.sum())
    constant = deviation <= 1e-10 * np.abs(mean)
    found = second**2 / np.where(fourth > 0, fourth, 1.0)
    return np.where(constant, 0.0, deviation), np.where(constant, 0.0, found)


def _dense(X: Any) -> Any:
    return X.toarray() if issparse(X) else X


def units_of(clusters: Any, n_rows: int) -> IntArray:
    """Number the clusters of rows, one label a row."""
    labels = np.asarray(clusters)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise ValueError(
            f"clusters has shape {labels.shape} but X has {n_rows} rows; give one label for each "
            "row, the same for rows that belong together."
        )
    if any(label is None or label != label for label in labels.tolist()):
        raise ValueError("clusters has missing values; give every row a label.")
    try:
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp)
    except TypeError as error:
        raise TypeError(f"clusters has labels that cannot be compared ({error}).") from None


def scarce_columns(
    found: FloatArray, n_units: int, names: Sequence[str] | None
) -> dict[Any, float]:
    """Give the columns whose support is too small, by name or else by position, least first.

    Columns that are constant have support 0: they take no part in any error, nor in this.

    Parameters
    ----------
    found : ndarray of shape (n_features,)
        The support of each column.
    n_units : int
        Number of rows, or of clusters.
    names : sequence of str or None
        Names of the columns.

    Returns
    -------
    dict
        Their support, without the bias of a small sample.
    """
    found = _unbiased(found, n_units)
    scarce = [int(j) for j in np.argsort(found, kind="stable") if 0 < found[j] < LEAST_SUPPORT]
    return {(j if names is None else names[j]): float(found[j]) for j in scarce}


def _unbiased(found: FloatArray, n: int) -> FloatArray:
    """Give the support by the usual estimator of the kurtosis, which is too small in samples.

    Of normal rows it is unbiased; with 150 rows a support of 20.5 becomes one of 20.
    """
    if n <= LEAST_SUPPORT:
        return found
    kurtosis = n / np.where(found > 0, found, np.inf)
    excess = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (kurtosis - 3) + 6)
    return np.where(found > 0, n / (3 + excess), 0.0)
