"""Points of the trade-off: on a grid of objectives, on the complete curve, and resampled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fairspan._types import FloatArray
from fairspan.groups import Groups
from fairspan.moments import GroupMoments
from fairspan.objectives import RobustFairObjective, radii_from
from fairspan.problem import SubspaceProblem
from fairspan.solvers.boundary import Boundary, solve_boundary
from fairspan.solvers.front import SolverOptions, solve
from fairspan.solvers.penalty import penalty_bound, penalty_weight
from fairspan.solvers.result import relative_gap
from fairspan.solvers.trace import TradeOff

_INTERVAL = (0.025, 0.975)
_DRAWS = 100
"""How often a replicate is drawn again because a group got no rows."""


Grid = Sequence[tuple[float, float]]
"""Fairness weights and radii."""


class Point(NamedTuple):
    """The optimum of one objective, with its proof."""

    fairness_weight: float
    radius: float
    group_errors: FloatArray
    objective: float
    lower_bound: float
    optimality_gap: float


def solve_points(
    problem: SubspaceProblem,
    sizes: FloatArray,
    grid: Grid,
    boundary: Boundary | None,
) -> list[Point]:
    """Find the optimum at each fairness weight and radius of a grid.

    Parameters
    ----------
    problem : SubspaceProblem
        The problem of these moments.
    sizes : ndarray of shape (n_groups,)
        Sizes of the groups, which set their radii.
    grid : sequence of pairs
        Fairness weights and radii.
    boundary : Boundary, optional
        For two groups: lines that all points share.

    Returns
    -------
    list of Point
        The optima, in the order of the grid.
    """
    points = []
    for weight, radius in grid:
        radii = radii_from(radius, sizes)
        objective = RobustFairObjective(problem.shares, weight, radii)
        if boundary is None or problem.k == problem.d:
            found = solve(problem, objective, SolverOptions())
        else:
            found = solve_boundary(problem, objective, boundary=boundary)
        proof = (found.objective, found.lower_bound, found.optimality_gap)
        points.append(Point(weight, radius, found.group_errors, *proof))
    return points


def curve_points(trade_off: TradeOff) -> list[Point]:
    """Give the points of the complete curve at radius 0, each with the weight it is optimal for.

    Parameters
    ----------
    trade_off : TradeOff
        All that two groups can attain.

    Returns
    -------
    list of Point
        From PCA to the fairest subspace.
    """
    problem = trade_off.problem
    points = []
    for place, line in enumerate(trade_off.lines):
        errors = np.array(line.point)
        weight = penalty_weight(line, problem.shares) if place else 0.0
        if math.isinf(weight):
            # The gap alone counts: its value is infinite, and the total error is what is proved.
            proof = (math.inf, math.inf, trade_off.fairest.result.optimality_gap)
        else:
            value = float(problem.shares @ errors) + weight * float(np.ptp(errors))
            bound = min(penalty_bound(line), value)
            proof = (value, bound, relative_gap(value, bound, problem.scale))
        points.append(Point(weight, 0.0, errors, *proof))
    return points


def bootstrap_intervals(
    X: FloatArray,
    groups: Groups,
    grid: Grid,
    make_problem: Callable[[GroupMoments], SubspaceProblem],
    n_bootstrap: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Resample rows and give intervals of the optima's total errors and gaps.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    groups : Groups
        Their groups.
    grid : sequence of pairs
        Fairness weights and radii.
    make_problem : callable
        Gives the problem of a replicate's moments.
    n_bootstrap : int
        Number of replicates.
    rng : numpy Generator
        Draws the weights.

    Returns
    -------
    tuple of ndarray of shape (n_points, 2)
        Percentile intervals of the total error and of the gap.
    """
    found = []
    for _ in range(n_bootstrap):
        moments = _replicate(X, groups, rng)
        problem = make_problem(moments)
        errors = np.array(_optimal_errors(problem, moments.weights, grid))
        found.append([errors @ problem.shares, np.ptp(errors, axis=1)])
    total, gap = np.quantile(found, _INTERVAL, axis=0).transpose(1, 2, 0)
    return total, gap


def _optimal_errors(problem: SubspaceProblem, sizes: FloatArray, grid: Grid) -> list[FloatArray]:
    if problem.n_groups != 2:
        return [point.group_errors for point in solve_points(problem, sizes, grid, None)]
    if not any(radius for _, radius in grid):
        trade_off = TradeOff(problem)
        return [trade_off.errors(weight) for weight, _ in grid]
    points = solve_points(problem, sizes, grid, Boundary(problem))
    return [point.group_errors for point in points]


def _replicate(X: FloatArray, groups: Groups, rng: np.random.Generator) -> GroupMoments:
    for _ in range(_DRAWS):
        weight = rng.poisson(1.0, len(X)).astype(np.float64)
        if np.bincount(groups.codes, weight, len(groups.labels)).min() > 0:
            return GroupMoments.from_groups(X, groups, sample_weight=weight)
    size = int(np.bincount(groups.codes).min())
    raise ValueError(
        f"n_bootstrap needs groups with more rows: the smallest of {len(groups.labels)} has {size} "
        f"and was empty in {_DRAWS} replicates."
    )
