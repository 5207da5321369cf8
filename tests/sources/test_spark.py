"""Spark in local mode: the moments in memory; a task that fails once is counted once."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fairspan.sources import moments_from_files, moments_from_spark
from tests.hardening import inputs
from tests.hardening.law import REFUSED, outcome
from tests.sources.tables import FEATURES, assert_same_route, in_memory, made_table, write_files

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

REQUIRED = os.environ.get("FAIRSPAN_REQUIRE_ENGINES") == "1"
HAS_JAVA = bool(shutil.which("java") or os.environ.get("JAVA_HOME"))

pytestmark = [
    pytest.mark.skipif(
        not HAS_JAVA and not REQUIRED, reason="Spark needs Java, which is not on this machine"
    ),
    # PySpark is not yet at peace with the newest pandas and Python.
    pytest.mark.filterwarnings("ignore::UserWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def spark():
    """Two threads, each task tried up to four times."""
    sql = pytest.importorskip("pyspark.sql")
    environment = pytest.MonkeyPatch()
    # Tasks run in this Python, not in the first one on the path.
    environment.setenv("PYSPARK_PYTHON", sys.executable)
    session = (
        sql.SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    environment.undo()


@pytest.fixture(scope="module")
def table():
    return made_table()


@pytest.fixture(scope="module")
def parquet(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    write_files(table, folder, "parquet", pieces=3)
    return folder


def test_a_dataframe_gives_the_moments_in_memory(spark, table, parquet):
    frame = spark.read.parquet(str(parquet))
    for sensitive, weight in ((["sex"], None), (["site", "old"], "weight")):
        found = moments_from_spark(frame, sensitive, FEATURES, weight=weight)
        assert_same_route(found, in_memory(table, sensitive, weight))
    # Some of these partitions are empty.
    cut = frame.filter("site = 1").repartition(7)
    found = moments_from_spark(cut, "sex", FEATURES, batch_rows=50)
    only = table.filter(pa.compute.equal(table["site"], 1))
    assert_same_route(found, in_memory(only, ["sex"]))


def test_names_of_columns_may_hold_any_characters(spark, table, parquet):
    names = ["d.e", "back`tick", "a b,c", "0", *FEATURES[4:]]
    frame = spark.read.parquet(str(parquet)).withColumnRenamed("sex", "se.x")
    for old, new in zip(FEATURES, names, strict=True):
        frame = frame.withColumnRenamed(old, new)
    found = moments_from_spark(frame, "se.x", names)
    expected = replace(in_memory(table, ["sex"]), feature_names=tuple(names))
    assert_same_route(found, expected)


def test_files_are_read_inside_the_tasks(spark, table, parquet):
    found = moments_from_files(parquet, ["sex", "old"], FEATURES, weight="weight", engine="spark")
    assert_same_route(found, in_memory(table, ["sex", "old"], "weight"))


def test_categories_are_found_on_the_executors(spark, parquet):
    frame = spark.read.parquet(str(parquet))
    found = moments_from_spark(frame, "site", ["tiny", "sex"], one_hot=["sex"])
    here = moments_from_files(parquet, "site", ["tiny", "sex"], one_hot=["sex"])
    assert_same_route(found, here)


def test_text_is_refused_before_any_task_runs(spark, parquet):
    with pytest.raises(ValueError, match=r"not numbers: 'sex' \(.*string\)"):
        moments_from_spark(spark.read.parquet(str(parquet)), "site")
    with pytest.raises(TypeError, match="frame is a list; give a pyspark"):
        moments_from_spark([1, 2], "site")


def test_a_task_that_fails_once_is_counted_once(spark, table, parquet, tmp_path):
    flag = str(tmp_path / "failed")

    def fail_once(batches):
        first = True
        for batch in batches:
            yield batch
            if first and not os.path.exists(flag):
                open(flag, "w").close()
                raise RuntimeError("a machine was lost")
            first = False

    frame = spark.read.parquet(str(parquet)).coalesce(2)
    shaky = frame.mapInArrow(fail_once, frame.schema)
    found = moments_from_spark(shaky, "sex", FEATURES)
    assert os.path.exists(flag)
    assert np.array_equal(found.counts, in_memory(table, ["sex"]).counts)
    assert_same_route(found, in_memory(table, ["sex"]))


def test_the_index_that_pandas_wrote_is_no_feature(spark, tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0], "y": [0.0, 1.0, 5.0], "g": ["a", "b", "b"]})
    frame.set_index(pd.Index([7, 8, 100])).to_parquet(tmp_path / "t.parquet")
    read = spark.read.parquet(str(tmp_path / "t.parquet"))
    assert "__index_level_0__" in read.columns
    assert moments_from_spark(read, "g").feature_names == ("x", "y")
    # Who names it means it.
    named = moments_from_spark(read, "g", ["x", "__index_level_0__"])
    assert named.feature_names == ("x", "__index_level_0__")


OPTIONS = ["sensitive", "features", "drop", "weight", "one_hot", "missing"]


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_any_kind_is_used_or_refused(spark, parquet, option):
    frame = spark.read.parquet(str(parquet))

    def read(**options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PySpark's own, as above.
            return moments_from_spark(frame, **options)

    usual = {"sensitive": "site", "features": ["tiny", "sex"], "one_hot": ["sex"]}
    for value in inputs.ODD:
        found = outcome(read, **{**usual, option: value})
        if found is not REFUSED:
            assert np.isfinite(found.scatters).all()
    for value in inputs.ODD:
        assert outcome(moments_from_spark, value, **usual) is REFUSED
