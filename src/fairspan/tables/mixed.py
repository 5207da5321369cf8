"""Mixed tables: the scales of numbers and categories, and what belongs to one column of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairspan.ground.types import BoolArray, FloatArray
from fairspan.moments.from_rows import pooled_scale
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.columns import Columns
from fairspan.tables.refusals import Name


def mixed_scale(moments: GroupMoments, columns: Columns) -> FloatArray:
    """Give the scale of each feature in a factor analysis of mixed data.

    Parameters
    ----------
    moments : GroupMoments
        Moments of the features.
    columns : Columns
        How columns became features.

    Returns
    -------
    ndarray of shape (n_features,)
        The standard deviation of numbers; the square root of its share for a category.
    """
    scale = pooled_scale(moments)
    shares = np.sqrt(np.maximum(moments.mean, 0.0))
    is_category = ~np.isin(columns.owners, columns.numbers)
    # A category that is listed and does not occur is a column of zeros, at any scale.
    return np.where(is_category, np.where(shares > 0, shares, 1.0), scale)


@dataclass(frozen=True)
class ColumnShare:
    """What a projection makes of a column, all its categories together.

    Attributes
    ----------
    column : str or int
        The column.
    loadings : list of float
        Its share in each component: squared loadings, which sum to 1 over all columns.
    explained : float
        The share of its variance that the projection keeps; 0 for a constant column.
    """

    column: Name
    loadings: list[float]
    explained: float


def _times_covariance(V: FloatArray, moments: GroupMoments) -> FloatArray:
    """Multiply with the covariance matrix of all rows."""
    pooled, basis = moments.scatters.sum(axis=0) / moments.total_weight, moments.basis
    within = V @ pooled if basis is None else (V @ basis.T) @ pooled @ basis
    means = moments.means - moments.mean
    return np.asarray(within + (V @ means.T * moments.shares) @ means)


def column_shares(model: Any, columns: Columns) -> list[ColumnShare]:
    """Sum loadings and explained variances over the features of each column.

    Parameters
    ----------
    model : estimator
        A fitted projection with its moments.
    columns : Columns
        How columns became its features.

    Returns
    -------
    list of ColumnShare
        One for each column, in order.
    """
    moments = model.moments_ if model.scale_ is None else model.moments_.scaled(model.scale_)
    V, before = model.components_, moments.variances
    VC = _times_covariance(V, moments)
    # The diagonal of (I - V'V) C (I - V'V), without a matrix of the size of C.
    after = before + np.einsum("ki,ki->i", V, (VC @ V.T) @ V - 2 * VC)

    def share(of: BoolArray) -> float:
        total = float(before[of].sum())
        return 1 - float(after[of].sum()) / total if total > 0 else 0.0

    owners = columns.owners
    masks = {name: np.array([owner == name for owner in owners]) for name in columns.features}
    return [
        ColumnShare(name, (V[:, of] ** 2).sum(axis=1).tolist(), share(of))
        for name, of in masks.items()
    ]
