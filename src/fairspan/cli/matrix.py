"""Matrices on the command line: features alone, with the labels of their rows in other files.

A matrix is a sparse one that scipy saved (.npz) or an array (.npy).
"""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, load_npz

from fairspan.cli import UsageError
from fairspan.cli.data import is_moments
from fairspan.moments.groups import Groups
from fairspan.tables.columns import Columns
from fairspan.words import plural

_ENTRIES = {"data.npy", "indices.npy", "indptr.npy", "shape.npy"}
"""What ``scipy.sparse.save_npz`` writes for rows or columns."""
_OF_TABLES = ("weight", "target", "features", "drop", "one_hot", "report", "clip")


class WideData(NamedTuple):
    """Rows for ``fit``, what else it is given, and what to say about them."""

    X: Any
    given: dict[str, Any]
    labels: Callable[[], Iterable[Any]]
    by: str
    notes: tuple[str, ...]
    columns: Columns | None = None

    def opening(self, path: str, shape: tuple[int, int], n_groups: int) -> list[str]:
        """Give the first lines of an answer: what the data is, and how it was fitted."""
        counts = plural(shape[0], "row"), plural(shape[1], "feature"), plural(n_groups, "group")
        return [
            f"{Path(path).name}: {', '.join(counts)} by {self.by}",
            *map("  {}".format, self.notes),
        ]


def is_sparse(path: str) -> bool:
    """Whether a file is a sparse matrix of scipy."""
    if Path(path).suffix.lower() != ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist()) >= _ENTRIES


def is_matrix(path: str, sensitive: list[str] | None) -> bool:
    """Whether a file holds features alone: a sparse matrix, or an array with labels apart."""
    ending = Path(path).suffix.lower()
    if ending == ".npy":
        return bool(sensitive) and all(str(one).lower().endswith(".npy") for one in sensitive or ())
    return is_sparse(path)


def check_has_rows(path: str, command: str) -> None:
    """Refuse moments where rows are needed, and a sparse matrix where only tables are read."""
    refuse_sparse(path, command)
    if is_moments(path):
        raise UsageError(f"{command} needs the rows of a table; moments do not hold them.")


def refuse_sparse(path: str, command: str) -> None:
    """Refuse a sparse matrix where only tables are read, and say what takes it."""
    if is_sparse(path):
        raise UsageError(
            f"{command} needs a table, but {path!r} is a sparse matrix. The commands fit and "
            "frontier take it, and in Python RobustFairPCA, fairness_frontier, RobustFairPCACV "
            "and certify do."
        )


def load_rows(path: str) -> Any:
    """Read a sparse matrix, or map an array; nothing in the file is run."""
    kind = "a sparse matrix" if path.endswith(".npz") else "an array"
    try:
        rows = load_npz(path) if path.endswith(".npz") else np.load(path, mmap_mode="r")
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path!r} cannot be read as {kind}: {error}") from None
    if rows.ndim != 2:
        raise ValueError(f"{path!r} has {rows.ndim} dimensions; rows of features have 2.")
    return rows


def load_matrix(options: argparse.Namespace) -> WideData:
    """Read a matrix, and the labels of its rows.

    Parameters
    ----------
    options : namespace
        data, and sensitive: .npy files with a label for each row.

    Returns
    -------
    WideData
        Rows and groups; several files of labels are intersected.
    """
    kind = "a sparse matrix" if options.data.endswith(".npz") else "an array without named columns"
    given = [name for name in _OF_TABLES if getattr(options, name, None)]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')} needs a table, but {options.data!r} is {kind}; leave "
            "it out."
        )
    if not options.sensitive:
        raise UsageError(
            "--sensitive is missing: name the .npy file with the label of each row of "
            f"{options.data!r}."
        )
    X = load_rows(options.data)
    labels = [load_labels(path, X.shape[0]) for path in options.sensitive]
    groups = labels[0] if len(labels) == 1 else dict(zip(options.sensitive, labels, strict=True))
    by = " and ".join(Path(path).name for path in options.sensitive)
    stored = (f"sparse, {X.nnz:,} entries",) if issparse(X) else ()
    known = partial(_groups_in, groups, X.shape[0])
    return WideData(X, {"sensitive_features": groups}, known, by, stored)


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


def _groups_in(groups: Any, n_rows: int) -> Iterable[Any]:
    return Groups.of(groups, n_rows).labels
