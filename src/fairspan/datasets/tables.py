"""The 14 tables: csv files whose last two columns are a label and the sensitive attribute."""

from __future__ import annotations

import csv
import io

import numpy as np

from fairspan.datasets.dataset import Dataset
from fairspan.datasets.entry import DatasetInfo

COLUMN_RULES = ("published", "text")
_LEAST_SPREAD, _MOST_SPREAD = 1e-5, 1000.0
"""Standard deviations between which the paper's text keeps a column."""


def parse_table(data: bytes, entry: DatasetInfo, column_rule: str) -> Dataset:
    """Parse the bytes of a csv file.

    Parameters
    ----------
    data : bytes
        The file.
    entry : DatasetInfo
        What it must hold.
    column_rule : {"published", "text"}
        Which columns to keep.

    Returns
    -------
    Dataset
        Features and labels, of the size the registry states if the rule is the published one.
    """
    text = data.decode()
    header = next(csv.reader([text.partition("\n")[0]], skipinitialspace=True))
    values = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1, ndmin=2)
    # Some names of the file stand in a second pair of quotation marks.
    *columns, _label, sensitive_name = (name.strip('" \r') for name in header)
    names = np.array(columns)
    description, spread = entry.description, values[:, :-2].std(axis=0)
    if column_rule == "published":
        keep = (spread > 0) & ~np.isin(names, entry.dropped)
    else:
        keep = (spread > _LEAST_SPREAD) & (spread < _MOST_SPREAD)
    X = np.ascontiguousarray(values[:, :-2][:, keep])
    expected = (entry.n_rows, entry.n_features)
    if column_rule != "published":
        description += (
            f"\nColumns: {X.shape[1]} features, by the rule of the paper's text, which drops those "
            f"of standard deviation <= {_LEAST_SPREAD:g} or >= {_MOST_SPREAD:g}."
        )
    elif X.shape != expected:
        raise ValueError(
            f"{entry.file_name} gives {X.shape[0]} rows and {X.shape[1]} features where the paper "
            f"has {expected[0]} and {expected[1]}."
        )
    return Dataset(
        name=entry.name,
        X=X,
        sensitive_features=values[:, -1].astype(np.int64),
        feature_names=tuple(names[keep].tolist()),
        sensitive_name=sensitive_name,
        description=description,
    )
