"""The objective of two groups on the plane of their errors: its two pieces, with safe bounds.

They are bounded on the edge of the polygon that a few supporting lines cut from the box of all
errors. Lines are known by angle and level alone, so that eigenvalues are enough for them; only the
one in the middle has a point.

Plain floats: the walk evaluates them thousands of times on single points.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import UNIT
from fairspan.objectives.robust import RobustFairObjective, worst_error, worst_error_slope
from fairspan.solvers.two_groups.lines import Line, Point, leave_box, root_between

_EVALUATION = 16 * UNIT
"""Rounding of a piece's value, as a share of all that is added up and taken away in it."""
_FACE = 0.05
"""Radians beyond an axis that bring all of a face on the axis into view."""
SAME = 1e-6
"""Lines closer than this, in radians, add nothing to each other."""
_MORE = 1 + 1e-6
"""The sine of so small an angle is known to a few digits less: a corner is put farther out."""


class Lowest(NamedTuple):
    """The lowest point of the objective on a path, and a bound below all of the path."""

    bound: float
    point: Point
    on_ridge: bool


class TwoPieces:
    """J_0 (group 0 counted up), J_1 (group 1 counted up), and F = max(J_0, J_1).

    The other group is counted down, if any is. If only one group is compared, both are its piece.

    Parameters
    ----------
    objective : RobustFairObjective
        An objective of two groups.
    """

    def __init__(self, objective: RobustFairObjective) -> None:
        self.radii: Point = tuple(objective.radii.tolist())
        raised = (0, 1)
        if objective.in_gap is not None and not objective.in_gap.all():
            raised = (int(np.argmax(objective.in_gap)),) * 2
        pairs = [(a, 1 - a if objective.counts_down else a) for a in raised]
        first, second = (tuple(objective.coefficients(pair).tolist()) for pair in pairs)
        self.coefficients: tuple[Point, Point] = first, second
        self.constants = objective.constant(pairs[0]), objective.constant(pairs[1])
        self.shares: Point = tuple(objective.shares.tolist())
        self.weight = objective.fairness_weight
        # Whether each piece counts a group up (1), down (-1) or as it is (0).
        self._signs = [
            [(a == group) - (objective.counts_down and b == group) for group in (0, 1)]
            for a, b in pairs
        ]
        self._edges = math.sqrt(self.radii[0]), math.sqrt(self.radii[1])

    def term(self, a: int, group: int, error: float) -> float:
        """Part of one group in J_a, the constant apart."""
        return worst_error(self.coefficients[a][group], error, self.radii[group])

    def both(self, m: Point) -> Point:
        """Values of J_0 and J_1, as the objective defines them, without calls."""
        (_, down1), (down0, _) = self.coefficients
        (p0, p1), weight = self.shares, self.weight
        (up0, fall1), (fall0, up1) = self._signs
        first, second = self.constants
        root0, root1 = math.sqrt(m[0]), math.sqrt(m[1])
        edge0, edge1 = self._edges
        high0, high1 = (root0 + edge0) ** 2, (root1 + edge1) ** 2
        low0 = high0 if down0 >= 0 else max(root0 - edge0, 0.0) ** 2
        low1 = high1 if down1 >= 0 else max(root1 - edge1, 0.0) ** 2
        # The difference first: a heavy weight leaves nothing of the shares in the coefficients.
        first += p0 * high0 + p1 * low1 + weight * (up0 * high0 + fall1 * low1)
        return first, second + p0 * low0 + p1 * high1 + weight * (fall0 * low0 + up1 * high1)

    def value(self, m: Point) -> float:
        """Value of F."""
        return max(self.both(m))

    def size(self, m: Point) -> float:
        """Value of F without references, against which gaps are measured."""
        first, second = self.both(m)
        return max(first - self.constants[0], second - self.constants[1])

    def ridge(self, m: Point) -> float:
        """J_0 - J_1: negative before the ridge where both are equal, positive after it."""
        first, second = self.both(m)
        return first - second

    def gradient(self, a: int, m: Point) -> Point:
        """Gradient of J_a."""
        u, e = self.coefficients[a], self.radii
        return worst_error_slope(u[0], m[0], e[0]), worst_error_slope(u[1], m[1], e[1])

    def bend(self, a: int, m: Point) -> Point:
        """Second derivatives of J_a, 0 or negative, at errors that are positive."""
        return self._bend(a, 0, m[0]), self._bend(a, 1, m[1])

    def _bend(self, a: int, group: int, error: float) -> float:
        u, radius = self.coefficients[a][group], self.radii[group]
        if u < 0 and error <= radius:
            return 0.0
        return -0.5 * abs(u) * self._edges[group] / (error * math.sqrt(error))

    def gradient_angle(self, a: int, m: Point) -> float:
        """Angle of the gradient of J_a."""
        slopes = self.gradient(a, m)
        return math.atan2(slopes[1], slopes[0])

    def active(self, m: Point) -> int:
        """Which piece attains F."""
        return 0 if self.ridge(m) >= 0 else 1

    def angle_range(self, upper: Point) -> tuple[float, float]:
        """Angles that gradients can have for errors up to a bound: no minimiser lies outside.

        Each slope is monotone in its own error, so its extremes are at 0 and at the bound. A slope
        that is infinite at 0 points along an axis, and any point of a face on that axis may
        be the minimiser: a little more than the range covers the whole face.
        """
        angles = []
        for a in (0, 1):
            first, second = zip(self.gradient(a, (0.0, 0.0)), self.gradient(a, upper), strict=True)
            angles += [math.atan2(y, x) for x in first for y in second]
        margin = _FACE if any(self.radii) else 0.0
        return min(angles) - margin, max(angles) + margin

    def lowest_on(self, path: list[Point], guard: Point, enough: float = math.inf) -> Lowest:
        """Bound F from below on a path of straight parts, and find its lowest point.

        Parameters
        ----------
        path : list of points
            Ends of the straight parts.
        guard : point
            How far each coordinate may be off.
        enough : float
            Parts with a larger bound are not split where both pieces are equal.

        Returns
        -------
        Lowest
            The proved bound, and the lowest point.
        """
        path = _split_at(path, guard)
        lowest, point, on_ridge = math.inf, path[0], False
        values = [self.both(m) for m in path]
        safe = [self.guarded(m, guard) for m in path]
        least = max(values[0])
        for i, (start, end) in enumerate(itertools.pairwise(path)):
            bound = _below(safe[i], safe[i + 1])
            before, after = values[i], values[i + 1]
            if bound < enough and (before[0] - before[1]) * (after[0] - after[1]) < 0:
                between = self._crossing(start, end)
                middle = self.guarded(between, guard)
                bound = min(_below(safe[i], middle), _below(middle, safe[i + 1]))
                if self.value(between) < least:
                    least, point, on_ridge = self.value(between), between, True
            lowest = min(lowest, bound)
            if max(after) < least:
                least, point, on_ridge = max(after), end, False
        return Lowest(lowest, point, on_ridge)

    def _crossing(self, start: Point, end: Point) -> Point:
        share = root_between(lambda share: self.ridge(_between(start, end, share)))
        return _between(start, end, share)

    def guarded(self, m: Point, guard: Point) -> Point:
        """Both pieces at the worst point within the guard; each is monotone in each error.

        What rounding does to the values themselves is taken off.
        """
        (_, down1), (down0, _) = self.coefficients
        less = max(m[0] - guard[0], 0.0), max(m[1] - guard[1], 0.0)
        more = m[0] + guard[0], m[1] + guard[1]
        first = self.both((less[0], less[1] if down1 >= 0 else more[1]))[0]
        second = self.both((less[0] if down0 >= 0 else more[0], less[1]))[1]
        unsure = (self.shares[0] + self.weight) * (math.sqrt(more[0]) + self._edges[0]) ** 2
        unsure += (self.shares[1] + self.weight) * (math.sqrt(more[1]) + self._edges[1]) ** 2
        return (
            first - _EVALUATION * (unsure + abs(self.constants[0])),
            second - _EVALUATION * (unsure + abs(self.constants[1])),
        )


class Polygon:
    """What lines cut from the box of all errors: one line in the middle, others on either side.

    Every line is where its own slack has put it, and corners are found by walking outwards from
    the middle. What rounding leaves open moves a corner outwards along the line before, and with
    it the line that begins there: the polygon only grows.

    Parameters
    ----------
    line : Line
        The middle; its point, moved back by its slack, is where the edge is entered.
    upper : point
        The corner of the box.
    """

    def __init__(self, line: Line, upper: Point) -> None:
        self.angle, self.upper = line.angle, upper
        x, y = math.cos(line.angle), math.sin(line.angle)
        self.middle = line.point[0] - line.slack * x, line.point[1] - line.slack * y
        # Else it leaves a part of an axis on the origin's side, which the edge does not follow.
        level = x * self.middle[0] + y * self.middle[1]
        self.cuts_off_origin = min(self.middle) > 0 and level > 0
        self.supports: list[tuple[float, float]] = []

    def split(self, pieces: TwoPieces) -> None:
        """Move the middle along its line to where both pieces are equal, by one Newton step."""
        m, (x, y) = self.middle, (math.cos(self.angle), math.sin(self.angle))
        g0, g1 = pieces.gradient(0, m), pieces.gradient(1, m)
        rise = (g0[0] - g1[0]) * y - (g0[1] - g1[1]) * x
        along = -pieces.ridge(m) / rise if rise > 0 else 0.0
        moved = m[0] + along * y, m[1] - along * x
        if 0 < moved[0] < self.upper[0] and 0 < moved[1] < self.upper[1]:
            self.middle = moved

    def is_after(self, point: Point) -> bool:
        """Whether a point of the edge comes after the middle, by growing angle."""
        x, y = math.cos(self.angle), math.sin(self.angle)
        return (point[0] - self.middle[0]) * y > (point[1] - self.middle[1]) * x

    def between(self, angle: float) -> float:
        """Move an angle between two others on one side: theirs are to form a geometric series."""
        sign = math.copysign(1.0, angle - self.angle)
        asides = [sign * (other - self.angle) for other, _ in self.supports]
        own = abs(angle - self.angle)
        near = max((one for one in asides if 0 < one < own), default=0.0)
        far = min((one for one in asides if one > own), default=math.inf)
        return self.angle + sign * math.sqrt(near * far) if near > 0 and far < math.inf else angle

    def is_new(self, angle: float) -> bool:
        """Whether a line at an angle would differ from all others."""
        known = [self.angle, *(other for other, _ in self.supports)]
        return all(abs(angle - other) > SAME for other in known)

    def add(self, angle: float, level: float) -> None:
        """Add the line cos t m_0 + sin t m_1 = level."""
        self.supports.append((angle, level))
        self.supports.sort()

    def edge(self) -> list[Point]:
        """The edge from one end of the box to the other, by growing angle."""
        before = [line for line in self.supports[::-1] if line[0] < self.angle]
        after = [line for line in self.supports if line[0] > self.angle]
        return [*self._half(-1.0, before)[:0:-1], *self._half(1.0, after)]

    def _half(self, sign: float, lines: list[tuple[float, float]]) -> list[Point]:
        """The edge from the middle on, to larger (1) or smaller (-1) angles."""
        path, angle = [self.middle], self.angle
        for new, level in lines:
            (p, q), x, y = path[-1], math.cos(new), math.sin(new)
            beyond = x * p + y * q - level
            beyond = max(beyond, 0.0) + 4 * UNIT * (abs(x * p) + abs(y * q))
            along = sign * beyond * _MORE / math.sin(abs(new - angle))
            corner = p + along * math.sin(angle), q - along * math.cos(angle)
            if not (0 < corner[0] < self.upper[0] and 0 < corner[1] < self.upper[1]):
                break
            path.append(corner)
            angle = new
        direction = sign * math.sin(angle), -sign * math.cos(angle)
        return [*path[:-1], *leave_box(path[-1], direction, self.upper)]


def _below(start: Point, end: Point) -> float:
    """Bound F between two points: each piece is concave, and so least at an end."""
    return max(min(start[0], end[0]), min(start[1], end[1]))


def _split_at(path: list[Point], guard: Point) -> list[Point]:
    """Split a path where an error equals its guard.

    The guarded error is 0 up to there and rises from there on: across the bend a piece, concave on
    either side, may be lower than at both ends.
    """
    split = [path[0]]
    for start, end in itertools.pairwise(path):
        bends = [
            ((guard[a] - start[a]) / (end[a] - start[a]), a)
            for a in (0, 1)
            if (start[a] < guard[a]) != (end[a] < guard[a])
        ]
        for share, a in sorted(bends):
            # Not a rounding beyond the bend: the root of what is left would rise above the guard.
            m0, m1 = _between(start, end, share)
            split.append((m0, guard[1]) if a else (guard[0], m1))
        split.append(end)
    return split


def _between(start: Point, end: Point, share: float) -> Point:
    """The point that lies a share of the way from start to end."""
    return (1 - share) * start[0] + share * end[0], (1 - share) * start[1] + share * end[1]
