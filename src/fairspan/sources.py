"""Moments of files, Dask and Spark tables, and rows read part by part; they stay where they are."""

from fairspan.tables.dask import moments_from_dask
from fairspan.tables.files import moments_from_files
from fairspan.tables.spark import moments_from_spark, rows_from_spark
from fairspan.tables.streams import rows_from_files

__all__ = [
    "moments_from_dask",
    "moments_from_files",
    "moments_from_spark",
    "rows_from_files",
    "rows_from_spark",
]
