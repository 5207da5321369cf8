"""What a solver reports: a bound is never above the value, and a gap is never flattered."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fairspan import RobustFairPCA, certify
from fairspan.objectives import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import solve
from fairspan.solvers.many_groups.certified_newton import solve_newton
from fairspan.solvers.result import SolverResult, is_closed, relative_gap, safe_bound, settled
from tests import reference


def test_what_rounding_adds_to_a_bound_is_cut_off():
    assert safe_bound(2.0 + 1e-12, 2.0, 10.0) == 2.0
    assert safe_bound(1.5, 2.0, 10.0) == 1.5
    assert safe_bound(-math.inf, 2.0, 10.0) == -math.inf


@pytest.mark.parametrize(("bound", "value"), [(2.1, 2.0), (1.0, 0.0), (0.0, -1.0)])
def test_a_bound_above_an_attained_value_raises(bound, value):
    with pytest.raises(RuntimeError, match="defect of fairspan"):
        safe_bound(bound, value, 10.0)


def test_a_gap_is_a_share_of_the_objective_however_small_that_is_beside_the_variance():
    assert relative_gap(2.0, 1.0, 10.0) == pytest.approx(0.5)
    assert relative_gap(2.0, 2.0 + 1e-12, 10.0) == 0.0
    assert relative_gap(1e-6, 0.9e-6, 10.0) == pytest.approx(0.1)
    # No error is negative.
    assert relative_gap(1.0, -math.inf, 10.0) == 1.0
    assert relative_gap(0.0, -1e-17, 10.0) == 0.0
    # The objective of a program without a scale may be.
    assert relative_gap(2.0, -2.0, 0.0) == pytest.approx(2.0)
    assert relative_gap(0.0, 0.0, 0.0) == 0.0


def test_an_objective_that_may_be_negative_is_not_cut_off_at_zero():
    assert relative_gap(2.0, -2.0, 10.0, lowest=-math.inf) == pytest.approx(2.0)
    assert relative_gap(2.0, -math.inf, 10.0, lowest=-math.inf) == math.inf
    assert relative_gap(-2.0, -3.0, 10.0, lowest=-math.inf) == pytest.approx(0.5)
    assert relative_gap(2.0, 0.5, 10.0, lowest=1.0) == pytest.approx(0.5)
    # What vanishes by chance is measured against a share of the scale.
    assert relative_gap(0.0, -1e-6, 10.0, lowest=-math.inf) == pytest.approx(1e-3)
    # With references: against the value without them, and never cut at 0.
    assert relative_gap(1e-9, -1.0, 10.0, size=2.0) == pytest.approx(0.5)
    assert relative_gap(-3.0, -3.0 - 1e-9, 10.0, size=1e-6) == pytest.approx(1e-3)


def test_rounding_alone_leaves_no_gap_but_is_told_of_where_it_shows():
    moments = np.array([np.diag([1e6, 1.0, 1.0]), np.diag([1e6, 2.0, 1.0])])
    problem = SubspaceProblem(moments, np.array([0.5, 0.5]), 1)
    rounding = problem.resolution(1.0)
    assert 1e-9 < rounding < 1e-7
    assert is_closed(problem, 2.0, 2.0 - 0.9 * rounding, 1e-12, 1.0)
    assert not is_closed(problem, 2.0, 2.0 - 2 * rounding, 1e-12, 1.0)
    assert not is_closed(problem, 1e-4, 1e-4 - 0.9 * rounding, 1e-12, 1.0)
    assert not is_closed(problem, 0.9 * rounding, 0.0, 1e-12, 1.0)
    assert is_closed(problem, 0.0, 0.0, 1e-12, 1.0)


def test_a_column_in_large_units_flatters_no_proof():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * [9e5, 2, 1, 1, 1, 1]
    groups = rng.choice(["a", "b", "c"], 300, p=[0.6, 0.2, 0.2])
    X[groups == "b", 1:3] *= 2
    X[groups == "c", 3] *= 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RobustFairPCA(2, radius=0.0, effort=0.1, random_state=0)
        model.fit(X, sensitive_features=groups)
    share = (model.objective_ - model.lower_bound_) / model.objective_
    assert model.optimality_gap_ == pytest.approx(share, rel=1e-9)
    assert (model.result_.status == "optimal") == (share <= 1e-5)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_what_rounding_hides_of_a_robust_value_counts_in_the_gap(n_groups):
    rng = np.random.default_rng(n_groups)
    d, hidden = 6, 3e-15
    basis = reference.random_subspace(rng, d, d)
    # The first group varies in a direction of its own, and next to nothing outside of it.
    first = np.outer(basis[:, 0], basis[:, 0]) * 10 + hidden * np.outer(basis[:, 5], basis[:, 5])
    others = reference.random_moments(rng, n_groups - 1, d - 1)
    moments = [first, *(basis[:, 1:] @ others @ basis[:, 1:].T)]
    shares = np.full(n_groups, 1 / n_groups)
    objective = RobustFairObjective(shares, 0.1, np.full(n_groups, 0.3))
    result = solve(SubspaceProblem(np.array(moments), shares, 2), objective)
    assert result.group_errors[0] == 0
    errors = result.group_errors.copy()
    errors[0] = hidden
    truth = reference.objective(errors, shares, 0.1, objective.radii)
    assert truth > (1 + 1e-9) * result.objective
    assert result.optimality_gap * result.objective >= truth - result.objective
    assert result.optimality_gap < 1e-6


@pytest.mark.parametrize("size", [None, 2.0])
def test_a_value_that_rounding_may_hide_a_visible_share_of_is_not_proved(size):
    problem = SubspaceProblem(np.array([np.eye(3), 2 * np.eye(3)]), np.array([0.5, 0.5]), 1)
    value = 2.0 if size is None else -0.5  # references make values small, not gaps
    found = SolverResult(
        np.eye(3)[:1], np.ones(2), value, value, "optimal", 3.0, lowest=-math.inf, size=size
    )
    for share, status in ((1e-7, "optimal"), (3e-5, "feasible"), (0.1, "feasible")):
        told = settled(found, problem, unsure=2.0 * share)
        assert told.status == status
        assert told.optimality_gap == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize("weight", [1e12, 1e16, 1e20])
@pytest.mark.parametrize("n_groups", [2, 3, 4])
def test_weights_beyond_all_digits_keep_the_total_error_and_a_true_bound(n_groups, weight):
    rng = np.random.default_rng(0)
    moments = reference.random_moments(rng, n_groups, 8)
    moments /= np.trace(moments, axis1=1, axis2=2)[:, None, None]
    shares = rng.dirichlet(np.ones(n_groups))
    problem = SubspaceProblem(moments, shares, 4)
    result = solve(problem, RobustFairObjective(shares, weight, np.zeros(n_groups)))
    total = float(shares @ result.group_errors)
    gap = float(np.ptp(result.group_errors))
    assert result.objective == pytest.approx(total + weight * gap, rel=1e-9, abs=1e-15 * weight)
    assert gap < 1e-9  # equal errors can be had here
    # Their least total error is known from weights that leave all digits.
    fair = solve(problem, RobustFairObjective(shares, 1e4, np.zeros(n_groups)))
    assert fair.optimality_gap < 1e-7
    assert 0 < result.lower_bound <= fair.objective * (1 + 1e-9)
    assert result.lower_bound >= fair.objective * (1 - 1e-6)
    assert total >= fair.lower_bound * (1 - 1e-6)
    assert (result.status == "optimal") == (result.optimality_gap <= 1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_beyond_references_a_lighter_weight_proves_nothing_of_a_heavy_one(seed):
    """All groups are better off than their references: the heavier the weight, the lower."""
    rng = np.random.default_rng(seed)
    moments, shares = reference.random_moments(rng, 4, 6), np.full(4, 0.25)
    problem = SubspaceProblem(moments, shares, 2)
    references = 9 * problem.traces
    given = (np.full(4, 0.1 * problem.scale), None, "largest", references)
    objective = RobustFairObjective(shares, 1e8, *given)
    result = solve_newton(problem, objective, tol=0.0, effort=1e-6)
    assert result.lower_bound <= result.objective < 0


def test_a_bound_below_everything_is_not_reported_beside_a_gap():
    """Features apart by many orders, and a weight that multiplies their rounding."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 5)) * [1e7, 1, 1, 1, 1]
    groups = np.arange(60) % 3
    for weight in (1e3, 1e9, 1e14):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = RobustFairPCA(2, fairness_weight=weight).fit(X, sensitive_features=groups)
            judged = certify(
                model.components_,
                X,
                sensitive_features=groups,
                fairness_weight=weight,
                radius=0.0,
                effort=0.1,
            )
        for bound, value, share in (
            (model.lower_bound_, model.objective_, model.optimality_gap_),
            (judged.lower_bound, judged.objective, judged.optimality_gap),
        ):
            assert 0 <= bound <= value
            if share < 1:
                assert share == pytest.approx((value - bound) / max(value, 1e-300), abs=1e-12)
