"""Fits by passes over Dask and Spark: the fit in memory, whatever happens to the workers."""

from __future__ import annotations

import operator
import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

from fairspan import RobustFairPCA
from fairspan.estimators import wide
from fairspan.ground import rows
from fairspan.sources import rows_from_files, rows_from_spark
from fairspan.tables.dask import map_and_add
from tests.products.test_parts import SETTING, assert_same_fit, in_one_part
from tests.products.test_solve import steep
from tests.sources.test_dask import client
from tests.sources.test_spark import pytestmark as with_spark
from tests.sources.test_spark import spark

pd = pytest.importorskip("pandas")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

__all__ = ["client", "spark"]


def made_frame(n=200, d=50):
    X, codes = steep(0, n=n, d=d)
    groups = np.array(["b", "a"])[codes]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)]).assign(sex=groups)
    return X, groups, frame


def test_dask_collections_give_the_fit_in_one_part(client):
    X, groups, frame = made_frame()
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    expected = in_one_part(X, groups, weight)
    model = RobustFairPCA(3, **SETTING, route="products")
    array = da.from_array(X, chunks=(60, 20))
    model.fit(array, sensitive_features=groups, sample_weight=weight)
    assert_same_fit(model, expected)
    np.testing.assert_allclose(model.transform(array).compute(), model.transform(X))
    table = dd.from_pandas(frame, npartitions=3)
    model.fit(table, sensitive_features="sex")
    assert_same_fit(model, in_one_part(X, groups))
    assert list(model.feature_names_in_) == [f"x{j}" for j in range(50)]


def test_auto_takes_products_of_collections_only_where_moments_do_not_fit(monkeypatch):
    X, groups, _ = made_frame()
    array = da.from_array(X, chunks=(60, 20))
    monkeypatch.setattr(rows, "MANY_FEATURES", 50)
    with dask.config.set(scheduler="synchronous"):
        model = RobustFairPCA(3, **SETTING).fit(array, sensitive_features=groups)
        assert model.route_ == "moments"
        monkeypatch.setattr(wide, "fits_as_moments", lambda d: False)
        model.fit(array, sensitive_features=groups)
    assert_same_fit(model, in_one_part(X, groups))
    assert not hasattr(model, "moments_")


def test_files_are_read_by_workers(client, tmp_path):
    X, groups, _ = made_frame()
    for i, some in enumerate(np.array_split(np.arange(len(X)), 3)):
        np.save(tmp_path / f"rows-{i}.npy", X[some])
        np.save(tmp_path / f"groups-{i}.npy", groups[some])
    paths = str(tmp_path / "rows-*.npy"), str(tmp_path / "groups-*.npy")
    source = rows_from_files(*paths, engine="dask")
    assert_same_fit(RobustFairPCA(3, **SETTING).fit(source), in_one_part(X, groups))


def test_a_large_block_is_sent_without_a_warning(client):
    # Dask warns of graphs above 10 MB; warnings are errors here.
    task = partial(_size, np.ones((200_000, 8)))
    assert map_and_add(task, [1, 2], operator.add) == 2 * 1_600_000 + 3


def _size(block: np.ndarray, part: int) -> int:
    return block.size + part


def slow_rows(rows: np.ndarray) -> np.ndarray:
    time.sleep(0.02)
    return rows


def test_a_worker_killed_midway_changes_nothing(client):
    X, groups, _ = made_frame()
    rows = da.from_array(X, chunks=(25, -1)).map_blocks(slow_rows, dtype=float)
    victims = client.run(os.getpid)
    assert len(victims) == 2

    def kill():
        time.sleep(0.8)
        os.kill(next(iter(victims.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    model = RobustFairPCA(3, **SETTING, route="products").fit(rows, sensitive_features=groups)
    assert not killer.is_alive(), "the fit ended before the worker did"
    killer.join()
    assert_same_fit(model, in_one_part(X, groups))
    client.wait_for_workers(2, timeout=30)
    assert set(client.run(os.getpid).values()) != set(victims.values())


def test_collections_drawn_anew_in_each_pass_are_refused(client):
    def drawn(rows):
        return rows + np.random.default_rng().standard_normal(rows.shape)

    X, groups, _ = made_frame()
    rows = da.from_array(X, chunks=(60, -1)).map_blocks(drawn, dtype=float)
    with pytest.raises(RuntimeError, match="persist collections"):
        RobustFairPCA(3, route="products").fit(rows, sensitive_features=groups)


class TestSpark:
    pytestmark = with_spark

    def test_a_frame_gives_the_fit_in_one_part(self, spark):
        X, groups, frame = made_frame(n=120, d=20)
        rows = rows_from_spark(spark.createDataFrame(frame).repartition(3).cache(), "sex")
        model = RobustFairPCA(3, **SETTING).fit(rows)
        assert_same_fit(model, in_one_part(X, groups))
        assert list(model.feature_names_in_) == [f"x{j}" for j in range(20)]

    def test_files_are_read_by_executors(self, spark, tmp_path):
        X, groups, frame = made_frame(n=120, d=20)
        for i, some in enumerate(np.array_split(np.arange(len(X)), 2)):
            frame.iloc[some].to_parquet(tmp_path / f"part-{i}.parquet")
        source = rows_from_files(tmp_path, "sex", engine="spark")
        assert_same_fit(RobustFairPCA(3, **SETTING).fit(source), in_one_part(X, groups))
