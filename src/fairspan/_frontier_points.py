"""Points of the trade-off: on a grid of objectives, on the complete curve, and resampled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from fairspan._types import FloatArray
from fairspan._validation import check_number
from fairspan.ambiguity import radii_of
from fairspan.moments import GroupMoments
from fairspan.objectives import RobustFairObjective
from fairspan.problem import SubspaceProblem
from fairspan.solvers.boundary import solve_boundary
from fairspan.solvers.front import SolverOptions, solve
from fairspan.solvers.lines import Boundary
from fairspan.solvers.penalty import penalty_bound, penalty_weight
from fairspan.solvers.result import relative_gap
from fairspan.solvers.trace import TradeOff

_INTERVAL = (0.025, 0.975)

Radius = float | Mapping[Any, float]
Grid = Sequence[tuple[float, Radius]]
"""Fairness weights and radii."""


class Point(NamedTuple):
    """The optimum of one objective, with its proof."""

    fairness_weight: float
    radius: Radius
    group_errors: FloatArray
    objective: float
    lower_bound: float
    optimality_gap: float


def listed_radii(radius: Any) -> list[Radius]:
    """One radius or several, each a number or a mapping by group."""
    if isinstance(radius, Mapping):
        return [radius]
    if isinstance(radius, Iterable) and not isinstance(radius, str | bytes):
        listed = list(radius)
        found = [r if isinstance(r, Mapping) else check_number("radius", r) for r in listed]
        if found:
            return found
    return list(listed_numbers("radius", radius))


def listed_numbers(name: str, values: Any) -> list[float]:
    """One number or several."""
    if isinstance(values, Real):
        values = [values]
    elif isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name}={values!r} must be a number or a sequence of numbers, 0 or more.")
    numbers = [check_number(name, value) for value in values]
    if not numbers:
        raise ValueError(f"{name} is empty; give at least one number.")
    return numbers


def solve_points(
    problem: SubspaceProblem,
    moments: GroupMoments,
    grid: Grid,
    boundary: Boundary | None,
) -> list[Point]:
    """Find the optimum at each fairness weight and radius of a grid.

    Parameters
    ----------
    problem : SubspaceProblem
        The problem of these moments.
    moments : GroupMoments
        Gives the groups and their sizes, which set their radii.
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
        objective = RobustFairObjective(problem.shares, weight, radii_of(radius, moments))
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
    replicates: Iterable[GroupMoments],
    grid: Grid,
    make_problem: Callable[[GroupMoments], SubspaceProblem],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the optima of resampled data and give intervals of their errors.

    Parameters
    ----------
    replicates : iterable of GroupMoments
        Moments of resampled rows.
    grid : sequence of pairs
        Fairness weights and radii.
    make_problem : callable
        Gives the problem of a replicate's moments.

    Returns
    -------
    tuple of ndarray of shape (n_points, 2), (n_points, 2) and (n_points, n_groups, 2)
        Percentile intervals of the total error, of the gap, and of the group errors.
    """
    totals, gaps, groups = [], [], []
    for moments in replicates:
        problem = make_problem(moments)
        errors = np.array(_optimal_errors(problem, moments, grid))
        totals.append(errors @ problem.shares)
        gaps.append(np.ptp(errors, axis=1))
        groups.append(errors)
    total, gap, group = (
        np.moveaxis(np.quantile(found, _INTERVAL, axis=0), 0, -1)
        for found in (totals, gaps, groups)
    )
    return total, gap, group


def _optimal_errors(
    problem: SubspaceProblem, moments: GroupMoments, grid: Grid
) -> list[FloatArray]:
    if problem.n_groups != 2:
        return [point.group_errors for point in solve_points(problem, moments, grid, None)]
    if not any(radius for _, radius in grid):
        trade_off = TradeOff(problem)
        return [trade_off.errors(weight) for weight, _ in grid]
    points = solve_points(problem, moments, grid, Boundary(problem))
    return [point.group_errors for point in points]
