"""What a solver reports: a bound is never above the value, and a gap is never flattered."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fairspan import RobustFairPCA
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.result import is_closed, relative_gap, safe_bound


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
