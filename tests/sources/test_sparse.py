"""Sparse rows: the moments and projections of the same rows in full, and never a dense copy."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from fairspan import (
    ConvexFairPCA,
    ExactlyFairPCA,
    FairPCA,
    GroupMoments,
    NullSpaceFairPCA,
    RobustFairPCA,
    metrics,
)
from tests.sources.tables import assert_same_route


def made_rows(n_rows=3000, d=40, density=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.random((n_rows, d)) * (rng.random((n_rows, d)) < density))
    return X, rng.integers(0, 3, n_rows), rng.integers(0, 3, n_rows).astype(float)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_have_the_moments_of_full_rows(kind, dtype, weighted):
    X, groups, weight = made_rows()
    X = (X * 10).astype(dtype).asformat(kind)
    weight = weight if weighted else None
    before = X.copy()
    found = GroupMoments.from_arrays(X, groups, sample_weight=weight)
    assert_same_route(found, GroupMoments.from_arrays(X.toarray(), groups, sample_weight=weight))
    assert np.array_equal(found.scatters, found.scatters.transpose(0, 2, 1))
    assert (before != X).nnz == 0


def test_matrices_are_taken_like_arrays():
    X, groups, _ = made_rows()
    found = GroupMoments.from_arrays(sparse.csr_matrix(X), groups)
    assert_same_route(found, GroupMoments.from_arrays(X.toarray(), groups))


def test_columns_far_from_zero_cost_no_digits():
    X, groups, weight = made_rows()
    near = X.toarray()
    # Multiples of 2^-20 are exact beside 1e8.
    near[:, [3, 17]] = np.random.default_rng(0).integers(-(2**20), 2**20, (3000, 2)) / 2**20
    far = near.copy()
    far[:, 3] += 1e8
    far[:, 17] -= 2.0**30
    found = GroupMoments.from_arrays(sparse.csr_array(far), groups, sample_weight=weight)
    expected = GroupMoments.from_arrays(near, groups, sample_weight=weight)
    assert found.second_moments == pytest.approx(expected.second_moments, abs=1e-12)


def test_sparse_parts_add_up_to_full_rows():
    X, groups, _ = made_rows()
    parts = [
        GroupMoments.from_arrays(X[:700], groups[:700]),
        GroupMoments.from_arrays(X[700:1900].toarray(), groups[700:1900]),
        GroupMoments.from_arrays(X[1900:].tocsc(), groups[1900:]),
    ]
    assert_same_route(sum(parts), GroupMoments.from_arrays(X.toarray(), groups))


@pytest.mark.parametrize(
    "model",
    [
        RobustFairPCA(3),
        RobustFairPCA(3, standardize=True),
        ExactlyFairPCA(3, max_gap=0.1),
        FairPCA(3),
        ConvexFairPCA(3),
        NullSpaceFairPCA(3),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_every_estimator_treats_sparse_rows_like_full_ones(model, kind):
    X, groups, weight = made_rows(d=12)
    X, groups = X.asformat(kind), groups % 2
    full = X.toarray()
    model.fit(full, sensitive_features=groups, sample_weight=weight)
    expected = model.transform(full), model.reconstruction_errors(full)
    score = model.score(full, sensitive_features=groups, sample_weight=weight)
    objective = model.objective_
    model.fit(X, sensitive_features=groups, sample_weight=weight)
    assert model.objective_ == pytest.approx(objective, rel=1e-9)
    assert model.transform(X) == pytest.approx(expected[0], abs=1e-7)
    assert model.reconstruction_errors(X) == pytest.approx(expected[1], abs=1e-7)
    found = model.score(X, sensitive_features=groups, sample_weight=weight)
    assert found == pytest.approx(score, rel=1e-9)
    assert metrics.error_gap(model, X, groups, sample_weight=weight) == pytest.approx(
        metrics.error_gap(model, full, groups, sample_weight=weight), rel=1e-9
    )


def test_batches_of_sparse_rows_are_one_fit():
    X, groups, _ = made_rows()
    parts = RobustFairPCA(3, standardize=True)
    for rows in (slice(0, 1000), slice(1000, 3000)):
        parts.partial_fit(X[rows], sensitive_features=groups[rows])
    whole = RobustFairPCA(3, standardize=True).fit(X, sensitive_features=groups)
    assert parts.components_ == pytest.approx(whole.components_, abs=1e-9)
    assert parts.transform(X.astype(np.float32)).dtype == np.float32


def test_few_sparse_rows_of_many_features_are_enough():
    X, groups, _ = made_rows(60, 900, 0.1)
    model = RobustFairPCA(3).fit(X, sensitive_features=groups)
    full = RobustFairPCA(3).fit(X.toarray(), sensitive_features=groups)
    assert model.objective_ == pytest.approx(full.objective_, rel=1e-9)
    assert model.transform(X) == pytest.approx(full.transform(X.toarray()), abs=1e-8)


def test_no_dense_copy_is_made():
    n_rows, d = 100_000, 600
    X, groups, _ = made_rows(n_rows, d, 0.01)
    model = RobustFairPCA(2).fit(X[:5000], sensitive_features=groups[:5000])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        GroupMoments.from_arrays(X, groups)
        model.transform(X)
        model.score(X, sensitive_features=groups)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    # The full rows are 480 MB.
    assert peak < 0.2 * 8 * n_rows * d
    assert peak < 6 * 12 * X.nnz + 8 * 3 * 5 * d**2 + 40 * n_rows


def test_too_many_features_are_refused_with_the_gigabytes():
    X = sparse.csr_array((10**6, 10**6))
    with pytest.raises(MemoryError, match=r"n_features=1000000 and 1 groups need 24000\.0 GB"):
        GroupMoments.from_arrays(X)
