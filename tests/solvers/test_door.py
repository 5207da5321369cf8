"""The one door: what a solver cannot prove is refused by name, and every setting gets through."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan.objectives import LargestLoss, RobustFairObjective, TotalErrorWithinGap
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import Boundary, SolverOptions, solve
from fairspan.solvers.descent import solve_subgradient
from tests import reference
from tests.solvers.own_objectives import CVaR


def problem_of(n_groups: int) -> SubspaceProblem:
    rng = np.random.default_rng(n_groups)
    moments = reference.random_moments(rng, n_groups, 5)
    return SubspaceProblem(moments, rng.dirichlet(np.ones(n_groups)), 2)


def robust(n_groups: int) -> RobustFairObjective:
    return RobustFairObjective(problem_of(n_groups).shares, 1.0, np.full(n_groups, 0.1))


class Undeclared(CVaR):
    promises = ()


class OnlyConvex(CVaR):
    promises = ("convex",)


class Pretender(CVaR):
    promises = ("concave pieces",)


class Bare:
    promises = ("convex", "increasing")
    lowest = 0.0

    def value(self, errors):
        return float(errors.max())


SHARES = np.array([0.5, 0.5])


@pytest.mark.parametrize(
    ("objective", "solver", "said"),
    [
        (Undeclared(SHARES), "auto", r"Undeclared.*'convex', 'increasing'.*makes none.*declares"),
        (OnlyConvex(SHARES), "auto", r"OnlyConvex.*\['convex', 'increasing'\].*\['convex'\]"),
        (CVaR(SHARES), "boundary", r"'boundary'.*CVaR.*concave pieces.*\['cutting_planes'\]"),
        (CVaR(SHARES), "newton", r"'newton'.*CVaR.*concave pieces"),
        (CVaR(SHARES), "subgradient", r"'subgradient'.*CVaR.*concave pieces"),
        (CVaR(SHARES), "exact", r"'exact'.*CVaR.*largest loss"),
        (robust(2), "cutting_planes", r"'cutting_planes'.*RobustFairObjective.*'boundary'"),
        (robust(2), "pca", r"'pca'.*RobustFairObjective.*total error alone"),
        (TotalErrorWithinGap(SHARES), "boundary", r"TotalErrorWithinGap.*\['exact_fairness'\]"),
        (Bare(), "auto", r"Bare has no attribute gradient.*'cutting_planes'"),
        (Pretender(SHARES), "auto", r"Pretender has no attribute fairness_weight.*'boundary'"),
        (SHARES, "auto", r"ndarray has no attribute promises, lowest, value"),
    ],
)
def test_what_cannot_be_proved_is_refused_by_name(objective, solver, said):
    with pytest.raises(TypeError, match=said):
        solve(problem_of(2), objective, SolverOptions(solver))


@pytest.mark.parametrize(
    ("objective", "solver", "said"),
    [
        (robust(3), "boundary", "'boundary' needs exactly 2 groups but there are 3; use .*auto"),
        (TotalErrorWithinGap(np.ones(3) / 3), "auto", "needs exactly 2 groups .* no other"),
        (robust(3), "simplex", "'simplex' is not known"),
    ],
)
def test_what_does_not_fit_the_number_of_groups_is_refused(objective, solver, said):
    with pytest.raises(ValueError, match=said):
        solve(problem_of(3), objective, SolverOptions(solver))


@pytest.mark.parametrize("option", ["retraction", "iterate"])
def test_options_that_are_not_known_are_refused(option):
    with pytest.raises(ValueError, match=f"{option}='sideways' is not known"):
        solve(problem_of(3), robust(3), SolverOptions(**{option: "sideways"}))


def test_an_objective_must_count_groups_as_the_problem_does():
    with pytest.raises(ValueError, match="must agree"):
        solve(problem_of(2), TotalErrorWithinGap(SHARES))


@pytest.mark.parametrize(
    ("objective", "n_groups", "chosen"),
    [
        (RobustFairObjective(problem_of(3).shares, 0.0, np.zeros(3)), 3, "pca"),
        (robust(1), 1, "pca"),
        (robust(2), 2, "boundary"),
        (robust(3), 3, "newton"),
        (LargestLoss(np.zeros(2)), 2, "exact"),
        (LargestLoss(np.zeros(4)), 4, "exact"),
        (TotalErrorWithinGap(problem_of(2).shares, 1e3), 2, "exact_fairness"),
        (CVaR(problem_of(2).shares), 2, "cutting_planes"),
        (CVaR(problem_of(4).shares), 4, "cutting_planes"),
    ],
)
def test_the_objective_decides_which_solver_is_taken(objective, n_groups, chosen):
    assert solve(problem_of(n_groups), objective).solver == chosen


def test_without_any_loss_every_objective_is_settled_at_once():
    moments = problem_of(2).moments
    for objective in (robust(2), CVaR(SHARES), LargestLoss(np.zeros(2))):
        result = solve(SubspaceProblem(moments, SHARES, 5), objective)
        assert result.status == "optimal"
        assert result.objective == result.lower_bound == objective.value(np.zeros(2))
        assert result.n_eigensolves == 0


@pytest.mark.parametrize("iterate", ["best", "last"])
@pytest.mark.parametrize("start_at_pca", [True, False])
def test_every_setting_of_the_descent_gets_through(iterate, start_at_pca):
    settings = {"max_iter": 7, "n_init": 2, "retraction": "polar", "tol": 1e-3}
    settings |= {"iterate": iterate, "start_at_pca": start_at_pca}
    direct = solve_subgradient(problem_of(3), robust(3), rng=np.random.default_rng(5), **settings)
    options = SolverOptions("subgradient", rng=np.random.default_rng(5), **settings)
    through = solve(problem_of(3), robust(3), options)
    assert np.array_equal(direct.components, through.components)
    assert np.array_equal(direct.history, through.history)


def test_lines_that_are_known_are_used_and_new_ones_kept():
    problem = problem_of(2)
    boundary = Boundary(problem)
    first = solve(problem, robust(2), boundary=boundary)
    assert first.n_eigensolves > 0
    assert len(boundary.lines) > 1
    again = solve(problem, robust(2), boundary=boundary)
    assert again.n_eigensolves < first.n_eigensolves
    assert again.objective == pytest.approx(first.objective, rel=1e-12)
