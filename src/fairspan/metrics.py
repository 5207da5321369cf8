"""How well a projection describes each group: errors, gaps, excess and leakage.

Every function judges a fitted estimator or any components V with orthonormal rows, on rows or on
:class:`fairspan.GroupMoments`, by the same computation, whoever found the projection.

With ``centering="global"`` errors are measured from the projection's mean, as in the objective of
RobustFairPCA. With ``centering="group"`` each group is measured from its own mean in the training
data: then only covariances count. The published tables use the global centre for the total error
(ARE) and the group centres for the gap (ABDiff).
"""

from fairspan.judging.bootstrap import ErrorIntervals, bootstrap_intervals
from fairspan.judging.case import GroupValues, Options
from fairspan.judging.leakage import linear_leakage
from fairspan.judging.metrics import (
    by_group,
    error_gap,
    excess_error,
    explained_variance,
    group_errors,
    group_rows,
    total_error,
)

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
