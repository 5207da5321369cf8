"""Moments of a large table need little memory beside the table itself."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from fairspan import GroupMoments

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
