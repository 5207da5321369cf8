"""Many groups: whoever does not decide is lumped, and what is proved of the rest is true of all."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan.objectives import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, solve
from fairspan.solvers.many_groups import lumped
from fairspan.solvers.many_groups.certified_newton import solve_newton
from tests import reference
from tests.certificate import problems


@pytest.mark.parametrize("seed", range(24))
def test_what_is_proved_of_some_groups_and_a_lump_is_true_of_all(seed, monkeypatch):
    monkeypatch.setattr(lumped, "_FEW", 2)
    monkeypatch.setattr(lumped, "_NEW", 2)
    # Half of them without the tangents for all groups, so that chords are what proves.
    monkeypatch.setattr(lumped, "_BENT", 0 if seed % 2 else 10**9)
    draw = (problems.any_ranks, problems.near_ties, problems.tiny_groups)[seed % 3]
    problem, objective, rng = draw(seed)
    if seed % 4 == 0 and problem.n_groups > 2:
        in_gap = np.arange(problem.n_groups) != seed % problem.n_groups
        o = objective
        objective = RobustFairObjective(o.shares, o.fairness_weight, o.radii, in_gap)
    result = solve(problem, objective, SolverOptions(solver="newton", effort=0.1))
    V = result.components.T
    value = problems.value(problem, objective, V)
    assert result.objective == pytest.approx(value, rel=1e-9, abs=1e-9)
    best, W = problems.attained(problem, objective, rng, 8)[0]
    known = problems.rounding(problem, objective, W)
    assert result.lower_bound <= min(best, value) + 1e-12 * abs(best) + known


@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_many_groups_of_many_features_are_proved_in_a_basis_of_a_few(radius):
    rng = np.random.default_rng(2)
    n, d, k = 20, 220, 2
    factors = rng.standard_normal((n, d, 40)) * np.geomspace(6, 0.3, d)[:, None]
    moments = factors @ factors.transpose(0, 2, 1) / 40
    shares = np.full(n, 1 / n)
    objective = RobustFairObjective(shares, 0.3, np.full(n, radius))
    result = solve(SubspaceProblem(moments, shares, k), objective)
    errors = reference.group_errors(moments, result.components.T)
    value = reference.objective(errors, shares, 0.3, objective.radii)
    assert result.objective == pytest.approx(value, rel=1e-9)
    assert result.lower_bound <= value
    assert result.optimality_gap <= 1e-3
    pca = np.linalg.eigh(moments.mean(axis=0))[1][:, -k:]
    for V in (pca, *(np.linalg.eigh(moment)[1][:, -k:] for moment in moments[:4])):
        other = reference.group_errors(moments, V)
        assert result.lower_bound <= reference.objective(other, shares, 0.3, objective.radii)


@pytest.mark.parametrize("disparity", ["gap", "largest"])
@pytest.mark.parametrize("seed", range(4))
def test_references_of_chosen_groups_stay_with_them(disparity, seed, monkeypatch):
    """Bounds by chords, and with radii by tangents of all groups, hold for errors beyond them."""
    monkeypatch.setattr(lumped, "_FEW", 2)
    monkeypatch.setattr(lumped, "_NEW", 1)
    monkeypatch.setattr(lumped, "_BENT", 0 if seed % 2 else 10**9)
    rng = np.random.default_rng(seed)
    n, d, k = 7, 5, 2
    moments = reference.random_moments(rng, n, d)
    shares = rng.dirichlet(np.full(n, 5.0))
    problem = SubspaceProblem(moments, shares, k)
    references = problem.traces * rng.uniform(0, 1.5, n)
    radii = np.full(n, 0.0 if seed == 1 else 1e-3 * problem.scale)
    objective = RobustFairObjective(shares, 2.0, radii, None, disparity, references)
    result = lumped.solve_any_number(problem, objective, effort=0.1)
    value = problems.value(problem, objective, result.components.T)
    assert result.objective == pytest.approx(value, rel=1e-9, abs=1e-9 * problem.scale)
    best, W = problems.attained(problem, objective, rng, 8)[0]
    assert result.lower_bound <= min(best, value) + problems.rounding(problem, objective, W)


@pytest.mark.parametrize("disparity", ["gap", "largest"])
def test_groups_that_are_not_compared_are_never_taken_in(disparity, monkeypatch):
    """Fewer groups are compared than would be taken in at a time; the others differ most."""
    monkeypatch.setattr(lumped, "_FEW", 2)
    rng = np.random.default_rng(3)
    n, d, k = 10, 6, 2
    factors = rng.standard_normal((n, d, 12))
    moments = factors @ factors.transpose(0, 2, 1) / 12
    moments[3:7] *= 5
    moments[7:] /= 5
    shares, in_gap = np.full(n, 1 / n), np.arange(n) < 3
    objective = RobustFairObjective(shares, 1.0, np.zeros(n), in_gap, disparity)
    problem = SubspaceProblem(moments, shares, k)
    result = lumped.solve_any_number(problem, objective)
    all_looked_at = solve_newton(problem, objective)
    assert result.lower_bound <= all_looked_at.objective * (1 + 1e-12)
    assert result.optimality_gap <= 1e-6


@pytest.mark.parametrize("radius", [0.0, 0.02])
def test_a_hundred_groups_are_solved_as_if_all_were_looked_at(radius):
    rng = np.random.default_rng(1)
    n, d, k = 100, 8, 2
    factors = rng.standard_normal((n, d, 30)) * np.linspace(3, 1, d)[:, None]
    moments = factors @ factors.transpose(0, 2, 1) / 30
    shares = rng.dirichlet(np.full(n, 5.0))
    objective = RobustFairObjective(shares, 0.3, np.full(n, radius))
    result = solve(SubspaceProblem(moments, shares, k), objective)
    all_looked_at = solve_newton(SubspaceProblem(moments, shares, k), objective)
    assert result.objective <= all_looked_at.objective * (1 + 1e-7)
    assert result.lower_bound <= all_looked_at.objective
    assert result.optimality_gap <= 1e-3
    errors = reference.group_errors(moments, result.components.T)
    value = reference.objective(errors, shares, 0.3, objective.radii)
    assert result.objective == pytest.approx(value, rel=1e-10)
