"""The ambiguity set: its distance, and the worst distribution inside it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

from fairspan import GroupMoments, RobustFairPCA, gelbrich_divergence
from fairspan.objectives.ambiguity import bootstrap_radii, worst_case_rows
from tests import reference


def moments_of(rows):
    return rows.mean(axis=0), np.cov(rows.T, ddof=0)


def mean_error(rows, components):
    lost = rows - rows @ components.T @ components
    return np.mean(np.sum(lost**2, axis=1))


def random_covariance(rng, d):
    factor = rng.standard_normal((d, d))
    return factor @ factor.T


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 5)) @ rng.standard_normal((5, 5)) + rng.standard_normal(5)


@pytest.fixture
def components():
    return reference.random_subspace(np.random.default_rng(1), 5, 2).T


def test_commuting_covariances_differ_by_their_square_roots():
    divergence = gelbrich_divergence(
        np.array([1.0, 2.0]), np.diag([4.0, 9.0]), np.array([1.0, 5.0]), np.diag([1.0, 25.0])
    )
    assert divergence == pytest.approx(9.0 + (2 - 1) ** 2 + (3 - 5) ** 2)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_the_divergence_is_its_definition_and_symmetric(d):
    rng = np.random.default_rng(d)
    for _ in range(10):
        A, B = random_covariance(rng, d), random_covariance(rng, d)
        a, b = rng.standard_normal(d), rng.standard_normal(d)
        root = sqrtm(B)
        expected = np.sum((a - b) ** 2) + np.trace(A + B - 2 * sqrtm(root @ A @ root).real)
        assert gelbrich_divergence(a, A, b, B) == pytest.approx(expected, rel=1e-7)
        assert gelbrich_divergence(b, B, a, A) == pytest.approx(expected, rel=1e-7)
        assert gelbrich_divergence(a, A, a, A) == pytest.approx(0.0, abs=1e-12 * np.trace(A))


def test_a_positive_map_moves_a_distribution_by_exactly_its_cost(rows):
    rng = np.random.default_rng(2)
    stretch = random_covariance(rng, 5) / 5
    moved = rows @ stretch
    cost = np.mean(np.sum((moved - rows) ** 2, axis=1))
    assert gelbrich_divergence(*moments_of(rows), *moments_of(moved)) == pytest.approx(cost)


@pytest.mark.parametrize("coefficient", [0.3, 2.0, -0.4, -3.0])
@pytest.mark.parametrize("ratio", [0.01, 0.5, 0.99, 1.5, 20.0])
def test_moved_rows_attain_the_worst_case_within_the_radius(rows, components, coefficient, ratio):
    error = mean_error(rows, components)
    radius = ratio * error
    moved = worst_case_rows(rows, components, error, radius, coefficient)
    value = coefficient * mean_error(moved, components)
    assert value == pytest.approx(
        reference.worst_error(coefficient, error, radius), rel=1e-12, abs=1e-12
    )
    cost = gelbrich_divergence(*moments_of(rows), *moments_of(moved))
    expected = radius if coefficient > 0 else min(radius, error)
    # Rows moved into the subspace have a singular covariance, whose root has half the digits.
    assert cost == pytest.approx(expected, rel=1e-7)
    kept = components.T @ components
    assert moved @ kept == pytest.approx(rows @ kept, abs=1e-12)


@pytest.mark.parametrize("coefficient", [0.3, 2.0, -0.4, -3.0])
@pytest.mark.parametrize("ratio", [0.05, 0.5, 1.5])
def test_no_distribution_within_the_radius_is_worse(rows, components, coefficient, ratio):
    rng = np.random.default_rng(3)
    error = mean_error(rows, components)
    radius = ratio * error
    worst = reference.worst_error(coefficient, error, radius)
    lost = rows - rows @ components.T @ components
    nearest = -np.inf
    for draw in range(1000):
        # Random moves, from wild ones to small changes of the worst direction, that cost at most
        # the radius: a coupling bounds the divergence from above.
        noise = rng.standard_normal(rows.shape) if draw % 2 else rng.standard_normal(5)
        direction = np.sign(coefficient) * lost + rng.choice([0, 0.01, 0.1, 1, 10]) * noise
        direction *= np.sqrt(radius / np.mean(np.sum(direction**2, axis=1)))
        moved = rows + rng.choice([0.3, 0.9, 1.0]) * direction
        if draw % 50 == 0:
            cost = gelbrich_divergence(*moments_of(rows), *moments_of(moved))
            assert cost <= radius * (1 + 1e-9)
        value = coefficient * mean_error(moved, components)
        nearest = max(nearest, value)
        assert value <= worst + 1e-12 * abs(worst) + 1e-12
    if coefficient > 0 or ratio < 1:
        assert nearest == pytest.approx(worst, rel=1e-3)


def test_a_group_without_error_leaves_the_subspace_by_its_mean(rows, components):
    flat = rows @ components.T @ components
    moved = worst_case_rows(flat, components, 0.0, 0.7, 1.0)
    assert mean_error(moved, components) == pytest.approx(0.7)
    assert gelbrich_divergence(*moments_of(flat), *moments_of(moved)) == pytest.approx(0.7)
    for radius, coefficient in ((0.7, -1.0), (0.0, 1.0)):
        assert np.array_equal(worst_case_rows(flat, components, 0.0, radius, coefficient), flat)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("fairness_weight", [0.0, 0.3, 2.0])
def test_the_objective_is_attained_by_the_worst_case(standardize, n_groups, fairness_weight):
    rng = np.random.default_rng(n_groups)
    groups = rng.integers(0, n_groups, 300)
    X = rng.standard_normal((300, 6)) * (1 + groups[:, None]) ** 0.5 * [3, 2, 2, 1, 1, 0.5] + 10
    model = RobustFairPCA(
        2,
        fairness_weight=fairness_weight,
        radius=4.0,
        standardize=standardize,
        tol=0.9,
        random_state=0,
        max_iter=200,
    ).fit(X, sensitive_features=groups)
    moved = model.worst_case(X, sensitive_features=groups)
    scale = 1.0 if model.scale_ is None else model.scale_
    before, after = (X - model.mean_) / scale, (moved - model.mean_) / scale
    errors = [mean_error(after[groups == a], model.components_) for a in range(n_groups)]
    for a, label in enumerate(model.group_labels_):
        mine = groups == label
        cost = gelbrich_divergence(*moments_of(before[mine]), *moments_of(after[mine]))
        assert cost <= model.group_radii_[a] * (1 + 1e-9)
    shares = np.bincount(groups) / len(X)
    totals = [
        sum(
            (shares[c] + fairness_weight * ((c == a) - (c == b))) * errors[c]
            for c in range(n_groups)
        )
        for a in range(n_groups)
        for b in range(n_groups)
        if a != b
    ]
    assert max(totals) >= model.objective_ * (1 - 1e-12)
    assert any(total == pytest.approx(model.objective_, rel=1e-12) for total in totals)


def test_rows_of_an_unknown_group_have_no_worst_case():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    model = RobustFairPCA(1).fit(X, sensitive_features=["a", "b"] * 10)
    with pytest.raises(ValueError, match=r"sensitive_features has groups that were not in fit"):
        model.worst_case(X, sensitive_features=["a", "c"] * 10)


@pytest.mark.parametrize("scale", [None, np.array([1.0, 2.0, 4.0])])
def test_a_group_moved_as_a_whole_is_its_squared_way_apart(scale):
    rng = np.random.default_rng(0)
    # So far that sums are taken around another shift.
    X, step = rng.standard_normal((60, 3)), np.array([1000.0, 2000.0, 2000.0])
    moments = GroupMoments.from_arrays(X, [0, 1] * 30)
    moved = [GroupMoments.from_arrays(X + share * step, [0, 1] * 30) for share in (1, 0.5)]
    way = step if scale is None else step / scale
    expected = np.quantile([way @ way, way @ way / 4], 0.9)
    found = bootstrap_radii(moments, moved, 0.9, scale)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
