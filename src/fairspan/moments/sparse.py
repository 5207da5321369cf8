"""Sparse rows: sums and scatter of each group without filling in zeros.

Zeros stay zeros, because rows are not shifted: the mean is subtracted from the products, which
costs digits only in columns that lie far from zero. Such a column has next to no zeros, so it may
be held dense and shifted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import diags_array

from fairspan.ground.rows import FITTED, check_memory
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.moments.from_rows import NEAR, RawMoments, mirror

SPARSE_FORMATS = ("csr", "csc")


def scatter_sparse(
    X: Any, codes: npt.NDArray[np.integer[Any]], n_groups: int, sample_weight: FloatArray | None
) -> RawMoments:
    """Sum x - shift and its outer product over the rows of each group.

    Extra memory: the entries of one group, one matrix a group, one sparse matrix of features.

    Parameters
    ----------
    X : csr or csc array of shape (n_rows, n_features)
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
        Sums around a shift that is zero but for columns far from zero.
    """
    d = X.shape[1]
    check_memory(n_groups, d, FITTED)
    X = X.tocsr().astype(np.float64, copy=False)
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    sums, scatters = np.zeros((n_groups, d)), np.zeros((n_groups, d, d))
    with np.errstate(invalid="ignore", over="ignore"):
        shift = far_shift(X)
        far, near = np.flatnonzero(shift), diags_array((shift == 0).astype(np.float64))
        for a in range(n_groups):
            members = np.flatnonzero(codes == a)
            rows, scale = X[members], np.sqrt(weight[members])
            dense = rows[:, far].toarray() - shift[far]
            rows = diags_array(scale) @ (rows @ near if len(far) else rows)
            dense *= scale[:, None]
            sums[a] = scale @ rows
            sums[a, far] = scale @ dense
            scatter = scatters[a]
            scatter += (rows.T.tocsr() @ rows).toarray()
            across = rows.T @ dense
            scatter[:, far] += across
            scatter[far] += across.T
            scatter[np.ix_(far, far)] = dense.T @ dense
            mirror(scatter)
    return RawMoments(shift, np.bincount(codes, minlength=n_groups), sums, scatters)


def far_shift(X: Any) -> FloatArray:
    """Return the means of columns that are many standard deviations from 0; otherwise 0."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    far = np.abs(mean) > NEAR * np.sqrt(np.maximum(square - mean**2, 0.0))
    return np.where(far, mean, 0.0)


def project_sparse(
    X: Any, mean: FloatArray, scale: FloatArray | None, components: FloatArray
) -> FloatArray:
    """Project sparse rows around a mean.

    Parameters
    ----------
    X : csr or csc array of shape (n_rows, n_features)
        Rows.
    mean : ndarray of shape (n_features,)
        The mean.
    scale : ndarray of shape (n_features,) or None
        Divisors of the features.
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows.

    Returns
    -------
    ndarray of shape (n_rows, n_components)
        The projected rows.
    """
    scaled = components if scale is None else components / scale
    filled, centered = _filled_columns(X, mean)
    sparse = np.where(filled, 0.0, scaled)
    return np.asarray(X @ sparse.T - sparse @ mean + centered @ scaled[:, filled].T)


def squared_distances(X: Any, mean: FloatArray, scale: FloatArray | None) -> FloatArray:
    """Return the squared distance of each sparse row from a mean, in units of a scale.

    Parameters
    ----------
    X : csr or csc array of shape (n_rows, n_features)
        Rows.
    mean : ndarray of shape (n_features,)
        The mean.
    scale : ndarray of shape (n_features,) or None
        Divisors of the features.

    Returns
    -------
    ndarray of shape (n_rows,)
        The distances.
    """
    factor = np.ones(X.shape[1]) if scale is None else 1 / scale**2
    X = X.astype(np.float64, copy=False)
    filled, centered = _filled_columns(X, mean)
    sparse = np.where(filled, 0.0, factor)
    far = centered**2 @ factor[filled]
    near = X.multiply(X) @ sparse - X @ (2 * mean * sparse) + float(mean**2 @ sparse)
    return np.asarray(near + far)


def _filled_columns(X: Any, mean: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return which columns have no zeros, and these around their means.

    They alone may lie so far from zero that (x - mean)^2, multiplied out, would lose its digits.
    """
    n_rows, n_features = X.shape
    if X.format == "csc":
        stored = np.diff(X.indptr)
    else:
        stored = np.bincount(X.indices, minlength=n_features)
    filled = stored >= n_rows
    return filled, X[:, np.flatnonzero(filled)].toarray() - mean[filled]
