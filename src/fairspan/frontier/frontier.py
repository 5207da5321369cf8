"""The whole trade-off between total error and gap, and all that is attainable, from moments alone.

At radius 0 the best compromises of two groups are the points where supporting lines of the
attainable errors touch, from PCA (the gap counts nothing) to the fairest subspace. Drawn to a
proved accuracy they are complete: no other subspace is better in one and no worse in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fairspan.estimators.wide import Asked, only_moments, shared_basis
from fairspan.fitting import prepare, warn_of_small_groups
from fairspan.frontier.points import Point, curve_points, points_by_products, solve_points
from fairspan.frontier.request import (
    Grid,
    check_compared,
    check_numbers,
    check_radii,
    moments_to_compare,
)
from fairspan.frontier.result import Frontier
from fairspan.ground import defaults
from fairspan.ground.parameters import (
    check_components,
    check_flag,
    check_level,
    check_max_time,
    check_number,
    not_used,
)
from fairspan.ground.rows import named_column
from fairspan.ground.warn import warn
from fairspan.judging.improvement import dominated
from fairspan.moments.summary import GroupSummary
from fairspan.objectives.counting import Counting
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products import SecondMoments
from fairspan.solvers import SolverOptions
from fairspan.solvers.options import Patience
from fairspan.solvers.two_groups.trace import TradeOff

_WEIGHTS = (0.0, *np.geomspace(0.01, 10.0, 25).tolist())
"""Fairness weights where none are given and the points are not those of the curve."""


@named_column
def fairness_frontier(
    X_or_moments: Any,
    n_components: int = defaults.N_COMPONENTS,
    *,
    sensitive_features: Any = None,
    fairness_weights: Any = None,
    disparity: str = "gap",
    reference: str | Mapping[Any, float] = "none",
    radius: Any = defaults.RADIUS,
    n_bootstrap: int | None = None,
    standardize: bool = False,
    group_weights: str | Mapping[Any, float] = "share",
    missing_groups: str = "raise",
    small_groups: str = "keep",
    min_rows: int = defaults.MIN_ROWS,
    effort: float = defaults.EFFORT,
    max_time: float | None = None,
    route: str = "auto",
    failure_probability: float = defaults.FAILURE_PROBABILITY,
    random_state: Any = None,
) -> Frontier:
    """Find the trade-off between the total error and the gap between groups.

    Without fairness weights, two groups at radius 0 give the complete curve: every best compromise
    from PCA to the fairest subspace, to a proved accuracy. Else the points are the optima of a
    grid, which share their eigen-solves. For two groups the result also draws the complete curve
    and the attainable region, when asked for them.

    Parameters
    ----------
    X_or_moments : array-like of shape (n_samples, n_features), RowParts or GroupMoments
        The data, rows of :mod:`fairspan.sources` that are read in passes, or all that is needed of
        the data.
    n_components : int, default=2
        Number of components, from 1 to n_features.
    sensitive_features : array-like, frame, dict or str, optional
        The group of each row of X. A str names a column of X, which is then not a feature.
    fairness_weights : float or array-like, optional
        Fairness weights of the points; with more than two groups, a radius, or another disparity
        than the gap, 26 weights from 0 to 10 if not given.
    disparity : {"gap", "largest"}, default="gap"
        What the fairness weights count, as in RobustFairPCA. The complete curve is that of the gap.
    reference : {"none", "own"} or mapping, default="none"
        What each group's error is compared with, as in RobustFairPCA.
    radius : float, mapping or sequence of them, default=0.0
        One radius, as in RobustFairPCA, or several: then the points are a grid.
    n_bootstrap : int, optional
        Deprecated and not used: :func:`fairspan.inference.crossfit` gives intervals.
    standardize : bool, default=False
        Divide features by their standard deviation over all rows; constant features stay.
    group_weights : {"share", "equal"} or mapping, default="share"
        How much each group counts in the total error, as in RobustFairPCA.
    missing_groups : {"raise", "own_group", "total_only"}, default="raise"
        Rows whose group is missing, as in RobustFairPCA; with "total_only" they count in the total
        error and not in the gap.
    small_groups : {"keep", "pool", "total_only"}, default="keep"
        What to do with groups with fewer than ``min_rows`` rows, as in RobustFairPCA.
    min_rows : int, default=5
        The fewest rows of a group that is not small.
    effort : float, default=1.0
        Multiplies the work that proofs may cost, as in RobustFairPCA; all points share that of a
        few fits.
    max_time : float, default=None
        Seconds that all points together may look for better minima and proofs where there are more
        than two groups.
    route : {"auto", "moments", "products"}, default="auto"
        How wide rows are treated, as in RobustFairPCA. By products the points are always those of a
        grid, and one basis serves all of them; there is no ``curve`` and no ``region``.
    failure_probability : float, default=1e-10
        By products: how probably any of the bounds may be wrong, all points together.
    random_state : int, RandomState instance, Generator or None, default=None
        By products: the seed of random blocks; None is a fixed one.

    Returns
    -------
    Frontier
        The points with their proofs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import fairness_frontier
    >>> data = load_breast_cancer()
    >>> groups = data.target_names[data.target]
    >>> frontier = fairness_frontier(data.data, 3, sensitive_features=groups, standardize=True)
    >>> frontier.gap[[0, -1]].round(3), frontier.total_error[[0, -1]].round(3)
    (array([1.614, 0.   ]), array([8.209, 8.58 ]))
    """
    weights = (
        None if fairness_weights is None else check_numbers("fairness_weights", fairness_weights)
    )
    radii = check_radii(radius)
    not_used("n_bootstrap", n_bootstrap)
    check_number("effort", effort, positive=True)
    check_max_time(max_time)
    counting = Counting(group_weights, missing_groups, disparity, reference, small_groups).checked()
    check_level("failure_probability", failure_probability)
    asked = Asked(
        route,
        only_moments(small_groups=small_groups, reference=reference),
        n_components,
        missing_groups,
        check_flag("standardize", standardize),
    )
    operator = asked.operator(X_or_moments, sensitive_features)
    if operator is not None:
        grid = [(weight, radius) for radius in radii for weight in weights or _WEIGHTS]
        chance = (failure_probability, random_state)
        return _by_products(operator, n_components, grid, counting, *chance)
    moments = moments_to_compare(X_or_moments, sensitive_features, counting, min_rows)
    k = check_components(n_components, moments.n_features)
    problem = prepare(moments, standardize, room=k).problem(k, counting)
    warn_of_small_groups(moments, k, counting)
    trade_off = TradeOff(problem) if problem.n_groups == 2 else None
    if trade_off is not None and weights is None and not any(radii) and counting.is_paper:
        # Where nothing is asked for, the complete curve.
        points = curve_points(trade_off)
    else:
        grid = [(weight, radius) for radius in radii for weight in weights or _WEIGHTS]
        boundary = None if trade_off is None else trade_off.boundary
        patience = Patience(effort, len(grid), max_time)
        points = solve_points(problem, moments, grid, counting, boundary, patience)
    return _frontier(points, moments, problem, counting, trade_off)


def _by_products(
    operator: SecondMoments,
    n_components: int,
    grid: Grid,
    counting: Counting,
    failure_probability: float,
    random_state: Any,
) -> Frontier:
    """Find the points of a grid from products with the rows, on a basis that they share."""
    check_compared(operator, counting)
    shared = shared_basis(
        operator,
        n_components,
        len(grid),
        tol=defaults.TOL,
        failure_probability=failure_probability,
        random_state=random_state,
    )
    warn_of_small_groups(operator, shared.k, counting)
    points, failure = points_by_products(shared, grid, counting)
    # What is found inside the basis is a projection like any other.
    problem = shared.problem(counting.weights(operator))
    found = _frontier(points, operator, problem, counting, None)
    passes = operator.passes
    return replace(
        found, route="products", failure_probability=failure, n_eigensolves=0, n_passes=passes
    )


def _frontier(
    points: list[Point],
    moments: GroupSummary,
    problem: SubspaceProblem,
    counting: Counting,
    trade_off: TradeOff | None,
) -> Frontier:
    """Arrange points, and say which of them are dominated."""
    _warn_of_gaps(points)
    weight, size, found, value, bound, proved, status, hidden, *proofs = zip(*points, strict=True)
    errors = np.array(found)
    references = counting.references(moments, problem)
    return Frontier(
        group_labels=moments.labels,
        group_counts=moments.counts,
        n_components=problem.k,
        fairness_weight=np.array(weight),
        radius=np.array([r if isinstance(r, Real) else np.nan for r in size], dtype=float),
        group_errors=errors,
        total_error=errors @ moments.shares,
        weighted_error=errors @ problem.shares,
        gap=counting.gap(errors, moments),
        objective=np.array(value),
        lower_bound=np.array(bound),
        optimality_gap=np.array(proved),
        status=status,
        is_hidden=hidden,
        n_eigensolves=problem.n_eigensolves,
        trade_off=trade_off,
        dominated=dominated(
            problem, errors, None if trade_off is None else trade_off.boundary, *proofs
        ),
        references=references,
        gap_above_references=(
            None if references is None else counting.gap(errors - references, moments)
        ),
    )


def _warn_of_gaps(points: list[Point]) -> None:
    gaps = [point.optimality_gap for point in points if point.status != "optimal"]
    # Where rounding hides the objective, a warning has named the features.
    if gaps and min(gaps) < 1:
        warn(
            f"{len(gaps)} of {len(points)} points are not proved optimal to a relative gap of "
            f"{SolverOptions.tol}; the largest gap is {max(gaps):.2g}.",
            ConvergenceWarning,
        )
