"""Certificates for any projection: a proved bound on its distance from the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from fairspan.fitting import Counting, prepare
from fairspan.ground import defaults
from fairspan.ground.parameters import (
    check_level,
    check_max_time,
    check_number,
    check_replicates,
    generator_from,
)
from fairspan.ground.rows import is_dask
from fairspan.ground.types import FloatArray
from fairspan.judging.dominance import DominatingProjection, improvement
from fairspan.judging.population import Population, PopulationBounds
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.moments.projection import check_orthonormal, moments_of
from fairspan.solvers import SolverOptions, SolverResult, solve
from fairspan.solvers.result import hidden_value, is_closed, safe_bound, settled


@dataclass(frozen=True)
class CertifiedResult(SolverResult):
    """A projection that was judged: what is proved on the data, and what holds beyond it.

    Attributes
    ----------
    population : PopulationBounds or None
        Bounds for the population that the rows were drawn from, where these were asked for.
    dominating : DominatingProjection
        A projection that serves every group better, or the proof that none does by more than its
        ``bound``.
    """

    population: PopulationBounds | None = None
    dominating: DominatingProjection = field(kw_only=True)


def certify(
    components: Any,
    moments: Any,
    *,
    sensitive_features: Any = None,
    standardize: bool = False,
    fairness_weight: float,
    radius: float | Mapping[Any, float],
    disparity: str = "gap",
    reference: str | Mapping[Any, float] = "none",
    group_weights: str | Mapping[Any, float] = "share",
    missing_groups: str = "raise",
    tol: float = defaults.TOL,
    effort: float = defaults.EFFORT,
    max_time: float | None = None,
    population: float | None = None,
    n_bootstrap: int = defaults.POPULATION_REPLICATES,
    random_state: Any = None,
) -> CertifiedResult:
    """Prove how far a projection is from the best one, however it was found.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        Orthonormal rows, in the units of the data, or of the standardised data if
        ``standardize``.
    moments : GroupMoments or array-like of shape (n_rows, n_features)
        Moments of the data, or its rows.
    sensitive_features : array-like, frame or dict, optional
        The group of each row, with rows.
    standardize : bool, default=False
        Whether features are divided by their standard deviation over these rows. For the
        population this is more than other units: the units are part of what was sampled.
    fairness_weight : float
        How much the gap between groups counts.
    radius : float or mapping
        Size of the ambiguity set, as in RobustFairPCA.
    disparity : {"gap", "largest"}, default="gap"
        What the fairness weight counts, as in RobustFairPCA.
    reference : {"none", "own"} or mapping, default="none"
        What each group's error is compared with, as in RobustFairPCA.
    group_weights : {"share", "equal"} or mapping, default="share"
        How much each group counts in the total error, as in RobustFairPCA.
    missing_groups : {"raise", "own_group", "total_only"}, default="raise"
        With "total_only" the group "missing" counts in the total error and not in the gap.
    tol : float, default=1e-8
        The relative gap up to which the projection counts as optimal.
    effort : float, default=1.0
        Multiplies the work that the proof may cost, as in RobustFairPCA.
    max_time : float, default=None
        Seconds after which the bound proved so far is returned.
    population : float, optional
        A level such as 0.95: also bound the errors on the population that the rows were drawn
        from, at this level. The bounds hold for all projections at once, so also for one that was
        chosen by looking at several weights and numbers of components. It needs rows, drawn
        independently, at least 5 of each group. The bounds come from a bootstrap, are wide, and
        hold less often where the support of a column is low.
    n_bootstrap : int, default=400
        Replicates for ``population``.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the replicates; None is a fixed one.

    Returns
    -------
    CertifiedResult
        The components given, their errors and objective, a lower bound proved for every
        projection with as many components, in ``dominating`` whether another projection serves
        every group better, and in ``population`` what was asked for.

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
    counting = Counting(group_weights, missing_groups, disparity, reference).checked()
    level = None if population is None else check_level("population", population)
    if level is not None and not counting.is_paper:
        raise ValueError(
            "population=... bounds the gap between groups; it needs disparity='gap' and "
            f"reference='none', but got disparity={disparity!r} and reference={reference!r}."
        )
    drawn = None if level is None else _rows(moments, sensitive_features, missing_groups)
    moments = _moments(moments, sensitive_features, missing_groups)
    rows = _orthonormal(components, moments.n_features)
    weight = check_number("fairness_weight", fairness_weight)
    tol = check_number("tol", tol, positive=True)
    effort = check_number("effort", effort, positive=True)
    max_time = check_max_time(max_time)
    prepared = prepare(moments, standardize)
    problem = prepared.problem(len(rows), counting)
    objective = counting.objective(moments, weight, radius, problem)
    # Rounding left in the rows would show in their errors.
    subspace = np.linalg.qr(rows.T)[0]
    errors = problem.errors(subspace)
    value = objective.value(errors)
    best = solve(
        problem,
        objective,
        SolverOptions(tol=min(tol, defaults.TOL), effort=effort, max_time=max_time),
    )
    size = objective.unreferenced(errors)
    judged = replace(
        best,
        components=rows,
        group_errors=errors,
        objective=value,
        lower_bound=safe_bound(best.lower_bound, value, problem.scale, size),
        size=size,
        history=np.empty((0, 2)),
    )
    weight = objective.fairness_weight
    proved = is_closed(problem, value, judged.lower_bound, tol, weight, size=size)
    judged = replace(judged, status="optimal" if proved else "feasible", is_hidden=False)
    judged = settled(judged, problem, weight, hidden_value(objective, problem, errors))
    bounds = None
    if drawn is not None and level is not None:
        sample = Population(*drawn, prepared, counting, weight)
        rng = generator_from(0 if random_state is None else random_state)
        number = check_replicates(n_bootstrap)
        bounds = sample.bounds(errors, len(rows), level, number, rng)
    found = {one.name: getattr(judged, one.name) for one in fields(SolverResult)}
    better = improvement(problem, moments.labels, errors, subspace)
    return CertifiedResult(**found, population=bounds, dominating=better)


def _moments(data: Any, sensitive_features: Any, missing_groups: str) -> GroupMoments:
    if not isinstance(data, GroupMoments):
        return GroupMoments.from_arrays(data, sensitive_features, missing_groups=missing_groups)
    return moments_of(data, sensitive_features, None)


def _rows(data: Any, sensitive_features: Any, missing_groups: str) -> tuple[FloatArray, Groups]:
    """Check that there are rows to resample."""
    if isinstance(data, GroupMoments) or is_dask(data) or issparse(data):
        raise TypeError(
            "population=... resamples rows, which moments do not hold; pass the rows as a dense "
            "array, with sensitive_features."
        )
    X = np.asarray(check_array(data, dtype=np.float64, input_name="X"))
    return X, Groups.of(sensitive_features, len(X), missing_groups)


def _orthonormal(components: Any, n_features: int) -> FloatArray:
    rows = check_orthonormal(components)
    if rows.shape[1] != n_features:
        raise ValueError(
            f"components has shape {rows.shape}; it must have one column for each of the "
            f"n_features={n_features} features."
        )
    return rows
