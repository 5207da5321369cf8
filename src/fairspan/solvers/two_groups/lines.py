"""Supporting lines of the errors that two groups can attain: the boundary as far as it is known."""

from __future__ import annotations

import bisect
import math
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.polygon import Point, corner, leave_box, normal_angle


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
        bisect.insort(self.lines, line, key=lambda item: item.angle)
        return line

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


def chord_angle(left: Line, right: Line) -> float:
    """Angle of the normal of the chord between the points of two lines."""
    return normal_angle((right.point[0] - left.point[0], right.point[1] - left.point[1]))
