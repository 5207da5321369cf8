"""Two groups: the boundary that a page needs to find the optimum at every setting by itself.

Between two neighbouring supporting lines lies an arc of the boundary, inside the triangle of
both points and the corner where the lines cross. The page draws the parabola that touches both
lines there and minimises the objective on it.

Parabola and boundary lie in the same triangles. The objective has no stationary point inside a
convex set, so its least value on all parabolas is at most that on the chords and at least that on
the outer path of corners. Arcs are split until these two agree at every stop of the sliders,
which proves the page's value there; and until each parabola predicts the next point found on its
arc, so that the group errors are right as well and not only the value.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fairspan.ground.types import FloatArray, IntArray
from fairspan.problem.reduced import LARGEST_DIFFERENCE, LEAST_DIFFERENCE
from fairspan.report._settings import Settings
from fairspan.solvers.result import SMALLEST_LOSS
from fairspan.solvers.two_groups.lines import Boundary, Line, Point, chord_angle, clip, corner
from fairspan.solvers.two_groups.trace import refine

TOLERANCE = 1e-5
"""Relative accuracy of the objective at every stop."""
_FORETOLD = 2e-5
"""Relative accuracy of points that a parabola predicts."""
_THIN = 1e-10
"""Arcs of fewer radians are straight."""
_SHORT = 1e-9
"""Arcs shorter than this share of their errors are a point."""
_MOST_LINES = 1500
"""The search ends there; the accuracy reached is reported."""
_MOST_UNPROVED = 150
"""The same where rounding hides features: no accuracy is claimed there."""
_SOME = 13
"""One setting of this many shows where to split; not a divisor of the number of radii."""
_BISECTIONS = 40


@dataclass(frozen=True)
class PageCurve:
    """The boundary of the attainable errors where optima lie, as parabolas.

    Attributes
    ----------
    points : ndarray of shape (n_points, 2)
        Where supporting lines touch: ends of the parabolas.
    corners : ndarray of shape (n_points - 1, 2)
        Where neighbouring lines cross: the parabolas' control points.
    accuracy : float
        Proved: the largest relative error of the page's objective over all settings.
    """

    points: FloatArray
    corners: FloatArray
    accuracy: float


def trace_page_curve(boundary: Boundary, settings: Settings) -> PageCurve:
    """Refine the boundary until the page's optimum is right at every setting.

    Parameters
    ----------
    boundary : Boundary
        Lines already known, those at -45, 0, 45, 90 and 135 degrees among them.
    settings : Settings
        Where the sliders can be set.

    Returns
    -------
    PageCurve
        All that the page needs for one number of components.
    """
    # Gradients of the objective point between these angles, so minimisers lie there.
    ends = LEAST_DIFFERENCE - _THIN, LARGEST_DIFFERENCE + _THIN
    lines = refine(
        boundary, [line for line in boundary.lines if ends[0] <= line.angle <= ends[1]], math.inf
    )
    most = _MOST_UNPROVED if boundary.problem.has_hidden_features else _MOST_LINES
    predicted: set[tuple[float, float]] = set()
    # Some of the settings show almost every arc to split; all of them have the last word.
    for every in (_SOME, 1):
        some = replace(settings, every=every)
        while True:
            gaps, optimal = _gaps(lines, some, boundary.problem.scale)
            split = [
                arc
                for arc, gap, holds in zip(_arcs(lines), gaps, optimal, strict=True)
                if _is_wide(*arc) and (gap > TOLERANCE or (holds and _name(*arc) not in predicted))
            ]
            if not split or len(lines) > most:
                break
            for left, right in split:
                middle = boundary.add(_middle(left, right))
                if _foretells(left, middle, right):
                    predicted |= {_name(left, middle), _name(middle, right)}
                lines.append(middle)
            lines = refine(boundary, sorted(lines, key=lambda line: line.angle), math.inf)
    accuracy = float(max(gaps.max(), 0.0))
    arcs = [arc for arc in _arcs(lines) if _is_long(*arc)] or [(lines[0], lines[-1])]
    kept = [arcs[0][0], *(right for _, right in arcs)]
    points = np.array([line.point for line in kept])
    corners = np.array([_control(*arc) for arc in arcs])
    return PageCurve(points, corners, accuracy)


def trace_back(boundary: Boundary) -> tuple[FloatArray, FloatArray]:
    """Give the rest of the region's edge, where no optimum lies, as points and control points.

    Parameters
    ----------
    boundary : Boundary
        Lines all around the region.

    Returns
    -------
    tuple of ndarray
        Points from 135 to 315 degrees, and the corners between them.
    """
    first = next(line for line in boundary.lines if line.angle >= LEAST_DIFFERENCE - _THIN)
    lines = [line for line in boundary.lines if line.angle >= LARGEST_DIFFERENCE - _THIN]
    around = first._replace(angle=first.angle + 2 * math.pi)
    arcs = _arcs(refine(boundary, [*lines, around], math.inf))
    points = [arcs[0][0].point, *(right.point for _, right in arcs)]
    return np.array(points), np.array([_control(*arc) for arc in arcs])


def _gaps(
    lines: list[Line], settings: Settings, scale: float
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """For each arc: the largest relative gap at any setting, and whether it may hold an optimum."""
    points = np.array([line.point for line in lines])
    chords = np.stack([points[:-1], points[1:]], axis=1)
    inner = _least_on(chords, settings, proved=False).min(axis=1)
    paths = [clip([a.point, _control(a, b), b.point], (0.0, 0.0)) for a, b in _arcs(lines)]
    longest = max(map(len, paths))
    padded = np.array([path + path[-1:] * (longest - len(path)) for path in paths])
    outer = _least_on(padded, settings, proved=True)
    # With references the value may be 0 or negative; it is measured without them.
    unit = np.maximum(inner + settings.all_offsets, SMALLEST_LOSS * scale)[:, None]
    gap = (inner[:, None] - outer) / unit
    return gap.max(axis=0), (gap >= -TOLERANCE).any(axis=0)


def _arcs(lines: list[Line]) -> list[tuple[Line, Line]]:
    return list(itertools.pairwise(lines))


def _least_on(paths: FloatArray, settings: Settings, *, proved: bool) -> FloatArray:
    """The least objective on paths of straight parts, (n_combinations, n_paths).

    Each piece is concave, so on a part it is least at an end; where the pieces cross inside, the
    part is cut there. With ``proved`` it is a bound below all of the path, else a value on it.
    """
    n_paths, length, _ = paths.shape
    values = settings.both_pieces(paths.reshape(-1, 2)).reshape(2, -1, n_paths, length)
    start, end = values[..., :-1], values[..., 1:]
    least = _bound(start, end) if proved else np.minimum(start.max(axis=0), end.max(axis=0))
    ridge = values[0] - values[1]
    side = np.sign(ridge)
    which, path, part = np.nonzero(side[..., :-1] * side[..., 1:] < 0)
    first, last = paths[path, part], paths[path, part + 1]
    cut = _crossing(first, last, ridge[which, path, part] < 0, settings, which)
    there = settings.both_pieces(cut, which)
    if proved:
        halves = (start[:, which, path, part], there), (there, end[:, which, path, part])
        least[which, path, part] = np.minimum(*(_bound(*half) for half in halves))
    else:
        least[which, path, part] = np.minimum(least[which, path, part], there.max(axis=0))
    return np.asarray(least.min(axis=-1))


def _bound(start: FloatArray, end: FloatArray) -> FloatArray:
    return np.asarray(np.minimum(start, end).max(axis=0))


def _crossing(
    first: FloatArray,
    last: FloatArray,
    rises: npt.NDArray[np.bool_],
    settings: Settings,
    which: IntArray,
) -> FloatArray:
    low, high = np.zeros(len(first)), np.ones(len(first))
    for _ in range(_BISECTIONS):
        share = 0.5 * (low + high)
        pieces = settings.both_pieces(first + share[:, None] * (last - first), which)
        before = (pieces[0] < pieces[1]) == rises
        low, high = np.where(before, share, low), np.where(before, high, share)
    return np.asarray(first + 0.5 * (low + high)[:, None] * (last - first))


def _control(left: Line, right: Line) -> Point:
    if right.angle - left.angle < _THIN:
        return 0.5 * (left.point[0] + right.point[0]), 0.5 * (left.point[1] + right.point[1])
    return corner(left.point, left.angle, right.point, right.angle)


def _name(left: Line, right: Line) -> tuple[float, float]:
    return left.angle, right.angle


def _is_wide(left: Line, right: Line) -> bool:
    return right.angle - left.angle > 4 * _THIN and _is_long(left, right)


def _is_long(left: Line, right: Line) -> bool:
    """Whether an arc leads anywhere: at a corner of the region many lines touch one point."""
    size = max(abs(value) for value in (*left.point, *right.point))
    return math.dist(left.point, right.point) > _SHORT * size


def _middle(left: Line, right: Line) -> float:
    angle = chord_angle(left, right)
    if left.angle + _THIN < angle < right.angle - _THIN:
        return angle
    return 0.5 * (left.angle + right.angle)


def _foretells(left: Line, middle: Line, right: Line) -> bool:
    """Whether the parabola of an arc has the point that was found at an angle in between."""
    a, b, c = (np.array(point) for point in (left.point, _control(left, right), right.point))
    normal = np.array([math.cos(middle.angle), math.sin(middle.angle)])
    fall, rise = float(normal @ (a - b)), float(normal @ (c - b))
    s = fall / (fall + rise) if fall + rise > 0 else 0.5
    guess = (1 - s) ** 2 * a + 2 * s * (1 - s) * b + s**2 * c
    off = np.abs(guess - middle.point)
    return bool((off <= _FORETOLD * np.maximum(middle.point, 1e-12)).all())
