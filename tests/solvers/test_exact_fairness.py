"""Exactly fair subspaces, against the eigenvalues of small matrices and against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairspan.objectives import RobustFairObjective, TotalErrorWithinGap
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import Boundary, solve
from fairspan.solvers.two_groups.angle import solve_boundary
from tests import reference
from tests.conftest import PAPER_FILES, needs_paper_data, paper_table, standardised


def solve_exactly_fair(problem, *, max_gap=0.0, boundary=None):
    return solve(problem, TotalErrorWithinGap(problem.shares, max_gap), boundary=boundary)


KINDS = ("generic", "plane", "commuting", "ties", "low rank")


def random_problem(seed):
    """Moments of many kinds; every third problem allows a gap."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    d = 2 if kind == "plane" else int(rng.integers(3, 13))
    if kind in ("commuting", "ties"):
        moments = np.array([np.diag(rng.exponential(1.0, d)) for _ in range(2)])
        if kind == "ties":
            moments = np.round(2 * moments) / 2
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0] if seed % 2 else np.eye(d)
        moments = Q @ moments @ Q.T
        moments = (moments + moments.transpose(0, 2, 1)) / 2
    else:
        moments = reference.random_moments(rng, 2, d, max(d // 2, 1) if kind == "low rank" else d)
    share = rng.uniform(0.02, 0.98)
    problem = SubspaceProblem(moments, np.array([share, 1 - share]), int(rng.integers(1, d)))
    max_gap = 0.0 if seed % 3 else float(rng.exponential(0.2)) * problem.scale / d
    return problem, max_gap


def difference_range(moments, k):
    """Sums of the d - k smallest and of the d - k largest eigenvalues of M_0 - M_1."""
    values = np.linalg.eigvalsh(moments[0] - moments[1])
    return values[: len(values) - k].sum(), values[k:].sum()


def dual_value(problem, multiplier, max_gap):
    mixed = np.tensordot(problem.shares + multiplier * np.array([1.0, -1.0]), problem.moments, 1)
    least = np.linalg.eigvalsh(mixed)[: problem.d - problem.k].sum()
    return least - max_gap * abs(multiplier)


def check_solution(problem, solution, max_gap):
    """The value is attained within the gap, and the dual value proves it optimal."""
    result = solution
    V = result.components.T
    np.testing.assert_allclose(V.T @ V, np.eye(problem.k), atol=1e-12)
    errors = reference.group_errors(problem.moments, V)
    assert abs(errors[0] - errors[1]) - max_gap <= 1e-10 * problem.scale
    assert result.objective == pytest.approx(problem.shares @ errors, abs=1e-12 * problem.scale)
    assert result.status == "optimal"
    assert result.lower_bound <= result.objective
    assert result.optimality_gap <= 1e-8
    if math.isfinite(solution.threshold):
        weight = solution.threshold
        dual = max(dual_value(problem, sign * weight, max_gap) for sign in (1, -1))
        unit = max(result.objective, 1e-4 * problem.scale)
        assert dual == pytest.approx(result.objective, abs=1e-7 * unit)


@pytest.mark.parametrize("block", range(10))
def test_a_thousand_random_pairs_are_fair_and_certified_or_rightly_refused(block):
    counts = []
    for seed in range(100 * block, 100 * (block + 1)):
        problem, max_gap = random_problem(seed)
        low, high = difference_range(problem.moments, problem.k)
        slack = 1e-13 * problem.scale
        if low > max_gap + slack or high < -max_gap - slack:
            with pytest.raises(ValueError, match="stays within"):
                solve_exactly_fair(problem, max_gap=max_gap)
            continue
        solution = solve_exactly_fair(problem, max_gap=max_gap)
        check_solution(problem, solution, max_gap)
        assert solution.n_eigensolves == problem.n_eigensolves
        counts.append(solution.n_eigensolves)
    assert np.mean(counts) <= 10


@pytest.mark.parametrize("seed", range(8))
def test_no_other_fair_subspace_has_a_smaller_total_error(seed):
    """For three features every fair direction can be listed: a curve on the sphere."""
    rng = np.random.default_rng(seed)
    moments = reference.random_moments(rng, 2, 3)
    problem = SubspaceProblem(moments, np.array([0.3, 0.7]), 1)
    low, high = difference_range(moments, 1)
    if low > 0 or high < 0:
        with pytest.raises(ValueError, match="stays within"):
            solve_exactly_fair(problem)
        return
    result = solve_exactly_fair(problem)
    threshold = result.threshold
    polar, turn = np.meshgrid(np.linspace(0, np.pi, 801), np.linspace(0, np.pi, 801))
    V = np.array([np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)])
    lost = [np.trace(M) - np.einsum("i...,ij,j...->...", V, M, V) for M in moments]
    near = np.abs(lost[0] - lost[1]) <= 2e-3 * problem.scale
    totals = (0.3 * lost[0] + 0.7 * lost[1])[near]
    # Directions of the grid are fair to 2e-3 only; the multiplier says how much that may gain.
    allowed = 2e-3 * problem.scale * threshold
    assert result.objective <= totals.min() + allowed
    assert result.objective >= totals.min() - 0.02 * problem.scale


def test_equal_moments_give_pca():
    M = reference.random_moments(np.random.default_rng(0), 1, 6)[0]
    problem = SubspaceProblem(np.array([M, M]), np.array([0.3, 0.7]), 2)
    result = solve_exactly_fair(problem)
    threshold = result.threshold
    assert result.objective == pytest.approx(np.linalg.eigvalsh(M)[:4].sum(), rel=1e-12)
    assert threshold == 0
    assert result.n_eigensolves == 1


def test_a_gap_that_pca_keeps_needs_nothing_but_pca():
    problem, _ = random_problem(0)
    pca = problem.best_subspace(problem.shares)
    allowed = float(np.ptp(pca.errors))
    result = solve_exactly_fair(problem, max_gap=allowed)
    threshold = result.threshold
    assert result.group_errors == pytest.approx(pca.errors)
    assert threshold == 0


@pytest.mark.parametrize("max_gap", [1e10, 1e300])
def test_a_gap_far_above_all_errors_leaves_pca_proved(max_gap):
    for seed in range(6):
        problem, _ = random_problem(seed)
        result = solve_exactly_fair(problem, max_gap=max_gap)
        pooled = np.tensordot(problem.shares, problem.moments, 1)
        least = np.linalg.eigvalsh(pooled)[: problem.d - problem.k].sum()
        assert result.objective == pytest.approx(least, abs=1e-12 * problem.scale)
        assert result.optimality_gap <= 1e-9
        assert result.status == "optimal"
        assert result.threshold == 0


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_where_only_the_limit_is_fair_ties_are_broken_by_the_total_error(k, swap):
    """M_0 - M_1 = ww': equal errors need w inside the subspace, the rest is free."""
    rng = np.random.default_rng(k)
    M = reference.random_moments(rng, 1, 5)[0]
    w = rng.standard_normal(5)
    w /= np.linalg.norm(w)
    moments = np.array([M, M + np.outer(w, w)] if swap else [M + np.outer(w, w), M])
    problem = SubspaceProblem(moments, np.array([0.4, 0.6]), k)
    solution = solve_exactly_fair(problem)
    check_solution(problem, solution, 0.0)
    rest = np.linalg.svd(w[None])[2][1:]
    expected = np.linalg.eigvalsh(rest @ M @ rest.T)[: 5 - k].sum()
    assert solution.objective == pytest.approx(expected, rel=1e-10)
    assert solution.threshold == math.inf


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("limit", [False, True], ids=["range", "half-line"])
@pytest.mark.parametrize("turned", [False, True])
def test_of_several_multipliers_the_least_is_the_threshold(swap, limit, turned):
    """The first axis is fair and leads from 0.25 on: up to 0.4, or (without the third) for ever."""
    pooled = np.array([1.5, 2.0, 0.5, 0.0] if limit else [1.5, 2.0, 1.1, 0.6])
    apart = np.array([1.0, -1.0, 1.0, 0.0] if limit else [1.0, -1.0, 2.0, -1.0])
    moments = np.array([np.diag(pooled + apart / 2), np.diag(pooled - apart / 2)])
    if turned:
        Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
        moments = Q @ moments @ Q.T
    problem = SubspaceProblem(moments[::-1] if swap else moments, np.array([0.5, 0.5]), 1)
    solution = solve_exactly_fair(problem)
    check_solution(problem, solution, 0.0)
    assert solution.objective == pytest.approx(pooled[1:].sum())
    assert solution.threshold == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_below_the_threshold_the_dual_is_smaller(seed):
    problem, max_gap = random_problem(4 * len(KINDS) + seed)
    try:
        result = solve_exactly_fair(problem, max_gap=max_gap)
        threshold = result.threshold
    except ValueError:
        return
    if 0 < threshold < math.inf:
        below = max(dual_value(problem, sign * 0.95 * threshold, max_gap) for sign in (1, -1))
        assert below < result.objective - 1e-9 * problem.scale


def test_lines_already_known_are_used():
    problem, _ = random_problem(0)
    boundary = Boundary(problem)
    first = solve_exactly_fair(problem, boundary=boundary)
    again = solve_exactly_fair(problem, boundary=boundary)
    assert again.objective == pytest.approx(first.objective, rel=1e-12)
    assert again.n_eigensolves <= 1
    fresh = solve_exactly_fair(problem, max_gap=1e-3, boundary=boundary)
    check_solution(problem, fresh, 1e-3)


def test_all_components_have_no_error():
    problem, _ = random_problem(0)
    whole = SubspaceProblem(problem.moments, problem.shares, problem.d)
    result = solve_exactly_fair(whole)
    threshold = result.threshold
    assert result.objective == 0
    assert threshold == 0


@pytest.mark.parametrize("seed", range(0, 30, 5))
def test_scaling_the_moments_scales_the_errors_and_leaves_the_threshold(seed):
    problem, _ = random_problem(seed)
    low, high = difference_range(problem.moments, problem.k)
    if low > 0 or high < 0:
        return
    expected = solve_exactly_fair(problem)
    for factor in (1e-12, 1e12):
        scaled = SubspaceProblem(factor * problem.moments, problem.shares, problem.k)
        found = solve_exactly_fair(scaled)
        assert found.objective == pytest.approx(factor * expected.objective)
        assert found.threshold == pytest.approx(expected.threshold, rel=1e-4)


@needs_paper_data
@pytest.mark.parametrize("name", PAPER_FILES)
def test_the_papers_data_is_fair_and_certified_or_rightly_refused(name):
    X, groups, _ = paper_table(name)
    moments, shares = reference.group_second_moments(standardised(X), groups)
    for k in (k for k in (1, 2, 3, 5, 10) if k < X.shape[1]):
        problem = SubspaceProblem(moments, shares, k)
        low, high = difference_range(moments, k)
        if low > 0 or high < 0:
            with pytest.raises(ValueError, match="stays within"):
                solve_exactly_fair(problem)
            smallest = min(abs(low), abs(high))
            check_solution(
                problem, solve_exactly_fair(problem, max_gap=1.01 * smallest), 1.01 * smallest
            )
            continue
        solution = solve_exactly_fair(problem)
        check_solution(problem, solution, 0.0)
        assert solution.n_eigensolves <= 16
        heavy = RobustFairObjective(shares, 1.01 * solution.threshold, np.zeros(2))
        penalised = solve_boundary(problem, heavy)
        assert penalised.objective == pytest.approx(solution.objective, rel=1e-7)


@needs_paper_data
@pytest.mark.parametrize(
    ("name", "threshold", "total"), [("wine_quality", 0.4444, 4.2459), ("letter", 0.1394, 7.3830)]
)
def test_thresholds_of_the_papers_data(name, threshold, total):
    X, groups, _ = paper_table(name)
    moments, shares = reference.group_second_moments(standardised(X), groups)
    problem = SubspaceProblem(moments, shares, 3)
    solution = solve_exactly_fair(problem)
    assert solution.threshold == pytest.approx(threshold, abs=5e-5)
    assert solution.objective == pytest.approx(total, abs=5e-5)
