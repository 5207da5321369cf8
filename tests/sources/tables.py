"""A table with every kind of column, and its moments by the plain route in memory."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from fairspan import GroupMoments

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

FEATURES = ["tiny", "whole", "single", "Größe, cm", "yes", "price", "far"]


def made_table(n_rows: int = 2003, seed: int = 0) -> pa.Table:
    """Numbers of several widths, far from zero too; labels as text, numbers and truth values."""
    rng = np.random.default_rng(seed)
    prices = [Decimal(int(cents)).scaleb(-2) for cents in rng.integers(100, 9999, n_rows)]
    return pa.table(
        {
            "sex": pa.array(rng.choice(["f", 'm "x", y', "ü"], n_rows)),
            "tiny": pa.array(rng.integers(-9, 9, n_rows), pa.int8()),
            "whole": pa.array(rng.integers(0, 2**40, n_rows), pa.int64()),
            "single": pa.array(rng.standard_normal(n_rows).astype(np.float32)),
            "Größe, cm": pa.array(170 + 10 * rng.standard_normal(n_rows)),
            "yes": pa.array(rng.random(n_rows) < 0.3),
            "price": pa.array(prices, pa.decimal128(9, 2)),
            "far": pa.array(1e6 + np.round(rng.standard_normal(n_rows) * 2**10) / 2**10),
            "site": pa.array(rng.integers(1, 4, n_rows)),
            "old": pa.array(rng.random(n_rows) < 0.5),
            "weight": pa.array(rng.integers(0, 4, n_rows)),
        }
    )


def in_memory(table: pa.Table, sensitive: list[str], weight: str | None = None) -> GroupMoments:
    """Moments of the same rows through a frame."""
    frame = table.to_pandas()
    X = frame[FEATURES].astype(float)
    return GroupMoments.from_arrays(
        X,
        frame[sensitive] if sensitive else None,
        sample_weight=None if weight is None else frame[weight],
    )


def write_files(table: pa.Table, folder: Path, kind: str, pieces: int = 3) -> list[Path]:
    """Write a table as several files of one kind."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i, rows in enumerate(np.array_split(np.arange(table.num_rows), pieces)):
        part = table.slice(int(rows[0]), len(rows)) if len(rows) else table.slice(0, 0)
        path = folder / f"part-{i}.{kind}"
        if kind == "parquet":
            parquet.write_table(part, path, row_group_size=200)
        elif kind == "feather":
            feather.write_feather(part, path)
        elif kind == "arrow":
            with pa.ipc.new_stream(path, part.schema) as writer:
                writer.write_table(part)
        else:
            # Text of single precision would be read as other numbers of double precision.
            part.to_pandas().astype({"single": float}).to_csv(path, index=False)
        paths.append(path)
    return paths


def label_types(moments: GroupMoments) -> list[object]:
    """Types of labels and of the parts of tuples."""
    return [
        tuple(map(type, label)) if isinstance(label, tuple) else type(label)
        for label in moments.labels
    ]


def assert_same_route(found: GroupMoments, expected: GroupMoments) -> None:
    """Equal to 1e-12, with the same names and labels of the same types."""
    from tests.test_moments import assert_equal_moments

    assert found.labels == expected.labels
    assert label_types(found) == label_types(expected)
    assert found.feature_names == expected.feature_names
    # Features differ by twelve orders of magnitude, so each is compared in its own units.
    scale = np.sqrt(expected.variances)
    scale[scale == 0] = 1.0
    assert_equal_moments(found.scaled(scale), expected.scaled(scale))


def frame_of(table: pa.Table) -> pd.DataFrame:
    """The table as a frame without Arrow types."""
    frame = table.to_pandas()
    frame["price"] = frame["price"].astype(float)
    return frame
