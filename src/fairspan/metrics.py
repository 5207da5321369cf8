"""How well a projection serves each group: errors, gaps, excess, and what still leaks.

Every function judges a fitted estimator or any components V with orthonormal rows, on rows or on
:class:`fairspan.GroupMoments`, by the same computation, whoever found the projection.

With ``centring="global"`` errors are measured from the projection's mean, as in the objective of
RobustFairPCA. With ``centring="group"`` each group is measured from its own mean in the training
data: then only covariances count. The published tables use the global centre for the total error
(ARE) and the group centres for the gap (ABDiff).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np

from fairspan._bootstrap import ErrorIntervals, bootstrap_intervals
from fairspan._frames import as_frame
from fairspan._leakage import linear_leakage
from fairspan._projection import Projection
from fairspan._types import FloatArray, Label
from fairspan._validation import check_choice, check_flag
from fairspan.moments import GroupMoments
from fairspan.spectrum import top_space

__all__ = [
    "ErrorIntervals",
    "GroupValues",
    "Options",
    "bootstrap_intervals",
    "by_group",
    "error_gap",
    "excess_error",
    "explained_variance",
    "group_errors",
    "group_rows",
    "linear_leakage",
    "total_error",
]


class Options(TypedDict, total=False):
    """How to judge; all keywords are optional.

    Attributes
    ----------
    centring : {"global", "group"}, default="global"
        From where errors are measured.
    mean, scale : array-like of shape (n_features,)
        Centre and divisors that belong to plain components; an estimator brings its own. Without a
        mean, the data's own is used.
    training : GroupMoments
        Moments of the training data, which give the group means; estimators of this package bring
        their own. Without them, the data's own are used.
    sample_weight : array-like of shape (n_rows,)
        How often each row counts.
    """

    centring: str
    mean: Any
    scale: Any
    training: GroupMoments | None
    sample_weight: Any


@dataclass(frozen=True)
class GroupValues:
    """A number for each group.

    Attributes
    ----------
    name : str
        What the numbers are.
    labels : tuple
        The groups.
    values : ndarray of shape (n_groups,)
        The numbers.
    weights : ndarray of shape (n_groups,)
        Sizes of the groups.
    """

    name: str
    labels: tuple[Label, ...]
    values: FloatArray
    weights: FloatArray

    @property
    def by_group(self) -> dict[Label, float]:
        """The numbers by label."""
        return dict(zip(self.labels, self.values.tolist(), strict=True))

    @property
    def overall(self) -> float:
        """Mean over all rows."""
        return float(self.values @ self.weights / self.weights.sum())

    @property
    def difference(self) -> float:
        """Largest minus smallest: the largest difference over all pairs of groups."""
        return float(np.ptp(self.values))

    def to_frame(self) -> Any:
        """Give a table with a row for each group.

        Returns
        -------
        pandas.DataFrame or list of dict
            Columns ``group``, ``weight`` and the name of the metric.
        """
        rows = zip(self.labels, self.weights.tolist(), self.values.tolist(), strict=True)
        return as_frame([{"group": a, "weight": w, self.name: value} for a, w, value in rows])


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
    sensitive_features : array-like, frame or dict, optional
        The group of each row.
    **options
        See :class:`Options`.

    Returns
    -------
    GroupValues
        The errors.
    """
    case = _Case.of(model, X, sensitive_features, options)
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
    sensitive_features : array-like, frame or dict, optional
        The group of each row; it matters only with ``centring="group"``.
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
    sensitive_features : array-like, frame or dict, optional
        The group of each row.
    **options
        See :class:`Options`; the published tables use ``centring="group"``.

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
    sensitive_features : array-like, frame or dict, optional
        The group of each row.
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
    case = _Case.of(model, X, sensitive_features, options)
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
    sensitive_features : array-like, frame or dict, optional
        The group of each row.
    ratio : bool, default=False
        Give its share of the group's variance instead.
    **options
        See :class:`Options`.

    Returns
    -------
    GroupValues
        The variances.
    """
    case = _Case.of(model, X, sensitive_features, options)
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
    sensitive_features : array-like, frame or dict, optional
        The group of each row.
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
    """Give the rows of :func:`fairspan.metrics.by_group` as plain dicts.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features), or GroupMoments
        The data.
    sensitive_features : array-like, frame or dict, optional
        The group of each row.
    **options
        See :class:`Options`.

    Returns
    -------
    list of dict
        A dict for each group.
    """
    case = _Case.of(model, X, sensitive_features, options)
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


@dataclass(frozen=True)
class _Case:
    """A projection, the moments it is judged on, and the second moments that matter."""

    projection: Projection
    moments: GroupMoments
    centring: str
    second: FloatArray

    @classmethod
    def of(cls, model: Any, X: Any, sensitive_features: Any, options: Options) -> _Case:
        unknown = sorted(set(options) - set(Options.__annotations__))
        if unknown:
            raise TypeError(
                f"Unknown options {unknown}; allowed are {sorted(Options.__annotations__)}."
            )
        centring = options.get("centring", "global")
        weight = options.get("sample_weight")
        if isinstance(X, GroupMoments):
            if sensitive_features is not None or weight is not None:
                raise ValueError(
                    "GroupMoments already hold groups and weights; give sensitive_features and "
                    "sample_weight with rows only."
                )
            moments = X
        else:
            moments = GroupMoments.from_arrays(X, sensitive_features, sample_weight=weight)
        projection = Projection.of(
            model, options.get("mean"), options.get("scale"), options.get("training")
        )
        return cls(projection, moments, centring, projection.second_moments(moments, centring))

    def values(self, name: str, values: FloatArray) -> GroupValues:
        return GroupValues(name, self.moments.labels, values, self.moments.weights)

    def reference_errors(self, reference: str) -> FloatArray:
        """Errors of PCA fitted to the training data, on this data."""
        source = self.projection.training or self.moments
        own = check_choice("reference", reference, ("pooled", "group")) == "group"
        fitted = self.projection.second_moments(source, self.centring if own else "global")
        k = len(self.projection.components)
        if not own:
            pooled = top_space(np.einsum("a,aij->ij", source.shares, fitted), k)
            return replace(self.projection, components=pooled.vectors.T).errors(self.second)
        errors = []
        for label, second in zip(self.moments.labels, self.second, strict=True):
            if label not in source.labels:
                raise ValueError(
                    f"Group {label!r} is not in the training data, whose groups are "
                    f"{list(source.labels)[:5]}; pass sensitive_features with the same labels."
                )
            best = top_space(fitted[source.labels.index(label)], k).vectors.T
            errors.append(replace(self.projection, components=best).errors(second[None])[0])
        return np.array(errors)
