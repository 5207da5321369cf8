"""Plane geometry for two group errors: supporting lines, their corners, and what they leave."""

from __future__ import annotations

import itertools
import math

Point = tuple[float, float]


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
