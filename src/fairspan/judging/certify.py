"""Judge any projection: how far it is from the best possible one, at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairspan.fitting import Counting, check_moments, prepare
from fairspan.ground import defaults
from fairspan.ground.parameters import check_number
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.projection import check_orthonormal
from fairspan.solvers import SolverOptions, SolverResult, solve
from fairspan.solvers.result import is_closed, safe_bound, settled


def certify(
    components: Any,
    moments: GroupMoments,
    *,
    fairness_weight: float,
    radius: float | Mapping[Any, float],
    group_weights: str | Mapping[Any, float] = "share",
    missing_groups: str = "raise",
    tol: float = defaults.TOL,
    max_time: float = defaults.MAX_TIME,
) -> SolverResult:
    """Prove how far a projection is from the best one, however it was found.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Orthonormal rows, in the units of the moments: for an estimator fitted with
        ``standardize=True`` pass ``estimator.moments_.scaled(estimator.scale_)``.
    moments : GroupMoments
        Moments of the data.
    fairness_weight : float
        How much the gap between groups counts.
    radius : float or mapping
        Size of the ambiguity set, as in RobustFairPCA.
    group_weights : {"share", "equal"} or mapping, default="share"
        How much each group counts in the total error, as in RobustFairPCA.
    missing_groups : {"raise", "own_group", "total_only"}, default="raise"
        With "total_only" the group "missing" counts in the total error and not in the gap.
    tol : float, default=1e-8
        The relative gap up to which the projection counts as optimal.
    max_time : float, default=5.0
        Seconds after which the bound proved so far is returned.

    Returns
    -------
    SolverResult
        The components given, their errors and objective, and a lower bound proved for every
        projection with as many components.

    Examples
    --------
    >>> import numpy as np
    >>> from fairspan import GroupMoments, certify
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4)) * [4, 3, 2, 1]
    >>> moments = GroupMoments.from_arrays(X, ["a", "b"] * 100)
    >>> result = certify(np.eye(4)[:2], moments, fairness_weight=0, radius=0)
    >>> bool(0 < result.optimality_gap < 0.01)  # near PCA, but not quite
    True
    """
    check_moments(moments)
    rows = check_orthonormal(components)
    if rows.shape[1] != moments.n_features:
        raise ValueError(
            f"components has shape {rows.shape}; it needs one column for each of the "
            f"n_features={moments.n_features} features."
        )
    counting = Counting(group_weights, missing_groups).checked()
    weight = check_number("fairness_weight", fairness_weight)
    tol = check_number("tol", tol, positive=True)
    max_time = check_number("max_time", max_time, positive=True)
    objective = counting.objective(moments, weight, radius)
    problem = prepare(moments).problem(len(rows), counting)
    # Rounding left in the rows would show in their errors.
    errors = problem.errors(np.linalg.qr(rows.T)[0])
    value = objective.value(errors)
    best = solve(problem, objective, SolverOptions(tol=min(tol, defaults.TOL), max_time=max_time))
    judged = replace(
        best,
        components=rows,
        group_errors=errors,
        objective=value,
        lower_bound=safe_bound(best.lower_bound, value, problem.scale),
        history=np.empty((0, 2)),
    )
    proved = is_closed(problem, value, judged.lower_bound, tol, objective.fairness_weight)
    judged = replace(judged, status="optimal" if proved else "feasible", is_hidden=False)
    return settled(judged, problem, objective.fairness_weight)
