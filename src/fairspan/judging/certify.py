"""Certificates for any projection: a proved bound on its distance from the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from fairspan.estimators.wide import Asked, only_moments, shared_basis
from fairspan.fitting import prepare
from fairspan.ground import defaults
from fairspan.ground.parameters import (
    check_level,
    check_max_time,
    check_number,
    check_replicates,
    generator_from,
)
from fairspan.ground.rows import is_dask, named_column
from fairspan.ground.types import FloatArray
from fairspan.judging.given import given_projection
from fairspan.judging.improvement import (
    ROUNDS,
    DominatingProjection,
    improvement,
    improvement_on,
)
from fairspan.judging.population import Population, PopulationBounds
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.moments.projection import check_orthonormal
from fairspan.moments.small_groups import GroupRule, groups_as_fitted
from fairspan.objectives.counting import Counting
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products import SecondMoments
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
    references : ndarray of shape (n_groups,) or None
        What errors are compared with; with ``reference="own"`` each group's own best error.
    """

    population: PopulationBounds | None = None
    dominating: DominatingProjection = field(kw_only=True)
    references: FloatArray | None = field(default=None, kw_only=True)


@named_column
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
    small_groups: str = "keep",
    min_rows: int = defaults.MIN_ROWS,
    tol: float = defaults.TOL,
    effort: float = defaults.EFFORT,
    max_time: float | None = None,
    population: float | None = None,
    n_bootstrap: int = defaults.POPULATION_REPLICATES,
    route: str = "auto",
    failure_probability: float = defaults.FAILURE_PROBABILITY,
    random_state: Any = None,
) -> CertifiedResult:
    """Prove how far a projection is from the best one, however it was found.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features), or fitted estimator
        Orthonormal rows, in the units of the data, or of the standardised data if
        ``standardize``. A fitted model stands for its components. It brings its ``standardize``
        (features are divided by their standard deviation over these rows), and its
        ``missing_groups``, ``small_groups`` and ``min_rows`` where these are not given here.
    moments : GroupMoments, RowParts or array-like of shape (n_rows, n_features)
        Moments of the data, or its rows; those of :mod:`fairspan.sources` are read in passes.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row, with rows. A str names a column of them, which is then not a feature.
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
    small_groups : {"keep", "pool", "total_only"}, default="keep"
        What to do with groups with fewer than ``min_rows`` rows, as in RobustFairPCA.
    min_rows : int, default=5
        The fewest rows of a group that is not small.
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
    route : {"auto", "moments", "products"}, default="auto"
        How wide rows are treated, as in RobustFairPCA.
    failure_probability : float, default=1e-10
        By products: how probably the bounds may be wrong, that of ``dominating`` included.
        ``proof`` says whether that is possible at all.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the replicates and of random blocks; None is a fixed one.

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
    asked_rule = GroupRule((), missing_groups, small_groups)
    given = given_projection(components, standardize, asked_rule, min_rows)
    components, rule, standardize = given.projection, given.rule, given.standardize
    missing_groups, small_groups = rule.missing_groups, rule.small_groups
    counting = Counting(group_weights, missing_groups, disparity, reference, small_groups).checked()
    level = None if population is None else check_level("population", population)
    if level is not None and not counting.is_paper:
        raise ValueError(
            "population=... bounds the gap between groups; it needs disparity='gap' and "
            f"reference='none', but got disparity={disparity!r} and reference={reference!r}."
        )
    weight = check_number("fairness_weight", fairness_weight)
    tol = check_number("tol", tol, positive=True)
    effort = check_number("effort", effort, positive=True)
    max_time = check_max_time(max_time)
    chance = check_level("failure_probability", failure_probability)
    asked = Asked(
        route,
        "population=..."
        if level is not None
        else only_moments(small_groups=small_groups, radius=radius, reference=reference),
        len(check_orthonormal(components)),
        missing_groups,
        standardize,
    )
    operator = asked.operator(moments, sensitive_features)
    if operator is not None:
        rows = _orthonormal(components, operator.n_features)
        return _by_products(rows, operator, counting, (weight, radius), tol, chance, random_state)
    drawn = None if level is None else _rows(moments, sensitive_features, rule)
    moments = given.moments(moments, sensitive_features)
    if drawn is not None:
        drawn = (drawn[0], groups_as_fitted(drawn[1], moments.labels, small_groups))
    rows = _orthonormal(components, moments.n_features)
    prepared = prepare(moments, standardize)
    problem = prepared.problem(len(rows), counting)
    objective = counting.objective(moments, weight, radius, problem)
    # Rounding left in the rows would show in their errors.
    subspace = np.linalg.qr(rows.T)[0]
    errors = problem.errors(subspace)
    best = solve(
        problem,
        objective,
        SolverOptions(tol=min(tol, defaults.TOL), effort=effort, max_time=max_time),
    )
    judged = _judged(best, rows, errors, objective, problem, tol)
    bounds = None
    if drawn is not None and level is not None:
        sample = Population(*drawn, prepared, counting, objective.fairness_weight)
        rng = generator_from(0 if random_state is None else random_state)
        number = check_replicates(n_bootstrap)
        bounds = sample.bounds(errors, len(rows), level, number, rng)
    better = improvement(problem, moments.labels, errors, subspace)
    references = counting.references(moments, problem)
    return CertifiedResult(**judged, population=bounds, dominating=better, references=references)


def _by_products(
    rows: FloatArray,
    operator: SecondMoments,
    counting: Counting,
    setting: tuple[float, Any],
    tol: float,
    failure_probability: float,
    random_state: Any,
) -> CertifiedResult:
    """Judge components by products with the rows of the data."""
    shared = shared_basis(
        operator,
        len(rows),
        1 + ROUNDS,
        tol=min(tol, defaults.TOL),
        failure_probability=failure_probability,
        random_state=random_state,
    )
    objective = counting.objective(operator, *setting)
    best = shared.solve(objective)
    subspace = np.linalg.qr(rows.T)[0]
    errors = shared.errors(subspace)
    problem = shared.problem(objective.shares)
    better = improvement_on(shared, errors, subspace)
    judged = _judged(best, rows, errors, objective, problem, tol)
    judged["n_passes"] = operator.passes
    references = counting.references(operator, None)
    return CertifiedResult(**judged, dominating=better, references=references)


def _judged(
    best: SolverResult,
    rows: FloatArray,
    errors: FloatArray,
    objective: RobustFairObjective,
    problem: SubspaceProblem,
    tol: float,
) -> dict[str, Any]:
    """Hold what components attain against the bound that is proved; give the result's fields."""
    value, size = objective.value(errors), objective.unreferenced(errors)
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
    return {one.name: getattr(judged, one.name) for one in fields(SolverResult)}


def _rows(data: Any, sensitive_features: Any, rule: GroupRule) -> tuple[FloatArray, Groups]:
    """Check that there are rows to resample."""
    if isinstance(data, GroupMoments) or is_dask(data) or issparse(data):
        raise TypeError(
            "population=... resamples rows, which moments do not hold; pass the rows as a dense "
            "array, with sensitive_features."
        )
    X = np.asarray(check_array(data, dtype=np.float64, input_name="X"))
    return X, rule.groups(sensitive_features, len(X))


def _orthonormal(components: Any, n_features: int) -> FloatArray:
    rows = check_orthonormal(components)
    if rows.shape[1] != n_features:
        raise ValueError(
            f"components has shape {rows.shape}; it must have one column for each of the "
            f"n_features={n_features} features."
        )
    return rows
