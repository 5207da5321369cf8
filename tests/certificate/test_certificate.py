"""No lower bound may exceed a value that some subspace attains; whoever asks for it."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan.certificate.box import Box, root_box
from fairspan.certificate.closed_form import (
    Leading,
    _ratio,
    _ratio_from_top,
    closed_form_bound,
    parabola,
)
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.spectrum import top_space
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.certified_newton import solve_newton
from tests import reference
from tests.certificate.problems import (
    attained,
    random_mixture,
    rounding,
    shared_eigenvectors,
    tiny_groups,
    value,
)


@pytest.mark.parametrize("seed", range(60))
def test_no_descent_from_anywhere_falls_below_a_certified_bound(seed):
    problem, objective, rng = tiny_groups(seed)
    result = solve_newton(problem, objective, effort=0.02)
    lowest, where = attained(problem, objective, rng)[0]
    slack = 1e-11 * abs(lowest) + rounding(problem, objective, where)
    assert result.lower_bound <= lowest + slack
    assert result.lower_bound <= result.objective
    V = result.components.T
    unsure = 1e-11 * result.objective + rounding(problem, objective, V)
    assert result.objective == pytest.approx(value(problem, objective, V), abs=unsure)
    if result.status == "optimal":
        assert result.objective <= lowest * (1 + 1.1e-8) + slack
    # Points and mixtures that are not stationary: their bounds are poor, but never false.
    box = root_box(problem)
    for _ in range(4):
        V = reference.random_subspace(rng, problem.d, problem.k)
        mixture = random_mixture(rng, objective)
        assert closed_form_bound(problem, mixture, problem.errors(V), box) <= lowest + slack
        errors = result.group_errors * rng.uniform(0.8, 1.2, objective.n_groups)
        assert closed_form_bound(problem, mixture, errors, box) <= lowest + slack


@pytest.mark.parametrize("seed", range(60))
def test_no_coordinate_subspace_of_diagonal_moments_falls_below_a_certified_bound(seed):
    problem, objective, errors = shared_eigenvectors(seed)
    o = objective
    values = [reference.objective(m, o.shares, o.fairness_weight, o.radii) for m in errors]
    result = solve_newton(problem, objective, effort=0.02)
    assert result.lower_bound <= min(values) * (1 + 1e-11)
    if result.status == "optimal":
        assert result.objective <= min(values) * (1 + 1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_an_eigen_solve_for_other_slopes_proves_nothing(seed):
    problem, objective, rng = tiny_groups(seed)
    errors = problem.errors(reference.random_subspace(rng, problem.d, problem.k))
    mixture, box = random_mixture(rng, objective), root_box(problem)
    other = Leading(problem, 0.1 * objective.shares)
    right = closed_form_bound(problem, mixture, errors, box)
    assert closed_form_bound(problem, mixture, errors, box, other) == right


def test_with_smaller_radii_the_closed_form_alone_closes_a_good_part_of_them():
    closed = 0
    for seed in range(40):
        problem, objective, _ = tiny_groups(seed)
        small = RobustFairObjective(
            objective.shares, objective.fairness_weight, 1e-3 * objective.radii
        )
        closed += solve_newton(problem, small, effort=1e-6).optimality_gap <= 1e-8
    assert closed >= 12


@pytest.mark.parametrize("seed", range(40))
def test_the_parabola_is_below_the_mixture_everywhere_above_the_lower_bounds(seed):
    rng = np.random.default_rng(seed)
    radii = rng.exponential(1.0, 4) * rng.choice([0.0, 0.01, 1.0, 30.0], 4)
    objective = RobustFairObjective(rng.dirichlet(np.ones(4)), rng.exponential(1.0), radii)
    mixture = random_mixture(rng, objective)
    touch = rng.exponential(1.0, 4)
    if seed % 4 == 0:  # At the radius itself, where ψ begins to rise, and just beside it.
        touch = np.where(radii > 0, radii * np.array([1.0, 1 - 1e-9, 1 + 1e-9, 0.5]), touch)
    lower = touch * rng.choice([0.0, 0.3, 0.9], 4)
    κ = parabola(mixture, touch, lower)
    p, q = mixture.above, mixture.below

    def terms(m):  # A φ - B ψ, from the definition
        root, edge = np.sqrt(m), np.sqrt(radii)
        return p * (root + edge) ** 2 - q * np.where(root > edge, (root - edge) ** 2, 0.0)

    slope = mixture.slopes(touch)
    top = np.maximum(100 * touch, 3 * radii)
    for s in np.concatenate([np.linspace(0, 1, 2000), np.geomspace(1e-9, 1, 2000)]):
        m = lower + s * (top - lower)
        below = terms(touch) + slope * (m - touch) - 0.5 * κ * (m - touch) ** 2
        assert (terms(m) >= below - 1e-11 * (1 + np.abs(terms(m)) + np.abs(below))).all()
    assert (κ[radii == 0] == 0).all()


def random_fantope(rng, d, k, near=None):
    """A mixture of projections: 0 <= X <= I with trace k; close to a projection if one is given."""
    bases = [reference.random_subspace(rng, d, k) for _ in range(int(rng.integers(1, 5)))]
    weights = rng.dirichlet(np.full(len(bases), 0.5))
    X = sum(w * V @ V.T for w, V in zip(weights, bases, strict=True))
    if near is not None:
        V = np.linalg.qr(near + 10 ** rng.uniform(-3, 0) * rng.standard_normal((d, k)))[0]
        s = 10 ** rng.uniform(-4, 0)
        X = s * X + (1 - s) * V @ V.T
    return X


@pytest.mark.parametrize("seed", range(30))
def test_the_growth_lemma_holds_for_every_matrix_of_the_fantope(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 8))
    k = int(rng.integers(1, d))
    C = rng.standard_normal((d, d))
    θ, Q = np.linalg.eigh(C + C.T)
    θ, Q = θ[::-1], Q[:, ::-1]
    kept = np.diag(np.arange(d) < k).astype(float)
    for _ in range(60):
        Y = Q.T @ random_fantope(rng, d, k, Q[:, :k]) @ Q
        E = Y - kept
        ν = θ[k] + rng.uniform() * (θ[k - 1] - θ[k])
        mean = 0.5 * (θ[:, None] + θ)
        off = ((θ[:k, None] - θ[k:]) * Y[:k, k:] ** 2).sum()
        top = ((mean - ν) * E**2)[:k, :k].sum()
        low = ((ν - mean) * E**2)[k:, k:].sum()
        assert -np.sum(θ * np.diag(E)) >= off + top + low - 1e-12 * np.abs(θ).sum()


def steepest_turn(rng, moments, κ, θ, Q, k):
    """A subspace turned to where errors change most for the growth that it costs."""
    low, top = Q[:, :-k], Q[:, -k:]
    weights = rng.standard_normal(len(moments)) * np.sqrt(κ)
    turn = np.tensordot(weights, low.T @ moments @ top, 1) / (θ[-k:] - θ[:-k, None])
    step = 10.0 ** rng.uniform(-4, -1) / np.linalg.norm(turn)
    V = np.linalg.qr(top + step * low @ turn)[0]
    return V @ V.T


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("ratio", [_ratio, _ratio_from_top])
def test_the_parabola_eats_at_most_the_share_rho_of_the_growth(seed, ratio):
    rng = np.random.default_rng(seed)
    n_groups, d = int(rng.integers(1, 5)), int(rng.integers(3, 8))
    k = int(rng.integers(1, d))
    moments = reference.random_moments(rng, n_groups, d)
    problem = SubspaceProblem(moments, rng.dirichlet(np.ones(n_groups)), k)
    slope, κ = rng.normal(0.5, 1.0, n_groups), rng.exponential(1.0, n_groups)
    C = np.tensordot(slope, moments, 1)
    θ, Q = np.linalg.eigh(C)
    best = Q[:, d - k :]
    spectrum = top_space(C, k if ratio is _ratio_from_top else d)
    for reach in 10.0 ** np.arange(-6, 4):
        ρ = ratio(problem, spectrum, κ, reach)
        for trial in range(40):
            turned = trial % 2 == 0
            X = (
                steepest_turn(rng, moments, κ, θ, Q, k)
                if turned
                else random_fantope(rng, d, k, best)
            )
            growth = θ[d - k :].sum() - np.sum(C * X)
            if growth <= reach:
                apart = np.einsum("bij,ij->b", moments, best @ best.T - X)
                assert 0.5 * κ @ apart**2 <= ρ * growth * (1 + 1e-9) + 1e-12


def test_a_group_without_any_error_has_no_closed_form():
    moments = np.array([np.diag([1.0, 0.0, 0.0]), np.diag([3.0, 2.0, 1.0])])
    objective = RobustFairObjective(np.array([0.5, 0.5]), 0.5, np.array([0.1, 0.1]))
    problem = SubspaceProblem(moments, objective.shares, 1)
    mixture = Mixture.of_pairs(objective, [(1, 0)], np.ones(1))
    box = Box(np.zeros(2), problem.traces)
    assert closed_form_bound(problem, mixture, np.array([0.0, 3.0]), box) == -np.inf
