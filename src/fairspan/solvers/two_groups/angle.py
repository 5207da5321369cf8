"""Two groups: Newton's method in the angle of the normal, and a proof by a few lines.

At the angle t a full eigen-solve of C = cos t M_0 + sin t M_1, leading vectors T, the others U,
gives more than a point m(t) of the boundary. With C' its derivative in t and X the entries of
U'C'T over the differences of their eigenvalues, T + s U X spans the leading space at t + s, and

    m'(t) = 2 Q (sin t, -cos t),   Q = <U'C'T, X> >= 0.

So the angles where J_0 is stationary, where J_1 is and where both are equal have Newton steps; the
minimiser is the middle one of the three. At it the supporting line proves the value where
both pieces are equal. Where one of them is stationary it falls along its own tangent, and lines
on either side, for which eigenvalues are enough, cut the tangent off. Where the method fails, the
walk goes on (:mod:`fairspan.solvers.two_groups.walk`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import LARGE, SubspaceProblem
from fairspan.solvers.result import SolverResult, is_closed
from fairspan.solvers.two_groups.lines import Boundary, Line, Point, Solve, TwoMoments
from fairspan.solvers.two_groups.pieces import SAME, Lowest, Polygon, TwoPieces
from fairspan.solvers.two_groups.walk import walk

_STEPS = 12
_SUPPORTS = 12
"""Most eigen-solves of the method, and of the proof; beyond them the walk does better."""
_FARTHEST = 1.0
"""The longest step towards equal pieces, in radians."""
_STATIONARY = 1e-6
"""How near the normal must be to the gradient of a piece for a last step..."""
_TURNED = 1e-12
"""...which turns the subspace by so little that its square is rounding..."""
_TURNED_SHARE = 1e-4
"""...or that its square is less than this share of the tolerance..."""
_TURNED_AT_MOST = 1e-8
"""...but never more than this, whose square is rounding: columns remain orthonormal."""
_WIDEST = 0.3
"""Largest angle between the line at a smooth minimum and the first lines on either side."""
_AS_GOOD = 1e-11
"""Values this close, relatively, are one."""
_BOTH = 2
"""In place of a piece: both are active."""


class Found(NamedTuple):
    """The minimiser: its subspace, errors, value and bound, and the normal there."""

    subspace: FloatArray
    errors: FloatArray
    value: float
    bound: float
    normal: FloatArray


class _Root(NamedTuple):
    """A function of the angle that rises through 0 at a candidate: its value and slope here."""

    piece: int
    angle: float
    off: float
    rise: float

    def target(self) -> float:
        """Where a Newton step leads."""
        return self.angle - self.off / self.rise


class AngleNewton:
    """Newton's method for one objective; lines that it visits are added to a boundary.

    Parameters
    ----------
    boundary : Boundary
        Without any lines yet.
    objective : RobustFairObjective
        What to minimise.
    tol : float
        The relative gap to prove.
    max_iter : int
        The largest number of eigen-solves.
    slope : ndarray of shape (2,) or None
        A normal near the minimiser's, where it is predicted; else the search starts from PCA.
    """

    def __init__(
        self,
        boundary: Boundary,
        objective: RobustFairObjective,
        tol: float,
        max_iter: int,
        slope: FloatArray | None = None,
    ) -> None:
        self.boundary, self.problem = boundary, boundary.problem
        self.pieces, self.tol, self.left = TwoPieces(objective), tol, max_iter
        self.is_single = self.pieces.coefficients[0] == self.pieces.coefficients[1]
        self.moments = TwoMoments(self.problem)
        self.rounding: Point = tuple(self.problem.rounding.tolist())
        y, x = (self.pieces.shares if slope is None else slope)[::-1]
        self.start = math.atan2(y, x)
        self.values: list[float] = []

    def find(self) -> Found | None:
        """Find and prove the minimiser; None where the walk must go on from the lines visited."""
        low, high = self.pieces.angle_range(self.boundary.upper)
        angle, before = self.start, None
        for _ in range(min(_STEPS, self.left)):
            solve = self.moments.solve(angle)
            if solve is None:
                return None
            values = self._take(solve.line)
            if min(solve.line.point) <= 0 or solve.rate < 0:
                return None
            root = self._root(solve, values)
            shift = _step(before, root) - angle
            if self._is_last(root, solve, shift):
                return self._finish(solve, root.piece, shift)
            if root.piece == _BOTH and abs(shift) > _FARTHEST:
                shift = math.copysign(_FARTHEST, shift)
            low, high = (low, angle) if root.off > 0 else (angle, high)
            new = angle + shift
            new = new if low <= new <= high else 0.5 * (low + high)
            if new == angle:
                return None
            angle, before = new, root
        return None

    def _take(self, line: Line) -> Point:
        """Add a line to the boundary in place of those next to it; give the values there."""
        self.left -= 1
        lines = self.boundary.lines
        lines[:] = [other for other in lines if abs(other.angle - line.angle) > SAME]
        self.boundary.insert(line)
        values = self.pieces.both(line.point)
        self.values.append(min([max(values), *self.values[-1:]]))
        return values

    def _root(self, solve: Solve, values: Point) -> _Root:
        """Of the three candidates, the one in the middle."""
        t, m = solve.line.angle, solve.line.point
        moved = 2 * solve.rate * math.sin(t), -2 * solve.rate * math.cos(t)
        g0 = self.pieces.gradient(0, m)
        first = self._stationary(0, t, m, g0, moved)
        if self.is_single:
            return first
        g1 = self.pieces.gradient(1, m)
        last = self._stationary(1, t, m, g1, moved)
        rise = (g0[0] - g1[0]) * moved[0] + (g0[1] - g1[1]) * moved[1]
        equal = _Root(_BOTH, t, values[0] - values[1], rise)
        if not rise > 0:
            return first if equal.off > 0 else last
        return sorted((first, equal, last), key=_Root.target)[1]

    def _stationary(self, a: int, t: float, m: Point, g: Point, moved: Point) -> _Root:
        """How far the normal is from the gradient of a piece, and how fast it turns away."""
        bend = self.pieces.bend(a, m)
        turn = g[0] * bend[1] * moved[1] - g[1] * bend[0] * moved[0]
        rise = 1.0 - turn / (g[0] * g[0] + g[1] * g[1])
        # Where the piece is no minimum along the curve, the gradient's own angle leads on.
        return _Root(a, t, t - math.atan2(g[1], g[0]), rise if rise > 0 else 1.0)

    def _is_last(self, root: _Root, solve: Solve, shift: float) -> bool:
        """Whether one step more, without an eigen-solve, ends at the root to rounding."""
        turned = shift * shift * float(np.vdot(solve.turning, solve.turning))
        if turned > max(_TURNED, min(_TURNED_SHARE * self.tol, _TURNED_AT_MOST)):
            return False
        if root.piece != _BOTH:
            return abs(root.off) <= _STATIONARY
        # The line is a tangent, and so below the curve by the square of the step.
        return abs(root.off * shift) <= 0.05 * self.tol * self.pieces.size(solve.line.point)

    def _finish(self, solve: Solve, piece: int, shift: float) -> Found | None:
        """Turn the subspace by the last step, and prove its value; None if that fails."""
        X, top = shift * solve.turning, solve.line.subspace
        subspace = top + solve.rest @ X - top @ (0.5 * (X.T @ X))
        errors = self.problem.errors(subspace)
        m: Point = tuple(errors.tolist())
        value, size = self.pieces.value(m), self.pieces.size(m)
        if min(m) <= 0 or value > self.values[-1] + _AS_GOOD * size:
            return None
        self.values[-1] = min(value, self.values[-1])
        bound = self._prove(solve, piece, value - 0.5 * self.tol * size, size)
        angle = solve.line.angle + shift
        normal = np.array([math.cos(angle), math.sin(angle)])
        return Found(subspace, errors, value, min(bound, value), normal)

    def _prove(self, solve: Solve, piece: int, enough: float, size: float) -> float:
        """Bound the objective by lines: one at the minimiser, more where they are needed."""
        polygon = Polygon(solve.line, self.boundary.upper)
        if not polygon.cuts_off_origin:
            return -math.inf
        if piece == _BOTH:
            polygon.split(self.pieces)
        elif (aside := self._aside(solve, piece, size)) > 0:
            for angle in (solve.line.angle - aside, solve.line.angle + aside):
                polygon.add(angle, self.moments.support(angle))
                self.left -= 1
        for _ in range(_SUPPORTS):
            lowest = self.pieces.lowest_on(polygon.edge(), self.rounding, enough)
            angle = self._cutting(polygon, lowest)
            if lowest.bound >= enough or self.left <= 0 or not polygon.is_new(angle):
                break
            polygon.add(angle, self.moments.support(angle))
            self.left -= 1
        return lowest.bound

    def _cutting(self, polygon: Polygon, lowest: Lowest) -> float:
        """Angle of a line that cuts off a point: a gradient's, of both the one farther out."""
        piece = self.pieces.active(lowest.point)
        if lowest.on_ridge:
            piece = int(polygon.is_after(lowest.point))
        return polygon.between(self.pieces.gradient_angle(piece, lowest.point))

    def _aside(self, solve: Solve, piece: int, size: float) -> float:
        """How far aside of a smooth minimum lines prove it: their corners cost a part of tol."""
        t, bend = solve.line.angle, self.pieces.bend(piece, solve.line.point)
        along = -(bend[0] * math.sin(t) ** 2 + bend[1] * math.cos(t) ** 2)
        if along <= 0:
            return 0.0
        reach = math.sqrt(0.3 * self.tol * size / along)  # the corner is Q times the angle away
        return min(max(reach / solve.rate, 2 * SAME), _WIDEST) if solve.rate > 0 else _WIDEST


def _step(before: _Root | None, root: _Root) -> float:
    """Where to go: Newton's step, or the zero of the inverse cubic through the last two angles."""
    newton = root.target()
    if before is None or before.piece != root.piece or not before.rise > 0:
        return newton
    height = root.off - before.off
    if height == 0:
        return newton
    start, end = height / before.rise, height / root.rise  # slopes of the inverse, s from 0 to 1
    s, c = -before.off / height, root.angle - before.angle
    cubic = before.angle + s * (start + s * (3 * c - 2 * start - end + s * (start + end - 2 * c)))
    return cubic if abs(cubic - root.angle) <= 2 * abs(newton - root.angle) else newton


def solve_boundary(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    boundary: Boundary | None = None,
    slope: FloatArray | None = None,
) -> SolverResult:
    """Minimise the objective of two groups, to a proved relative gap.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments of two groups and the number of components.
    objective : RobustFairObjective
        What to minimise.
    tol : float
        The relative gap to reach.
    max_iter : int
        The largest number of eigen-solves.
    boundary : Boundary, optional
        Lines already known; new ones are added to it.
    slope : ndarray of shape (2,), optional
        How much each group's error counts at the answer, where that is predicted.

    Returns
    -------
    SolverResult
        The best subspace, its value and the proved bound.
    """
    solves_before = problem.n_eigensolves
    boundary = boundary or Boundary(problem)
    values: list[float] = []
    # With many features all eigenvectors cost more than the walk.
    if not boundary.lines and problem.d < LARGE and problem.k < problem.d:
        newton = AngleNewton(boundary, objective, tol, max_iter, slope)
        found, values = newton.find(), newton.values
        if found is not None and _is_closed(problem, objective, found, tol):
            return SolverResult(
                components=found.subspace.T,
                group_errors=found.errors,
                objective=found.value,
                lower_bound=found.bound,
                status="optimal",
                scale=problem.scale,
                solver="boundary",
                n_eigensolves=problem.n_eigensolves - solves_before,
                history=np.array([(value, found.bound) for value in values]),
                bound_weights=found.normal,
            )
    result = walk(boundary, objective, tol=tol, max_iter=max_iter, values=values)
    return replace(result, n_eigensolves=problem.n_eigensolves - solves_before)


def _is_closed(
    problem: SubspaceProblem, objective: RobustFairObjective, found: Found, tol: float
) -> bool:
    weight, size = objective.fairness_weight, objective.unreferenced(found.errors)
    return is_closed(problem, found.value, found.bound, tol, weight, size=size)
