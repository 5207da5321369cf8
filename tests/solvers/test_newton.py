"""The Newton method for any number of groups, against computations that share no code with it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from fairspan import RobustFairPCA
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, solve
from fairspan.solvers.descent import solve_subgradient
from fairspan.solvers.many_groups.certified_newton import solve_newton
from fairspan.solvers.many_groups.newton import descend, local_model
from fairspan.solvers.many_groups.tangent import expand
from fairspan.solvers.options import Patience
from fairspan.solvers.two_groups.angle import solve_boundary
from tests import reference
from tests.conftest import PAPER_FILES, needs_paper_data, paper_table, standardised
from tests.many_groups import grouped_tables


def random_problem(seed, n_groups, d, k, *, fairness_weight=0.7, size=0.3):
    rng = np.random.default_rng(seed)
    moments, shares = reference.random_moments(rng, n_groups, d), rng.dirichlet(np.ones(n_groups))
    radii = size * rng.exponential(1.0, n_groups) * np.trace(moments[0]) / d
    problem = SubspaceProblem(moments, shares, k)
    return problem, RobustFairObjective(shares, fairness_weight, radii), rng


def value_of(problem, objective, subspace):
    errors = reference.group_errors(problem.moments, subspace)
    o = objective
    return reference.objective(errors, o.shares, o.fairness_weight, o.radii)


def random_mixture(rng, objective):
    pairs = [(a, b) for a in range(objective.n_groups) for b in range(objective.n_groups) if a != b]
    return Mixture.of_pairs(objective, pairs, rng.dirichlet(np.ones(len(pairs))))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("fairness_weight", [0.0, 0.1, 3.0])
def test_the_model_has_the_first_and_second_derivatives_of_errors_along_a_step(
    seed, fairness_weight
):
    problem, objective, rng = random_problem(
        seed, 2 + seed % 4, 7, 1 + seed % 5, fairness_weight=fairness_weight
    )
    mixture = random_mixture(rng, objective)
    V = reference.random_subspace(rng, 7, problem.k)
    for _ in range(100):  # Where C is largest on V, no curvature is lifted by the floor.
        V = problem.best_subspace(mixture.slopes(problem.errors(V))).subspace
    m = problem.errors(V)
    local = local_model(expand(problem, V, mixture.slopes(m)), mixture, m)
    T = rng.standard_normal((7 - problem.k, problem.k))

    def errors(step):
        return reference.group_errors(problem.moments, local.moved(step * T))

    h = 1e-4
    changes = (errors(h) - errors(-h)) / (2 * h)
    predicted = np.einsum("blk,lk->b", local.gradients, T)
    size = np.trace(problem.moments.sum(axis=0))
    np.testing.assert_allclose(predicted, changes, atol=1e-6 * size)
    values = [mixture.value(errors(step)) for step in (-h, 0.0, h)]
    second = (values[0] - 2 * values[1] + values[2]) / h**2
    curvature = float((local.curvature * T**2).sum())
    # The model may leave out the pieces' own bend where it is too strong, and then bend is 0.
    bend = float(mixture.curvatures(problem.errors(V)) @ predicted**2)
    assert curvature + bend == pytest.approx(second, abs=1e-4 * curvature)
    assert local.bend == pytest.approx(0) or float(local.bend @ predicted**2) == pytest.approx(bend)


@pytest.mark.parametrize("seed", range(30))
def test_the_value_never_rises_and_is_that_of_the_subspace(seed):
    rng = np.random.default_rng(seed)
    weight, size = rng.exponential(1.0), rng.choice([0.0, 0.01, 1.0, 20.0])
    problem, objective, rng = random_problem(
        seed, 1 + seed % 7, 8, 1 + seed % 6, fairness_weight=weight, size=size
    )
    start = reference.random_subspace(rng, 8, problem.k)
    found = descend(problem, objective, start)
    assert found.history[0] == pytest.approx(value_of(problem, objective, start), rel=1e-10)
    assert np.all(np.diff(found.history) <= 0)
    assert found.history[-1] == found.value
    assert found.value == pytest.approx(value_of(problem, objective, found.subspace), rel=1e-9)
    np.testing.assert_allclose(found.subspace.T @ found.subspace, np.eye(problem.k), atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_where_it_stops_no_small_turn_of_the_subspace_is_better(seed):
    problem, objective, rng = random_problem(seed, 4, 7, 3)
    found = descend(problem, objective, reference.random_subspace(rng, 7, 3))
    for size in (1e-2, 1e-3, 1e-4):
        for _ in range(100):
            turned = np.linalg.qr(found.subspace + size * rng.standard_normal((7, 3)))[0]
            assert value_of(problem, objective, turned) >= found.value * (1 - 1e-12)


@pytest.mark.parametrize("weight", [0.3, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 3, 5])
def test_a_feature_in_units_a_thousand_times_smaller_does_not_slow_the_others(seed, weight):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 6)) * [3000.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    labels = rng.integers(0, 3, 300)
    X -= X.mean(axis=0)
    rows = [X[labels == a] for a in range(3)]
    shares = np.bincount(labels) / 300
    problem = SubspaceProblem(np.array([R.T @ R / len(R) for R in rows]), shares, 3)
    objective = RobustFairObjective(shares, weight, np.zeros(3))
    found = descend(problem, objective, problem.best_subspace(shares).subspace)
    assert len(found.history) < 30
    # Rounding of an error of 3 beside a variance of 9e6, a few digits kept in reserve.
    assert solve_newton(problem, objective).optimality_gap < 1e-7


@pytest.mark.parametrize("n_groups", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_without_weight_and_radius_it_is_pca_for_any_number_of_groups(n_groups, solver):
    problem, objective, _ = random_problem(n_groups, n_groups, 9, 4, fairness_weight=0.0, size=0.0)
    result = solve(problem, objective, SolverOptions(solver=solver))
    values, vectors = np.linalg.eigh(np.tensordot(problem.shares, problem.moments, 1))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(values[:5].sum(), rel=1e-12)
    assert reference.largest_angle(result.components, vectors[:, 5:].T) <= 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_rotating_the_data_or_reordering_the_groups_changes_nothing_but_names(seed):
    problem, objective, rng = random_problem(seed, 4, 6, 2)
    result = solve_newton(problem, objective, effort=0.1)
    Q, order = np.linalg.qr(rng.standard_normal((6, 6)))[0], rng.permutation(4)
    turned = Q @ problem.moments @ Q.T
    other = SubspaceProblem(turned, problem.shares, 2)
    rotated = solve_newton(other, objective, effort=0.1)
    shares, radii = objective.shares[order], objective.radii[order]
    renamed = solve_newton(
        SubspaceProblem(problem.moments[order], shares, 2),
        RobustFairObjective(shares, objective.fairness_weight, radii),
        effort=0.1,
    )
    for other, errors in (
        (rotated, result.group_errors),
        (renamed, result.group_errors[order]),
    ):
        assert other.objective == pytest.approx(result.objective, rel=1e-8)
        assert other.group_errors == pytest.approx(errors, rel=1e-3)
    assert reference.largest_angle(rotated.components @ Q, result.components) <= 1e-3
    assert reference.largest_angle(renamed.components, result.components) <= 1e-3


@pytest.mark.parametrize("seed", range(40))
def test_two_groups_are_solved_as_the_boundary_walk_solves_them(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 10))
    problem, objective, _ = random_problem(
        seed,
        2,
        d,
        int(rng.integers(1, d)),
        fairness_weight=float(rng.choice([0.0, 0.2, 0.5, 2.0, 10.0])),
        size=float(rng.choice([0.0, 0.01, 0.5, 20.0])),
    )
    newton = solve_newton(problem, objective)
    walk = solve_boundary(problem, objective, tol=1e-11)
    assert newton.status == "optimal"
    assert newton.objective == pytest.approx(walk.objective, rel=1e-9)


@needs_paper_data
def test_on_the_papers_grid_it_equals_the_walk_with_at_most_ten_eigen_solves_on_average():
    counts = []
    for name in PAPER_FILES:
        X, groups, _ = paper_table(name)
        moments, shares = reference.group_second_moments(standardised(X), groups)
        for weight in (0.0, 0.5, 2.5):
            for radius in (0.0, 0.15, 1.0):
                objective = RobustFairObjective(shares, weight, radius / np.sqrt(shares * len(X)))
                newton = solve_newton(SubspaceProblem(moments, shares, 3), objective)
                walk = solve_boundary(SubspaceProblem(moments, shares, 3), objective, tol=1e-11)
                assert newton.objective == pytest.approx(walk.objective, rel=1e-9), name
                assert newton.status == "optimal"
                counts.append(newton.n_eigensolves)
    assert len(counts) == 14 * 9
    assert np.mean(counts) <= 10


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fairness_weight", [0.2, 2.0])
def test_subgradient_descent_finds_nothing_better(seed, fairness_weight):
    problem, objective, rng = random_problem(
        seed, 3 + seed % 4, 7, 1 + seed % 4, fairness_weight=fairness_weight
    )
    ours = solve_newton(problem, objective, effort=0.1)
    theirs = solve_subgradient(problem, objective, n_init=6, max_iter=300, rng=rng)
    assert ours.objective <= theirs.objective * (1 + 1e-12)
    assert ours.lower_bound <= theirs.objective


def minimise_the_printed_objective(moments, shares, fairness_weight, radii, k, starts):
    """Minimise the paper's many-group theorem as printed, smoothed, by L-BFGS on V = A (A'A)^-1/2.

    Its pieces are λ (m_a + ε_a - m_b - ε_b) + 2 sum_c |p_c + λ (c = a) - λ (c = b)| sqrt(ε_c m_c):
    the right ones without sum_c p_c (m_c + ε_c).
    """
    n, d = len(shares), moments.shape[1]
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    sign = np.zeros((len(pairs), n))
    for row, (a, b) in zip(sign, pairs, strict=True):
        row[a], row[b] = 1.0, -1.0
    count = 2 * np.abs(shares + fairness_weight * sign)

    def pieces(m):
        return fairness_weight * sign @ (m + radii) + count @ np.sqrt(radii * m)

    def smooth(flat, sharpness):
        A = flat.reshape(d, k)
        inverse = np.linalg.inv(A.T @ A)
        images = moments @ A
        m = np.trace(moments, axis1=1, axis2=2) - np.einsum("bdk,kl,dl->b", images, inverse, A)
        J = pieces(m)
        top = J.max()
        w = np.exp(sharpness * (J - top))
        slope = (w / w.sum()) @ (fairness_weight * sign + 0.5 * count * np.sqrt(radii / m))
        image = np.tensordot(slope, images, 1)
        gradient = -2 * (image - A @ (inverse @ (A.T @ image))) @ inverse
        return top + np.log(w.sum()) / sharpness, gradient.ravel()

    best = (np.inf, starts[0])
    for A in starts:
        for sharpness in (10.0, 100.0, 1000.0):
            A = minimize(smooth, A.ravel(), (sharpness,), jac=True, method="L-BFGS-B").x
            A = np.linalg.qr(A.reshape(d, k))[0]
        best = min(best, (pieces(reference.group_errors(moments, A)).max(), A), key=lambda x: x[0])
    return best[1], lambda V: pieces(reference.group_errors(moments, V)).max()


@needs_paper_data
@pytest.mark.parametrize("table", ["wine by alcohol, 4", "letter by MeanX, 4"])
def test_minimising_the_printed_many_group_theorem_costs_half_a_percent_or_more(table):
    X, groups = next((X, groups) for name, X, groups in grouped_tables() if name == table)
    moments, shares = reference.group_second_moments(X, groups)
    weight, radii = 0.5, 0.15 / np.sqrt(shares * len(X))
    problem = SubspaceProblem(moments, shares, 3)
    objective = RobustFairObjective(shares, weight, radii)
    right = solve_newton(problem, objective)
    rng = np.random.default_rng(0)
    starts = [right.components.T, *(reference.random_subspace(rng, X.shape[1], 3) for _ in "123")]
    V, printed = minimise_the_printed_objective(moments, shares, weight, radii, 3, starts)
    assert printed(V) < printed(right.components.T)
    assert value_of(problem, objective, V) >= 1.005 * right.objective


def test_fits_that_share_their_work_leave_what_they_do_not_need():
    problem, objective, _ = random_problem(0, 3, 5, 2)
    found = solve_newton(problem, objective)
    patience = Patience(1.0, 4)
    first = patience.options(SolverOptions(tol=1e-6)).effort
    patience.settle(replace(found, effort=0.5 * first))
    # Three fits are left, and what the first did not need.
    assert patience.options(SolverOptions()).effort == pytest.approx(3.5 * first / 3)
    patience.settle(replace(found, effort=100 * first))
    assert patience.options(SolverOptions()).effort == 0.0
    options = patience.options(SolverOptions(tol=1e-6))
    assert (options.tol, options.max_time) == (1e-6, None)


@pytest.mark.parametrize("seed", range(3))
def test_the_answer_does_not_depend_on_how_fast_the_clock_runs(seed, monkeypatch):
    X = np.random.default_rng(seed).normal(size=(90, 6))
    X *= np.random.default_rng(1).uniform(0.3, 2, (6, 6))[np.arange(90) % 6]
    model = RobustFairPCA(2, fairness_weight=5.0, effort=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        calm = model.fit(X, sensitive_features=np.arange(90) % 6).result_
        clock = iter(np.cumsum(np.full(10**6, 7.0)))
        monkeypatch.setattr("time.monotonic", lambda: next(clock))
        busy = model.fit(X, sensitive_features=np.arange(90) % 6).result_
        late = model.set_params(max_time=1.0).fit(X, sensitive_features=np.arange(90) % 6).result_
    assert calm.components.tobytes() == busy.components.tobytes()
    assert (calm.lower_bound, calm.effort) == (busy.lower_bound, busy.effort)
    assert not busy.was_cut
    assert late.was_cut == (late.effort > 0)


@pytest.mark.parametrize("weight", [1e3, 1e6, 1e9])
@pytest.mark.parametrize(
    ("seed", "fairest"), [(0, 2.751602447), (2, 4.570485786), (3, 8.884062704)]
)
def test_with_heavy_weights_the_value_is_that_of_the_fairest_subspaces(seed, fairest, weight):
    problem, objective, _ = random_problem(seed, 3, 6, 2, fairness_weight=weight, size=0.0)
    found = solve_newton(problem, objective, effort=0.05)
    # Some subspaces have no gap at all: the best of them, of 50 starts. At the heaviest weight
    # one unit in the last place of an error is 7e-7 of the value.
    assert found.objective == pytest.approx(fairest, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_one_piece_of_no_weight_is_no_start_for_pieces_that_compare(seed):
    """A small group has a radius: counted up and down at once it would exceed every true piece."""
    problem, light, _ = random_problem(seed, 4, 6, 2, fairness_weight=0.0, size=0.0)
    radii, shares = np.array([problem.traces[0], 0.0, 0.0, 0.0]), np.array([0.001, 0.3, 0.3, 0.399])
    problem = SubspaceProblem(problem.moments, shares, 2)
    light = replace(light, shares=shares, radii=radii)
    heavy = replace(light, fairness_weight=0.5)
    first, alone = solve_newton(problem, light), solve_newton(problem, heavy, effort=0.02)
    near = {"start": first.components.T, "pieces": first.pieces}
    shared = solve_newton(problem, heavy, effort=0.02, **near)
    assert shared.objective == pytest.approx(alone.objective, rel=1e-8)
    assert shared.lower_bound <= alone.objective
    assert all(a != b for (a, b), _ in shared.pieces)


def test_a_descent_leaves_a_subspace_without_error_for_its_references():
    """Gains are measured against the errors, which rounding may leave at 0 exactly."""
    moments = np.array([np.diag([2.0, 0.0, 0.0, 0.0]), np.diag([0.0, 1.0, 0.0, 0.0])])
    problem = SubspaceProblem(moments, np.full(2, 0.5), 3)
    references = np.array([0.1, 0.3])
    objective = RobustFairObjective(problem.shares, 1000.0, np.zeros(2), None, "gap", references)
    start = np.eye(4)[:, :3]
    start[3, 0] = start[3, 1] = 1e-9
    start = np.linalg.qr(start)[0]
    assert not problem.errors(start).any()
    found = descend(problem, objective, start)
    assert found.value < 0.5 * objective.value(np.zeros(2))
