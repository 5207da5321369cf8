"""NullSpaceFairPCA: what tells groups apart is removed, then PCA."""

from __future__ import annotations

import numpy as np
import pytest

from fairspan import GroupMoments
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.nullspace import NullSpaceFairPCA
from fairspan.estimators.samadi import FairPCA
from tests.estimators.test_samadi import random_groups


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_all_group_means_coincide_after_the_projection(n_groups):
    X, groups = random_groups(n_groups, n_groups)
    model = NullSpaceFairPCA(2).fit(X, sensitive_features=groups)
    Z = model.transform(X)
    means = np.array([Z[groups == a].mean(axis=0) for a in range(n_groups)])
    assert np.ptp(means, axis=0) == pytest.approx(np.zeros(2), abs=1e-10)
    assert model.n_removed_ == n_groups - 1


def test_with_equal_means_it_is_pca():
    X, _ = random_groups(0)
    model = NullSpaceFairPCA(2).fit(np.tile(X, (2, 1)), sensitive_features=np.repeat([0, 1], 300))
    right = np.linalg.svd(X - X.mean(axis=0))[2][:2]
    assert model.n_removed_ == 0
    assert np.abs(model.components_ @ right.T) == pytest.approx(np.eye(2), abs=1e-9)


def test_two_groups_lose_the_directions_of_the_largest_covariance_differences():
    X, groups = random_groups(1)
    model = NullSpaceFairPCA(2, n_covariance_directions=3).fit(X, sensitive_features=groups)
    A, B = (X[groups == a] for a in (0, 1))
    f = A.mean(axis=0) - B.mean(axis=0)
    R = np.linalg.svd(f[None])[2][1:].T
    values, vectors = np.linalg.eigh(R.T @ (np.cov(A.T, ddof=0) - np.cov(B.T, ddof=0)) @ R)
    removed = R @ vectors[:, np.argsort(-np.abs(values))[:3]]
    assert model.components_ @ removed == pytest.approx(np.zeros((2, 3)), abs=1e-9)
    assert model.n_removed_ == 4


def test_covariances_come_closer():
    X, groups = random_groups(2, 3)
    plain, strict = (
        NullSpaceFairPCA(2, n_covariance_directions=n).fit(X, sensitive_features=groups)
        for n in (0, 3)
    )

    def apart(model):
        Z = model.transform(X)
        return np.ptp([np.cov(Z[groups == a].T) for a in range(3)], axis=0).max()

    assert apart(strict) < apart(plain)


def test_moments_are_enough_and_room_is_needed():
    X, groups = random_groups(3, 4)
    rows = NullSpaceFairPCA(2).fit(X, sensitive_features=groups)
    moments = NullSpaceFairPCA(2).fit_moments(GroupMoments.from_arrays(X, groups))
    assert np.array_equal(rows.components_, moments.components_)
    with pytest.raises(ValueError, match="n_components=5 must be at most 4"):
        NullSpaceFairPCA(5).fit(X, sensitive_features=groups)
    with pytest.raises(ValueError, match="must be at most 1"):
        NullSpaceFairPCA(2, n_covariance_directions=3).fit(X, sensitive_features=groups)


@pytest.mark.parametrize("method", [FairPCA, ConvexFairPCA, NullSpaceFairPCA])
def test_more_features_than_rows(method):
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((30, 40)), np.arange(30) % 2
    model = method(3).fit(X, sensitive_features=groups)
    assert model.components_ @ model.components_.T == pytest.approx(np.eye(3), abs=1e-10)
    if hasattr(model, "relaxation_"):
        assert model.relaxation_.shape == (40, 40)
