"""The exact solver for two groups, against computations that share no code with it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.angle import solve_boundary
from fairspan.solvers.two_groups.lines import Boundary
from fairspan.solvers.two_groups.pieces import TwoPieces
from tests import reference

FAIRNESS_WEIGHTS = (0.0, 0.05, 0.5, 2.5, 20.0)
SEEDS = range(12)


def solve(moments, shares, k, fairness_weight, radii, **options):
    problem = SubspaceProblem(np.asarray(moments), np.asarray(shares), k)
    objective = RobustFairObjective(np.asarray(shares), fairness_weight, np.asarray(radii))
    return solve_boundary(problem, objective, **options)


def assert_value_attained(result, moments, shares, fairness_weight, radii):
    """The objective is that of the subspace, whose errors are known up to rounding.

    The rounding of an error shows by its root beside a radius, in the eighth digit.
    """
    errors = reference.group_errors(moments, result.components.T)
    rounding = 10 * moments.shape[1] * 2**-53 * np.trace(moments, axis1=1, axis2=2)
    near = [
        reference.objective(
            np.maximum(errors + signs * rounding, 0), shares, fairness_weight, radii
        )
        for signs in itertools.product((-1, 0, 1), repeat=2)
    ]
    slack = 1e-12 * abs(result.objective) + (1 + 2 * fairness_weight) * rounding.sum()
    assert min(near) - slack <= result.objective <= max(near) + slack


def check_result(result, moments, shares, fairness_weight, radii, tol=1e-8):
    """The value is attained, the bound is below it, the certificate is within the tolerance."""
    V = result.components.T
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-10)
    assert_value_attained(result, moments, shares, fairness_weight, radii)
    assert result.lower_bound <= result.objective
    assert result.status == "optimal"
    assert result.optimality_gap <= tol


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", ["no", "small", "large", "one-sided"])
def test_generic_moments_are_solved_to_the_scanned_minimum(seed, size):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 10))
    moments = reference.random_moments(rng, 2, d)
    share = rng.uniform(0.02, 0.98)
    shares = np.array([share, 1 - share])
    typical = np.trace(moments[0]) / d
    radii = (
        typical
        * {
            "no": np.zeros(2),
            "small": rng.exponential(0.01, 2),
            "large": rng.exponential(20.0, 2),
            "one-sided": np.array([0.0, rng.exponential(1.0)]),
        }[size]
    )
    scan = reference.scan_boundary(moments[0], moments[1])
    for k in range(1, d):
        for fairness_weight in FAIRNESS_WEIGHTS:
            result = solve(moments, shares, k, fairness_weight, radii)
            check_result(result, moments, shares, fairness_weight, radii)
            scanned = reference.two_group_objective(
                scan[:, k], shares, fairness_weight, radii
            ).min()
            assert result.lower_bound <= scanned * (1 + 1e-12)
            assert result.objective <= scanned * (1 + 1e-8)


def attained_by_commuting(moments, k, n_steps=400):
    """Errors of all coordinate subspaces and of the straight paths between any two of them.

    Moments share the coordinate axes as eigenvectors; the attainable errors are the convex hull
    of those of coordinate subspaces, whose edges are among the paths.
    """
    diagonals = np.array([np.diag(moment) for moment in moments])
    d = diagonals.shape[1]
    lost = [list(set(range(d)) - set(kept)) for kept in itertools.combinations(range(d), k)]
    points = np.array([diagonals[:, rest].sum(axis=1) for rest in lost])
    s = np.linspace(0.0, 1.0, n_steps)[:, None, None, None]
    return ((1 - s) * points[:, None] + s * points[None, :]).reshape(-1, 2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("turned", [False, True], ids=["diagonal", "commuting"])
def test_commuting_moments_have_flat_pieces_and_are_solved_all_the_same(seed, turned):
    rng = np.random.default_rng(100 + seed)
    d = int(rng.integers(3, 7))
    moments = np.array([np.diag(rng.exponential(1.0, d)) for _ in range(2)])
    if seed % 3 == 0:
        moments = np.round(2 * moments) / 2  # ties between eigenvalues, and zeros
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0] if turned else np.eye(d)
    rotated = Q @ moments @ Q.T
    rotated = (rotated + rotated.transpose(0, 2, 1)) / 2
    share = rng.uniform(0.05, 0.95)
    shares = np.array([share, 1 - share])
    for k in range(1, d):
        attained = attained_by_commuting(moments, k)
        for fairness_weight in FAIRNESS_WEIGHTS:
            for radii in (np.zeros(2), np.array([0.02, 0.05]), np.array([9.0, 3.0])):
                values = reference.two_group_objective(attained, shares, fairness_weight, radii)
                result = solve(rotated, shares, k, fairness_weight, radii)
                check_result(result, rotated, shares, fairness_weight, radii)
                assert result.lower_bound <= values.min() * (1 + 1e-9) + 1e-9
                assert result.objective <= values.min() * (1 + 1e-8) + 1e-8


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rows", [(2, 200), (2, 2), (3, 40)])
def test_groups_of_two_rows_are_solved(seed, rows):
    rng = np.random.default_rng(seed)
    d = 6
    X = rng.standard_normal((sum(rows), d)) @ rng.standard_normal((d, d))
    groups = np.repeat([0, 1], rows)
    moments, shares = reference.group_second_moments(X, groups)
    scan = reference.scan_boundary(moments[0], moments[1])
    for k in (1, 2, 3, 5):
        for fairness_weight in (0.0, 0.5, 2.5):
            for radius in (0.0, 0.15, 1.0, 50.0):
                radii = radius / np.sqrt(rows)
                result = solve(moments, shares, k, fairness_weight, radii)
                check_result(result, moments, shares, fairness_weight, radii)
                scanned = reference.two_group_objective(
                    scan[:, k], shares, fairness_weight, radii
                ).min()
                assert result.lower_bound <= scanned * (1 + 1e-9) + 1e-12
                assert result.objective <= scanned * (1 + 1e-8) + 1e-8


def test_equal_moments_leave_nothing_to_balance():
    rng = np.random.default_rng(0)
    M = reference.random_moments(rng, 1, 5)[0]
    least = np.linalg.eigvalsh(M)[:3].sum()
    result = solve([M, M], [0.3, 0.7], 2, 4.0, [0.0, 0.0])
    assert result.objective == pytest.approx(least, rel=1e-9)
    assert result.group_errors == pytest.approx([least, least], rel=1e-9)


def test_a_ridge_inside_a_flat_piece_is_met_by_the_swap_of_eigenvectors():
    # Two features, one for each group: only the diagonal serves both alike.
    moments = np.array([np.diag([1.0, 0.0, 0.0]), np.diag([0.0, 1.0, 0.0])])
    result = solve(moments, [0.5, 0.5], 1, 3.0, [0.0, 0.0])
    assert result.group_errors == pytest.approx([0.5, 0.5], abs=1e-9)
    assert np.abs(result.components[0]) == pytest.approx([0.5**0.5, 0.5**0.5, 0.0], abs=1e-8)


def test_a_root_that_rounding_hides_does_not_stop_the_walk():
    rng = np.random.default_rng(26)
    assert rng.integers(3, 7) == 6
    moments, share = reference.random_moments(rng, 2, 6), rng.uniform(0.1, 0.9)
    shares = np.array([share, 1 - share])
    result = solve(moments, shares, 5, 1.0, np.zeros(2))
    check_result(result, moments, shares, 1.0, np.zeros(2))


def test_swapping_the_groups_swaps_the_errors():
    rng = np.random.default_rng(8)
    moments = reference.random_moments(rng, 2, 6)
    one = solve(moments, [0.2, 0.8], 2, 0.6, [0.3, 0.1])
    other = solve(moments[::-1].copy(), [0.8, 0.2], 2, 0.6, [0.1, 0.3])
    assert other.objective == pytest.approx(one.objective, rel=1e-8)
    assert other.group_errors == pytest.approx(one.group_errors[::-1], rel=1e-3)


def test_known_lines_serve_other_objectives_and_keep_their_bounds_true():
    rng = np.random.default_rng(9)
    moments, shares = reference.random_moments(rng, 2, 7), np.array([0.35, 0.65])
    problem = SubspaceProblem(moments, shares, 2)
    boundary = Boundary(problem)
    for fairness_weight in (0.0, 0.2, 0.5, 1.0, 3.0):
        for radii in (np.zeros(2), np.array([0.1, 0.05]), np.array([4.0, 9.0])):
            objective = RobustFairObjective(shares, fairness_weight, radii)
            shared = solve_boundary(problem, objective, boundary=boundary)
            alone = solve(moments, shares, 2, fairness_weight, radii)
            check_result(shared, moments, shares, fairness_weight, radii)
            assert shared.objective == pytest.approx(alone.objective, rel=1e-8)
            assert shared.lower_bound <= alone.objective
            assert shared.n_eigensolves <= alone.n_eigensolves
    assert problem.n_eigensolves <= 60


def test_known_lines_of_heavier_weights_prove_nothing_of_lighter_ones():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        shares = np.array([0.3, 0.7])
        problem = SubspaceProblem(reference.random_moments(rng, 2, 6), shares, 2)
        heavy, light = (RobustFairObjective(shares, w, np.zeros(2)) for w in (50.0, 0.05))
        boundary = Boundary(problem)
        solve_boundary(problem, heavy, boundary=boundary)
        known = solve_boundary(problem, light, boundary=boundary)
        alone = solve_boundary(problem, light)
        assert known.objective == pytest.approx(alone.objective, rel=1e-8)
        assert known.lower_bound <= alone.objective * (1 + 1e-12)


def test_the_history_closes_in_and_ends_at_the_result():
    rng = np.random.default_rng(10)
    result = solve(reference.random_moments(rng, 2, 8), [0.4, 0.6], 3, 2.0, [0.2, 0.1])
    values, bounds = result.history.T
    assert np.all(np.diff(values) <= 0)
    assert np.all(bounds <= values)
    assert np.all(bounds <= result.objective)
    assert bounds[-1] == pytest.approx(result.lower_bound, rel=1e-8)
    assert result.n_eigensolves >= len(result.history)


def test_a_walk_that_is_stopped_early_says_so_and_its_bound_is_true():
    rng = np.random.default_rng(11)
    moments = reference.random_moments(rng, 2, 8)
    done = solve(moments, [0.4, 0.6], 3, 2.0, [0.2, 0.1])
    for max_iter in (1, 2, 3):
        stopped = solve(moments, [0.4, 0.6], 3, 2.0, [0.2, 0.1], max_iter=max_iter)
        assert stopped.lower_bound <= done.objective <= stopped.objective * (1 + 1e-12)
        if stopped.status != "optimal":
            assert stopped.status == "iteration_limit"
            assert stopped.optimality_gap > 1e-8
    assert solve(moments, [0.4, 0.6], 3, 2.0, [0.2, 0.1], max_iter=1).status != "optimal"


def test_three_groups_are_refused_with_the_solver_that_takes_them():
    problem = SubspaceProblem(np.array([np.eye(3)] * 3), np.full(3, 1 / 3), 1)
    objective = RobustFairObjective(np.full(3, 1 / 3), 1.0, np.zeros(3))
    with pytest.raises(ValueError, match="solver='boundary' needs exactly 2 groups"):
        solve_boundary(problem, objective)


@pytest.mark.parametrize("seed", range(6))
def test_a_refined_answer_has_the_errors_it_is_valued_by_and_keeps_its_tolerance(seed):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((2, 6, 6))
    moments, shares = factors @ factors.transpose(0, 2, 1), np.array([0.3, 0.7])
    radii = rng.exponential(0.1, 2)
    problem, objective = (
        SubspaceProblem(moments, shares, 2),
        RobustFairObjective(shares, 0.4, radii),
    )
    found = solve_boundary(problem, objective, tol=1e-11)
    assert found.objective == pytest.approx(objective.value(found.group_errors), rel=1e-15)
    assert found.lower_bound <= found.objective
    assert found.status == "optimal"


@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_subtracted_from_the_bound_of_a_straight_objective(seed):
    moments = reference.random_moments(np.random.default_rng(seed), 2, 12)
    problem = SubspaceProblem(moments, np.array([0.4, 0.6]), 3)
    objective = RobustFairObjective(problem.shares, 0.0, np.zeros(2))
    known = Boundary(problem)
    known.add(math.atan2(0.6, 0.4))
    rounding = float(problem.shares @ problem.rounding)
    assert rounding > 0
    # From known lines the walk goes on, and here it has nothing left to do.
    for boundary in (None, known):
        found = solve_boundary(problem, objective, boundary=boundary)
        assert found.objective - found.lower_bound >= rounding
        assert found.optimality_gap < 1e-10


@pytest.mark.parametrize("seed", range(40))
def test_no_point_within_the_guard_of_a_path_is_below_the_bound_of_the_path(seed):
    """Guards as large as the errors: what they are for is seldom more than rounding."""
    rng = np.random.default_rng(seed)
    radii = rng.choice([0.0, 0.5, 3.0], 2)
    references = None if seed % 4 < 2 else rng.exponential(2.0, 2)
    shares, weight = rng.dirichlet([1.0, 1.0]), float(rng.choice([0.1, 1.0, 5.0]))
    compared = (None, ("gap", "largest")[seed % 2], references)
    pieces = TwoPieces(RobustFairObjective(shares, weight, radii, *compared))
    guard = rng.choice([0.0, 0.2, 1.0]) * rng.exponential(1.0, 2)
    path = guard + rng.exponential(1.0, (3, 2))
    bound = pieces.lowest_on([tuple(m) for m in path.tolist()], tuple(guard.tolist())).bound
    guarded = [pieces.guarded(m, tuple(guard.tolist())) for m in path.tolist()]
    for part, share in itertools.product((0, 1), np.linspace(0, 1, 30)):
        middle = (1 - share) * path[part] + share * path[part + 1]
        for signs in itertools.product((-1, 0, 1), repeat=2):
            m = np.maximum(middle + signs * guard, 0.0)
            value = reference.compared_objective(m, shares, weight, radii, *compared)
            assert value >= bound - 1e-12 * (1 + abs(bound))
            if share == 0:
                both = pieces.both(tuple(m.tolist()))
                assert np.all(np.array(both) >= np.array(guarded[part]) - 1e-12)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_path_that_leaves_an_axis_is_bounded_where_it_leaves_its_guard(axis):
    """Up to there the first error may be 0 still, while the second one has fallen."""
    turn = slice(None, None, -1 if axis else 1)
    radii = np.array([3.0, 0.0])[turn]
    pieces = TwoPieces(RobustFairObjective(np.full(2, 0.5), 0.0, radii))
    path = [(0.0, 3.0)[turn], (1.5, 2.4)[turn]]
    bound = pieces.lowest_on(path, (1.0, 0.0)[turn]).bound
    assert bound == pytest.approx(0.5 * 3 + 0.5 * 2.6)
