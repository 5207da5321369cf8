"""Two groups: a walk on the boundary of the attainable errors, exact and certified.

The pairs of group errors that subspaces attain fill a convex set W in the plane (for two features,
its edge). The objective has no stationary point inside any convex set, so its minimum over W lies
on the boundary, where the inner normal (cos t, sin t) is a gradient of an active piece. One
eigen-solve at angle t gives a boundary point and a line that W never crosses. Consecutive lines
form a polygon around W, and the least objective on its edge is a proved bound: each piece is
concave, so on a straight part it is least at an end, or where the two pieces cross.

Newton's method in the angle mostly finds the minimiser and proves it by one line or a few, see
:mod:`fairspan.solvers.two_groups.angle`. Otherwise the walk goes on from the lines visited
there, and cuts off the polygon's lowest point until the bound meets the best value found.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.geodesic import Geodesic
from fairspan.problem.subspace import LARGE
from fairspan.solvers.result import SolverResult, is_closed, relative_gap, safe_bound
from fairspan.solvers.two_groups.curve import Curve, follow
from fairspan.solvers.two_groups.faces import Face, settle_face
from fairspan.solvers.two_groups.lines import (
    THIN,
    Boundary,
    Line,
    Point,
    chord_angle,
    clip,
    corner,
    normal_angle,
    penalty_bound,
    penalty_weight,
    root_between,
)
from fairspan.solvers.two_groups.pieces import Lowest, TwoPieces

_SLIDE_BELOW = 1e-2
"""From this relative gap on, subspaces between two neighbours are worth a look."""
_STUCK = 0.05
"""A new point closer to an old one than this share of the arc has not moved."""
_REFINE_BELOW = 1e-6
"""From this relative gap on, the best subspace is near enough to be refined."""
_ROUNDING = 1e-11
"""Values this close, relatively, are one; the more stationary subspace is taken."""


class Arc(NamedTuple):
    """A part of the polygon between two neighbouring lines; None stands for the range's end."""

    left: Line | None
    right: Line | None
    lowest: Lowest
    stuck: bool


def walk(
    boundary: Boundary,
    objective: RobustFairObjective,
    *,
    tol: float,
    max_iter: int,
    values: Sequence[float] = (),
) -> SolverResult:
    """Minimise the objective of two groups from the lines that are known already.

    Parameters
    ----------
    boundary : Boundary
        Lines already known; new ones are added to it.
    objective : RobustFairObjective
        What to minimise.
    tol : float
        The relative gap to reach.
    max_iter : int
        The largest number of lines.
    values : sequence of float
        The best values of the steps before.

    Returns
    -------
    SolverResult
        The best subspace, its value and the proved bound.
    """
    problem = boundary.problem
    walk = _Walk(boundary, objective)
    walk.history[:0] = [(value, walk.bound()) for value in values[:-1]]
    status = "feasible"
    while walk.arcs and walk.gap() > 0.5 * tol:
        arc = walk.arcs[0][-1]
        if walk.slide(arc) and walk.gap() <= 0.5 * tol:
            break
        if len(walk.history) >= max_iter:
            status = "iteration_limit"
            break
        if not walk.split(arc):
            break
    walk.refine(tol)
    return SolverResult(
        components=walk.best_subspace.T,
        group_errors=problem.errors(walk.best_subspace),
        objective=walk.best,
        lower_bound=walk.bound(),
        status="optimal" if walk.is_closed(tol) else status,
        scale=problem.scale,
        solver="boundary",
        history=np.array(walk.history),
    )


class _Walk:
    """The state of one minimisation: arcs by their bound, and the best point so far."""

    def __init__(self, boundary: Boundary, objective: RobustFairObjective) -> None:
        self.boundary = boundary
        self.objective = objective
        self.pieces = TwoPieces(objective)
        self.first, self.last = self.pieces.angle_range(boundary.upper)
        self.best = math.inf
        self.best_subspace: FloatArray = np.empty((0, 0))
        self.best_errors: FloatArray = np.zeros(2)
        self.arcs: list[tuple[float, int, Arc]] = []
        self.faces: dict[int, Face | None] = {}
        self.history: list[tuple[float, float]] = []
        self._floor = -math.inf
        self._order = itertools.count()
        if not boundary.lines:
            shares = objective.shares
            boundary.add(math.atan2(shares[1], shares[0]))
        for line in boundary.lines:
            self._learn(line)
        for left, right in itertools.pairwise([None, *boundary.lines, None]):
            self._push(left, right)
        self._record()

    def bound(self) -> float:
        """What is proved so far."""
        known = [face.bound for face in self.faces.values() if face is not None]
        if not self.arcs:
            known.append(max(map(self._at_point, self.boundary.lines)))
        lowest = min([self.best, *known, *(arc[0] for arc in self.arcs[:1])])
        scale = self.boundary.problem.scale
        return lowest if self._floor <= lowest else safe_bound(self._floor, self.best, scale)

    def _at_point(self, line: Line) -> float:
        """Bound the objective by one line, where its gradient has the line's angle everywhere."""
        if not self.first <= line.angle <= self.last:
            return -math.inf
        rounding = self.boundary.problem.rounding
        guard = line.slack + float(rounding[0]), line.slack + float(rounding[1])
        return max(self.pieces.guarded(line.point, guard))

    def is_closed(self, tol: float) -> bool:
        problem, weight = self.boundary.problem, self.objective.fairness_weight
        return is_closed(problem, self.best, self.bound(), tol, weight, size=self._size())

    def gap(self) -> float:
        scale = self.boundary.problem.scale
        return relative_gap(self.best, self.bound(), scale, size=self._size())

    def _size(self) -> float | None:
        return self.objective.unreferenced(self.best_errors)

    def split(self, arc: Arc) -> bool:
        """Add the line that cuts the lowest point of an arc; False if the arc is too thin."""
        angle = self._angle(arc)
        if angle is None:
            return False
        heapq.heappop(self.arcs)
        line = self.boundary.add(angle)
        self._learn(line)
        stuck_left, stuck_right = _stuck(arc, line)
        self._push(arc.left, line, stuck_right)
        self._push(line, arc.right, stuck_left)
        self._record()
        return True

    def refine(self, tol: float) -> None:
        """Move from a value that is proved optimal to where it is stationary, to rounding.

        Near a smooth minimum the value says little about the subspace: eight digits of it are four
        of the subspace, and which four would depend on the way the walk took.
        """
        problem = self.boundary.problem
        # It takes all eigenvectors, which with many features cost more than the walk.
        if problem.d >= LARGE or problem.k == problem.d or not self.gap() <= _REFINE_BELOW:
            return
        nearest = min(self.boundary.lines, key=lambda line: self.pieces.value(line.point))
        place = follow(Curve(problem), self.objective, nearest.angle)
        if place is not None:
            subspace = place.subspace
            errors = self._errors(subspace)
            value = self.pieces.value(errors)
            size = self.objective.size(self.best_errors)
            if value <= self.best + min(_ROUNDING, 0.5 * tol) * size:
                self._take(errors, value, subspace)

    def slide(self, arc: Arc) -> bool:
        """Look for the ridge on the path between the subspaces at both ends of an arc."""
        left, right = arc.left, arc.right
        # With many features the path costs as much as an eigen-solve in the small basis.
        near = _SLIDE_BELOW * (0.01 if self.boundary.problem.is_large else 1.0)
        if left is None or right is None or (self.gap() > near and not arc.stuck):
            return False
        if self.pieces.ridge(left.point) * self.pieces.ridge(right.point) >= 0:
            return False
        self._slide_between(left.subspace, right.subspace)
        return True

    def _slide_between(self, first: FloatArray, last: FloatArray) -> None:
        path = Geodesic(self.boundary.problem, first, last)

        def ridge(s: float) -> float:
            found = path.errors(s)
            return self.pieces.ridge((float(found[0]), float(found[1])))

        if ridge(0.0) * ridge(1.0) < 0:
            subspace = path.subspace(root_between(ridge))
            self._offer(self._errors(subspace), subspace)

    def _errors(self, subspace: FloatArray) -> Point:
        found = self.boundary.problem.errors(subspace)
        return float(found[0]), float(found[1])

    def _learn(self, line: Line) -> None:
        """Offer a line's point; without radii, take what it proves of a lighter weight as well.

        No heavier weight has a smaller optimum, and by its polygon a heavy one multiplies rounding.
        With a radius, a line that touches an axis settles what is near it.
        """
        self._offer(line.point, line.subspace)
        weight = penalty_weight(line, self.objective.shares)
        o = self.objective
        plain = o.counts_down and o.references is None and not o.radii.any()
        if weight <= o.fairness_weight and plain:
            self._floor = max(self._floor, penalty_bound(line))
        for group in (0, 1):
            if line.point[group] == 0 and self.pieces.radii[group] > 0:
                self._settle(group)

    def _offer(self, point: Point, subspace: FloatArray) -> None:
        value = self.pieces.value(point)
        if value < self.best:
            self._take(point, value, subspace)

    def _take(self, point: Point, value: float, subspace: FloatArray) -> None:
        self.best, self.best_errors, self.best_subspace = value, np.array(point), subspace

    def _settle(self, group: int) -> None:
        """Take what is near an axis out of the walk, once it is known to reach the axis."""
        if group in self.faces:
            return
        face = settle_face(self.boundary.problem, self.pieces, group)
        self.faces[group] = face
        if face is not None:
            for subspace in face.ends:
                self._offer(self._errors(subspace), subspace)
            self._slide_between(*face.ends)
            arcs, self.arcs = self.arcs, []
            for _, _, arc in arcs:
                self._push(arc.left, arc.right, arc.stuck)

    def _record(self) -> None:
        self.history.append((self.best, self.bound()))

    def _push(self, left: Line | None, right: Line | None, stuck: bool = False) -> None:
        # Beyond the range of the gradients there is no minimiser.
        if right is not None and right.angle <= self.first:
            return
        if left is not None and left.angle >= self.last:
            return
        slack = _displacement(left, right)
        rounding = self.boundary.problem.rounding
        guard = (slack + float(rounding[0]), slack + float(rounding[1]))
        reach = [face.reach if (face := self.faces.get(a)) else 0.0 for a in (0, 1)]
        path = clip(self.boundary.path(left, right), (reach[0], reach[1]))
        lowest = self.pieces.lowest_on(path, guard)
        arc = Arc(left, right, lowest, stuck)
        heapq.heappush(self.arcs, (lowest.bound, next(self._order), arc))

    def _angle(self, arc: Arc) -> float | None:
        """Choose the angle that cuts off the lowest point of an arc."""
        low = self.first if arc.left is None else arc.left.angle
        high = self.last if arc.right is None else arc.right.angle
        for angle in self._proposals(arc, low, high):
            if low + THIN < angle < high - THIN:
                return angle
            # The range's ends are proper angles where no line is known there yet.
            if (angle <= low and arc.left is None) or (angle >= high and arc.right is None):
                return min(max(angle, low), high)
        return None

    def _proposals(self, arc: Arc, low: float, high: float) -> Iterator[float]:
        left, right, lowest = arc.left, arc.right, arc.lowest
        if left is not None and right is not None:
            if lowest.on_ridge and not arc.stuck:
                yield self._ridge_angle(left, right)
            elif not arc.stuck:
                yield self.pieces.gradient_angle(self.pieces.active(lowest.point), lowest.point)
            yield chord_angle(left, right)
        elif lowest.on_ridge:
            # The minimiser's normal lies between the gradients of both pieces; their far end
            # brings the ridge between two lines.
            yield self.pieces.gradient_angle(0 if left is None else 1, lowest.point)
        else:
            yield self.pieces.gradient_angle(self.pieces.active(lowest.point), lowest.point)
        yield 0.5 * (low + high)

    def _ridge_angle(self, left: Line, right: Line) -> float:
        """Angle where the curve that joins two lines smoothly (a parabola) meets the ridge."""
        between = corner(left.point, left.angle, right.point, right.angle)
        ends = tuple(zip(left.point, between, right.point, strict=True))

        def curve(s: float) -> Point:
            x, y = ((1 - s) ** 2 * a + 2 * s * (1 - s) * b + s**2 * c for a, b, c in ends)
            return max(x, 0.0), max(y, 0.0)

        if self.pieces.ridge(left.point) * self.pieces.ridge(right.point) >= 0:
            return math.nan
        s = root_between(lambda share: self.pieces.ridge(curve(share)), accuracy=1e-12)
        x, y = ((1 - s) * (b - a) + s * (c - b) for a, b, c in ends)
        return normal_angle((x, y))


def _displacement(left: Line | None, right: Line | None) -> float:
    """How far corners of the polygon move when its lines give way by their slack."""
    if left is not None and right is not None:
        turn = 0.5 * (right.angle - left.angle)
        return max(left.slack, right.slack) / max(math.cos(turn), 0.01)
    if left is not None:
        return left.slack / max(abs(math.cos(left.angle)), 0.01)
    assert right is not None
    return right.slack / max(abs(math.sin(right.angle)), 0.01)


def _stuck(arc: Arc, line: Line) -> tuple[bool, bool]:
    """Whether a new point has hardly moved from the left or the right end of its arc."""
    if arc.left is None or arc.right is None:
        return False, False
    length = _STUCK * math.dist(arc.left.point, arc.right.point)
    near_left = math.dist(arc.left.point, line.point) < length
    return near_left, math.dist(arc.right.point, line.point) < length
