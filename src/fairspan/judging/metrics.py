"""Group errors, gaps and excess of a projection; public as ``fairspan.metrics``."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from fairspan.ground.extras import as_frame
from fairspan.ground.parameters import check_flag
from fairspan.judging.case import Case, GroupValues, Options


def group_errors(
    model: Any, X: Any, sensitive_features: Any = None, **options: Unpack[Options]
) -> GroupValues:
    """Mean squared reconstruction error of each group.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features), or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row. A str names a column of X, which is then not a feature.
    **options
        See :class:`Options`.

    Returns
    -------
    GroupValues
        The errors.
    """
    case = Case.of(model, X, sensitive_features, **options)
    return case.values("error", case.projection.errors(case.second))


def total_error(
    model: Any, X: Any, sensitive_features: Any = None, **options: Unpack[Options]
) -> float:
    """Mean squared reconstruction error of all rows (ARE).

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features), or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row; it matters only with ``centering="group"``. A str names a column of
        X, which is then not a feature.
    **options
        See :class:`Options`.

    Returns
    -------
    float
        The error.
    """
    return group_errors(model, X, sensitive_features, **options).overall


def error_gap(
    model: Any, X: Any, sensitive_features: Any = None, **options: Unpack[Options]
) -> float:
    """Largest difference between the errors of two groups (ABDiff).

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features), or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row. A str names a column of X, which is then not a feature.
    **options
        See :class:`Options`; the published tables use ``centering="group"``.

    Returns
    -------
    float
        The gap.
    """
    return group_errors(model, X, sensitive_features, **options).difference


def excess_error(
    model: Any,
    X: Any,
    sensitive_features: Any = None,
    *,
    reference: str = "pooled",
    **options: Unpack[Options],
) -> GroupValues:
    """Error of each group beyond that of plain PCA with as many components.

    The reference is PCA of the training data, where its moments are known, else of this data.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features), or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row. A str names a column of X, which is then not a feature.
    reference : {"pooled", "group"}, default="pooled"
        PCA of all rows, or the own PCA of each group, which no projection can beat on the data it
        was made from.
    **options
        See :class:`Options`.

    Returns
    -------
    GroupValues
        The excess; negative where a group fares better than with the reference.
    """
    case = Case.of(model, X, sensitive_features, **options)
    excess = case.projection.errors(case.second) - case.reference_errors(reference)
    return case.values("excess_error", excess)


def explained_variance(
    model: Any,
    X: Any,
    sensitive_features: Any = None,
    *,
    ratio: bool = False,
    **options: Unpack[Options],
) -> GroupValues:
    """Variance of each group that the projection keeps (ddof 0).

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features), or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row. A str names a column of X, which is then not a feature.
    ratio : bool, default=False
        Give its share of the group's variance instead.
    **options
        See :class:`Options`.

    Returns
    -------
    GroupValues
        The variances.
    """
    case = Case.of(model, X, sensitive_features, **options)
    kept = case.projection.kept(case.second)
    if not check_flag("ratio", ratio):
        return case.values("explained_variance", kept)
    total = np.einsum("aii->a", case.second)
    # A group without any variance is kept whole.
    shares = np.divide(kept, total, out=np.ones_like(kept), where=total > 0)
    return case.values("explained_variance_ratio", shares)


def by_group(model: Any, X: Any, sensitive_features: Any = None, **options: Unpack[Options]) -> Any:
    """Everything about each group in one table.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features), or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row. A str names a column of X, which is then not a feature.
    **options
        See :class:`Options`.

    Returns
    -------
    pandas.DataFrame or list of dict
        A row for each group: its size, error, excess over both references, and explained variance.
    """
    return as_frame(group_rows(model, X, sensitive_features, **options))


def group_rows(
    model: Any, X: Any, sensitive_features: Any = None, **options: Unpack[Options]
) -> list[dict[str, Any]]:
    """Return the rows of :func:`fairspan.metrics.by_group` as dicts.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features), or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row. A str names a column of X, which is then not a feature.
    **options
        See :class:`Options`.

    Returns
    -------
    list of dict
        A dict for each group.
    """
    case = Case.of(model, X, sensitive_features, **options)
    errors, kept = case.projection.errors(case.second), case.projection.kept(case.second)
    columns = {
        "group": case.moments.labels,
        "rows": case.moments.counts.tolist(),
        "weight": case.moments.weights.tolist(),
        "error": errors.tolist(),
        "excess_over_pooled": (errors - case.reference_errors("pooled")).tolist(),
        "excess_over_own": (errors - case.reference_errors("group")).tolist(),
        "explained_variance": kept.tolist(),
    }
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
