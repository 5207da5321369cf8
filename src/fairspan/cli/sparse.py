"""Sparse rows on the command line: a matrix that scipy saved, and labels in files of their own."""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import load_npz

from fairspan.cli import UsageError
from fairspan.words import plural

_ENTRIES = {"data.npy", "indices.npy", "indptr.npy", "shape.npy"}
"""What ``scipy.sparse.save_npz`` writes for rows or columns."""
_OF_TABLES = ("weight", "target", "features", "drop", "one_hot", "report", "clip")


class SparseData(NamedTuple):
    """Sparse rows, and the group of each; several files of labels are intersected."""

    X: Any
    groups: Any
    by: str


def opening(path: str, data: SparseData, n_groups: int, how: str) -> list[str]:
    """Give the first lines of an answer: what the data is, and which way it went."""
    rows, features = data.X.shape
    return [
        f"{Path(path).name}: {plural(rows, 'row')}, {plural(features, 'feature')}, "
        f"{plural(n_groups, 'group')} by {data.by}",
        f"  sparse, {data.X.nnz:,} entries; {how}",
    ]


def is_sparse(path: str) -> bool:
    """Whether a file is a sparse matrix of scipy."""
    if Path(path).suffix.lower() != ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist()) >= _ENTRIES


def refuse_sparse(path: str, command: str) -> None:
    """Refuse a sparse matrix where only tables are read, and say what takes it."""
    if is_sparse(path):
        raise UsageError(
            f"{command} needs a table, but {path!r} is a sparse matrix. The commands fit and "
            "frontier take it, and in Python RobustFairPCA, fairness_frontier, RobustFairPCACV "
            "and certify do."
        )


def load_rows(path: str) -> Any:
    """Read a sparse matrix; nothing in the file is run."""
    try:
        return load_npz(path)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path!r} cannot be read as a sparse matrix: {error}") from None


def load_sparse(options: argparse.Namespace) -> SparseData:
    """Read the sparse rows of the options, and their labels.

    Parameters
    ----------
    options : namespace
        data, and sensitive: .npy files with a label for each row.

    Returns
    -------
    SparseData
        Rows and groups.
    """
    given = [name for name in _OF_TABLES if getattr(options, name, None)]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')} needs a table, but {options.data!r} is a sparse "
            "matrix; leave it out."
        )
    if not options.sensitive:
        raise UsageError(
            "--sensitive is missing: name the .npy file with the label of each row of "
            f"{options.data!r}."
        )
    X = load_rows(options.data)
    labels = [load_labels(path, X.shape[0]) for path in options.sensitive]
    groups = labels[0] if len(labels) == 1 else dict(zip(options.sensitive, labels, strict=True))
    return SparseData(X, groups, " and ".join(Path(path).name for path in options.sensitive))


def load_labels(path: str, n_rows: int) -> Any:
    """Read a label for each row from a file of its own."""
    if Path(path).suffix.lower() != ".npy":
        raise UsageError(
            f"--sensitive {path} is not an .npy file; the rows are a matrix without named "
            "columns, so their labels are read from a file of their own."
        )
    try:
        labels = np.load(path)
    except ValueError as error:
        raise ValueError(f"{path!r} cannot be read as labels: {error}") from None
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{path!r} has shape {labels.shape}; it must have one label for each of the {n_rows} "
            "rows."
        )
    return labels
