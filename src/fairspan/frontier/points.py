"""Points of the trade-off: on a grid of objectives, or on the complete curve."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairspan.frontier.request import Grid
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.objectives.counting import Counting, Radius
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products.grid import SharedBasis
from fairspan.solvers import Boundary, SolverOptions, SolverResult, solve
from fairspan.solvers.neighbours import Neighbours
from fairspan.solvers.options import Patience
from fairspan.solvers.result import is_closed, settled
from fairspan.solvers.two_groups.lines import penalty_bound, penalty_weight
from fairspan.solvers.two_groups.trace import TradeOff


class Point(NamedTuple):
    """The optimum of one objective, with its proof."""

    fairness_weight: float
    radius: Radius
    group_errors: FloatArray
    objective: float
    lower_bound: float
    optimality_gap: float
    status: str
    is_hidden: bool
    slopes: FloatArray | None = None
    improvable: float = math.inf

    @classmethod
    def of(cls, weight: float, radius: Radius, found: SolverResult) -> Point:
        """Make a point from a result."""
        proof = (found.objective, found.lower_bound, found.optimality_gap)
        claims = (found.status, found.is_hidden)
        limits = (found.bound_weights, found.improvable)
        return cls(weight, radius, found.group_errors, *proof, *claims, *limits)


def solve_points(
    problem: SubspaceProblem,
    moments: GroupMoments,
    grid: Grid,
    counting: Counting,
    boundary: Boundary | None,
    patience: Patience,
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
    counting : Counting
        How groups count.
    boundary : Boundary, optional
        For two groups: lines that all points share.
    patience : Patience
        The work that they share.

    Returns
    -------
    list of Point
        The optima, in the order of the grid.
    """
    points: list[Point] = []
    near = Neighbours()
    for weight, radius in grid:
        objective = counting.objective(moments, weight, radius, problem)
        options = patience.options(SolverOptions())
        if boundary is None:
            options = near.options(options, objective)
        found = patience.settle(solve(problem, objective, options, boundary=boundary))
        near.learn(objective, found)
        points.append(Point.of(weight, radius, found))
    return points


def points_by_products(
    shared: SharedBasis, grid: Grid, counting: Counting
) -> tuple[list[Point], float]:
    """Find the optimum at each point of a grid, on one basis that grows where a point needs more.

    Parameters
    ----------
    shared : SharedBasis
        For as many objectives as there are points.
    grid : sequence of pairs
        Fairness weights and radii.
    counting : Counting
        How groups count.

    Returns
    -------
    list of Point
        The optima, in the order of the grid.
    float
        How probably any of their bounds may be wrong.
    """
    points, failure = [], 0.0
    for weight, radius in grid:
        found = shared.solve(counting.objective(shared.operator, weight, radius))
        failure = max(failure, found.failure_probability)
        points.append(Point.of(weight, radius, found))
    return points, failure


def curve_points(trade_off: TradeOff) -> list[Point]:
    """Return the points of the complete curve at radius 0, with their fairness weights.

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
            fairest = Point.of(weight, 0.0, settled(trade_off.fairest, problem))
            points.append(fairest._replace(objective=math.inf, lower_bound=math.inf))
            continue
        value = float(problem.shares @ errors) + weight * float(np.ptp(errors))
        bound = min(penalty_bound(line), value)
        proved = is_closed(problem, value, bound, SolverOptions.tol, weight)
        found = SolverResult(
            components=line.subspace.T,
            group_errors=errors,
            objective=value,
            lower_bound=bound,
            status="optimal" if proved else "feasible",
            scale=problem.scale,
        )
        points.append(Point.of(weight, 0.0, settled(found, problem, weight)))
    return points
