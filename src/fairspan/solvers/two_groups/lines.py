"""Two groups in the plane of their errors: supporting lines, and what they enclose.

A supporting line touches the attainable errors and is never crossed by them; neighbouring lines
cross in corners of a polygon around them. Where the boundary has a straight part, an eigen-solve
finds only its ends; the subspaces in between lie on the path that turns one end into the other
(:mod:`fairspan.problem.geodesic`), and every point of the straight part is attained on it.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from fairspan.ground.types import UNIT, FloatArray
from fairspan.problem.reduced import LARGEST_DIFFERENCE, LEAST_DIFFERENCE
from fairspan.problem.spectrum import whole_spectrum
from fairspan.problem.subspace import SubspaceProblem

Point = tuple[float, float]

THIN = 1e-13
"""Arcs of fewer radians are not split."""
HEAVIEST = 1e12
"""Weights above this count as infinite."""
_APART = 1e-9
"""Smaller eigengaps, as a share of the moments, are corners of the boundary."""


class Line(NamedTuple):
    """A supporting line: its angle, where it touches, its slack, and the subspace there."""

    angle: float
    point: Point
    slack: float
    subspace: FloatArray


class Boundary:
    """The boundary of the attainable errors as far as it is known: lines sorted by angle.

    It does not depend on the fairness weight or the radius and may serve many objectives.

    Parameters
    ----------
    problem : SubspaceProblem
        A problem of two groups.
    """

    def __init__(self, problem: SubspaceProblem) -> None:
        if problem.n_groups != 2:
            raise ValueError(
                f"solver='boundary' needs exactly 2 groups but there are {problem.n_groups}; "
                "use solver='auto'."
            )
        self.problem = problem
        self.upper: Point = tuple(problem.traces.tolist())
        self.lines: list[Line] = []

    def add(self, angle: float) -> Line:
        """Find the supporting line at an angle: one eigen-solve."""
        weights = np.array([math.cos(angle), math.sin(angle)])
        found = self.problem.best_subspace(weights)
        slack = max(float(weights @ found.errors) - found.sigma, 0.0)
        point = (float(found.errors[0]), float(found.errors[1]))
        line = Line(angle, point, slack, found.subspace)
        self.insert(line)
        return line

    def insert(self, line: Line) -> None:
        """Take in a line that was found elsewhere."""
        bisect.insort(self.lines, line, key=lambda item: item.angle)

    def path(self, left: Line | None, right: Line | None) -> list[Point]:
        """The edge of the polygon between two neighbouring lines."""
        if left is not None and right is not None:
            between = corner(left.point, left.angle, right.point, right.angle)
            return [left.point, between, right.point]
        line = left or right
        assert line is not None
        turn = 1.0 if left is None else -1.0
        direction = (-turn * math.sin(line.angle), turn * math.cos(line.angle))
        return leave_box(line.point, direction, self.upper)


def line_at(boundary: Boundary, angle: float) -> Line:
    """Give the supporting line at an angle; it is found once."""
    known = (line for line in boundary.lines if line.angle == angle)
    return next(known, None) or boundary.add(angle)


def pca_line(boundary: Boundary) -> Line:
    """Give the supporting line of the total error alone."""
    shares = boundary.problem.shares
    return line_at(boundary, math.atan2(shares[1], shares[0]))


def attainable_differences(boundary: Boundary) -> tuple[float, float]:
    """Find the least and the largest m_0 - m_1 of all subspaces.

    Parameters
    ----------
    boundary : Boundary
        Lines already known; new ones are added to it.

    Returns
    -------
    tuple of float
        Every difference in between is attained, no other.
    """
    ends = [line_at(boundary, angle).point for angle in (LEAST_DIFFERENCE, LARGEST_DIFFERENCE)]
    return ends[0][0] - ends[0][1], ends[1][0] - ends[1][1]


def penalty_weight(line: Line, shares: FloatArray) -> float:
    """Give |μ| of a line; infinite where the total error does not count."""
    c, s = math.cos(line.angle), math.sin(line.angle)
    return abs(c / (c + s) - float(shares[0])) if c + s > 1 / HEAVIEST else math.inf


def penalty_bound(line: Line) -> float:
    """Give the proved least total error + μ (m_0 - m_1) of a line of finite weight."""
    c, s = math.cos(line.angle), math.sin(line.angle)
    return (c * line.point[0] + s * line.point[1] - line.slack) / (c + s)


def penalty_slack(line: Line) -> float:
    """Give how far rounding keeps that bound from the value attained; 0 for infinite weights."""
    total = math.cos(line.angle) + math.sin(line.angle)
    return line.slack / total if total > 1 / HEAVIEST else 0.0


def chord_angle(left: Line, right: Line) -> float:
    """Angle of the normal of the chord between the points of two lines."""
    return normal_angle((right.point[0] - left.point[0], right.point[1] - left.point[1]))


class Solve(NamedTuple):
    """A full eigen-solve at an angle, and how its line moves as the angle grows.

    Attributes
    ----------
    line : Line
        The line at the angle.
    rate : float
        Half the speed of the point along the boundary, Q; -1 without an eigengap.
    turning : ndarray of shape (d - k, k)
        How the leading space turns into the others, X.
    rest : ndarray of shape (d, d - k)
        The eigenvectors that are left out, U.
    """

    line: Line
    rate: float
    turning: FloatArray
    rest: FloatArray


class TwoMoments:
    """Both moments, with what eigen-solves of their combinations need."""

    def __init__(self, problem: SubspaceProblem) -> None:
        self.problem = problem
        moments = np.asarray(problem.moments)
        self.first, self.second = moments
        self.stacked = moments.reshape(-1, problem.d)
        self.norms = [math.sqrt(float(np.vdot(M, M))) for M in moments]
        self.traces: list[float] = problem.traces.tolist()
        self.rounding: list[float] = problem.rounding.tolist()

    def solve(self, angle: float) -> Solve | None:
        """Find all eigenvectors of the combination at an angle; rate -1 where it has no gap."""
        x, y = math.cos(angle), math.sin(angle)
        d, k = self.problem.d, self.problem.k
        values, vectors, found = self._eigen(x, y, True)
        if not found:
            return None
        top, rest = np.ascontiguousarray(vectors[:, d - k :]), vectors[:, : d - k]
        images = self.stacked @ top
        kept = (images.reshape(2, -1) @ top.ravel()).tolist()
        lost = [trace - part for trace, part in zip(self.traces, kept, strict=True)]
        m = (
            lost[0] if lost[0] > self.rounding[0] else 0.0,
            lost[1] if lost[1] > self.rounding[1] else 0.0,
        )
        slack = max(x * m[0] + y * m[1] - self._least(x, y, float(values[d - k :].sum())), 0.0)
        line = Line(angle, m, slack, top)
        if not values[d - k] - values[d - k - 1] > _APART * sum(self.norms):
            return Solve(line, -1.0, rest, rest)
        turn = rest.T @ (x * images[d:] - y * images[:d])
        X = turn / (values[d - k :] - values[: d - k, None])
        return Solve(line, float(np.vdot(turn, X)), X, rest)

    def support(self, angle: float) -> float:
        """Bound cos t m_0 + sin t m_1 from below for every subspace, by eigenvalues alone."""
        x, y = math.cos(angle), math.sin(angle)
        values, _, found = self._eigen(x, y, False)
        if not found:
            return -math.inf
        return self._least(x, y, float(values[self.problem.d - self.problem.k :].sum()))

    def _eigen(self, x: float, y: float, vectors: bool) -> tuple[FloatArray, FloatArray, bool]:
        self.problem.n_eigensolves += 1
        C = x * self.first
        C += y * self.second
        return whole_spectrum(C, vectors)

    def _least(self, x: float, y: float, leading: float) -> float:
        """Bound the weighted error, with what rounding takes: the problem's rules, norms added."""
        size = abs(x) * self.norms[0] + abs(y) * self.norms[1]
        total = abs(x) * self.traces[0] + abs(y) * self.traces[1]
        unsure = 4 * self.problem.d * UNIT * size + 8 * UNIT * total
        return x * self.traces[0] + y * self.traces[1] - leading - unsure


def normal_angle(direction: Point) -> float:
    """Angle of the inner normal of a convex set whose edge runs along a direction.

    The edge is walked with growing angle: at 45 degrees the first error rises, the second falls.
    """
    return math.atan2(direction[0], -direction[1])


def corner(left: Point, left_angle: float, right: Point, right_angle: float) -> Point:
    """Crossing of the supporting lines that touch at two points.

    Solving the two equations of the lines loses digits where the lines are almost parallel;
    walking from one touching point to the other line does not. Up to a right angle the corner is
    no farther from either point than these are from each other, so what exceeds that is
    rounding. On wider arcs it is not, and nothing may be cut.
    """
    apart = (right[0] - left[0], right[1] - left[1])
    turn = right_angle - left_angle
    along = math.cos(right_angle) * apart[0] + math.sin(right_angle) * apart[1]
    along = min(along / math.sin(turn), 0.0)
    if turn <= math.pi / 2:
        along = max(along, -1.1 * math.hypot(*apart))
    return (
        left[0] - along * math.sin(left_angle),
        left[1] + along * math.cos(left_angle),
    )


def clip(path: list[Point], lower: Point) -> list[Point]:
    """Clip a path to errors above a bound; where it leaves, it follows the bound.

    A corner below the bound is cut off, not raised to it: that would move it off its lines, into
    the set they enclose, and what is proved on the path would be false. Only the ends, which
    the path shares with its neighbours, are raised, so that the bound's own edge is covered.
    """
    for axis in (0, 1):
        level = lower[axis]
        clipped: list[Point] = []
        if path[0][axis] < level:
            clipped.append(_raise(path[0], axis, level))
        for start, end in itertools.pairwise(path):
            if start[axis] >= level:
                clipped.append(start)
            if (start[axis] < level) != (end[axis] < level):
                clipped.append(_cross(start, end, axis, level))
        clipped.append(path[-1] if path[-1][axis] >= level else _raise(path[-1], axis, level))
        path = clipped
    return path


def _raise(point: Point, axis: int, level: float) -> Point:
    return (level, point[1]) if axis == 0 else (point[0], level)


def _cross(start: Point, end: Point, axis: int, level: float) -> Point:
    share = (start[axis] - level) / (start[axis] - end[axis])
    other = 1 - axis
    value = start[other] + share * (end[other] - start[other])
    return (level, value) if axis == 0 else (value, level)


def leave_box(point: Point, direction: Point, upper: Point) -> list[Point]:
    """Follow a supporting line from where it touches to where it leaves the box of all errors.

    The path goes on along an axis that it meets, to the far end of that axis.
    """
    step, wall = math.inf, -1
    for axis in (0, 1):
        limit = upper[axis] if direction[axis] > 0 else 0.0
        if direction[axis] != 0:
            distance = max((limit - point[axis]) / direction[axis], 0.0)
            if distance < step:
                step, wall = distance, axis
    leaving = [point[0] + step * direction[0], point[1] + step * direction[1]]
    if direction[wall] > 0:
        return [point, (leaving[0], leaving[1])]
    leaving[wall] = 0.0
    end = (0.0, upper[1]) if wall == 0 else (upper[0], 0.0)
    return [point, (leaving[0], leaving[1]), end]


def root_between(
    function: Callable[[float], float],
    low: float = 0.0,
    high: float = 1.0,
    *,
    accuracy: float = 1e-15,
) -> float:
    """Find where a continuous function changes its sign.

    Parameters
    ----------
    function : callable
        Of opposite signs at the two ends; where rounding hides that, the end with the smaller
        value is given.
    low, high : float
        The ends.
    accuracy : float
        How near to the root to come. Callers look at the value there, they do not trust it.

    Returns
    -------
    float
        The root.
    """
    first, last = function(low), function(high)
    if first * last >= 0:
        return low if abs(first) <= abs(last) else high
    return float(brentq(function, low, high, xtol=accuracy, full_output=True, disp=False)[0])
