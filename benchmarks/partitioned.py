"""Partitioned data: Dask and Spark on 1,000,000 rows, against one process that streams them.

CPU time of all processes together, those of the engine too: what the same moments cost in all, on
however many cores. A row of a Spark DataFrame is read in Java and passes to Python; what each of
these costs is measured as well, by a job that does nothing with the rows.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.files import FEATURES, made_files
from benchmarks.measure import Figure, judged, ratio
from fairspan import GroupMoments
from fairspan.sources import moments_from_dask, moments_from_files, moments_from_spark

FILES, ROWS = 5, 200_000
GOALS = {"dask, files": 1.5, "spark, dataframe": 2.0}
REPETITIONS, WARM_UP = 5, 3


def tree_seconds() -> float:
    """CPU time of this process and all below it, those that have ended included."""
    parents, times = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        parents[int(folder.name)] = int(fields[1])
        times[int(folder.name)] = sum(map(int, fields[11:15]))
    family, total = [os.getpid()], 0
    for process in family:
        total += times.get(process, 0)
        family += [child for child, parent in parents.items() if parent == process]
    return total / os.sysconf("SC_CLK_TCK")


def largest_difference(found: GroupMoments, expected: GroupMoments) -> float:
    apart = abs(found.second_moments - expected.second_moments).max()
    return float(apart / abs(expected.second_moments).max())


def on_dask(paths: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        yield "dask, files", lambda: moments_from_files(paths, "group", engine="dask")
        frame = dd.read_parquet(paths)
        yield "dask, dataframe", lambda: moments_from_dask(frame, "group")


def on_spark(paths: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    if not shutil.which("java"):
        print("Without Java, Spark is left out.")
        return
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield "spark, files", lambda: moments_from_files(paths, "group", engine="spark")
        frame = spark.read.parquet(*paths)
        yield "spark, dataframe", lambda: moments_from_spark(frame, "group")
        unused = frame.write.format("noop").mode("overwrite")
        yield "spark, rows read in Java", unused.save
        handed = frame.mapInArrow(_thrown_away, "rows long")
        yield "spark, rows handed from Java to Python", handed.collect
    finally:
        spark.stop()


def _thrown_away(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    rows = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([rows])], names=["rows"])


def figures() -> Iterator[Figure]:
    # Workers inherit this; each has one core.
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        paths = made_files(Path(folder), FILES, ROWS)
        expected = moments_from_files(paths, "group")

        def against_one_process(run: Callable[[], Any]) -> dict[str, Any]:
            found: dict[str, Any] = {}
            # Java compiles what runs often, and workers import: the first runs tell little.
            for _ in range(WARM_UP):
                result = run()
            if isinstance(result, GroupMoments):
                found["difference"] = largest_difference(result, expected)
            alone = partial(moments_from_files, paths, "group")
            return ratio(run, alone, REPETITIONS, tree_seconds) | found

        for name, run in chain(on_dask(paths), on_spark(paths)):
            measure = partial(against_one_process, run)
            yield f"{name} / one process, {FILES * ROWS} x {FEATURES}", GOALS.get(name), measure


def main() -> dict[str, Any]:
    return judged("partitioned", figures())


if __name__ == "__main__":
    main()
