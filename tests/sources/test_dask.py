"""Dask: the moments in memory, whatever the partitions; rows stay lazy; workers may die.

Tests that need no worker processes come first, before there are any.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask import delayed
from distributed import Client, LocalCluster

from fairspan import GroupMoments, NoGroupsWarning, RobustFairPCA, load_model
from fairspan.sources import moments_from_dask, moments_from_files
from tests.sources.tables import (
    FEATURES,
    assert_same_route,
    frame_of,
    in_memory,
    made_table,
    write_files,
)


@pytest.fixture(scope="module")
def client():
    """Two worker processes."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table():
    return made_table()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5)) * [1, 2, 3, 4, 5] + 100
    return X, rng.choice(["a", "b", "c"], 1000), rng.integers(0, 3, 1000)


@pytest.mark.parametrize("chunks", [(1000, 5), (130, 2), (5, 5)])
def test_arrays_give_the_moments_in_memory(rows, chunks):
    X, groups, weight = (part[:60] for part in rows) if chunks[0] == 5 else rows
    expected = GroupMoments.from_arrays(X, groups, sample_weight=weight)
    lazy = da.from_array(X, chunks=chunks)
    labels = da.from_array(groups, chunks=77)
    for sensitive in (labels, groups, list(groups), pd.Series(groups)):
        found = GroupMoments.from_arrays(lazy, sensitive, sample_weight=weight)
        assert_same_route(found, expected)
    both = {"g": labels, "w": da.from_array(weight, chunks=50)}
    assert_same_route(
        GroupMoments.from_arrays(lazy, both),
        GroupMoments.from_arrays(X, {"g": groups, "w": weight}),
    )


def test_sizes_of_chunks_may_be_unknown(rows):
    X, groups, weight = rows
    lazy = dd.from_pandas(pd.DataFrame(X), npartitions=4).to_dask_array()
    labels = dd.from_pandas(pd.Series(groups), npartitions=4)
    assert np.isnan(lazy.shape[0])
    found = GroupMoments.from_arrays(lazy, labels)
    assert_same_route(found, GroupMoments.from_arrays(X, groups))
    keep = X[:, 0] > 100
    mask = lazy[:, 0] > 100
    codes = dd.from_pandas(pd.Series(weight), npartitions=4).to_dask_array()
    some = RobustFairPCA(2).fit(lazy[mask], sensitive_features=codes[mask])
    here = RobustFairPCA(2).fit(X[keep], sensitive_features=weight[keep])
    assert some.components_ == pytest.approx(here.components_, abs=1e-10)
    assert some.transform(lazy[mask]).compute() == pytest.approx(here.transform(X[keep]), abs=1e-9)
    with pytest.raises(ValueError, match="sensitive_features is in memory, but the sizes"):
        GroupMoments.from_arrays(lazy, groups)
    with pytest.raises(ValueError, match="sample_weight has 3 partitions but X has 4"):
        GroupMoments.from_arrays(
            lazy, sample_weight=dd.from_pandas(pd.Series(weight), npartitions=3)
        )
    with pytest.raises(ValueError, match="sensitive_features has 999 rows but X has 1000"):
        GroupMoments.from_arrays(da.from_array(X), da.from_array(groups[:-1]))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("kind", ["array", "frame"])
def test_estimators_fit_collections_and_stay_lazy(rows, kind, standardize):
    X, groups, weight = rows
    if kind == "array":
        here, lazy = X, da.from_array(X, chunks=(333, 2))
        labels, weights = da.from_array(groups, chunks=200), da.from_array(weight, chunks=10)
    else:
        here = pd.DataFrame(X, columns=list("abcde"))
        both = dd.from_pandas(here.assign(g=groups, w=weight), npartitions=3)
        lazy, labels, weights = both[list("abcde")], both["g"], both["w"]
    model = RobustFairPCA(2, standardize=standardize)
    plain = RobustFairPCA(2, standardize=standardize)
    model.fit(lazy, sensitive_features=labels, sample_weight=weights)
    plain.fit(here, sensitive_features=groups, sample_weight=weight)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-10)
    assert model.components_ == pytest.approx(plain.components_, abs=1e-9)
    projected = model.transform(lazy)
    assert isinstance(projected, da.Array)
    assert projected.dtype == np.float64
    assert projected.compute() == pytest.approx(plain.transform(here), abs=1e-8)
    back = model.inverse_transform(projected)
    assert isinstance(back, da.Array)
    assert back.compute() == pytest.approx(plain.inverse_transform(plain.transform(here)), abs=1e-8)
    with pytest.raises(ValueError, match=r"projected rows have one column for each of the n_comp"):
        model.inverse_transform(projected[:, :1])
    errors = model.reconstruction_errors(lazy)
    assert isinstance(errors, da.Array)
    assert errors.compute() == pytest.approx(plain.reconstruction_errors(here), abs=1e-8)
    for given, expected in (({}, {}), ({"sensitive_features": labels}, groups)):
        known = {"sensitive_features": expected} if len(expected) else {}
        with nullcontext() if known else pytest.warns(NoGroupsWarning, match="without the gap"):
            found = model.score(lazy, sample_weight=weights, **given)
            direct = plain.score(here, sample_weight=weight, **known)
        assert found == pytest.approx(direct, rel=1e-10)
    with pytest.raises(ValueError, match=r"expecting 5 features|feature names"):
        model.transform(lazy[:, :3] if kind == "array" else lazy[["a", "b"]])
    model.set_output(transform="pandas")
    with pytest.raises(ValueError, match="transform_output='pandas' holds rows in memory"):
        model.transform(lazy)
    more = RobustFairPCA(2).partial_fit(lazy, sensitive_features=labels)
    more.partial_fit(here, sensitive_features=groups)
    assert more.n_samples_ == 2000


def test_a_lazy_score_leaves_rows_without_a_label_out_of_the_gap(rows):
    X, groups, _ = rows
    labels = np.array(groups, dtype=object)
    labels[::4] = None
    X = X.copy()
    X[::4] *= 3
    model = RobustFairPCA(2, missing_groups="total_only").fit(X, sensitive_features=labels)
    found = model.score(da.from_array(X, chunks=(300, 5)), sensitive_features=labels)
    assert found == pytest.approx(model.score(X, sensitive_features=labels), rel=1e-10)


def test_a_model_saved_without_moments_transforms_collections(rows, tmp_path):
    X, groups, _ = rows
    RobustFairPCA(2).fit(X, sensitive_features=groups).save(tmp_path / "model", moments=False)
    model = load_model(tmp_path / "model")
    found = model.transform(da.from_array(X, chunks=(300, 5)))
    assert found.compute() == pytest.approx(model.transform(X), abs=1e-10)


def test_nothing_is_computed_by_transform(rows):
    X, groups, _ = rows
    model = RobustFairPCA(2).fit(X, sensitive_features=groups)

    def explode():
        raise AssertionError("computed")

    lazy = da.from_delayed(delayed(explode)(), shape=(10, 5), dtype=np.float32)
    projected = model.transform(lazy)
    assert projected.shape == (10, 2)
    assert projected.dtype == np.float32
    back = model.inverse_transform(projected)
    assert (back.shape, back.dtype) == ((10, 5), np.float32)
    with pytest.raises(AssertionError, match="computed"):
        projected.compute()


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_columns_that_are_not_finite_are_named(rows, kind):
    X = pd.DataFrame(rows[0], columns=list("abcde"))
    X.iloc[700, 1] = np.nan
    X.iloc[701, 3] = np.inf
    here = X if kind == "frame" else X.to_numpy()
    lazy = dd.from_pandas(X, npartitions=3) if kind == "frame" else da.from_array(here)
    named = "'b', 'd'" if kind == "frame" else "1, 3"
    for given in (here, lazy):
        with pytest.raises(ValueError, match=f"X contains NaN.*columns with such values: {named}"):
            GroupMoments.from_arrays(given)


def test_too_many_features_are_refused_with_the_gigabytes():
    with pytest.raises(MemoryError, match=r"n_features=1000000 and 1 groups need 24000\.0 GB"):
        GroupMoments.from_arrays(da.zeros((10, 1_000_000), chunks=(5, 1000)))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_one_task_a_file_gives_the_moments_in_memory(client, table, kind, tmp_path):
    write_files(table, tmp_path, kind, pieces=11)
    for sensitive in (["sex"], ["site", "old"]):
        found = moments_from_files(tmp_path, sensitive, FEATURES, weight="weight", engine="dask")
        assert_same_route(found, in_memory(table, sensitive, "weight"))
    here = moments_from_files(tmp_path, "site", ["tiny", "sex"], one_hot=["sex"])
    there = moments_from_files(tmp_path, "site", ["tiny", "sex"], one_hot=["sex"], engine="dask")
    assert_same_route(there, here)


def test_an_error_in_a_task_names_the_file(client, table, tmp_path):
    paths = write_files(table, tmp_path, "parquet")
    paths[2].write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"part-2\.parquet.*cannot be read"):
        moments_from_files(paths, "sex", FEATURES, engine="dask")


@pytest.mark.parametrize("n_partitions", [1, 3, 20])
def test_dataframes_give_the_moments_in_memory(client, table, n_partitions):
    frame = dd.from_pandas(frame_of(table), npartitions=n_partitions)
    for sensitive in ([], ["sex"], ["site", "old"]):
        found = moments_from_dask(frame, sensitive, FEATURES, weight="weight", batch_rows=300)
        assert_same_route(found, in_memory(table, sensitive, "weight"))


def test_dataframes_follow_the_rules_for_columns(client, table):
    pandas = frame_of(table)
    pandas.loc[[5, 1500], "single"] = np.nan
    frame = dd.from_pandas(pandas, npartitions=4)
    with pytest.raises(ValueError, match=r"not numbers: 'sex'"):
        moments_from_dask(frame, "site")
    with pytest.raises(ValueError, match=r"missing values in 'single' \(1\) of 501"):
        moments_from_dask(frame, "sex", FEATURES)
    found = moments_from_dask(
        frame, "site", ["single", "sex"], one_hot=["sex"], missing="drop_rows"
    )
    assert found.dropped_rows == 2
    assert len(found.feature_names) == 4
    with pytest.raises(TypeError, match="frame is a DataFrame; give a dask"):
        moments_from_dask(pandas, "sex")


def slow_block(seed: int) -> np.ndarray:
    time.sleep(0.15)
    return np.random.default_rng(seed).standard_normal((200, 4))


def test_a_worker_killed_on_the_way_changes_nothing(client):
    blocks = [
        da.from_delayed(delayed(slow_block)(i), shape=(200, 4), dtype=float) for i in range(24)
    ]
    groups = np.random.default_rng(0).integers(0, 2, 4800)
    victims = client.run(os.getpid)
    assert len(victims) == 2

    def kill():
        time.sleep(0.6)
        os.kill(next(iter(victims.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = GroupMoments.from_arrays(da.concatenate(blocks), groups)
    killer.join()
    X = np.vstack([np.random.default_rng(i).standard_normal((200, 4)) for i in range(24)])
    assert_same_route(found, GroupMoments.from_arrays(X, groups))
    client.wait_for_workers(2, timeout=30)
    assert set(client.run(os.getpid).values()) != set(victims.values())
