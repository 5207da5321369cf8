"""The exact solver on the paper's data sets, against a dense scan of the whole boundary."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import RobustFairPCA
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.angle import solve_boundary
from tests import reference
from tests.conftest import PAPER_FILES, needs_paper_data, paper_table, standardised

pytestmark = needs_paper_data

SETTINGS = [(weight, radius) for weight in (0.0, 0.5, 2.5) for radius in (0.0, 0.15, 1.0)]


def paper_moments(name):
    X, groups, _ = paper_table(name)
    moments, shares = reference.group_second_moments(standardised(X), groups)
    return moments, shares, shares * len(X)


@pytest.mark.parametrize("name", PAPER_FILES)
def test_every_setting_is_certified_and_no_scanned_point_is_below_the_bound(name):
    moments, shares, sizes = paper_moments(name)
    scan = reference.scan_boundary(moments[0], moments[1], n_angles=1600)
    d = moments.shape[1]
    for k in (k for k in (1, 3, 10) if k < d):
        for weight, radius in SETTINGS:
            radii = radius / np.sqrt(sizes)
            problem = SubspaceProblem(moments, shares, k)
            result = solve_boundary(problem, RobustFairObjective(shares, weight, radii))
            assert result.status == "optimal"
            assert result.optimality_gap <= 1e-8
            scanned = reference.two_group_objective(scan[:, k], shares, weight, radii).min()
            assert result.lower_bound <= scanned
            assert result.objective <= scanned * (1 + 1e-8)
            errors = reference.group_errors(moments, result.components.T)
            value = reference.objective(errors, shares, weight, radii)
            assert result.objective == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("name", PAPER_FILES)
def test_the_estimator_is_certified_on_rows_as_on_moments(name):
    X, groups, _ = paper_table(name)
    moments, shares, sizes = paper_moments(name)
    for k in (k for k in (1, 3, 10) if k < X.shape[1]):
        for weight, radius in SETTINGS:
            model = RobustFairPCA(k, fairness_weight=weight, radius=radius, standardize=True)
            model.fit(X, sensitive_features=groups)
            assert model.optimality_gap_ <= 1e-8
            errors = reference.group_errors(moments, model.components_.T)
            size = np.trace(moments[0])
            assert model.group_errors_ == pytest.approx(errors, abs=1e-9 * size)
            value = reference.objective(errors, shares, weight, radius / np.sqrt(sizes))
            assert model.objective_ == pytest.approx(value, rel=1e-7)


def test_at_most_twelve_eigen_solves_are_needed_on_average():
    counts = []
    for name in PAPER_FILES:
        moments, shares, sizes = paper_moments(name)
        for weight, radius in SETTINGS:
            problem = SubspaceProblem(moments, shares, 3)
            objective = RobustFairObjective(shares, weight, radius / np.sqrt(sizes))
            result = solve_boundary(problem, objective)
            assert result.n_eigensolves == problem.n_eigensolves
            counts.append(result.n_eigensolves)
    assert len(counts) == 14 * 9
    assert np.mean(counts) <= 12


def test_statlog_has_the_value_that_subgradient_descent_misses():
    X, groups, _ = paper_table("statlog")
    model = RobustFairPCA(3, fairness_weight=2.5, radius=0.15).fit(
        standardised(X), sensitive_features=groups
    )
    assert model.objective_ == pytest.approx(4.1831, abs=5e-5)
