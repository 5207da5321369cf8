"""Partitioned data: Dask and Spark on the files of `files`, against one process that streams."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.files import FILES, ROWS, made_files
from benchmarks.measure import ratio, write
from fairspan import GroupMoments
from fairspan.sources import moments_from_dask, moments_from_files, moments_from_spark

LIMITS = {"dask, files": 1.5}
REPETITIONS = 3


def largest_difference(found: GroupMoments, expected: GroupMoments) -> float:
    apart = abs(found.second_moments - expected.second_moments).max()
    return float(apart / abs(expected.second_moments).max())


def on_dask(paths: list[str], compare: Callable[..., None]) -> None:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        compare("dask, files", lambda: moments_from_files(paths, "group", engine="dask"))
        frame = dd.read_parquet(paths)
        compare("dask, dataframe", lambda: moments_from_dask(frame, "group"))


def on_spark(paths: list[str], compare: Callable[..., None]) -> None:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        compare("spark, files", lambda: moments_from_files(paths, "group", engine="spark"))
        frame = spark.read.parquet(*paths)
        compare("spark, dataframe", lambda: moments_from_spark(frame, "group"))
    finally:
        spark.stop()


def main() -> dict[str, Any]:
    figures: dict[str, Any] = {"rows": FILES * ROWS, "files": FILES}
    # Workers inherit this; each has one core.
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        paths = made_files(Path(folder))
        expected = moments_from_files(paths, "group")

        def compare(name: str, run: Callable[[], GroupMoments]) -> None:
            difference = largest_difference(run(), expected)
            found = ratio(run, lambda: moments_from_files(paths, "group"), REPETITIONS)
            figures[name] = {**found, "limit": LIMITS.get(name), "difference": difference}
            print(f"{name} / one process = {found['ratio']:.2f}, {difference:.1g}", flush=True)

        on_dask(paths, compare)
        if shutil.which("java"):
            on_spark(paths, compare)
        else:
            print("Without Java, Spark is left out.")
    write("partitioned", figures)
    return figures


if __name__ == "__main__":
    main()
