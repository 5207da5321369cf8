"""The objective of two groups on points of the plane: its two pieces, fast and with safe bounds.

Plain floats: the walk evaluates them thousands of times on single points.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from fairspan.objectives.robust import RobustFairObjective, worst_error, worst_error_slope
from fairspan.solvers.two_groups.lines import Point, root_between

_FACE = 0.05
"""Radians beyond an axis that bring all of a face on the axis into view."""


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

    def lowest_on(self, path: list[Point], guard: Point) -> Lowest:
        """Bound F from below on a path of straight parts, and find its lowest point.

        Parameters
        ----------
        path : list of points
            Ends of the straight parts.
        guard : point
            How far each coordinate may be off.

        Returns
        -------
        Lowest
            The proved bound, and the lowest point.
        """
        points: list[tuple[Point, bool]] = [(path[0], False)]
        side = self.ridge(path[0])
        for start, end in itertools.pairwise(path):
            before, side = side, self.ridge(end)
            if before * side < 0:
                points.append((self._crossing(start, end), True))
            points.append((end, False))
        safe = [self.guarded(m, guard) for m, _ in points]
        bound = min(
            max(min(start[0], end[0]), min(start[1], end[1]))
            for start, end in itertools.pairwise(safe)
        )
        point, on_ridge = min(points, key=lambda item: self.value(item[0]))
        return Lowest(bound, point, on_ridge)

    def _crossing(self, start: Point, end: Point) -> Point:
        def at(share: float) -> Point:
            return (
                (1 - share) * start[0] + share * end[0],
                (1 - share) * start[1] + share * end[1],
            )

        return at(root_between(lambda share: self.ridge(at(share))))

    def guarded(self, m: Point, guard: Point) -> Point:
        """Both pieces at the worst point within the guard; each is monotone in each error."""
        (_, down1), (down0, _) = self.coefficients
        less = max(m[0] - guard[0], 0.0), max(m[1] - guard[1], 0.0)
        first = (less[0], less[1] if down1 >= 0 else m[1] + guard[1])
        second = (less[0] if down0 >= 0 else m[0] + guard[0], less[1])
        return self.both(first)[0], self.both(second)[1]
