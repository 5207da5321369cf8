"""Moments of a large table need little memory beside the table itself."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from fairspan import FairPCA, GroupMoments, RobustFairPCA
from fairspan.moments import group_moments

MEGABYTE = 2**20


def peak_extra_memory(X, groups, sample_weight=None) -> int:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        GroupMoments.from_arrays(X, groups, sample_weight=sample_weight)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("n_rows", "d", "n_groups", "weighted"),
    [(800_000, 10, 2, False), (250_000, 40, 60, True), (20_000, 400, 3, False)],
)
def test_extra_memory_is_one_index_some_blocks_and_a_few_matrices(
    order, dtype, n_rows, d, n_groups, weighted
):
    rng = np.random.default_rng(0)
    X = np.empty((n_rows, d), dtype=dtype, order=order)
    for part in np.array_split(np.arange(n_rows), 10):
        X[part] = rng.standard_normal((len(part), d), dtype=np.float32)
    groups = rng.integers(0, n_groups, n_rows)
    sample_weight = rng.uniform(0.5, 1.5, n_rows) if weighted else None
    allowed = 8 * n_rows + 32 * MEGABYTE + 4 * 8 * n_groups * d**2
    # A copy of X in float64 must not fit into what is allowed, or the test would show nothing.
    assert 8 * X.size > allowed
    assert peak_extra_memory(X, groups, sample_weight) <= allowed


def test_strings_as_labels_need_no_more_memory():
    n_rows = 500_000
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 20))
    groups = np.array(["female", "male"])[rng.integers(0, 2, n_rows)]
    assert peak_extra_memory(X, groups) <= 8 * n_rows + 32 * MEGABYTE + 4 * 8 * 2 * 20**2


@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_a_fit_of_many_groups_holds_one_copy_of_their_moments(monkeypatch, radius):
    rng = np.random.default_rng(0)
    n_groups, d, rows = 40, 300, 2_000
    groups = np.arange(rows) % n_groups
    factors = rng.standard_normal((10, d)) * np.geomspace(10, 1, 10)[:, None]
    spread = 1 + 0.1 * rng.standard_normal((n_groups, 10))
    X = (rng.standard_normal((rows, 10)) * spread[groups]) @ factors
    X += 0.1 * rng.standard_normal((rows, d))
    moments = GroupMoments.from_arrays(X, groups)
    model = RobustFairPCA(3, fairness_weight=0.1, radius=radius)
    as_array = model.fit_moments(GroupMoments.from_arrays(X, groups)).objective_
    monkeypatch.setattr(group_moments, "HELD", moments.scatters.nbytes // 2)
    tracemalloc.start()
    try:
        model.fit_moments(moments)
        assert tracemalloc.get_traced_memory()[1] <= 0.5 * moments.scatters.nbytes
    finally:
        tracemalloc.stop()
    assert model.objective_ == pytest.approx(as_array, rel=1e-12)
    assert model.optimality_gap_ <= 1e-8


def test_moments_made_when_needed_are_those_of_an_array(monkeypatch):
    rng = np.random.default_rng(1)
    moments = GroupMoments.from_arrays(rng.normal(2.0, 1.0, (60, 4)), np.arange(60) % 3)
    array = moments.second_moments
    monkeypatch.setattr(group_moments, "HELD", 0)
    made = moments.stacked()
    columns, weights = rng.standard_normal((4, 2)), rng.standard_normal(3)
    np.testing.assert_allclose(np.asarray(made), array)
    np.testing.assert_allclose(made @ columns, array @ columns)
    np.testing.assert_allclose(columns.T @ made, columns.T @ array)
    np.testing.assert_allclose(made.combination(weights), np.tensordot(weights, array, 1))
    np.testing.assert_allclose(made.traces, np.trace(array, axis1=1, axis2=2))
    np.testing.assert_allclose(made[[2, 0]][1], array[0])
    np.testing.assert_allclose(made.joined([1], np.eye(4))[1], np.eye(4))


def test_moments_that_do_not_fit_into_memory_are_refused_before_they_are_made(monkeypatch):
    pages = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": 34 * 5**2}
    monkeypatch.setattr("os.sysconf", pages.__getitem__)
    X = np.random.default_rng(0).standard_normal((30, 5))
    moments = GroupMoments.from_arrays(X, np.arange(30) % 2)  # 2 groups of 5 x 5 and two more
    RobustFairPCA(2).fit_moments(moments)
    with pytest.raises(MemoryError, match="2 groups need"):
        RobustFairPCA(2, standardize=True).fit_moments(moments)
    with pytest.raises(MemoryError, match="3 groups need"):
        GroupMoments.from_arrays(X, np.arange(30) % 3)


def test_a_basis_of_rows_that_does_not_fit_is_refused_before_sparse_rows_are_filled_up():
    X = scipy.sparse.random_array((20_000, 40_000_000), density=1e-9, rng=0, format="csr")
    groups = np.arange(20_000) % 2
    with pytest.raises(MemoryError, match=r"25600\.0 GB for a basis of the rows"):
        FairPCA(2).fit(X, sensitive_features=groups)
