"""Two groups with radii: a polygon of lifted lines around all attainable errors.

Pieces with radii are concave, not linear: no single line proves their optimum. Lines at some angles
around that of the answer, and each group's least error, enclose what is attainable in a polygon.
The objective has no stationary point inside a convex set, so its least value on the polygon's edge
is a bound. Lines are added where it is lowest; other objectives may have paid for them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import UNIT, FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.products.basis import Cut
from fairspan.products.lifted import LiftedProblem
from fairspan.solvers.two_groups.lines import Point
from fairspan.solvers.two_groups.pieces import TwoPieces

_APART = 2e-6
"""Lines at smaller angles to each other do not cross in a point that is known."""
_MORE = 80
"""Most lines that are added where the polygon is lowest."""


class Enclosed(NamedTuple):
    """The least objective on the polygon, and the loosest line at its lowest point."""

    bound: float
    loosest: Cut


class _Edge(NamedTuple):
    """An edge of the polygon; sides of the box that no line is known for have no cut."""

    start: Point
    end: Point
    cut: Cut | None


class Polygon:
    """Lines around all attainable errors of two groups.

    Parameters
    ----------
    lifted : LiftedProblem
        Gives lines.
    objective : RobustFairObjective
        What is minimised.
    errors : ndarray of shape (2,)
        Group errors of the answer, which no line may cut off.
    """

    def __init__(
        self, lifted: LiftedProblem, objective: RobustFairObjective, errors: FloatArray
    ) -> None:
        self.lifted, self.pieces, self.errors = lifted, TwoPieces(objective), errors
        self.known = lifted.known_cuts
        self.cuts: list[Cut] = []
        self._axes = self._cut(0.0), self._cut(0.5 * math.pi)
        self.least: Point = max(self._axes[0].sigma, 0.0), max(self._axes[1].sigma, 0.0)
        self.upper: Point = tuple(lifted.traces.tolist())

    def enclose(self, angle: float, value: float, enough: float) -> Enclosed:
        """Bound the objective by lines around an angle, and by more where the polygon is lowest.

        Parameters
        ----------
        angle : float
            That of the line at the answer.
        value : float
            The answer's objective.
        enough : float
            The distance between value and bound at which nothing more is needed.

        Returns
        -------
        Enclosed
            The bound.
        """
        for one in (*self._range(), angle):
            self._add(one)
        for _ in range(_MORE):
            bound, *corner = self._lowest()
            if value - bound <= enough or not self._add_near(corner, angle, value - bound, enough):
                break
        bound, near, other = self._lowest()
        return Enclosed(bound, max(near, other, key=lambda cut: cut.slack))

    def _add_near(self, corner: list[Cut], angle: float, gap: float, enough: float) -> bool:
        """Cut off a corner; say whether there was a line to add.

        What a corner leaves room for falls with the square of the turn between its lines, and what
        it may leave room for grows with the square of the turn from the answer's line.
        """

        def turn(cut: Cut) -> float:
            return abs(cut.angle - angle)

        near, far = sorted(corner, key=turn)
        # Next to a loose line another proves no more, but nearer to the answer it does.
        while near.slack > 0.5 * gap:
            nearer = [cut for cut in self.cuts if turn(cut) < turn(near)]
            if not nearer:
                return False
            near, far = max(nearer, key=turn), near
        # Loose lines between the two may not be on the polygon.
        first, last = sorted((near.angle, far.angle))
        hidden = [cut for cut in self.cuts if first < cut.angle < last]
        near, far = sorted((near, min([far, *hidden], key=turn)), key=turn)
        if abs(near.angle - far.angle) <= 4 * _APART:
            return False
        reach = far.angle - angle
        low = max((near.angle - angle) / reach, 0.0)
        wanted = math.sqrt(max(low, min(0.8 * enough / gap, 0.25)))
        # Lines that are known already cost nothing.
        known = [(cut.angle - angle) / reach for cut in self.known]
        known = [one for one in known if 0.5 * (low + wanted) < one < 0.5 * (wanted + 1.0)]
        chosen = min(known, key=lambda one: abs(one - wanted), default=wanted)
        return self._add(angle + reach * chosen)

    def _range(self) -> tuple[float, float]:
        """Angles that gradients can have for errors within the box."""
        angles = []
        for a in (0, 1):
            ends = self.pieces.gradient(a, self.least), self.pieces.gradient(a, self.upper)
            first, second = zip(*ends, strict=True)
            angles += [math.atan2(y, x) for x in first for y in second]
        return min(angles), max(angles)

    def _cut(self, angle: float) -> Cut:
        """Give the line at an angle, and refuse one that cuts off the answer."""
        cut = next((one for one in self.known if one.angle == angle), None)
        if cut is None:
            cut = _found(self.lifted, angle)
            self.known.append(cut)
        normal = np.array([math.cos(cut.angle), math.sin(cut.angle)])
        attained = float(normal @ self.errors)
        if attained < cut.sigma - 2 * float(np.abs(normal) @ self.lifted.rounding):
            raise RuntimeError(
                f"A lower bound ({cut.sigma!r}) exceeds a value that is attained ({attained!r}). "
                "This is a defect of fairspan: please report it."
            )
        return cut

    def _add(self, angle: float) -> bool:
        """Add the line at an angle, or one that is known next to it, unless it is there already."""
        nearest = min((cut.angle for cut in self.known), key=lambda one: abs(one - angle))
        angle = nearest if abs(nearest - angle) < _APART else angle
        is_new = all(abs(angle - cut.angle) >= _APART for cut in self.cuts)
        if is_new:
            self.cuts.append(self._cut(angle))
        return is_new

    def _lowest(self) -> tuple[float, Cut, Cut]:
        """Give the bound, and the two lines between which the polygon is lowest."""
        # Corners are within some rounding of both their lines; where these meet at a sharp angle,
        # lines that give way by rounding move them farther.
        guard, rounding = 1e4 * UNIT * math.hypot(*self.upper), self.lifted.rounding
        room = (guard + float(rounding[0]), guard + float(rounding[1]))
        edges = self._edges()
        found = [self.pieces.lowest_on([edge.start, edge.end], room) for edge in edges]
        i = min(range(len(edges)), key=lambda j: found[j].bound)
        here, point = edges[i], found[i].point
        before, after = edges[i - 1].cut, edges[(i + 1) % len(edges)].cut
        near = here.cut or before or after or self._axes[0]
        # On a straight part of the boundary the line may touch anywhere: an end tells by itself.
        touching = here.start if point == here.end else near.point
        nearer_start = math.dist(point, here.start) < math.dist(touching, here.start)
        at_start = point == here.start or nearer_start
        other = (before if at_start else after) or near
        return found[i].bound, near, other

    def _edges(self) -> list[_Edge]:
        """Cut the box of all errors by every line, counterclockwise."""
        (left, low), (right, high) = self.least, self.upper
        corners = [(left, low), (right, low), (right, high), (left, high)]
        sides = [self._axes[1], None, None, self._axes[0]]
        ring = zip(corners, [*corners[1:], corners[0]], sides, strict=True)
        edges = [_Edge(*side) for side in ring]
        for cut in sorted(self.cuts):
            edges = _clipped(edges, cut)
        return edges


def _found(lifted: LiftedProblem, angle: float) -> Cut:
    """Find the line at an angle: eigen-solves in the basis."""
    normal = np.array([math.cos(angle), math.sin(angle)])
    found = lifted.best_subspace(normal)
    point = float(found.errors[0]), float(found.errors[1])
    return Cut(angle, found.sigma, float(normal @ found.errors) - found.sigma, point)


def _clipped(edges: list[_Edge], cut: Cut) -> list[_Edge]:
    """Keep the part of a convex polygon on the inner side of a line."""
    c, s = math.cos(cut.angle), math.sin(cut.angle)

    def inner(point: Point) -> float:
        return c * point[0] + s * point[1] - cut.sigma

    kept: list[_Edge] = []
    leaving: Point | None = None
    entering: Point | None = None
    for edge in edges:
        start, end, side = edge
        before, after = inner(start), inner(end)
        if (before < 0) != (after < 0):
            share = before / (before - after)
            crossing = (
                start[0] + share * (end[0] - start[0]),
                start[1] + share * (end[1] - start[1]),
            )
            if before >= 0:
                leaving = crossing
                kept.append(_Edge(start, crossing, side))
            else:
                entering = crossing
                kept.append(_Edge(crossing, end, side))
        elif before >= 0:
            kept.append(edge)
    if leaving is None or entering is None:
        return kept or edges
    place = next(i for i, edge in enumerate(kept) if edge.start == entering)
    return [*kept[:place], _Edge(leaving, entering, cut), *kept[place:]]
