"""A thousand fits leave less behind than one object for every second of them."""

from __future__ import annotations

import gc
import sys
import warnings

import numpy as np
import pytest

from fairspan import GroupMoments, RobustFairPCA, fairness_frontier, load_model
from tests.hardening import program

resource = pytest.importorskip("resource", reason="memory is measured on Unix only")

GROWTH = 16 * 1024
"""Kilobytes by which the largest memory of the process may grow after fifty calls."""
FEW = 150
"""Blocks of memory that the interpreter may keep for itself."""

X, GROUPS = program.table(0, 30, 3)
MODEL = RobustFairPCA(2).fit(X, sensitive_features=GROUPS)


def fit(_):
    RobustFairPCA(2).fit(X, sensitive_features=GROUPS)


def fit_with_a_warning(_):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RobustFairPCA(2).fit(X)


def refuse(_):
    with pytest.raises(ValueError, match="n_components=9"):
        RobustFairPCA(9).fit(X, sensitive_features=GROUPS)


def transform(_):
    MODEL.inverse_transform(MODEL.transform(X))


def draw_the_frontier(_):
    fairness_frontier(X, 2, sensitive_features=GROUPS, fairness_weights=[0.0, 1.0])


def save_and_load(folder):
    moments = GroupMoments.from_arrays(X, GROUPS)
    (moments + moments).save(folder / "moments.npz")
    GroupMoments.load(folder / "moments.npz")
    MODEL.save(folder / "model.npz")
    load_model(folder / "model.npz")


@pytest.mark.parametrize(
    ("work", "times"),
    [
        (fit, 1000),
        (fit_with_a_warning, 300),
        (refuse, 300),
        (transform, 1000),
        (draw_the_frontier, 200),
        (save_and_load, 100),
    ],
)
def test_memory_does_not_grow(work, times, tmp_path):
    for _ in range(50):
        work(tmp_path)
    gc.collect()
    blocks, peak = sys.getallocatedblocks(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(times):
        work(tmp_path)
    gc.collect()
    left = sys.getallocatedblocks() - blocks
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert left < FEW + times / 2, f"{left} blocks were left behind by {times} calls"
    assert grown < GROWTH, f"{grown} kilobytes more over {times} calls"


def test_the_check_notices_a_leak():
    kept = []
    with pytest.raises(AssertionError, match="blocks were left"):
        test_memory_does_not_grow(lambda _: kept.append(np.zeros(20)), 1000, None)
