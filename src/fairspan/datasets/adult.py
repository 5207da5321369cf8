"""The Adult census table: a sample that ships with fairspan, so it needs no network."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from fairspan.datasets.registry import Dataset, DatasetInfo
from fairspan.ground.parameters import check_choice

TARGET = "income"
SENSITIVE = ("sex", "race")
NUMERIC = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")


def adult_bytes() -> bytes:
    """Return the table as csv."""
    return gzip.decompress(files(__package__).joinpath("adult.csv.gz").read_bytes())


def load_adult(entry: DatasetInfo, sensitive: str | Sequence[str] | None) -> Dataset:
    """Read the sample; blank cells are missing values of the original.

    Parameters
    ----------
    entry : DatasetInfo
        The facts about it.
    sensitive : str or sequence of str, optional
        "sex" (default), "race", or both.

    Returns
    -------
    Dataset
        The numeric columns as features; the others are in ``columns``.
    """
    wanted = [sensitive or "sex"] if isinstance(sensitive, str | None) else list(sensitive)
    for name in wanted:
        check_choice("sensitive", name, SENSITIVE)
    header, *rows = csv.reader(adult_bytes().decode().splitlines())
    columns: dict[str, Any] = dict(zip(header, np.array(rows, dtype=str).T, strict=True))
    columns |= {name: columns[name].astype(float) for name in NUMERIC}
    groups = {name: columns[name] for name in wanted}
    return Dataset(
        name=entry.name,
        X=np.column_stack([columns[name] for name in NUMERIC]),
        sensitive_features=groups if len(wanted) > 1 else groups[wanted[0]],
        feature_names=NUMERIC,
        sensitive_name=", ".join(wanted),
        description=entry.description,
        target=columns[TARGET],
        columns=columns,
    )
