"""Features and groups of very different scales: no claim beyond what rounding leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fairspan import (
    GroupMoments,
    HiddenFeatureWarning,
    RobustFairPCA,
    RobustFairPCACV,
    certify,
    fairness_frontier,
    load_model,
    metrics,
)
from fairspan.objectives.ambiguity import gelbrich_divergence

GROUPS = np.repeat(["a", "b"], 60)


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(120, 4)) * [4, 3, 2, 1]


def fit(X, k=2, **parameters) -> RobustFairPCA:
    return RobustFairPCA(k, **parameters).fit(X, sensitive_features=GROUPS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("largest", [1e9, 1e20, 1e60])
def test_features_hidden_by_an_outlier_are_named(X, largest):
    X[3, 1] = largest
    with pytest.warns(HiddenFeatureWarning, match="Features 0, 2, 3 have a variance so small"):
        fit(X)


def test_a_feature_hidden_by_its_unit_is_named(X):
    # Before 3.0, pandas shares the memory of X.
    frame = pytest.importorskip("pandas").DataFrame(X.copy(), columns=["w", "x", "y", "z"])
    frame["z"] *= 1e-8
    with pytest.warns(HiddenFeatureWarning, match="Feature 'z' has"):
        fit(frame)
    assert fit(frame, standardize=True).scale_[3] == pytest.approx(X[:, 3].std() * 1e-8)


def test_frontiers_and_certificates_name_hidden_features_too(X):
    X[:, 0] *= 1e9
    moments = GroupMoments.from_arrays(X, GROUPS)
    with pytest.warns(HiddenFeatureWarning, match="Features 1, 2, 3 have"):
        fairness_frontier(moments, 2)
    with pytest.warns(HiddenFeatureWarning, match="Features 1, 2, 3 have"):
        certify(np.eye(4)[:2], moments, fairness_weight=1, radius=0)


@pytest.mark.parametrize("apart", [1.0, 1e3])
def test_what_rounding_leaves_is_not_warned_of(X, apart):
    X[:, 0] *= apart
    constant = np.full((len(X), 1), 0.1)
    fit(np.hstack([X, constant, 0 * constant]))


@pytest.mark.parametrize("largest", [1e100, 1e150])
def test_values_too_large_to_solve_for_are_refused(X, largest):
    X[3, 1] = largest
    with pytest.raises(ValueError, match=r"Feature 1 has a variance above 1e\+140"):
        fit(X)
    assert np.isfinite(fit(X, standardize=True).optimality_gap_)


def test_standardising_does_not_depend_on_units(X):
    units = np.array([1e-14, 1e-6, 1.0, 1e9])
    plain, converted = fit(X, standardize=True), fit(X * units, standardize=True)
    np.testing.assert_allclose(converted.scale_, plain.scale_ * units, rtol=1e-12)
    np.testing.assert_allclose(converted.components_, plain.components_, atol=1e-9)


def test_a_large_group_that_hardly_counts_does_not_hide_the_gap(X):
    X = np.concatenate([1e5 * X[:30], -1e5 * X[:30], X[60:90], -X[60:90]])
    model = fit(X, fairness_weight=0.0, tol=1e-6, group_weights={"a": 1e-12, "b": 1})
    assert model.objective_ - model.lower_bound_ <= 1.01e-6 * model.objective_
    assert model.total_error_ == pytest.approx(model.group_errors_.mean())
    kept = (model.transform(X) ** 2).sum() / (X**2).sum()
    assert model.explained_variance_ratio_.sum() == pytest.approx(kept)


@pytest.mark.parametrize("kind", [csr_array, csc_array])
@pytest.mark.parametrize("standardize", [False, True])
def test_sparse_rows_far_from_zero_have_the_errors_of_dense_ones(X, kind, standardize):
    X += np.array([1e8, 0, -1e8, 1e3])
    X[::2, 1] = 0.0
    dense, sparse = fit(X, standardize=standardize), fit(kind(X), standardize=standardize)
    errors = dense.reconstruction_errors(X)
    np.testing.assert_allclose(sparse.reconstruction_errors(kind(X)), errors, atol=1e-6)
    np.testing.assert_allclose(sparse.transform(kind(X)), dense.transform(X), atol=1e-6)


def test_a_first_batch_of_one_row_is_kept_until_more_come(X):
    model = RobustFairPCA(2).partial_fit(X[:1], sensitive_features=GROUPS[:1])
    with pytest.raises(NotFittedError):
        model.transform(X)
    model.partial_fit(X[1:], sensitive_features=GROUPS[1:])
    np.testing.assert_allclose(model.components_, fit(X).components_, atol=1e-9)


def test_one_row_does_not_excuse_wrong_parameters(X):
    with pytest.raises(ValueError, match="n_components=5"):
        RobustFairPCA(5).partial_fit(X[:1], sensitive_features=GROUPS[:1])


@pytest.mark.parametrize("labels", [{"a", "b"}, frozenset("ab"), {"sex": {"a", "b"}}])
def test_sets_are_refused_because_they_have_no_order(X, labels):
    with pytest.raises(TypeError, match="set; give one label per row"):
        RobustFairPCA(2).fit(X[:2], sensitive_features=labels)


def test_complex_rows_are_refused_in_one_sentence(X):
    for call in (fit, GroupMoments.from_arrays, RobustFairPCACV().fit):
        with pytest.raises(ValueError, match="Complex data not supported: X has") as caught:
            call(X + 1j)
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("sizes", [(2, 3, 2, 2), (3, 2, 2, 2), (3, 3, 1, 3), (2, 2, 2, 3)])
def test_moments_of_different_sizes_have_no_divergence(sizes):
    a, b, c, d = sizes
    with pytest.raises(ValueError, match="Both means must have the shape"):
        gelbrich_divergence(np.zeros(a), np.eye(b), np.zeros(c), np.eye(d))


def two_groups_beside(largest, *, d=8, n=400):
    """Groups that differ, in a table whose first column is so much larger."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], n // 2)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[groups == "b"] @= np.eye(d) + 0.4 * rng.normal(size=(d, d))
    return X * [largest, *[1.0] * (d - 1)], groups


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nothing_is_claimed_of_an_objective_that_is_rounding(tmp_path):
    X, groups = two_groups_beside(1e7)
    with pytest.warns(HiddenFeatureWarning):
        model = RobustFairPCA(6, radius=0.0).fit(X, sensitive_features=groups)
    assert (model.result_.status, model.optimality_gap_) == ("feasible", 1.0)
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert (loaded.result_.status, loaded.result_.optimality_gap) == ("feasible", 1.0)
    with pytest.warns(HiddenFeatureWarning):
        judged = certify(model.components_, model.moments_, fairness_weight=1.0, radius=0.0)
    assert (judged.status, judged.optimality_gap) == ("feasible", 1.0)


def test_a_table_without_rank_has_no_error_and_that_is_proved():
    X = np.random.default_rng(0).normal(size=(120, 2)) @ np.ones((2, 4))
    model = fit(X, 3)
    assert (model.result_.status, model.optimality_gap_) == ("optimal", 0.0)


@pytest.mark.parametrize("weight", [0.0, 10.0])
def test_a_gap_by_rounding_is_told_by_fits_and_frontiers_alike(weight):
    X, groups = two_groups_beside(1e6)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = RobustFairPCA(6, fairness_weight=weight, radius=0.0).fit(
            X, sensitive_features=groups
        )
    assert model.result_.status == "feasible"
    assert model.optimality_gap_ > 1e-5
    with pytest.warns(ConvergenceWarning, match="not proved optimal"):
        fairness_frontier(X, 6, sensitive_features=groups, fairness_weights=[weight])


@pytest.mark.parametrize("largest", [1.0, 1e6, 1e8])
def test_metrics_keep_their_digits_beside_a_large_column(largest):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)) * [largest, 1, 1, 1]
    centred = X - X.mean(axis=0)
    expected = [np.mean(np.sum(centred[a == GROUPS, 2:] ** 2, axis=1)) for a in "ab"]
    found = metrics.group_errors(np.eye(4)[:2], X, GROUPS).values
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("standardize", [False, True])
def test_values_whose_squares_vanish_are_refused(X, form, standardize):
    with pytest.raises(ValueError, match="too little to square"):
        fit(form(X * 1e-170), standardize=standardize)


def test_constant_features_of_wide_rows_are_not_hidden() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300)) * (rng.random(300) < 0.5)
    groups = np.repeat(["a", "b"], 30)
    varies = X.any(axis=0)
    # Warnings are errors: rounding in the basis of the rows is not taken for variance.
    wide = RobustFairPCA(3, standardize=True).fit(X, sensitive_features=groups)
    narrow = RobustFairPCA(3, standardize=True).fit(X[:, varies], sensitive_features=groups)
    np.testing.assert_allclose(wide.group_errors_, narrow.group_errors_, rtol=1e-10)
    assert np.abs(wide.components_[:, ~varies]).max() < 1e-15
