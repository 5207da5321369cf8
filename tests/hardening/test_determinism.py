"""The same data gives the same result: bit by bit in the same setting, to rounding in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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
    RobustFairPCACV,
    fairness_frontier,
)
from tests.hardening import program

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-9
"""How far errors may differ, as a share of the total variance, where sums are added otherwise."""
METHODS = (RobustFairPCA, ExactlyFairPCA, FairPCA, ConvexFairPCA, NullSpaceFairPCA)


def in_another_process(**environment: str) -> dict[str, str]:
    """What the program prints in a fresh interpreter; one BLAS thread, as a common ground."""
    given = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"} | environment
    answer = subprocess.run(
        [sys.executable, "-m", "tests.hardening.program"],
        cwd=ROOT,
        env=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found: dict[str, str] = json.loads(answer.stdout)
    return found


def test_two_runs_are_equal_in_every_bit():
    with threadpool_limits(1):
        assert program.digests() == program.digests()


def test_the_hash_seed_does_not_matter():
    first, second = (in_another_process(PYTHONHASHSEED=seed) for seed in ("0", "4321"))
    assert first == second


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_number_of_blas_threads_matters_to_rounding_only(threads):
    with threadpool_limits(1):
        expected = program.fits()
    with threadpool_limits(threads):
        found = program.fits()
    for name in ("moments", "frontier", "many"):
        size = np.abs(expected[name]).max()
        assert np.abs(found[name] - expected[name]).max() <= TOLERANCE * size, name


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_rows_matters_to_rounding_only(method):
    X, groups = program.table()
    order = np.random.default_rng(1).permutation(len(X))
    plain = method(3).fit(X, sensitive_features=groups)
    mixed = method(3).fit(X[order], sensitive_features=groups[order])
    size = plain.explained_variance_.sum() / plain.explained_variance_ratio_.sum()
    assert mixed.group_labels_ == plain.group_labels_
    assert mixed.objective_ == pytest.approx(plain.objective_, abs=1e-7 * size)
    assert mixed.group_errors_ == pytest.approx(plain.group_errors_, abs=1e-5 * size)
    outside = mixed.components_ - (mixed.components_ @ plain.components_.T) @ plain.components_
    assert np.linalg.norm(outside) < 1e-3


def test_the_order_of_rows_does_not_move_moments_folds_or_the_frontier():
    X, groups = program.table()
    order = np.random.default_rng(2).permutation(len(X))
    plain, mixed = (GroupMoments.from_arrays(X[i], groups[i]) for i in (slice(None), order))
    assert (
        np.abs(plain.second_moments - mixed.second_moments).max()
        <= TOLERANCE * np.abs(plain.second_moments).max()
    )
    first, second = (fairness_frontier(moments, 2) for moments in (plain, mixed))
    assert first.gap[0] == pytest.approx(second.gap[0], rel=1e-6)
    assert first.total_error[-1] == pytest.approx(second.total_error[-1], rel=1e-6)
    parts = [slice(start, None, 4) for start in range(4)]
    folds = [GroupMoments.from_arrays(X[part], groups[part]) for part in parts]
    forth = RobustFairPCACV(2).fit_moments(folds)
    assert forth.best_params_ == RobustFairPCACV(2).fit_moments(folds[::-1]).best_params_


def test_batches_in_any_order_give_the_same_fit_to_rounding():
    X, groups = program.table()
    parts = np.array_split(np.arange(len(X)), 7)
    models = []
    for order in (range(7), range(6, -1, -1)):
        model = RobustFairPCA(3)
        for i in order:
            model.partial_fit(X[parts[i]], sensitive_features=groups[parts[i]])
        models.append(model)
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-9)
