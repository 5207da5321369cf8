"""The paper's algorithm, against a plain implementation on the complement as it is printed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.linalg import sqrtm

from fairspan.convergence.proximal import lipschitz_constant
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.descent import random_subspaces, solve_subgradient
from fairspan.solvers.many_groups.bounds import plain_bound
from fairspan.solvers.two_groups.angle import solve_boundary
from tests import reference
from tests.conftest import needs_paper_data, paper_table, standardised


def random_problem(seed, n_groups=2, d=6, k=2, fairness_weight=0.4, radius=0.3):
    rng = np.random.default_rng(seed)
    moments = reference.random_moments(rng, n_groups, d)
    moments /= np.trace(moments, axis1=1, axis2=2).mean() / d
    shares = rng.dirichlet(np.full(n_groups, 3.0))
    radii = radius * rng.uniform(0.5, 1.5, n_groups)
    problem = SubspaceProblem(moments, shares, k)
    return problem, RobustFairObjective(shares, fairness_weight, radii)


def paper_descent(moments, shares, fairness_weight, radii, k, n_steps, retraction):
    """Algorithm 1 from the PCA complement: U moves, one matrix, loops over pairs."""
    n_groups, d = len(moments), len(moments[0])
    pooled = sum(p * M for p, M in zip(shares, moments, strict=True))
    U = np.linalg.eigh(pooled)[1][:, : d - k]
    step, values = 1 / np.sqrt(n_steps + 1), []
    for _ in range(n_steps + 1):
        m = np.array([np.trace(U.T @ M @ U) for M in moments])
        values.append(reference.objective(m, shares, fairness_weight, radii))
        best = -np.inf
        for a, b in itertools.permutations(range(n_groups), 2):
            u = shares + fairness_weight * (np.arange(n_groups) == a)
            u = u - fairness_weight * (np.arange(n_groups) == b)
            value = sum(map(reference.worst_error, u, m, radii))
            if value > best:
                best, active = value, u
        ratio = np.sqrt(radii / m)
        slopes = active * np.where(active >= 0, 1 + ratio, np.maximum(1 - ratio, 0))
        C = sum(s * M for s, M in zip(slopes, moments, strict=True))
        D = -step * 2 * (np.eye(d) - U @ U.T) @ C @ U
        if retraction == "qr":
            U = np.linalg.qr(U + D)[0]
        else:
            U = (U + D) @ np.linalg.inv(sqrtm(np.eye(d - k) + D.T @ D).real)
    return np.array(values)


@pytest.mark.parametrize("retraction", ["qr", "polar"])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("fairness_weight", [0.0, 0.1, 1.5])
def test_the_walk_is_that_of_the_paper_on_the_complement(retraction, n_groups, fairness_weight):
    problem, objective = random_problem(5, n_groups, fairness_weight=fairness_weight)
    result = solve_subgradient(
        problem, objective, max_iter=25, n_init=0, retraction=retraction, iterate="last"
    )
    expected = paper_descent(
        problem.moments, objective.shares, fairness_weight, objective.radii, 2, 25, retraction
    )
    assert result.history.shape == (26, 2)
    # Crossing the ridge back and forth doubles rounding errors with every step.
    assert result.history[:16, 0] == pytest.approx(expected[:16], rel=1e-8)
    assert result.objective == pytest.approx(expected[-1], rel=1e-5)


def test_the_best_iterate_is_the_least_value_on_the_way():
    problem, objective = random_problem(6, fairness_weight=2.0)
    options = {"max_iter": 60, "n_init": 0}
    last = solve_subgradient(problem, objective, iterate="last", **options)
    best = solve_subgradient(problem, objective, iterate="best", **options)
    assert best.objective == pytest.approx(last.history[:, 0].min(), rel=1e-12)
    assert best.history[:, 0] == pytest.approx(np.minimum.accumulate(last.history[:, 0]))
    assert best.objective < last.objective


def test_restarts_share_a_seed_and_more_of_them_are_never_worse():
    problem, objective = random_problem(7, n_groups=4, k=3)

    def run(n_init, seed, start_at_pca=False):
        rng = np.random.default_rng(seed)
        return solve_subgradient(
            problem, objective, max_iter=40, n_init=n_init, rng=rng, start_at_pca=start_at_pca
        )

    assert np.array_equal(run(5, 1).components, run(5, 1).components)
    assert not np.array_equal(run(5, 1).history, run(5, 2).history)
    assert run(5, 1).objective <= run(1, 1).objective
    assert run(5, 1, start_at_pca=True).objective <= run(0, 1, start_at_pca=True).objective


def test_without_the_pca_start_only_random_starts_move():
    problem, objective = random_problem(8)
    rng = np.random.default_rng(0)
    result = solve_subgradient(
        problem, objective, max_iter=1, n_init=3, rng=rng, start_at_pca=False, iterate="best"
    )
    starts = random_subspaces(np.random.default_rng(0), 3, 6, 2)
    values = [
        reference.objective(
            reference.group_errors(problem.moments, V),
            objective.shares,
            objective.fairness_weight,
            objective.radii,
        )
        for V in starts
    ]
    assert result.history[0, 0] == pytest.approx(min(values))


@pytest.mark.parametrize("retraction", ["qr", "polar"])
@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_the_result_is_attained_and_above_its_bound(retraction, n_groups):
    for seed in range(5):
        problem, objective = random_problem(seed, n_groups, fairness_weight=1.0)
        rng = np.random.default_rng(seed)
        result = solve_subgradient(
            problem, objective, max_iter=50, n_init=3, retraction=retraction, rng=rng
        )
        V = result.components.T
        np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
        errors = reference.group_errors(problem.moments, V)
        assert result.group_errors == pytest.approx(errors)
        value = reference.objective(errors, objective.shares, 1.0, objective.radii)
        assert result.objective == pytest.approx(value, rel=1e-12)
        assert result.lower_bound <= result.objective
        assert result.status == "iteration_limit"


@pytest.mark.parametrize("seed", range(8))
def test_it_never_ends_below_the_certified_bound(seed):
    for fairness_weight, radius in [(0.0, 0.2), (0.3, 0.0), (1.0, 0.3), (5.0, 3.0)]:
        problem, objective = random_problem(seed, fairness_weight=fairness_weight, radius=radius)
        exact = solve_boundary(problem, objective)
        rng = np.random.default_rng(seed)
        found = solve_subgradient(problem, objective, max_iter=200, n_init=5, rng=rng)
        assert found.objective >= exact.lower_bound
        assert found.lower_bound <= exact.objective


@pytest.mark.parametrize("n_groups", [1, 2, 4])
@pytest.mark.parametrize("radius", [0.0, 0.1, 10.0])
def test_the_plain_bound_is_below_every_random_subspace(n_groups, radius):
    rng = np.random.default_rng(3)
    problem, objective = random_problem(2, n_groups, fairness_weight=0.7, radius=radius)
    bound = plain_bound(problem, objective)
    values = [
        reference.objective(
            reference.group_errors(problem.moments, reference.random_subspace(rng, 6, 2)),
            objective.shares,
            0.7,
            objective.radii,
        )
        for _ in range(300)
    ]
    assert 0 < bound <= min(values)
    if n_groups == 1:
        least = np.linalg.eigvalsh(problem.moments[0])[:4].sum()
        assert bound == pytest.approx(reference.worst_error(1.0, least, objective.radii[0]))


@pytest.mark.parametrize("n_groups", [1, 2, 3])
@pytest.mark.parametrize("fairness_weight", [0.0, 0.1, 3.0])
def test_the_lipschitz_constant_bounds_every_difference_quotient(n_groups, fairness_weight):
    rng = np.random.default_rng(1)
    problem, objective = random_problem(1, n_groups, fairness_weight=fairness_weight)
    L = lipschitz_constant(problem, objective)

    def value(U):
        m = np.array([np.trace(U.T @ M @ U) for M in problem.moments])
        return reference.objective(m, objective.shares, fairness_weight, objective.radii)

    for _ in range(300):
        U = reference.random_subspace(rng, 6, 4)
        other = np.linalg.qr(U + rng.choice([1e-4, 0.1, 1]) * rng.standard_normal(U.shape))[0]
        other *= np.sign(np.sum(U * other, axis=0))
        assert abs(value(U) - value(other)) <= L * np.linalg.norm(U - other) + 1e-10


def test_the_lipschitz_constant_by_hand():
    # d - k = 4; pair (0, 1) counts 0.5 + 1 and |0.5 - 1|: 2 (1.5 (2 + 8) + 0.5 (3 + 18)) = 51,
    # pair (1, 0) counts |0.5 - 1| and 0.5 + 1: 2 (0.5 (2 + 8) + 1.5 (3 + 18)) = 73.
    moments = np.array([np.diag([4.0, 1, 1, 1, 0]), np.diag([0.0, 1, 9, 1, 0])])
    shares = np.array([0.5, 0.5])
    problem = SubspaceProblem(moments, shares, 1)
    objective = RobustFairObjective(shares, 1.0, np.array([1.0, 1.0]))
    assert lipschitz_constant(problem, objective) == pytest.approx(73.0)


def paper_problem(name, fairness_weight, radius):
    X, groups, _ = paper_table(name)
    moments, shares = reference.group_second_moments(standardised(X), groups)
    radii = radius / np.sqrt(shares * len(X))
    objective = RobustFairObjective(shares, fairness_weight, radii)
    return SubspaceProblem(moments, shares, 3), objective


@needs_paper_data
@pytest.mark.parametrize("name", ["default_credit", "biodeg"])
def test_it_approaches_the_exact_value_on_smooth_cases(name):
    problem, objective = paper_problem(name, 0.5, 0.15)
    exact = solve_boundary(problem, objective)
    gaps = []
    for steps in (30, 300, 3000):
        rng = np.random.default_rng(0)
        found = solve_subgradient(problem, objective, max_iter=steps, n_init=3, rng=rng)
        assert found.objective >= exact.lower_bound
        gaps.append(found.objective / exact.objective - 1)
    assert gaps[2] <= 1e-4
    assert gaps[2] <= gaps[0]


@needs_paper_data
def test_on_the_ridge_it_stays_well_above_the_optimum():
    problem, objective = paper_problem("statlog", 2.5, 0.15)
    rng = np.random.default_rng(0)
    found = solve_subgradient(
        problem,
        objective,
        max_iter=1000,
        n_init=5,
        rng=rng,
        start_at_pca=False,
        iterate="last",
    )
    exact = solve_boundary(problem, objective)
    assert exact.objective == pytest.approx(4.1831, abs=5e-5)
    assert found.objective >= 1.1 * exact.objective
