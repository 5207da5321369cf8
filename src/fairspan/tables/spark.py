"""Spark: partitions become moments inside their tasks; a tree of sums brings them together."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Unpack

from fairspan.ground.extras import needing
from fairspan.moments.group_moments import GroupMoments
from fairspan.products.parts import RowParts
from fairspan.tables.columns import Columns, TableOptions, choose
from fairspan.tables.first_pass import Add, Step, settled
from fairspan.tables.pieces import Wanted
from fairspan.tables.rows import table_moments
from fairspan.tables.streams import row_parts
from fairspan.tables.typed import frame_part, kinds_of

_DEPTH = 2
_FIRST_ROWS = 512
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def moments_from_spark(
    frame: Any,
    sensitive: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    **options: Unpack[TableOptions],
) -> GroupMoments:
    """Compute the moments of a Spark DataFrame, partition by partition.

    Rows stay with the executors; what travels is one matrix a group. For Parquet files that every
    executor can read, ``moments_from_files(..., engine="spark")`` is several times faster, because
    rows need not pass from the Java side to Python.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The table.
    sensitive : str or sequence of str, optional
        Columns of groups; several are intersected, and labels become tuples. None: one group.
    features : sequence of str, optional
        Columns of features, in this order. None takes all that are not used otherwise, but not
        those that pandas wrote as the index of a frame.
    **options
        See :class:`fairspan.tables.columns.TableOptions`: ``drop``, ``weight``, ``one_hot``,
        ``missing``, ``bins``, ``batch_rows``.

    Returns
    -------
    GroupMoments
        The moments; ``dropped_rows`` says how many rows ``missing="drop_rows"`` left out.
    """
    columns = _columns(frame, sensitive, features, options)
    return table_moments(columns, partial(_run, frame), "the frame").moments


def rows_from_spark(
    frame: Any,
    sensitive: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    **options: Unpack[TableOptions],
) -> RowParts:
    """Open a Spark DataFrame whose rows are read again in each pass of a fit.

    Rows stay with the executors; each pass is one map-reduce, and what travels is a thin block for
    each group. ``RobustFairPCA.fit`` takes the result in place of X. Cache a frame that is dear to
    compute.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The table.
    sensitive : str or sequence of str, optional
        Columns of groups; several are intersected, and labels become tuples. None: one group.
    features : sequence of str, optional
        Columns of features, in this order. None takes all that are not used otherwise.
    **options
        See :class:`fairspan.tables.columns.TableOptions`.

    Returns
    -------
    RowParts
        The rows, for ``fit``.
    """
    run = partial(_run, frame)
    columns = settled(_columns(frame, sensitive, features, options), run, "the frame")
    return row_parts(columns, run, partial(_run, frame.limit(_FIRST_ROWS)))


def _columns(frame: Any, sensitive: Any, features: Any, options: Any) -> Columns:
    with needing("Spark dataframes need pyspark and pandas", "spark"):
        from pyspark.sql import DataFrame
        from pyspark.sql.pandas.types import to_arrow_schema
    if not isinstance(frame, DataFrame):
        raise TypeError(f"frame is a {type(frame).__name__}; give a pyspark.sql.DataFrame.")
    kinds = kinds_of(to_arrow_schema(frame.schema))
    # Spark reads the index that pandas wrote to a file as a column like any other.
    index = frozenset(name for name in kinds if _PANDAS_INDEX.fullmatch(str(name)))
    return choose("the frame", kinds, sensitive, features, options, index)


def _run(frame: Any, step: Step, add: Add, wanted: Wanted) -> Any:
    quoted = ["`" + str(name).replace("`", "``") + "`" for name in wanted.names]
    # Spark looks columns up by unquoted names from here on; positions need no quotes.
    numbered = frame.select(*quoted).toDF(*map(str, range(len(quoted))))
    pickled = numbered.mapInArrow(partial(_partition_step, step, wanted), "part binary")
    return pickled.rdd.map(_unpickle).treeReduce(add, _DEPTH)


def _partition_step(step: Step, wanted: Wanted, batches: Iterator[Any]) -> Iterator[Any]:
    """Give one row for a partition: its pickled part."""
    import pyarrow as pa

    named = (batch.rename_columns(wanted.names) for batch in batches)
    part = pickle.dumps(step(frame_part(named), wanted))
    yield pa.RecordBatch.from_arrays([pa.array([part], pa.binary())], names=["part"])


def _unpickle(row: Any) -> Any:
    # Written by the tasks of this very job.
    return pickle.loads(row.part)


def map_and_add(task: Callable[[Any], Any], parts: Iterable[Any], add: Add) -> Any:
    """Apply a task to each part on the executors and add the results in a tree.

    Parameters
    ----------
    task : callable
        Gives a small value for a part.
    parts : iterable
        Parts, which every executor can read.
    add : callable
        Adds two values.

    Returns
    -------
    object
        The sum.
    """
    with needing("engine='spark' needs pyspark", "spark"):
        from pyspark.sql import SparkSession
    listed = list(parts)
    context = SparkSession.builder.getOrCreate().sparkContext
    return context.parallelize(listed, len(listed)).map(task).treeReduce(add, _DEPTH)
