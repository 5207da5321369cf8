"""Children that are forked or spawned, and models that travel between interpreters."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
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
METHODS = (RobustFairPCA, ExactlyFairPCA, FairPCA, ConvexFairPCA, NullSpaceFairPCA)
READ = """
import pickle, sys
import numpy as np
import fairspan
X = np.load(sys.argv[1])
for path in sys.argv[2:]:
    if path.endswith(".npz"):
        model = fairspan.load_model(path)
    else:
        with open(path, "rb") as file:
            model = pickle.load(file)
    np.save(path + ".npy", model.transform(X))
    print(model.group_labels_)
"""


def fit(seed: int) -> np.ndarray:
    X, groups = program.table(seed, 120, 6)
    with threadpool_limits(1):
        return RobustFairPCA(2).fit(X, sensitive_features=groups).components_


@pytest.mark.parametrize("start", ["fork", "spawn"])
# Python warns of forks beside the threads that test runners and BLAS keep.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_children_fit_as_their_parent_did(start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {start} processes")
    expected = [fit(seed) for seed in range(4)]
    context = multiprocessing.get_context(start)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found = list(pool.map(fit, range(4), timeout=240))
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


def test_joblib_workers_fit_as_their_parent_did():
    expected = [fit(seed) for seed in range(4)]
    found = Parallel(n_jobs=2)(delayed(fit)(seed) for seed in range(4))
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


def test_pickles_and_model_files_are_read_by_an_interpreter_with_another_hash_seed(tmp_path):
    X, groups = program.table(0, 120, 6)
    np.save(tmp_path / "X.npy", X)
    expected, paths = [], []
    for method in METHODS:
        model = method(2).fit(X, sensitive_features=groups)
        expected += 2 * [model.transform(X)]
        paths += [tmp_path / f"{method.__name__}.{kind}" for kind in ("pickle", "npz")]
        paths[-2].write_bytes(pickle.dumps(model))
        model.save(paths[-1])
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", READ, str(tmp_path / "X.npy"), *map(str, paths)],
        env=os.environ | {"PYTHONHASHSEED": "99"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines() == ["['ada', 'bea']"] * len(paths)
    for path, projected in zip(paths, expected, strict=True):
        assert np.allclose(np.load(f"{path}.npy"), projected, rtol=1e-12, atol=1e-12)


def test_whatever_can_be_held_can_be_pickled():
    X, groups = program.table(0, 60, 5)
    moments = GroupMoments.from_arrays(X, groups)
    cv = RobustFairPCACV(2).fit(X, sensitive_features=groups)
    frontier = fairness_frontier(moments, 2, fairness_weights=[0, 1])
    again = pickle.loads(pickle.dumps((moments, cv, frontier)))
    assert np.array_equal(again[0].scatters, moments.scatters)
    assert np.array_equal(again[1].transform(X), cv.transform(X))
    assert np.array_equal(again[2].group_errors, frontier.group_errors)


def test_cloudpickle_carries_a_fitted_model():
    cloudpickle = pytest.importorskip("cloudpickle", reason="install cloudpickle to run this")
    X, groups = program.table(0, 60, 5)
    model = RobustFairPCA(2).fit(X, sensitive_features=groups)
    again = pickle.loads(cloudpickle.dumps(model))
    assert np.array_equal(again.transform(X), model.transform(X))
