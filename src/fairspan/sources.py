"""Moments of files, Dask and Spark tables; the rows stay where they are."""

from fairspan.tables.dask import moments_from_dask
from fairspan.tables.files import moments_from_files
from fairspan.tables.spark import moments_from_spark

__all__ = ["moments_from_dask", "moments_from_files", "moments_from_spark"]
