"""Plane geometry of the boundary walk: what is cut off must lie outside every supporting line."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.lines import Boundary, clip, corner, leave_box, normal_angle
from tests import reference

_HALVES = np.array([0.5, 0.5])


def touch(angle):
    """Where the circle around (3, 3) of radius 1 touches its line with inner normal at an angle."""
    return 3 - math.cos(angle), 3 - math.sin(angle)


@pytest.mark.parametrize("first", [-45.0, -10.0, 30.0])
@pytest.mark.parametrize("turn", [1e-5, 1.0, 45.0, 89.0, 91.0, 120.0, 160.0])
def test_the_corner_lies_on_both_lines_however_wide_the_arc(first, turn):
    left, right = math.radians(first), math.radians(first + turn)
    q = corner(touch(left), left, touch(right), right)
    for angle in (left, right):
        normal = np.array([math.cos(angle), math.sin(angle)])
        assert normal @ q == pytest.approx(normal @ touch(angle), rel=1e-12)


def test_a_corner_of_one_point_is_that_point():
    assert corner((1.0, 2.0), 0.1, (1.0, 2.0), 0.5) == pytest.approx((1.0, 2.0))


@pytest.mark.parametrize("degrees", [-40.0, 0.0, 45.0, 90.0, 130.0])
def test_the_normal_of_an_edge_points_inside(degrees):
    angle = math.radians(degrees)
    # With growing angle the touching point moves along (sin t, -cos t).
    assert normal_angle((math.sin(angle), -math.cos(angle))) == pytest.approx(angle)


def test_a_corner_below_the_axis_is_cut_off_and_not_raised_to_it():
    path = clip([(1.0, 2.0), (2.0, -1.0), (5.0, 0.5)], (0.0, 0.0))
    assert np.array(path) == pytest.approx(
        np.array([[1.0, 2.0], [1 + 2 / 3, 0.0], [4.0, 0.0], [5.0, 0.5]])
    )


def test_an_end_below_the_level_is_raised_to_it():
    path = clip([(1.0, 2.0), (4.0, -1.0)], (0.0, 0.5))
    assert np.array(path) == pytest.approx(np.array([[1.0, 2.0], [2.5, 0.5], [4.0, 0.5]]))
    path = clip([(0.1, 2.0), (4.0, 1.0)], (0.5, 0.0))
    assert np.array(path)[[0, -1]] == pytest.approx(np.array([[0.5, 2.0], [4.0, 1.0]]))


def test_a_path_above_the_bound_is_left_as_it_is():
    path = [(1.0, 2.0), (2.0, 1.0), (5.0, 0.5)]
    assert clip(path, (0.5, 0.5)) == path


@pytest.mark.parametrize(
    ("point", "direction", "expected"),
    [
        ((1.0, 1.0), (1.0, 0.0), [(1, 1), (4, 1)]),
        ((1.0, 1.0), (0.0, 1.0), [(1, 1), (1, 6)]),
        ((1.0, 1.0), (0.6, 0.8), [(1, 1), (4, 5)]),
        ((1.0, 1.0), (0.8, -0.6), [(1, 1), (1 + 4 / 3, 0), (4, 0)]),
        ((1.0, 1.0), (-0.6, 0.8), [(1, 1), (0, 1 + 4 / 3), (0, 6)]),
    ],
)
def test_a_line_is_followed_to_the_walls_of_the_box(point, direction, expected):
    path = leave_box(point, direction, (4.0, 6.0))
    assert np.array(path) == pytest.approx(np.array(expected, dtype=float))


@pytest.mark.parametrize("angle", [0.2, 0.8, 1.4])
def test_an_edge_that_ends_in_the_box_follows_its_supporting_line(angle):
    problem = SubspaceProblem(reference.random_moments(np.random.default_rng(0), 2, 5), _HALVES, 2)
    boundary = Boundary(problem)
    line = boundary.add(angle)
    normal = np.array([math.cos(angle), math.sin(angle)])
    for ends in ((None, line), (line, None)):
        start, leaving, *_ = boundary.path(*ends)
        assert start == line.point
        assert normal @ leaving == pytest.approx(normal @ start, rel=1e-12)
        assert leaving != start


def test_where_a_line_meets_an_axis_its_error_is_exactly_0():
    rng = np.random.default_rng(0)
    for _ in range(100):
        point, angle = tuple(rng.uniform(1, 3, 2).tolist()), rng.uniform(0.2, 1.3)
        wall = leave_box(point, (-math.cos(angle), math.sin(angle) * 1e-3), (4.0, 6.0))
        assert wall[1][0] == 0.0
        assert wall[-1] == (0.0, 6.0)
