"""Convex, increasing objectives, against scans and descents that share no code with the solver."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairspan.objectives import LargestLoss
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, solve
from fairspan.solvers.cutting_planes.cuts import Cuts
from tests import reference
from tests.solvers.own_objectives import CVaR, NashWelfare, PNorm, all_objectives

KINDS = ("generic", "plane", "commuting", "ties", "low rank", "two rows", "units", "nearly flat")


def random_case(seed: int, kind: str, n_groups: int = 2):
    """Moments of many kinds, shares, and k from 1 to d - 1."""
    rng = np.random.default_rng(seed)
    d = 2 if kind == "plane" else int(rng.integers(3, 9))
    if kind in ("commuting", "ties", "nearly flat"):
        moments = np.array([np.diag(rng.exponential(1.0, d)) for _ in range(n_groups)])
        moments = np.round(2 * moments) / 2 + 0.5 * np.eye(d) if kind == "ties" else moments
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        moments = Q @ moments @ Q.T
        if kind == "nearly flat":
            moments = moments + 1e-6 * reference.random_moments(rng, n_groups, d)
        moments = (moments + moments.transpose(0, 2, 1)) / 2
    else:
        rank = {"low rank": max(d // 2, 1), "two rows": 1}.get(kind, d)
        moments = reference.random_moments(rng, n_groups, d, rank)
    if kind == "units":
        units = 10.0 ** rng.integers(-1, 2, d)
        moments = moments * units[:, None] * units
    k = (1, d - 1, int(rng.integers(1, d)))[seed % 3]
    return moments, rng.dirichlet(np.ones(n_groups)), k


def scan(moments, k, n_angles=2000):
    """Errors of the best subspaces of cos t M_0 + sin t M_1, t from 0 to 90 degrees."""
    t = np.linspace(0.0, np.pi / 2, n_angles)[:, None, None]
    vectors = np.linalg.eigh(np.cos(t) * moments[0] + np.sin(t) * moments[1])[1]
    dropped = vectors[:, :, : moments.shape[1] - k]
    lost = [np.einsum("nij,nij->n", dropped, M @ dropped) for M in moments]
    return np.maximum(np.column_stack(lost), 0.0)


def check_result(result, moments, k, objective):
    """The value is attained, and the bound is below it; gives what may be rounding."""
    V = result.components.T
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-10)
    traces = np.trace(moments, axis1=1, axis2=2)
    errors = reference.group_errors(moments, V)
    np.testing.assert_allclose(result.group_errors, errors, atol=1e-12 * traces.max())
    assert result.objective == objective.value(result.group_errors)
    assert result.lower_bound <= result.objective
    slope = objective.gradient(result.group_errors)
    return 1e-13 * (slope @ traces + abs(result.objective))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_two_groups_are_proved_and_no_scanned_subspace_is_better(seed, kind):
    moments, shares, k = random_case(seed, kind)
    points = scan(moments, k)
    for objective in all_objectives(moments, shares):
        result = solve(SubspaceProblem(moments, shares, k), objective)
        rounding = check_result(result, moments, k, objective)
        assert result.status == "optimal"
        assert result.solver == "cutting_planes"
        size = max(abs(result.objective), 1e-4 * result.scale)
        assert result.objective - result.lower_bound <= 1e-8 * size
        least = min(map(objective.value, points))
        assert result.objective <= least + rounding
        assert result.lower_bound <= least


def test_the_optimum_inside_a_straight_part_is_found():
    # Both groups share their axes: only mixtures of the first two balance the errors,
    # 6.5 - (5 c^2 + s^2) = 6.2 - (c^2 + 5 s^2) at c^2 = 0.5375.
    moments = np.array([np.diag([5.0, 1.0, 0.5]), np.diag([1.0, 5.0, 0.2])])
    worst = CVaR([0.5, 0.5], 0.5)
    result = solve(SubspaceProblem(moments, np.array([0.5, 0.5]), 1), worst)
    assert result.group_errors == pytest.approx([3.35, 3.35], rel=1e-9)
    assert np.abs(result.components[0]) == pytest.approx([0.5375**0.5, 0.4625**0.5, 0], abs=1e-6)
    assert result.lower_bound == pytest.approx(3.35, rel=1e-8)


def descents(moments, k, objective, seed, n_starts=8, steps=300):
    """The least value of gradient ascents of the variance kept, from random subspaces."""
    rng, d, best = np.random.default_rng(seed), moments.shape[1], math.inf
    for _ in range(n_starts):
        V, step = reference.random_subspace(rng, d, k), 1.0
        value = objective.value(reference.group_errors(moments, V))
        for _ in range(steps):
            slope = objective.gradient(reference.group_errors(moments, V))
            pull = np.tensordot(slope, moments, 1)
            tried = np.linalg.qr(V + step * pull @ V / np.linalg.norm(pull))[0]
            reached = objective.value(reference.group_errors(moments, tried))
            V, value, step = (tried, reached, 2 * step) if reached < value else (V, value, step / 2)
            if step < 1e-12:
                break
        best = min(best, value)
    return best


@pytest.mark.parametrize("kind", ["generic", "plane", "commuting", "low rank", "units"])
@pytest.mark.parametrize("seed", range(3))
def test_four_groups_no_descent_gets_below_the_bound(seed, kind):
    moments, shares, k = random_case(seed, kind, 4)
    for objective in all_objectives(moments, shares):
        result = solve(SubspaceProblem(moments, shares, k), objective)
        rounding = check_result(result, moments, k, objective)
        best = descents(moments, k, objective, seed)
        assert result.lower_bound <= best
        assert result.objective <= best + rounding + 1e-8 * max(abs(best), 1e-4 * result.scale)
        assert (result.status == "optimal") == (result.optimality_gap <= 1e-8)


def test_most_problems_of_four_groups_are_proved_and_the_rest_say_by_how_much_not():
    gaps = []
    for seed in range(10):
        moments, shares, k = random_case(seed, "generic", 4)
        for objective in all_objectives(moments, shares):
            result = solve(SubspaceProblem(moments, shares, k), objective)
            gaps.append(result.optimality_gap)
            assert (result.status == "optimal") == (gaps[-1] <= 1e-8)
    assert np.mean(np.array(gaps) <= 1e-8) > 0.8


def test_a_mixture_of_projections_may_be_better_than_each_of_them():
    # Four directions of the plane, one for each group: a mixture serves all by half, while every
    # line is at least 67.5 degrees away from one of them.
    angles = np.pi / 4 * np.arange(4)
    lines = np.column_stack([np.cos(angles), np.sin(angles)])
    moments, shares = np.einsum("ai,aj->aij", lines, lines), np.full(4, 0.25)
    result = solve(SubspaceProblem(moments, shares, 1), CVaR(shares, 0.25))
    assert result.status == "feasible"
    assert result.objective == pytest.approx(np.sin(np.radians(67.5)) ** 2, rel=1e-9)
    assert result.lower_bound == pytest.approx(0.5, rel=1e-8)
    assert result.optimality_gap == pytest.approx(1 - 0.5 / np.sin(np.radians(67.5)) ** 2)
    assert result.relaxed.matrix == pytest.approx(np.eye(2) / 2, abs=1e-7)
    assert result.relaxed.errors == pytest.approx(np.full(4, 0.5), abs=1e-7)


@pytest.mark.parametrize("n_groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_the_solver_made_for_the_largest_loss(seed, n_groups):
    moments, shares, k = random_case(seed, "generic", n_groups)
    own = np.array([np.linalg.eigvalsh(M)[: len(M) - k].sum() for M in moments])
    found = [
        solve(SubspaceProblem(moments, shares, k), LargestLoss(own), SolverOptions(name, tol=1e-9))
        for name in ("exact", "cutting_planes")
    ]
    assert found[0].objective == pytest.approx(found[1].objective, rel=2e-9)
    assert found[0].lower_bound == pytest.approx(found[1].lower_bound, rel=2e-9)


def test_one_group_is_pca():
    moments, _, k = random_case(0, "generic", 1)
    result = solve(SubspaceProblem(moments, np.ones(1), k), PNorm(3))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(np.linalg.eigvalsh(moments[0])[:-k].sum(), rel=1e-9)


def test_an_objective_may_be_infinite_where_a_group_loses_everything():
    # PCA keeps nothing of the second group; half of each direction is best.
    moments = np.array([np.diag([10.0, 0.0, 0.0]), np.diag([0.0, 1.0, 0.0])])
    objective = NashWelfare([10.0, 1.0])
    assert objective.value(np.array([0.0, 1.0])) == math.inf
    result = solve(SubspaceProblem(moments, np.array([0.9, 0.1]), 1), objective)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(-math.log(5.0) - math.log(0.5), rel=1e-8)
    moments = np.array([np.diag([10.0, 1.0, 0.0]), np.zeros((3, 3))])
    with pytest.raises(ValueError, match=r"NashWelfare is infinite .* group without variance"):
        solve(SubspaceProblem(moments, np.array([0.9, 0.1]), 1), NashWelfare([11.0, 0.0]))


def test_an_objective_that_vanishes_by_chance_is_proved_all_the_same():
    # Variance 1 is kept of each group: the logarithms are 0.
    moments = np.array([np.diag([1.0, 0.5]), np.diag([1.0, 0.2])])
    result = solve(SubspaceProblem(moments, np.array([0.5, 0.5]), 1), NashWelfare([1.5, 1.2]))
    assert result.objective == pytest.approx(0.0, abs=1e-14)
    assert result.status == "optimal"
    assert result.objective - result.lower_bound <= 1e-11


@pytest.mark.parametrize("max_iter", [1, 2, 5, 12])
def test_the_budget_is_counted_in_eigen_solves_and_a_result_that_it_cut_says_so(max_iter):
    moments, shares, k = random_case(3, "generic", 4)
    for objective in all_objectives(moments, shares):
        problem = SubspaceProblem(moments, shares, k)
        result = solve(problem, objective, SolverOptions(max_iter=max_iter))
        assert result.n_eigensolves == problem.n_eigensolves <= max_iter
        check_result(result, moments, k, objective)
        whole = solve(SubspaceProblem(moments, shares, k), objective)
        assert result.lower_bound <= whole.objective
        assert result.status in ("optimal", "iteration_limit")
        assert (result.status == "optimal") == (result.optimality_gap <= 1e-8)


def test_the_same_call_gives_the_same_answer():
    moments, shares, k = random_case(9, "low rank", 4)
    for objective in all_objectives(moments, shares):
        first, again = (solve(SubspaceProblem(moments, shares, k), objective) for _ in range(2))
        assert np.array_equal(first.components, again.components)
        assert first.lower_bound == again.lower_bound


class FarFromZero(CVaR):
    """The total error on top of a large constant, which hides digits of it."""

    def __init__(self, shares):
        super().__init__(shares, 1.0)

    def value(self, errors):
        return 1e6 + super().value(errors)


def test_the_rounding_of_values_is_taken_off_the_bound():
    for seed in range(30):
        moments, shares, k = random_case(seed, "generic")
        result = solve(SubspaceProblem(moments, shares, k), FarFromZero(shares))
        least = np.linalg.eigvalsh(np.tensordot(shares, moments, 1))[: moments.shape[1] - k].sum()
        # The difference of two numbers this close is exact.
        assert result.lower_bound - 1e6 <= least
        assert result.status == "optimal"


class Broken(PNorm):
    """A p-norm with one fault."""

    def __init__(self, fault):
        super().__init__(2.0)
        self.fault = fault
        self.lowest = 1e9 if fault == "lowest" else 0.0

    def value(self, errors):
        if self.fault == "nan":
            return math.nan
        return float(np.sqrt(errors).sum()) if self.fault == "concave" else super().value(errors)

    def gradient(self, errors):
        slope = super().gradient(errors)
        if self.fault == "concave":
            return 0.5 / np.sqrt(np.maximum(errors, 1e-9))
        return {
            "falling": slope * [1, -1],
            "shape": slope[:1],
            "not finite": slope * [1, np.nan],
            "too steep": 3 * slope,
        }.get(self.fault, slope)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("falling", "Broken promises to be increasing, but its gradient"),
        ("shape", "Broken promises .* it must be 2 finite numbers"),
        ("not finite", "Broken promises .* it must be 2 finite numbers"),
        ("concave", "Broken promises to be convex, but .* a linearisation gives"),
        ("too steep", "Broken promises to be convex, but .* a linearisation gives"),
        ("nan", "Broken.value gives nan"),
        ("lowest", "below Broken.lowest = 1000000000.0"),
    ],
)
def test_a_broken_promise_is_named(fault, said):
    moments, shares, k = random_case(3, "generic")
    with pytest.raises(ValueError, match=said):
        solve(SubspaceProblem(moments, shares, k), Broken(fault))


def test_a_bound_above_an_attained_value_names_the_objective():
    cuts = Cuts(PNorm(2.0), np.ones(2))
    cuts.check_bound(1.0 + 1e-12, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"PNorm promises .* below 1.1, and one has 1.0"):
        cuts.check_bound(1.1, 1.0, 1.0)
