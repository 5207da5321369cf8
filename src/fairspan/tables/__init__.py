"""Tables wherever they live, read alike: csv, Parquet, Arrow, npy, Dask and Spark."""
