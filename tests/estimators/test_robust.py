"""RobustFairPCA: what it finds, and that it behaves as a scikit-learn transformer."""

from __future__ import annotations

import logging
import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from fairspan import FairPCA, GroupMoments, NoGroupsWarning, RobustFairPCA, RobustFairPCACV
from tests import reference

TOY_COVARIANCES = np.array([[[4.0, 0.0], [0.0, 0.2]], [[0.2, 0.4], [0.4, 3.0]]])
TOY_SIZES = np.array([500, 200])


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer()
    return data.data, data.target_names[data.target]


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b"], 200, p=[0.7, 0.3])
    X = rng.standard_normal((200, 5)) @ rng.standard_normal((5, 5)) + 3
    X[groups == "b"] *= [1, 2, 0.5, 1, 1.5]
    return X, groups


def toy_moments() -> GroupMoments:
    """Figure 1's two Gaussians by their population moments."""
    sizes = TOY_SIZES.astype(float)
    return GroupMoments(
        labels=(0, 1),
        counts=TOY_SIZES,
        weights=sizes,
        squared_weights=sizes,
        shift=np.zeros(2),
        offsets=np.zeros((2, 2)),
        scatters=TOY_COVARIANCES * sizes[:, None, None],
    )


def toy_direction(fairness_weight, radius=0.0) -> float:
    model = RobustFairPCA(1, fairness_weight=fairness_weight, radius=radius)
    x, y = model.fit_moments(toy_moments()).components_[0]
    return float(np.degrees(np.arctan2(y, x)))


def test_the_toy_of_figure_1_sweeps_from_pca_to_equal_errors():
    assert toy_direction(0.0) == pytest.approx(3.4, abs=0.05)
    assert toy_direction(0.25) == pytest.approx(29.0, abs=0.5)
    assert toy_direction(100.0) == pytest.approx(37.2, abs=0.05)
    directions = [toy_direction(weight) for weight in np.linspace(0, 1, 21)]
    assert np.all(np.diff(directions) >= -1e-6)
    model = RobustFairPCA(1, fairness_weight=100.0, radius=0.0).fit_moments(toy_moments())
    assert model.error_gap_ == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("fairness_weight", [0.0, 0.25, 0.5, 3.0])
@pytest.mark.parametrize("radius", [0.0, 1.0, 30.0])
def test_the_toys_direction_is_the_best_of_all_directions(fairness_weight, radius):
    angles = np.radians(np.linspace(0, 180, 20_001))
    V = np.array([np.cos(angles), np.sin(angles)])
    errors = np.array([np.trace(M) - np.einsum("in,ij,jn->n", V, M, V) for M in TOY_COVARIANCES])
    shares, radii = TOY_SIZES / 700, radius / np.sqrt(TOY_SIZES)
    values = reference.two_group_objective(errors.T, shares, fairness_weight, radii)
    model = RobustFairPCA(1, fairness_weight=fairness_weight, radius=radius)
    model.fit_moments(toy_moments())
    assert model.lower_bound_ <= values.min()
    assert model.objective_ == pytest.approx(values.min(), rel=1e-3)
    assert model.objective_ <= values.min() * (1 + 1e-8)


def test_the_toy_drawn_as_rows_is_near_the_population():
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [
            rng.multivariate_normal([0, 0], covariance, size)
            for covariance, size in zip(TOY_COVARIANCES, TOY_SIZES, strict=True)
        ]
    )
    model = RobustFairPCA(1, fairness_weight=100.0, radius=0.0)
    model.fit(X, sensitive_features=np.repeat([0, 1], TOY_SIZES))
    x, y = model.components_[0]
    assert np.degrees(np.arctan2(y, x)) == pytest.approx(37.2, abs=5)


@pytest.mark.parametrize("k", [1, 2, 4, 5])
@pytest.mark.parametrize("solver", ["auto", "boundary"])
def test_zero_fairness_weight_and_zero_radius_is_ordinary_pca(table, k, solver):
    X, groups = table
    fair = RobustFairPCA(k, fairness_weight=0, radius=0, solver=solver)
    fair.fit(X, sensitive_features=groups)
    pca = PCA(k).fit(X)
    assert reference.largest_angle(fair.components_, pca.components_) < 1e-7
    alike = np.sign(np.sum(fair.components_ * pca.components_, axis=1))
    assert fair.components_ * alike[:, None] == pytest.approx(pca.components_, abs=1e-7)
    assert fair.mean_ == pytest.approx(pca.mean_)
    assert fair.explained_variance_ == pytest.approx(pca.explained_variance_)
    assert fair.explained_variance_ratio_ == pytest.approx(pca.explained_variance_ratio_)
    assert fair.n_components_ == pca.n_components_
    assert fair.n_samples_ == pca.n_samples_
    assert fair.n_features_in_ == pca.n_features_in_
    assert fair.transform(X) * alike == pytest.approx(pca.transform(X), abs=1e-6)
    if k < 5:
        assert fair.objective_ == pytest.approx(
            np.sum((X - pca.inverse_transform(pca.transform(X))) ** 2) / 200
        )


@pytest.mark.parametrize("groups", [None, ["same"] * 200])
@pytest.mark.parametrize("radius", [0.0, 2.0])
def test_one_group_is_ordinary_pca_and_warns(table, groups, radius):
    X, _ = table
    model = RobustFairPCA(2, fairness_weight=1.0, radius=radius)
    with pytest.warns(
        NoGroupsWarning, match="fewer than two groups to compare, so fairness_weight=1.0"
    ):
        model.fit(X, sensitive_features=groups)
    pca = PCA(2).fit(X)
    assert reference.largest_angle(model.components_, pca.components_) < 1e-7
    total = model.total_error_
    assert model.objective_ == pytest.approx((total**0.5 + (radius / 200**0.5) ** 0.5) ** 2)
    assert model.optimality_gap_ <= 1e-8


def test_one_warning_says_that_there_are_no_groups(table):
    X, _ = table
    for call in (
        RobustFairPCA(2).fit,
        RobustFairPCA(2).partial_fit,
        RobustFairPCA(2).fit_transform,
    ):
        with pytest.warns(NoGroupsWarning) as caught:
            call(X)
        assert len(caught) == 1


@pytest.mark.parametrize("model", [RobustFairPCA(2), FairPCA(2), RobustFairPCACV(cv=2)])
def test_the_warning_asks_whether_y_holds_the_groups(table, model):
    X, groups = table
    asked = "y is ignored; if it holds the groups, pass sensitive_features=y"
    with pytest.warns(NoGroupsWarning, match=asked):
        model.fit(X, groups)
    with pytest.warns(NoGroupsWarning) as caught:
        model.fit(X)
    assert not any(asked in str(one.message) for one in caught)


def test_no_warning_where_no_fairness_is_asked_for(table):
    X, _ = table
    RobustFairPCA(2, fairness_weight=0).fit(X)


def test_breast_cancer_is_balanced_at_a_small_price(cancer):
    X, groups = cancer
    plain = RobustFairPCA(3, fairness_weight=0, radius=0, standardize=True)
    plain.fit(X, sensitive_features=groups)
    fair = RobustFairPCA(3, fairness_weight=1, radius=0.1, standardize=True)
    fair.fit(X, sensitive_features=groups)
    assert plain.group_labels_ == fair.group_labels_ == ["benign", "malignant"]
    assert plain.group_errors_ == pytest.approx([7.61, 9.22], abs=0.005)
    assert fair.group_errors_ == pytest.approx([8.50, 8.58], abs=0.005)
    assert fair.total_error_ / plain.total_error_ == pytest.approx(1.039, abs=0.0005)
    assert fair.group_counts_.tolist() == [357, 212]
    assert fair.error_gap_ == pytest.approx(np.ptp(fair.group_errors_))


def test_diabetes_is_balanced():
    data = load_diabetes(scaled=False)
    sex = data.feature_names.index("sex")
    X, groups = np.delete(data.data, sex, axis=1), data.data[:, sex]
    fair = RobustFairPCA(3, radius=0.1, standardize=True).fit(X, sensitive_features=groups)
    plain = RobustFairPCA(3, fairness_weight=0, radius=0, standardize=True)
    plain.fit(X, sensitive_features=groups)
    assert sorted(plain.group_errors_) == pytest.approx([2.438, 2.551], abs=0.0005)
    assert sorted(fair.group_errors_) == pytest.approx([2.512, 2.524], abs=0.0005)


def test_standardize_equals_a_standard_scaler_before(cancer):
    X, groups = cancer
    X = np.column_stack([X, np.full(len(X), 7.0), np.full(len(X), 1e9) + 1e-3 * (X[:, 0] > 15)])
    scaler = StandardScaler().fit(X[:, :-1])
    inside = RobustFairPCA(3, standardize=True).fit(X[:, :-1], sensitive_features=groups)
    before = RobustFairPCA(3).fit(scaler.transform(X[:, :-1]), sensitive_features=groups)
    assert inside.scale_ == pytest.approx(scaler.scale_)
    assert inside.mean_ == pytest.approx(scaler.mean_)
    assert inside.components_ == pytest.approx(before.components_, abs=1e-6)
    assert inside.group_errors_ == pytest.approx(before.group_errors_, rel=1e-7)
    assert inside.objective_ == pytest.approx(before.objective_, rel=1e-8)
    Z = scaler.transform(X[:, :-1])
    assert inside.transform(X[:, :-1]) == pytest.approx(before.transform(Z), abs=1e-5)
    back = inside.inverse_transform(inside.transform(X[:, :-1]))
    expected = scaler.inverse_transform(before.inverse_transform(before.transform(Z)))
    assert back == pytest.approx(expected, rel=1e-6, abs=1e-3)
    assert inside.reconstruction_errors(X[:, :-1]) == pytest.approx(
        before.reconstruction_errors(Z), rel=1e-4
    )
    # A feature that is constant up to rounding at its size is not blown up.
    assert RobustFairPCA(3, standardize=True).fit(X, sensitive_features=groups).scale_[-1] == 1.0


@pytest.mark.parametrize("sizes", [[200], [2, 198], [100, 1, 99], [5] * 40])
def test_partial_fit_equals_one_fit_for_any_batches(table, sizes):
    X, groups = table
    whole = RobustFairPCA(2).fit(X, sensitive_features=groups)
    parts = RobustFairPCA(2)
    ends = np.cumsum(sizes)
    order = np.argsort(groups, kind="stable")  # the second group appears late
    with pytest.warns(NoGroupsWarning) if sizes != [200] else nullcontext():
        for size, end in zip(sizes, ends, strict=True):
            rows = order[end - size : end]
            parts.partial_fit(X[rows], sensitive_features=groups[rows])
    assert parts.group_labels_ == whole.group_labels_
    assert parts.components_ == pytest.approx(whole.components_, abs=1e-6)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert parts.mean_ == pytest.approx(whole.mean_, rel=1e-12)
    assert parts.n_samples_ == 200
    parts.fit(X, sensitive_features=groups)
    assert parts.n_samples_ == 200


def test_moments_fit_as_rows_do(table):
    X, groups = table
    whole = RobustFairPCA(2).fit(X, sensitive_features=groups)
    chunks = np.array_split(np.arange(200), 7)
    moments = sum(GroupMoments.from_arrays(X[rows], groups[rows]) for rows in chunks)
    model = RobustFairPCA(2).fit_moments(moments)
    assert model.components_ == pytest.approx(whole.components_, abs=1e-6)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert model.transform(X) == pytest.approx(whole.transform(X), abs=1e-5)
    model.partial_fit(X, sensitive_features=groups)
    assert model.n_samples_ == 400


def test_the_basis_inside_the_subspace_is_canonical(table):
    X, groups = table
    model = RobustFairPCA(3, fairness_weight=0.7).fit(X, sensitive_features=groups)
    V = model.components_
    covariance = V @ np.cov(X.T) @ V.T
    np.testing.assert_allclose(V @ V.T, np.eye(3), atol=1e-12)
    assert covariance == pytest.approx(np.diag(model.explained_variance_), abs=1e-10)
    assert np.all(np.diff(model.explained_variance_) < 0)
    largest = V[np.arange(3), np.abs(V).argmax(axis=1)]
    assert np.all(largest > 0)
    ratio = model.explained_variance_ / np.trace(np.cov(X.T))
    assert model.explained_variance_ratio_ == pytest.approx(ratio)
    again = RobustFairPCA(3, fairness_weight=0.7).fit(X[::-1], sensitive_features=groups[::-1])
    assert again.components_ == pytest.approx(V, abs=1e-6)


def test_the_fitted_errors_are_those_of_the_rows(table):
    X, groups = table
    model = RobustFairPCA(2, radius=0.5).fit(X, sensitive_features=groups)
    lost = X - model.inverse_transform(model.transform(X))
    row_errors = np.sum(lost**2, axis=1)
    assert model.reconstruction_errors(X) == pytest.approx(row_errors)
    means = [row_errors[groups == label].mean() for label in ("a", "b")]
    sizes = np.array([np.sum(groups == label) for label in ("a", "b")])
    assert model.group_errors_ == pytest.approx(means)
    assert model.total_error_ == pytest.approx(row_errors.mean())
    assert model.group_radii_ == pytest.approx(0.5 / np.sqrt(sizes))
    value = reference.objective(means, sizes / 200, 1.0, 0.5 / np.sqrt(sizes))
    assert model.objective_ == pytest.approx(value)
    assert model.result_.components is model.components_
    assert model.result_.status == "optimal"


def test_a_mapping_sets_each_groups_own_radius(table):
    X, groups = table
    model = RobustFairPCA(2, radius={"b": 0.25, "a": 0.75}).fit(X, sensitive_features=groups)
    assert model.group_radii_.tolist() == [0.75, 0.25]
    sizes = np.array([np.sum(groups == label) for label in ("a", "b")])
    mapping = dict(zip(["a", "b"], 0.1 / np.sqrt(sizes), strict=True))
    same = RobustFairPCA(2, radius=mapping).fit(X, sensitive_features=groups)
    plain = RobustFairPCA(2, radius=0.1).fit(X, sensitive_features=groups)
    assert same.objective_ == pytest.approx(plain.objective_, rel=1e-12)


def test_three_groups_are_solved_with_an_honest_gap(table):
    X, _ = table
    groups = np.arange(200) % 3
    model = RobustFairPCA(2, solver="subgradient", max_iter=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model.fit(X, sensitive_features=groups)
    assert model.optimality_gap_ > 1e-8
    assert model.result_.status == "iteration_limit"
    assert model.lower_bound_ < model.objective_
    moments, shares = reference.group_second_moments(X, groups)
    errors = reference.group_errors(moments, model.components_.T)
    value = reference.objective(errors, shares, 1.0, model.group_radii_)
    assert model.objective_ == pytest.approx(value)


def test_the_result_is_logged_when_verbose(table, caplog):
    X, groups = table
    with caplog.at_level(logging.INFO, logger="fairspan"):
        RobustFairPCA(2).fit(X, sensitive_features=groups)
        assert not caplog.records
        RobustFairPCA(2, verbose=1).fit(X, sensitive_features=groups)
    assert "objective" in caplog.text


def test_a_pickled_model_projects_alike(table):
    X, groups = table
    model = RobustFairPCA(2, standardize=True).fit(X, sensitive_features=groups)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
