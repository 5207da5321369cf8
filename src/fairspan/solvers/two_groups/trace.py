"""Two groups: the boundary of the attainable errors drawn to a proved accuracy.

Points where supporting lines touch span a polygon inside the attainable region, the corners between
neighbouring lines one around it. The region lies in between, so no part of its edge is farther from
either polygon than a corner is from the chord below it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.within_gap import TotalErrorWithinGap
from fairspan.problem.reduced import LARGEST_DIFFERENCE, LEAST_DIFFERENCE
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.result import SolverResult
from fairspan.solvers.two_groups.exact_fairness import solve_exactly_fair
from fairspan.solvers.two_groups.lines import (
    Boundary,
    Line,
    Point,
    attainable_differences,
    chord_angle,
    corner,
    line_at,
    pca_line,
)

_CURVE, _REGION = 1e-4, 1e-3
"""Accuracy of the curve by the distance of its ends, and of the region by the total variance."""
_THIN = 1e-10
"""Lines closer than this, in radians, count as one that touches along a straight part."""


@dataclass(frozen=True)
class Enclosure:
    """A curve enclosed between two paths of straight parts.

    Attributes
    ----------
    inner : ndarray of shape (n_points, 2)
        Points that subspaces attain, in order.
    outer : ndarray of shape (n_corners, 2)
        Ends of straight parts beyond which no subspace reaches.
    accuracy : float
        Proved: the largest distance between both paths.
    """

    inner: FloatArray
    outer: FloatArray
    accuracy: float


class TradeOff:
    """All that two groups can attain at radius 0; each part is found when it is asked for.

    Parameters
    ----------
    problem : SubspaceProblem
        A problem of two groups.
    """

    def __init__(self, problem: SubspaceProblem) -> None:
        self.problem = problem
        self.boundary = Boundary(problem)

    @cached_property
    def fairest(self) -> SolverResult:
        """The least total error among subspaces of the smallest attainable gap."""
        low, high = attainable_differences(self.boundary)
        smallest = max(low, -high, 0.0)
        objective = TotalErrorWithinGap(self.problem.shares, smallest)
        return solve_exactly_fair(self.problem, objective, boundary=self.boundary)

    @cached_property
    def lines(self) -> list[Line]:
        """Supporting lines of the best compromises, from PCA to the fairest subspace."""
        return trace_curve(self.boundary, self.fairest, _CURVE)

    @cached_property
    def curve(self) -> Enclosure:
        """The best compromises as paths of gap and total error."""
        path = enclose_curve(self.lines)
        to_gap = np.array([[1.0, -1.0], self.problem.shares])
        inner, outer = (np.abs(errors @ to_gap.T) for errors in (path.inner, path.outer))
        return Enclosure(inner, outer, path.accuracy * float(np.linalg.norm(to_gap, 2)))

    @cached_property
    def region(self) -> Enclosure:
        """All attainable pairs of group errors between two convex polygons."""
        return trace_region(self.boundary, _REGION * self.problem.scale)

    def errors(self, weight: float) -> FloatArray:
        """Group errors of the optimum for a fairness weight, by at most one eigen-solve.

        Parameters
        ----------
        weight : float
            The fairness weight, perhaps infinite.

        Returns
        -------
        ndarray of shape (2,)
            The errors.
        """
        if weight >= self.fairest.threshold:
            return self.fairest.group_errors
        return np.array(line_at(self.boundary, _penalty_angle(self.boundary, weight)).point)


def trace_region(boundary: Boundary, tolerance: float) -> Enclosure:
    """Enclose all attainable pairs of group errors between two convex polygons.

    Parameters
    ----------
    boundary : Boundary
        Lines already known; new ones are added to it.
    tolerance : float
        The distance between the polygons to reach.

    Returns
    -------
    Enclosure
        Corners of both polygons, by growing angle of their normals.
    """
    first = line_at(boundary, LEAST_DIFFERENCE)
    for eighth in range(1, 8):
        line_at(boundary, LEAST_DIFFERENCE + eighth * 0.25 * math.pi)
    lines = [line for line in boundary.lines if line.angle >= first.angle]
    around = first._replace(angle=first.angle + 2 * math.pi)
    lines = refine(boundary, [*lines, around], tolerance)
    corners = [_corner(*arc) for arc in itertools.pairwise(lines)]
    points = [line.point for line in lines[:-1]]
    return Enclosure(np.array(points), np.array(corners), _accuracy(lines))


def trace_curve(boundary: Boundary, fairest: SolverResult, accuracy: float) -> list[Line]:
    """Find the supporting lines of all best compromises between total error and gap.

    Parameters
    ----------
    boundary : Boundary
        Lines already known; new ones are added to it.
    fairest : SolverResult
        The subspace of the smallest gap, where the curve ends.
    accuracy : float
        The distance between the points' and the corners' path to reach, as a share of the distance
        between PCA and the fairest subspace.

    Returns
    -------
    list of Line
        From PCA to the fairest subspace, both included.
    """
    pca = pca_line(boundary)
    if fairest.threshold == 0:
        return [pca]
    end = _end_line(boundary, fairest)
    low, high = sorted((pca, end), key=lambda line: line.angle)
    # A line that touches along a straight part may have its point beyond the curve's end.
    before = sorted((_difference(end), _difference(pca)))
    between = [
        line
        for line in boundary.lines
        if low.angle < line.angle < high.angle and before[0] < _difference(line) < before[1]
    ]
    tolerance = accuracy * math.dist(low.point, high.point)
    lines = refine(boundary, [low, *between, high], tolerance)
    return lines if low is pca else lines[::-1]


def enclose_curve(lines: list[Line]) -> Enclosure:
    """Enclose the curve of lines found by :func:`trace_curve` in the plane of group errors."""
    points = [line.point for line in lines]
    ordered = lines if lines[0].angle <= lines[-1].angle else lines[::-1]
    corners = [_corner(*arc) for arc in itertools.pairwise(ordered)]
    path = [ordered[0].point, *corners, ordered[-1].point]
    outer = np.array(path if ordered is lines else path[::-1])
    return Enclosure(np.array(points), outer, _accuracy(ordered))


def _penalty_angle(boundary: Boundary, weight: float) -> float:
    """Angle of the line with a weight on the gap, on the side where PCA leaves it."""
    first, second = pca_line(boundary).point
    sign = 1.0 if first >= second else -1.0
    if math.isinf(weight):
        return LEAST_DIFFERENCE if sign > 0 else LARGEST_DIFFERENCE
    shares = boundary.problem.shares
    return math.atan2(shares[1] - sign * weight, shares[0] + sign * weight)


def refine(boundary: Boundary, lines: list[Line], tolerance: float) -> list[Line]:
    """Add lines between given ones until points and corners are within a distance.

    Parameters
    ----------
    boundary : Boundary
        New lines are added to it.
    lines : list of Line
        By growing angle, neighbours less than half a turn apart.
    tolerance : float
        The distance to reach.

    Returns
    -------
    list of Line
        The given lines and the new ones, by growing angle.
    """
    lines = _in_order(lines)
    done, pending = lines[:1], lines[:0:-1]
    while pending:
        angle = _split_angle(done[-1], pending[-1], tolerance)
        if angle is None:
            done.append(pending.pop())
        else:
            pending.append(boundary.add(angle))
    return _in_order(done)


def _in_order(lines: list[Line]) -> list[Line]:
    """Let points follow each other where lines touch along the same straight part.

    There an eigen-solve may find any point, so that one line's may lie behind the next one's.
    """
    ordered = list(lines)
    for last in range(1, len(ordered)):
        for j in range(last, 0, -1):
            left, right = ordered[j - 1], ordered[j]
            x, y = right.point[0] - left.point[0], right.point[1] - left.point[1]
            forward = x * math.sin(left.angle) - y * math.cos(left.angle)
            if right.angle - left.angle >= _THIN or forward >= 0:
                break
            ordered[j - 1] = _touching(left, right.point, right.subspace)
            ordered[j] = _touching(right, left.point, left.subspace)
    return ordered


def _touching(line: Line, point: Point, subspace: FloatArray) -> Line:
    """The same supporting line, with another point on it."""
    c, s = math.cos(line.angle), math.sin(line.angle)
    above = c * (point[0] - line.point[0]) + s * (point[1] - line.point[1])
    return Line(line.angle, point, max(above + line.slack, 0.0), subspace)


def _end_line(boundary: Boundary, fairest: SolverResult) -> Line:
    """The supporting line at the fairest subspace, which may lie inside a straight part."""
    line = line_at(boundary, _penalty_angle(boundary, fairest.threshold))
    first, second = fairest.group_errors.tolist()
    return _touching(line, (first, second), fairest.components.T)


def _split_angle(left: Line, right: Line, tolerance: float) -> float | None:
    """Where to split an arc; None if its corner is near enough to its chord, or it is thin."""
    if right.angle - left.angle < _THIN or _height(left, right) <= tolerance:
        return None
    angle = chord_angle(left, right)
    while angle <= left.angle:
        angle += 2 * math.pi
    if left.angle + _THIN < angle < right.angle - _THIN:
        return angle
    return 0.5 * (left.angle + right.angle)


def _difference(line: Line) -> float:
    return line.point[0] - line.point[1]


def _corner(left: Line, right: Line) -> Point:
    if right.angle - left.angle < _THIN:
        return right.point
    return corner(left.point, left.angle, right.point, right.angle)


def _height(left: Line, right: Line) -> float:
    """Distance of an arc's corner from its chord."""
    a, b, c = left.point, _corner(left, right), right.point
    chord = (c[0] - a[0], c[1] - a[1])
    square = chord[0] ** 2 + chord[1] ** 2
    share = (b[0] - a[0]) * chord[0] + (b[1] - a[1]) * chord[1]
    share = min(max(share / square, 0.0), 1.0) if square > 0 else 0.0
    return math.dist(b, (a[0] + share * chord[0], a[1] + share * chord[1]))


def _accuracy(lines: list[Line]) -> float:
    slack = max(line.slack for line in lines)
    return max((_height(*arc) for arc in itertools.pairwise(lines)), default=0.0) + slack
