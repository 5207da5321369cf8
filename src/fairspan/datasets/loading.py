"""Loading one data set: a table in a csv file, the faces, or Adult.

The last two columns of the 14 tables are a label and the sensitive attribute.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence

import numpy as np

from fairspan.datasets.adult import load_adult
from fairspan.datasets.faces import load_faces
from fairspan.datasets.files import data_directory, local_bytes
from fairspan.datasets.registry import Dataset, DatasetInfo, info
from fairspan.ground.parameters import check_choice

COLUMN_RULES = ("published", "text")
_LEAST_SPREAD, _MOST_SPREAD = 1e-5, 1000.0
"""Standard deviations between which the paper's text keeps a column."""


def load(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    column_rule: str = "published",
    sensitive: str | Sequence[str] | None = None,
    mirror: str | None = None,
) -> Dataset:
    """Load a data set: Adult ships with fairspan, the paper's are fetched the first time.

    Parameters
    ----------
    name : str
        One of :func:`names`, or "adult", a sample of the census table.
    data_home : path, optional
        The data directory; see :func:`data_directory`. A file in it is used without network, a
        file that is absent is fetched into it (extra ``data``). Digests are checked always.
    column_rule : {"published", "text"}, default="published"
        Which columns of a table to keep. The published sizes come from dropping the columns that
        are constant over the file, and perimX and perimY of Steel. The text of the paper speaks of
        dropping columns of standard deviation <= 1e-5 or >= 1000. No pixel falls under either.
    sensitive : str or sequence of str, optional
        For the faces: "sex" (default), "white", "black", "asian", "race" for the last three, or a
        sequence of these. For Adult: "sex" (default), "race" or both. Several are returned as a
        dict of columns, to be intersected.
    mirror : str, optional
        An address that holds the files under their own names, to fetch from instead.

    Returns
    -------
    Dataset
        Features, groups, names and a description. Tables have the labels 0 and 1 of the file;
        pixels are grey levels from 0 to 255. Adult has its numeric columns as features, the income
        as ``target``, and all columns as ``columns``.

    Examples
    --------
    >>> from fairspan import datasets
    >>> adult = datasets.load("adult")
    >>> adult.X.shape, adult.sensitive_name
    ((20000, 5), 'sex')
    >>> wine = datasets.load("wine_quality")  # doctest: +SKIP
    >>> wine.X.shape, wine.sensitive_name  # doctest: +SKIP
    ((6497, 11), 'white')
    """
    entry = info(name)
    check_choice("column_rule", column_rule, COLUMN_RULES)
    if entry.name == "adult":
        return load_adult(entry, sensitive)
    folder = data_directory(data_home)
    if entry.name == "lfw":
        return load_faces(entry, folder, mirror, sensitive)
    if sensitive is not None:
        raise ValueError(
            f"sensitive={sensitive!r}: {name} has one sensitive attribute, {entry.attribute}; "
            "leave sensitive out. Only lfw and adult have several."
        )
    return parse_table(local_bytes(entry, folder, mirror), entry, column_rule)


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
    # Some names in the file have a second pair of quotation marks.
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
