"""ExactlyFairPCA: equal errors at the least cost, or a clear refusal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairspan import GroupMoments, NoGroupsWarning, RobustFairPCA
from fairspan.estimators.exact import ExactlyFairPCA
from tests import reference
from tests.conftest import needs_paper_data, paper_table, standardised


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer()
    return data.data, data.target_names[data.target]


# The checks fit without groups, which this estimator rightly complains about.
@pytest.mark.filterwarnings("ignore::fairspan.NoGroupsWarning")
@parametrize_with_checks([ExactlyFairPCA(), ExactlyFairPCA(1, standardize=True, max_gap=0.5)])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def test_errors_are_equal_and_proved_on_rows(cancer):
    X, groups = cancer
    model = ExactlyFairPCA(3, standardize=True).fit(X, sensitive_features=groups)
    moments, shares = reference.group_second_moments(standardised(X), groups)
    errors = reference.group_errors(moments, model.components_.T)
    assert model.group_errors_ == pytest.approx(errors, rel=1e-10)
    assert abs(errors[0] - errors[1]) <= 1e-10 * X.shape[1]
    assert model.total_error_ == pytest.approx(shares @ errors, rel=1e-10)
    assert model.objective_ == model.total_error_
    assert model.optimality_gap_ <= 1e-8
    assert model.n_eigensolves_ <= 12
    rows = model.reconstruction_errors(X)
    means = [rows[groups == label].mean() for label in model.group_labels_]
    assert means[0] == pytest.approx(means[1], rel=1e-9)


@pytest.mark.parametrize("max_gap", [0.0, 0.3, 1.0])
def test_the_threshold_is_the_weight_from_which_on_the_gap_is_kept(cancer, max_gap):
    X, groups = cancer
    data = {"sensitive_features": groups}
    fair = ExactlyFairPCA(3, standardize=True, max_gap=max_gap).fit(X, **data)
    weight = fair.fairness_weight_threshold_
    assert fair.error_gap_ == pytest.approx(max_gap, abs=1e-9)

    def penalised(factor):
        model = RobustFairPCA(
            3, standardize=True, fairness_weight=factor * weight, radius=0.0, tol=1e-10
        )
        return model.fit(X, **data)

    if max_gap == 0:
        for factor in (1.001, 3.0):
            assert penalised(factor).group_errors_ == pytest.approx(fair.group_errors_, rel=1e-7)
    assert penalised(1.01).error_gap_ <= max_gap + 1e-6
    assert penalised(0.99).error_gap_ > max_gap + 1e-3
    assert penalised(0.99).total_error_ < fair.total_error_ - 1e-4


def test_a_larger_allowed_gap_never_costs_more(cancer):
    X, groups = cancer
    totals = []
    for max_gap in (0.0, 0.2, 0.5, 1.0, 1.5, 2.0):
        model = ExactlyFairPCA(3, standardize=True, max_gap=max_gap)
        model.fit(X, sensitive_features=groups)
        assert model.error_gap_ <= max_gap + 1e-9
        totals.append(model.total_error_)
    assert np.all(np.diff(totals) <= 1e-12)
    pca = PCA(3).fit(standardised(X))
    assert totals[-1] == pytest.approx(
        X.shape[1] - pca.singular_values_ @ pca.singular_values_ / len(X)
    )
    assert model.fairness_weight_threshold_ == 0


def test_fitting_moments_equals_fitting_rows(cancer):
    X, groups = cancer
    rows = ExactlyFairPCA(3, standardize=True).fit(X, sensitive_features=groups)
    moments = sum(
        GroupMoments.from_arrays(X[part], groups[part]) for part in (slice(200), slice(200, None))
    )
    merged = ExactlyFairPCA(3, standardize=True).fit_moments(moments)
    assert merged.group_errors_ == pytest.approx(rows.group_errors_, rel=1e-9)
    assert merged.fairness_weight_threshold_ == pytest.approx(rows.fairness_weight_threshold_)


def test_a_gap_that_cannot_be_attained_is_refused_with_the_range(cancer):
    X, groups = cancer
    with pytest.raises(ValueError, match=r"\[-24\.409, -6\.1697\].*'benign' and 'malignant'"):
        ExactlyFairPCA(1, standardize=True).fit(X, sensitive_features=groups)
    allowed = ExactlyFairPCA(1, standardize=True, max_gap=6.18).fit(X, sensitive_features=groups)
    assert allowed.error_gap_ == pytest.approx(6.18, abs=1e-9)
    assert math.isfinite(allowed.fairness_weight_threshold_)


def test_one_group_is_pca_with_a_warning(cancer):
    X, _ = cancer
    with pytest.warns(NoGroupsWarning, match="only one group"):
        model = ExactlyFairPCA(3).fit(X)
    pca = PCA(3, svd_solver="full").fit(X)
    assert model.explained_variance_ == pytest.approx(pca.explained_variance_)
    assert model.fairness_weight_threshold_ == 0


def test_more_than_two_groups_are_refused(cancer):
    X, _ = cancer
    with pytest.raises(ValueError, match="needs 2 groups, but there are 3"):
        ExactlyFairPCA(3).fit(X, sensitive_features=np.arange(len(X)) % 3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_gap": -1.0}, "max_gap=-1.0"),
        ({"max_gap": math.nan}, "max_gap"),
        ({"tol": 0}, "tol=0"),
    ],
)
def test_bad_parameters_are_named(cancer, parameters, message):
    X, groups = cancer
    with pytest.raises(ValueError, match=message):
        ExactlyFairPCA(2, **parameters).fit(X, sensitive_features=groups)


@needs_paper_data
def test_wine_with_one_component_is_refused_with_its_range():
    X, groups, _ = paper_table("wine_quality")
    with pytest.raises(ValueError, match=r"within \[2\.1408, 11\.193\]"):
        ExactlyFairPCA(1, standardize=True).fit(X, sensitive_features=groups)


@needs_paper_data
@pytest.mark.parametrize(
    ("name", "threshold", "total"), [("wine_quality", 0.4444, 4.2459), ("letter", 0.1394, 7.3830)]
)
def test_weights_above_the_threshold_change_nothing_on_the_papers_data(name, threshold, total):
    X, groups, _ = paper_table(name)
    data = {"sensitive_features": groups}
    fair = ExactlyFairPCA(3, standardize=True).fit(X, **data)
    assert fair.fairness_weight_threshold_ == pytest.approx(threshold, abs=5e-5)
    assert fair.total_error_ == pytest.approx(total, abs=5e-5)
    for factor in (1.001, 2.0):
        weight = factor * fair.fairness_weight_threshold_
        model = RobustFairPCA(
            3, standardize=True, fairness_weight=weight, radius=0.0, tol=1e-10
        ).fit(X, **data)
        assert model.group_errors_ == pytest.approx(fair.group_errors_, rel=1e-6)
    below = RobustFairPCA(
        3, standardize=True, fairness_weight=0.98 * fair.fairness_weight_threshold_, radius=0.0
    ).fit(X, **data)
    assert below.error_gap_ > 1e-3
