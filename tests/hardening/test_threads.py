"""Many threads fit and transform at once, and each gets what it would have got alone."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from fairspan import (
    ConvexFairPCA,
    ExactlyFairPCA,
    FairPCA,
    GroupMoments,
    NullSpaceFairPCA,
    RobustFairPCA,
    fairness_frontier,
    metrics,
)
from tests.hardening import program

THREADS, TASKS = 8, 48
METHODS = (RobustFairPCA, ExactlyFairPCA, FairPCA, ConvexFairPCA, NullSpaceFairPCA)


@pytest.fixture(autouse=True)
def one_blas_thread():
    with threadpool_limits(1):
        yield


def at_once(work: Any, tasks: list[Any]) -> list[Any]:
    """Run tasks in many threads, which all start together."""
    start = threading.Barrier(THREADS)

    def run(task: Any) -> Any:
        if not getattr(local, "ready", False):
            local.ready = True
            start.wait(timeout=60)
        return work(task)

    local = threading.local()
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, tasks))


def fit(seed: int) -> np.ndarray:
    X, groups = program.table(seed % 4, 120, 6)
    model = METHODS[seed % len(METHODS)](2).fit(X, sensitive_features=groups)
    return np.r_[model.components_.ravel(), model.objective_, model.group_errors_]


def test_fits_in_threads_are_those_of_one_thread():
    alone = [fit(seed) for seed in range(TASKS)]
    together = at_once(fit, list(range(TASKS)))
    for expected, found in zip(alone, together, strict=True):
        assert np.array_equal(expected, found)


def test_a_shared_model_projects_the_same_in_every_thread():
    X, groups = program.table()
    model = RobustFairPCA(3, standardize=True).fit(X, sensitive_features=groups)

    def use(_: int) -> tuple[np.ndarray, ...]:
        Z = model.transform(X)
        moved = model.worst_case(X, sensitive_features=groups)
        gap = metrics.error_gap(model, X, groups)
        return Z, model.inverse_transform(Z), moved, np.array(gap)

    expected = use(0)
    for found in at_once(use, list(range(TASKS))):
        assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


def test_shared_moments_are_read_by_many_threads():
    X, groups = program.table(1, 200, 8)
    moments = GroupMoments.from_arrays(X, groups)
    expected = fairness_frontier(GroupMoments.from_arrays(X, groups), 2, fairness_weights=[0, 1])
    found = at_once(lambda _: fairness_frontier(moments, 2, fairness_weights=[0, 1]), [0] * 24)
    assert all(np.array_equal(f.group_errors, expected.group_errors) for f in found)


def test_fits_in_threads_leave_the_filters_of_warnings_alone():
    """Fits do not touch these global filters, which catch_warnings would restore out of order."""
    before = list(warnings.filters)
    at_once(fit, list(range(TASKS)))
    assert warnings.filters == before


def test_a_warning_in_one_thread_reaches_its_caller_only_once_each():
    X, _ = program.table(0, 40, 4)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        at_once(lambda _: RobustFairPCA(2).fit(X), [0] * 16)
    assert ["fewer than two groups" in str(one.message) for one in caught] == [True] * 16
