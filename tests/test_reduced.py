"""Many features: what a small basis answers, full eigen-solves that share no code confirm."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.reduced import ReducedBasis, new_directions
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, solve
from fairspan.solvers.many_groups.newton import descend
from fairspan.solvers.many_groups.reduced_newton import descend_reduced
from fairspan.solvers.two_groups.angle import solve_boundary
from fairspan.solvers.two_groups.lines import Boundary
from tests import reference

D = 300


def made_moments(seed, n_groups, d=D):
    """Moments with a few strong directions that the groups share in part, over noise."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((d, 12)) * 0.8 ** np.arange(12)
    moments = []
    for _ in range(n_groups):
        factor = np.hstack([common, 0.7 * rng.standard_normal((d, 8)) * 0.8 ** np.arange(8)])
        mixed = factor @ rng.standard_normal((20, 20))
        noise = rng.standard_normal((d, 2 * d))
        moments.append(mixed @ mixed.T / d + 0.05 * noise @ noise.T / d)
    return np.array(moments), rng.dirichlet(np.full(n_groups, 5.0))


def direction(angle):
    return np.array([math.cos(angle), math.sin(angle)])


def test_a_basis_answers_between_the_angles_it_learned_as_full_eigen_solves_do():
    moments, _ = made_moments(0, 2)
    k, basis, learned = 4, ReducedBasis(moments, 4), (0.1, 0.5, 0.8, 1.1, 1.5)
    for angle in learned:
        C = np.tensordot(direction(angle), moments, 1)
        θ, Q = np.linalg.eigh(C)
        basis.learn(2.0 * direction(angle), Q[:, -k:], 2.0 * float(θ[-k - 1]))
    np.testing.assert_allclose(
        basis.basis.T @ basis.basis, np.eye(basis.basis.shape[1]), atol=1e-12
    )
    answered = 0
    for angle in np.linspace(0.11, 1.49, 60):
        weights = 3.0 * direction(angle)
        answer = basis.answer(weights)
        if answer is None:
            continue
        answered += 1
        subspace, kept, bound = answer
        C = np.tensordot(weights, moments, 1)
        true = float(np.linalg.eigvalsh(C)[-k:].sum())
        assert true <= bound <= true + 1e-10 * np.trace(moments.sum(axis=0))
        np.testing.assert_allclose(subspace.T @ subspace, np.eye(k), atol=1e-12)
        lost = np.trace(moments, axis1=1, axis2=2) - kept
        np.testing.assert_allclose(lost, reference.group_errors(moments, subspace), rtol=1e-9)
        assert weights @ kept == pytest.approx(true, rel=1e-9)
    assert answered >= 10
    for outside in (0.05, 1.55, -2.0, 3.0):
        assert basis.answer(direction(outside)) is None
    assert ReducedBasis(moments, k).answer(direction(0.5)) is None


def test_what_a_basis_leaves_out_is_bounded_between_the_angles_it_learned():
    moments, _ = made_moments(0, 2)
    # Groups that leave out much and little: which of the two bounds counts where decides.
    moments[1] *= 20.0
    k, basis = 4, ReducedBasis(moments, 4)
    for angle in (0.0, 0.5 * math.pi):
        θ, Q = np.linalg.eigh(np.tensordot(direction(angle), moments, 1))
        basis.learn(direction(angle), Q[:, -k:], float(θ[-k - 1]))
    outside = np.linalg.svd(basis.basis)[0][:, basis.basis.shape[1] :]
    for angle in np.linspace(0.01, 0.5 * math.pi - 0.01, 30):
        C = np.tensordot(direction(angle), moments, 1)
        left = float(np.linalg.eigvalsh(outside.T @ C @ outside)[-1])
        assert basis._rest(direction(angle)) >= left


@pytest.mark.parametrize("seed", range(4))
def test_every_line_a_large_problem_gives_supports_the_attainable_errors(seed):
    moments, shares = made_moments(seed, 2)
    problem = SubspaceProblem(moments, shares, 3)
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-0.78, 2.35, 25)
    traces = np.trace(moments, axis1=1, axis2=2)
    for angle in angles:
        weights = direction(angle)
        found = problem.best_subspace(weights)
        top = np.linalg.eigvalsh(np.tensordot(weights, moments, 1))[-3:].sum()
        true = float(weights @ traces) - top
        near = 1e-10 * traces.sum()
        assert true - near <= found.sigma <= true + 1e-14 * traces.sum()
        assert weights @ reference.group_errors(moments, found.subspace) <= true + near
    assert problem.n_eigensolves < len(angles)


def test_new_directions_complete_a_basis_and_leave_out_what_it_has():
    rng = np.random.default_rng(0)
    basis = reference.random_subspace(rng, 20, 4)
    fresh = rng.standard_normal((20, 3))
    new = new_directions(np.hstack([basis @ rng.standard_normal((4, 2)), fresh, 0 * fresh]), basis)
    assert new.shape == (20, 3)
    whole = np.hstack([basis, new])
    np.testing.assert_allclose(whole.T @ whole, np.eye(7), atol=1e-13)
    np.testing.assert_allclose(whole @ (whole.T @ fresh), fresh, atol=1e-12)


def scanned_minimum(moments, shares, k, weight, radii, scan):
    """The least objective over angles: the best of a scan, then of finer scans around it."""
    centre = np.argmin(reference.two_group_objective(scan, shares, weight, radii))
    step = math.pi / (len(scan) + 1)
    t = -0.25 * math.pi + step * (centre + 1)
    lowest = np.inf
    for _ in range(4):
        angles = t + step * np.linspace(-1.0, 1.0, 6)
        matrices = np.array([np.tensordot(direction(angle), moments, 1) for angle in angles])
        values = [
            reference.objective(
                reference.group_errors(moments, np.linalg.eigh(matrix)[1][:, -k:]),
                shares,
                weight,
                radii,
            )
            for matrix in matrices
        ]
        t, lowest, step = angles[int(np.argmin(values))], min(lowest, *values), step / 2.4
    return lowest


@pytest.mark.parametrize("k", [1, 3, 10])
def test_a_large_problem_of_two_groups_has_the_scanned_optimum(k):
    moments, shares = made_moments(k, 2)
    scan = reference.scan_boundary(moments[0], moments[1], n_angles=90, chunk=20)[:, k]
    unit = np.array([0.02, 0.01]) * np.trace(moments[0]) / D
    for weight, radii in ((0.1, 0 * unit), (0.5, unit), (2.0, 100 * unit)):
        problem = SubspaceProblem(moments, shares, k)
        assert problem.is_large
        result = solve(problem, RobustFairObjective(shares, weight, radii), SolverOptions())
        scanned = scanned_minimum(moments, shares, k, weight, radii, scan)
        assert result.status == "optimal"
        assert result.lower_bound <= scanned
        assert result.objective <= scanned * (1 + 1e-8)
        assert result.objective == pytest.approx(scanned, rel=2e-3)
        errors = reference.group_errors(moments, result.components.T)
        value = reference.objective(errors, shares, weight, radii)
        assert result.objective == pytest.approx(value, rel=1e-9)


def test_a_grid_of_two_hundred_settings_costs_at_most_ten_eigen_solves():
    moments, shares = made_moments(11, 2)
    problem = SubspaceProblem(moments, shares, 3)
    boundary, unit = Boundary(problem), np.trace(moments[0]) / D
    checked = 0
    for i, weight in enumerate(np.linspace(0.0, 3.0, 20)):
        for j, radius in enumerate(np.linspace(0.0, 2.0, 10)):
            objective = RobustFairObjective(shares, weight, radius * unit * np.array([0.1, 0.2]))
            result = solve_boundary(problem, objective, boundary=boundary)
            assert result.optimality_gap <= 1e-8
            if (i + j) % 40 == 7:
                alone = solve_boundary(SubspaceProblem(moments, shares, 3), objective)
                assert result.objective == pytest.approx(alone.objective, rel=2e-8)
                assert result.lower_bound <= alone.objective
                checked += 1
    assert checked > 0
    assert problem.n_eigensolves <= 10


@pytest.mark.parametrize("weight", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("size", [0.0, 0.5])
def test_four_groups_descend_in_a_small_basis_to_where_full_matrices_lead(weight, size):
    moments, shares = made_moments(5, 4)
    radii = size * np.array([0.2, 0.1, 0.3, 0.4]) * np.trace(moments[0]) / D
    objective = RobustFairObjective(shares, weight, radii)
    problem = SubspaceProblem(moments, shares, 3)
    start = np.linalg.eigh(np.tensordot(shares, moments, 1))[1][:, -3:]
    small, full = descend_reduced(problem, objective, start), descend(problem, objective, start)
    assert small.value == pytest.approx(full.value, rel=1e-9)
    assert small.errors == pytest.approx(full.errors, rel=1e-4)
    errors = reference.group_errors(moments, small.subspace)
    assert small.value == pytest.approx(
        reference.objective(errors, shares, weight, radii), rel=1e-9
    )
    assert reference.largest_angle(small.subspace.T, full.subspace.T) <= 1e-4


def test_the_history_in_a_small_basis_holds_the_best_value_so_far():
    moments, shares = made_moments(5, 4)
    objective = RobustFairObjective(shares, 0.5, np.zeros(4))
    problem = SubspaceProblem(moments, shares, 3)
    history = solve(problem, objective, SolverOptions(solver="newton")).history
    assert np.all(np.diff(history[:, 0]) <= 1e-12 * history[-1, 0])


def few_rows(n=60, d=320, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 9)) @ rng.standard_normal((9, d)) + rng.standard_normal((n, d))
    return X * np.exp(rng.normal(0, 0.5, d)) + rng.normal(0, 5, d), np.arange(n) % 3


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_few_rows_are_fitted_in_the_space_they_span_as_in_the_whole_space(standardize, n_groups):
    X, groups = few_rows()
    groups = groups % n_groups
    moments = GroupMoments.from_arrays(X, groups)
    assert moments.basis is not None
    settings = {"fairness_weight": 0.5, "radius": 0.5, "standardize": standardize}
    thin = RobustFairPCA(4, **settings).fit(X, sensitive_features=groups)
    whole = RobustFairPCA(4, **settings).fit_moments(moments.dense())
    assert thin.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert thin.group_errors_ == pytest.approx(whole.group_errors_, rel=1e-3)
    assert reference.largest_angle(thin.components_, whole.components_) <= 1e-3
    np.testing.assert_allclose(thin.mean_, X.mean(axis=0), rtol=1e-12)
    Z = X - X.mean(axis=0)
    if standardize:
        np.testing.assert_allclose(thin.scale_, X.std(axis=0), rtol=1e-10)
        Z = Z / X.std(axis=0)
    for model in (thin, whole):
        lost = Z - Z @ model.components_.T @ model.components_
        errors = [(lost[groups == a] ** 2).sum(axis=1).mean() for a in range(n_groups)]
        assert model.group_errors_ == pytest.approx(errors, rel=1e-9)
        shares = np.bincount(groups) / len(X)
        radii = 0.5 / np.sqrt(np.bincount(groups))
        value = reference.objective(errors, shares, 0.5, radii)
        assert model.objective_ == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(thin.transform(X), Z @ thin.components_.T, atol=1e-9)


def test_moments_of_few_rows_are_those_of_their_definition_and_scale_add_and_save(tmp_path):
    X, groups = few_rows()
    low = GroupMoments.from_arrays(X, groups)
    expected, shares = reference.group_second_moments(X, groups)
    size = np.abs(expected).max()
    np.testing.assert_allclose(low.second_moments, expected, atol=1e-12 * size)
    np.testing.assert_allclose(low.shares, shares)
    np.testing.assert_allclose(low.variances, X.var(axis=0), rtol=1e-10)
    scale = np.exp(np.random.default_rng(1).normal(size=X.shape[1]))
    scaled, _ = reference.group_second_moments(X / scale, groups)
    assert low.scaled(scale).basis is not None
    np.testing.assert_allclose(
        low.scaled(scale).second_moments, scaled, atol=1e-12 * np.abs(scaled).max()
    )
    low.save(tmp_path / "moments.npz")
    loaded = GroupMoments.load(tmp_path / "moments.npz")
    np.testing.assert_array_equal(loaded.second_moments, low.dense().second_moments)
    assert loaded.labels == low.labels
    parts = [GroupMoments.from_arrays(X[rows], groups[rows]) for rows in np.split(np.arange(60), 3)]
    assert all(part.basis is not None for part in parts)
    np.testing.assert_allclose(sum(parts).second_moments, expected, atol=1e-12 * size)
    np.testing.assert_allclose(sum(parts).means, low.means, rtol=1e-10, atol=1e-12)
