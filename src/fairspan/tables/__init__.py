"""Tables wherever they live, read alike: csv, spreadsheets, Parquet, Arrow, npy, Dask and Spark."""
