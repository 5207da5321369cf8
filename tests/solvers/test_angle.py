"""Newton's method in the angle: bounds that hold in higher precision, and how often it suffices."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairspan.ground.types import UNIT
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.angle import AngleNewton, solve_boundary
from fairspan.solvers.two_groups.lines import Boundary, Line, TwoMoments
from fairspan.solvers.two_groups.pieces import Polygon, TwoPieces
from tests import reference

LONG = np.longdouble


def drawn(seed):
    """Moments of any rank and scale, and an objective of any kind."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 12))
    k = int(rng.integers(1, d))
    ranks = rng.integers(1, d + 1, 2) if seed % 5 == 0 else (None, None)
    moments = np.concatenate([reference.random_moments(rng, 1, d, rank) for rank in ranks])
    moments *= 10.0 ** rng.choice([-6.0, 0.0, 6.0])
    if seed % 7 == 0:
        moments *= 10.0 ** rng.uniform(-3, 3, (2, 1, 1))
    shares = rng.dirichlet([1.0, 1.0])
    typical = float(np.trace(moments, axis1=1, axis2=2).mean())
    radii = typical * rng.choice([0.0, 1e-6, 1e-3, 0.1, 10.0]) * rng.exponential(1.0, 2)
    weight = float(rng.choice([0.0, 0.02, 0.3, 1.0, 20.0]))
    disparity = str(rng.choice(["gap", "gap", "largest"]))
    references = rng.exponential(0.02 * typical, 2) if weight > 0 and seed % 4 == 0 else None
    objective = RobustFairObjective(shares, weight, radii, None, disparity, references)
    return SubspaceProblem(moments, shares, k), objective


def precise_errors(problem, subspace):
    """Group errors of a subspace in higher precision."""
    V = subspace.astype(LONG)
    for _ in range(2):  # orthonormal to the last digit: Newton steps towards the polar factor
        V = V @ (1.5 * np.eye(V.shape[1], dtype=LONG) - 0.5 * (V.T @ V))
    moments = problem.moments.astype(LONG)
    return np.array([max(np.trace(M) - np.sum(V * (M @ V)), LONG(0)) for M in moments])


def precise_objective(objective, errors):
    """The objective of group errors in higher precision."""
    o = objective
    shares, radii = o.shares.astype(LONG), o.radii.astype(LONG)
    others = (None, o.disparity, o.references)
    return reference.compared_objective(errors, shares, LONG(o.fairness_weight), radii, *others)


def precise_value(problem, objective, subspace):
    return precise_objective(objective, precise_errors(problem, subspace))


def refined_scan(problem, objective):
    """Angles around the best of a scan, refined to about a millionth of a degree."""
    low, high = -0.25 * math.pi, 0.75 * math.pi
    best = None
    for _ in range(6):
        angles = np.linspace(low, high, 61)
        combined = np.tensordot(np.stack([np.cos(angles), np.sin(angles)], 1), problem.moments, 1)
        spaces = np.linalg.eigh(combined)[1][:, :, -problem.k :]
        kept = np.stack([np.sum(spaces * (M @ spaces), axis=(1, 2)) for M in problem.moments], 1)
        place = int(np.argmin(objective.values(np.maximum(problem.traces - kept, 0.0))))
        best = spaces[place]
        low, high = (angles[place] - 2 * (high - low) / 60, angles[place] + 2 * (high - low) / 60)
    return best


@pytest.mark.parametrize("part", range(8))
def test_no_bound_is_above_the_value_of_any_subspace_in_higher_precision(part):
    proved = 0
    for seed in range(50 * part, 50 * part + 50):
        problem, objective = drawn(seed)
        found = AngleNewton(Boundary(problem), objective, 1e-8, 1000).find()
        if found is None or found.bound == -math.inf:
            continue
        size = objective.size(found.errors)
        proved += found.value - found.bound <= 1e-8 * size
        assert found.bound <= precise_value(problem, objective, found.subspace)
        scanned = refined_scan(problem, objective)
        assert found.bound <= precise_value(problem, objective, scanned)
        if found.value - found.bound <= 1e-8 * size:
            assert found.value <= objective.value(problem.errors(scanned)) + 2e-8 * size
    # Errors of 0, corners of the boundary and radii beyond the variance are left to the walk.
    assert proved >= 30


@pytest.mark.parametrize("weight", [0.0, 0.3, 2.5])
def test_ordinary_problems_are_proved_in_a_handful_of_eigen_solves(weight):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        moments, shares = reference.random_moments(rng, 2, 20), np.array([0.3, 0.7])
        problem = SubspaceProblem(moments, shares, 4)
        objective = RobustFairObjective(shares, weight, np.full(2, 1e-3))
        result = solve_boundary(problem, objective)
        assert result.status == "optimal"
        assert result.n_eigensolves <= 12
        # Stationary to rounding: neighbours on the curve are no better, and errors agree.
        nearby = [result.components.T + 1e-4 * rng.standard_normal((20, 4)) for _ in range(5)]
        values = [objective.value(problem.errors(np.linalg.qr(V)[0])) for V in nearby]
        assert result.objective <= min(values)


@pytest.mark.parametrize("part", range(4))
def test_no_point_that_the_lines_allow_is_below_the_bound_on_the_polygon(part):
    """Slacks as large as the errors: what they are for is seldom more than rounding."""
    used = sum(map(check_polygon, range(60 * part, 60 * part + 60)))
    assert used >= 40


def check_polygon(seed):
    rng = np.random.default_rng(seed)
    radii = rng.choice([0.0, 0.5, 3.0], 2)
    references = None if seed % 4 < 2 else rng.exponential(0.5, 2)
    shares, weight = rng.dirichlet([1.0, 1.0]), float(rng.choice([0.0, 0.1, 1.0, 5.0]))
    compared = (None, ("gap", "largest")[seed % 2], references)
    pieces = TwoPieces(RobustFairObjective(shares, weight, radii, *compared))
    upper, point = np.array([4.0, 5.0]), 0.3 + rng.exponential(0.5, 2)
    angle, slack = float(rng.uniform(-0.7, 2.3)), float(rng.choice([0.0, 0.3]))
    polygon = Polygon(Line(angle, tuple(point.tolist()), slack, np.empty(0)), (4.0, 5.0))
    if not polygon.cuts_off_origin or max(point) > 3:
        return False
    if seed % 3:
        polygon.split(pieces)
    normals = [normal := np.array([math.cos(angle), math.sin(angle)])]
    levels = [float(normal @ point) - slack]
    for aside in angle + rng.uniform(-0.9, 0.9, int(rng.integers(0, 4))):
        normals.append(np.array([math.cos(aside), math.sin(aside)]))
        # It passes the middle at some distance, as lines that touch the same set do.
        levels.append(float(normals[-1] @ polygon.middle) - rng.exponential(0.1))
        polygon.add(float(aside), levels[-1])
    bound = pieces.lowest_on(polygon.edge(), (0.0, 0.0)).bound
    steps = np.linspace(0.0, 1.0, 60)
    points = [upper * np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2)]
    for n, level in zip(normals, levels, strict=True):
        points.append(level * n + (12 * steps[:, None] - 6) * np.array([n[1], -n[0]]))
    m = np.concatenate(points)
    allowed = (m @ np.stack(normals, 1) >= np.array(levels) - 1e-12).all(axis=1)
    for one in m[allowed & (m >= 0).all(axis=1) & (m <= upper).all(axis=1)]:
        value = reference.compared_objective(one, shares, weight, radii, *compared)
        assert value >= bound - 1e-9
    return True


@pytest.mark.parametrize("seed", range(20))
def test_lines_and_values_give_way_by_more_than_their_rounding(seed):
    problem, objective = drawn(seed)
    moments = TwoMoments(problem)
    for angle in np.random.default_rng(seed).uniform(-0.7, 2.3, 10).tolist():
        solve, n = moments.solve(angle), np.array([math.cos(angle), math.sin(angle)], LONG)
        attained = n @ precise_errors(problem, solve.line.subspace)
        # An eigen-solve may be off by a small multiple of its size: all of that is given way.
        sizes = abs(n) @ np.linalg.norm(problem.moments, axis=(1, 2))
        assert moments.support(angle) <= attained - 3 * problem.d * UNIT * sizes
        assert n @ np.array(solve.line.point, LONG) - LONG(solve.line.slack) <= attained
        m = np.random.default_rng(seed).exponential(1.0, 2)
        values = TwoPieces(objective).guarded(tuple(m.tolist()), (0.0, 0.0))
        assert max(values) <= precise_objective(objective, m.astype(LONG))


@pytest.mark.parametrize("piece", [0, 1, 2])
def test_a_line_that_rounding_moves_behind_the_origin_proves_nothing(piece):
    problem, objective = drawn(1)
    newton = AngleNewton(Boundary(problem), objective, 1e-8, 10)
    solve = newton.moments.solve(0.8)
    line = Line(solve.line.angle, solve.line.point, 2 * sum(solve.line.point), solve.line.subspace)
    assert newton._prove(solve._replace(line=line), piece, math.inf, 1.0) == -math.inf


@pytest.mark.parametrize("tol", [1e-8, 1e-3, 0.1, 1e300])
def test_columns_are_orthonormal_however_loose_the_tolerance(tol):
    for seed in range(40):
        V = solve_boundary(*drawn(seed), tol=tol).components
        assert np.abs(V @ V.T - np.eye(len(V))).max() < 1e-13
