"""Which weights matter at the answer inside a basis, and what lifted lines prove there.

Without radii the pieces of two groups are linear: J = x J_0 + (1 - x) J_1 is at most the objective
and has its minimum on one supporting line, so that one line proves all. With radii the polygon of
several lines does, see :mod:`fairspan.products.polygon`; for more than two groups see
:mod:`fairspan.products.mixtures`.
"""

from __future__ import annotations

import math

import numpy as np

from fairspan.ground.types import UNIT, FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products.lifted import LiftedProblem
from fairspan.products.mixtures import mixed_answer, mixed_bound
from fairspan.products.polygon import Polygon
from fairspan.solvers import SolverOptions, SolverResult, solve
from fairspan.solvers.two_groups.lines import Boundary
from fairspan.solvers.two_groups.pieces import TwoPieces

_SOLVES = 100
"""Most lines of one walk."""


def answer_weights(
    problem: SubspaceProblem, objective: RobustFairObjective, tol: float, before: FloatArray
) -> tuple[SolverResult, FloatArray]:
    """Solve a small problem, and find the weights whose supporting line touches at the answer.

    Parameters
    ----------
    problem : SubspaceProblem
        Small.
    objective : RobustFairObjective
        What is minimised.
    tol : float
        The relative gap to reach.
    before : ndarray of shape (n_groups,)
        The weights of a problem much like this one.

    Returns
    -------
    result : SolverResult
        The answer.
    weights : ndarray of shape (n_groups,)
        A convex combination of the gradients of the pieces there.
    """
    options = SolverOptions(tol=0.1 * tol, max_iter=_SOLVES)
    if objective.is_linear:
        return solve(problem, objective, options), objective.shares
    if objective.n_groups > 2:
        return mixed_answer(problem, objective, options)
    pieces, boundary = TwoPieces(objective), Boundary(problem)
    if objective.radii.any():
        found = solve(problem, objective, options, boundary=boundary)
        m = (float(found.group_errors[0]), float(found.group_errors[1]))
        nearest = min(boundary.lines, key=lambda line: math.dist(line.point, m))
        return found, _combined(pieces, m, nearest.angle)
    share = _best_share(boundary, pieces, before, 0.1 * tol)
    found = solve(problem, objective, options, boundary=boundary)
    first, second = map(np.array, pieces.coefficients)
    return found, share * first + (1 - share) * second


def lifted_bound(
    inside: SolverResult,
    lifted: LiftedProblem,
    objective: RobustFairObjective,
    weights: FloatArray,
    tol: float,
) -> tuple[float, FloatArray | None]:
    """Bound an objective in the whole space by lifted lines.

    Parameters
    ----------
    inside : SolverResult
        The answer inside the basis.
    lifted : LiftedProblem
        Gives lines.
    objective : RobustFairObjective
        What is minimised.
    weights : ndarray of shape (n_groups,)
        Those of :func:`answer_weights`.
    tol : float
        The relative gap to reach.

    Returns
    -------
    bound : float
        Proved: no subspace has a smaller objective.
    loosest : ndarray of shape (n_groups,) or None
        The weights of a line that costs the bound most, if directions of its own may help.
    """
    if objective.is_linear or (objective.n_groups == 2 and not objective.radii.any()):
        return _attained(_line_bound(lifted, objective, weights), inside, lifted, objective), None
    if objective.n_groups > 2:
        bound = mixed_bound(inside, lifted, objective, tol)
        slack = float(weights @ inside.group_errors) - lifted.best_subspace(weights).sigma
        is_loose = slack > 0.1 * (inside.objective - bound)
        return _attained(bound, inside, lifted, objective), weights if is_loose else None
    polygon = Polygon(lifted, objective, inside.group_errors)
    enough = 0.9 * tol * objective.size(inside.group_errors)
    angle = math.atan2(weights[1], weights[0])
    found = polygon.enclose(angle, inside.objective, enough)
    gap = inside.objective - found.bound
    # A loose line is worth directions of its own; a tight one leaves nothing but rounding.
    loose = found.loosest.slack > 0.1 * gap and abs(found.loosest.angle - angle) > 1e-4
    normal = np.array([math.cos(found.loosest.angle), math.sin(found.loosest.angle)])
    return min(found.bound, inside.objective), normal if loose else None


def _line_bound(
    lifted: LiftedProblem, objective: RobustFairObjective, weights: FloatArray
) -> float:
    """Bound by the one line of these weights."""
    sigma = lifted.best_subspace(weights).sigma
    if objective.n_groups == 1:
        return objective.value(np.array([max(sigma, 0.0)]))
    rounding = 8 * UNIT * float(np.abs(weights) @ lifted.traces)
    return sigma + _constant(objective, weights) - rounding


def _attained(
    bound: float, inside: SolverResult, lifted: LiftedProblem, objective: RobustFairObjective
) -> float:
    """Refuse a bound above a value that is attained, beyond rounding."""
    if bound > inside.objective + lifted.resolution(objective.fairness_weight):
        raise RuntimeError(
            f"A lower bound ({bound!r}) exceeds a value that is attained ({inside.objective!r}). "
            "This is a defect of fairspan: please report it."
        )
    return min(bound, inside.objective)


def _constant(objective: RobustFairObjective, weights: FloatArray) -> float:
    """What references add to the combination of pieces that has these slopes."""
    if objective.is_linear or objective.references is None:
        return 0.0
    pieces = TwoPieces(objective)
    share = _share(pieces.coefficients, weights)
    return share * pieces.constants[0] + (1 - share) * pieces.constants[1]


def _share(ends: tuple[tuple[float, float], tuple[float, float]], weights: FloatArray) -> float:
    """Give x with weights = x first + (1 - x) second, up to a factor."""
    first, second = map(np.array, ends)
    along = first - second
    length = float(along @ along)
    return float(np.clip((weights - second) @ along / length, 0.0, 1.0)) if length > 0 else 1.0


def _combined(pieces: TwoPieces, m: tuple[float, float], angle: float) -> FloatArray:
    """Give the convex combination of the gradients at a point that has, or is next to, an angle."""
    first, second = (np.array(pieces.gradient(a, m)) for a in (0, 1))
    normal = np.array([math.cos(angle), math.sin(angle)])
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return normal
    matrix = np.stack([first, second], axis=1)
    if abs(np.linalg.det(matrix)) <= 1e-12 * np.linalg.norm(matrix) ** 2:
        return first
    x = np.maximum(np.linalg.solve(matrix, normal), 0.0)
    return np.asarray(normal / x.sum()) if x.sum() > 0 else normal


def _best_share(boundary: Boundary, pieces: TwoPieces, before: FloatArray, tol: float) -> float:
    """Find the convex combination of two linear pieces whose minimum is largest.

    The minimum is concave in the share, and its slope is J_0 - J_1 at the minimiser.
    """
    first, second = map(np.array, pieces.coefficients)

    def slope(share: float) -> float:
        weights = share * first + (1 - share) * second
        return pieces.ridge(boundary.add(math.atan2(weights[1], weights[0])).point)

    if np.array_equal(first, second):
        slope(1.0)
        return 1.0
    middle = _share(pieces.coefficients, before)
    low, high = max(middle - 0.02, 0.0), min(middle + 0.02, 1.0)
    below, above = slope(low), slope(high)
    while below < 0 and low > 0:
        low, high, above = max(low - 4 * (high - low), 0.0), low, below
        below = slope(low)
    while above > 0 and high < 1:
        low, high, below = high, min(high + 4 * (high - low), 1.0), above
        above = slope(high)
    if below <= 0 or above >= 0:
        return low if below <= 0 else high
    return _root(slope, (low, below), (high, above), tol * pieces.size(boundary.lines[0].point))


def _root(
    slope: object, low: tuple[float, float], high: tuple[float, float], enough: float
) -> float:
    """Find where a falling slope vanishes, until what a concave function may gain is enough."""
    assert callable(slope)
    side = 0
    (x, f), (y, g) = low, high
    for _ in range(20):
        z = x + (y - x) * f / (f - g)
        z = min(max(z, x + 0.01 * (y - x)), y - 0.01 * (y - x))
        h = float(slope(z))
        if abs(h) * (y - x) <= enough:
            return z
        if h > 0:
            x, f = z, h
            g = 0.5 * g if side == 1 else g
            side = 1
        else:
            y, g = z, h
            f = 0.5 * f if side == -1 else f
            side = -1
    return 0.5 * (x + y)
