"""Data for a command: a table with chosen columns, or moments; nothing is left out in silence."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan import _moments_file
from fairspan._archive import format_of
from fairspan._types import FloatArray
from fairspan.cli import UsageError
from fairspan.cli.columns import Columns, choose, find, indicators, unknown
from fairspan.cli.console import plural
from fairspan.cli.tables import Coded, Source, Table, open_table
from fairspan.moments import GroupMoments

_MOST_GROUPS = 200
"""A column with more values is hardly one of groups, and each costs a matrix."""


@dataclass(frozen=True)
class Data:
    """Rows of a table, ready for a fit."""

    X: FloatArray
    groups: Any
    weight: FloatArray | None
    columns: Columns
    notes: tuple[str, ...]

    def moments(self) -> GroupMoments:
        """Boil the rows down."""
        found = GroupMoments.from_arrays(self.X, self.groups, sample_weight=self.weight)
        return replace(found, feature_names=self.names)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features; columns of arrays have none."""
        return tuple(self.columns.names) if self.columns.is_named else None

    @property
    def by(self) -> str:
        """The columns that tell groups apart."""
        return " and ".join(map(str, self.columns.sensitive))


def add_table_arguments(parser: argparse.ArgumentParser, *, groups: bool = True) -> None:
    """Say how a table is read and which columns play which role."""
    table = parser.add_argument_group("the table")
    if groups:
        table.add_argument(
            "-s",
            "--sensitive",
            action="append",
            metavar="COLUMN",
            help="the column that tells groups apart; several are intersected (repeat it)",
        )
        table.add_argument("--weight", metavar="COLUMN", help="how often each row counts")
        table.add_argument("--features", nargs="+", metavar="COLUMN", help="use these columns only")
        table.add_argument("--drop", nargs="+", metavar="COLUMN", help="use all columns but these")
        table.add_argument(
            "--one-hot",
            nargs="+",
            metavar="COLUMN[=A,B,..]",
            help="turn text into one column of zeros and ones for each value",
        )
    table.add_argument(
        "--missing",
        choices=["refuse", "drop-rows"],
        default="refuse",
        help="what to do about missing values (default: refuse)",
    )
    table.add_argument("--separator", help="between csv cells: , ; or tab (default: detected)")
    table.add_argument("--encoding", default="utf-8", help="of a csv file (default: utf-8)")


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Let programs read the answer."""
    parser.add_argument("--json", action="store_true", help="answer in JSON, numbers in full")


def open_data(options: argparse.Namespace) -> Source:
    """Open the table of the options."""
    separator = {"tab": "\t", "\\t": "\t"}.get(options.separator, options.separator)
    if separator is not None and len(separator) != 1:
        raise UsageError(f"--separator {separator!r} must be one character, or the word tab.")
    try:
        "".encode(options.encoding)
    except LookupError:
        raise UsageError(
            f"--encoding {options.encoding!r} is not an encoding known here."
        ) from None
    return open_table(options.data, separator=separator, encoding=options.encoding)


def is_moments(path: str) -> bool:
    """Whether a file should be read as moments, whose reader tells what else it may be."""
    return Path(path).suffix.lower() == ".npz" or format_of(path) is not None


def load_moments(options: argparse.Namespace) -> tuple[GroupMoments, Columns | None]:
    """Read a moments file, and refuse what only rows can answer."""
    given = [
        f"--{name.replace('_', '-')}"
        for name in ("sensitive", "weight", "features", "drop", "one_hot")
        if getattr(options, name)
    ]
    if given:
        raise UsageError(
            f"{given[0]} chooses columns of a table, but {options.data!r} holds moments, whose "
            "features and groups are fixed; leave it out."
        )
    moments, columns = _moments_file.load(options.data)
    return moments, None if columns is None else Columns.from_json(columns)


def load_data(options: argparse.Namespace) -> Data:
    """Read the table of the options: features, groups and weights.

    Parameters
    ----------
    options : namespace
        What :func:`add_table_arguments` and ``data`` gave.

    Returns
    -------
    Data
        The rows, with notes about all that was done to them.
    """
    source = open_data(options)
    if not options.sensitive:
        names = ", ".join(map(repr, source.names[:12]))
        raise UsageError(
            "--sensitive is missing: name the column that tells groups apart. "
            f"The columns of {options.data!r} are {names}."
        )
    columns, one_hot = choose(source, options)
    trial = replace(columns, categories=dict.fromkeys(one_hot, ()))
    numbers = trial.numbers + ([] if columns.weight is None else [columns.weight])
    table = source.read(numbers, [*columns.sensitive, *one_hot])
    refuse_text(table, source)
    categories = {
        name: tuple(sorted(map(str, table.texts[name].values))) if parts is None else parts
        for name, parts in one_hot.items()
    }
    columns = replace(columns, categories=categories)
    X = features_of(table, columns)
    weight = None if columns.weight is None else table.numbers[:, -1]
    keep, notes = _complete(X, table, columns, options, weight)
    groups = [_labels(table.texts[name], keep, name) for name in columns.sensitive]
    return Data(
        X if keep is None else X[keep],
        groups[0] if len(groups) == 1 else dict(zip(columns.sensitive, groups, strict=True)),
        weight if weight is None or keep is None else weight[keep],
        columns,
        (*source.notes, *_one_hot_notes(columns), *notes, *_counter_notes(X, columns)),
    )


def read_features(
    source: Source, columns: Columns, options: Any
) -> tuple[FloatArray, dict[Any, list[Any]], list[str]]:
    """Read the features that a model was fitted on, from any table that has them.

    Parameters
    ----------
    source : Source
        The table; further columns in it are not read.
    columns : Columns
        How columns become features.
    options : namespace
        missing, and keep: columns to hand on as they are.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        The features.
    kept : dict
        The columns to keep; None where a value is missing.
    notes : list of str
        What was done.
    """
    missing = [name for name in columns.features if name not in source.names]
    if missing:
        raise ValueError(unknown(source, missing, "which the model needs"))
    kept = find(source, options.keep or [], "--keep")
    table = source.read(columns.numbers, list(dict.fromkeys([*columns.categories, *kept])))
    refuse_text(table, source)
    X = features_of(table, columns)
    rows, notes = _complete(X, table, replace(columns, sensitive=()), options, None)
    handed = {name: table.texts[name].listed(rows) for name in kept}
    return X if rows is None else X[rows], handed, [*source.notes, *notes]


def refuse_text(table: Table, source: Source) -> None:
    """Refuse columns that should be numbers and are not, naming the ways out."""
    problems = table.problems
    if not problems.counts:
        return
    listed = [f"{name!r} ({problems.examples[name]})" for name in problems.counts]
    names = " ".join(str(name) for name in list(problems.counts)[:3])
    raise ValueError(
        f"{str(source.path)!r} has text where numbers are needed, in "
        f"{plural(len(listed), 'column')}: {'; '.join(listed[:6])}"
        f"{' ...' if len(listed) > 6 else ''}. Leave it out (--drop {names}), turn it into columns "
        f"of zeros and ones (--one-hot {names}), or name the columns to use (--features)."
    )


def features_of(table: Table, columns: Columns) -> FloatArray:
    """Put the features side by side, in the order of the columns."""
    numbers = table.numbers[:, : len(columns.numbers)]
    if columns.categories:
        place = {name: j for j, name in enumerate(columns.numbers)}
        parts = [
            indicators(name, table.texts[name], columns.categories[name])
            if name in columns.categories
            else numbers[:, [place[name]]]
            for name in columns.features
        ]
        numbers = np.hstack(parts)
    infinite = np.isinf(numbers).any(axis=0)
    if infinite.any():
        names = [columns.names[j] for j in np.flatnonzero(infinite)[:5]]
        raise ValueError(f"infinite values stand in the columns {names}; --drop them or mend them.")
    return numbers


def _complete(
    X: FloatArray, table: Table, columns: Columns, options: Any, weight: FloatArray | None
) -> tuple[npt.NDArray[np.bool_] | None, list[str]]:
    """Find the rows without missing values, or refuse."""
    absent = {columns.names[j]: np.isnan(X[:, j]) for j in range(X.shape[1])}
    absent |= {str(name): table.texts[name].codes < 0 for name in columns.sensitive}
    if weight is not None:
        absent[str(columns.weight)] = np.isnan(weight)
    counts = {name: int(mask.sum()) for name, mask in absent.items() if mask.any()}
    if not counts:
        return None, []
    listed = ", ".join(f"{name!r} ({count})" for name, count in list(counts.items())[:6])
    listed += " ..." if len(counts) > 6 else ""
    if options.missing == "refuse":
        raise ValueError(
            f"missing values in {plural(len(counts), 'column')}: {listed} of {len(X)} rows. Leave "
            "out those rows (--missing drop-rows) or those columns (--drop), or fill them in first."
        )
    keep = ~np.logical_or.reduce([absent[name] for name in counts])
    if not keep.any():
        raise ValueError(f"every row has a missing value: {listed} of {len(X)} rows.")
    left_out = len(X) - int(keep.sum())
    return keep, [f"{left_out:,} of {len(X):,} rows left out: missing values in {listed}"]


def _one_hot_notes(columns: Columns) -> list[str]:
    return [
        f"column {name!r} became {len(parts)} columns of zeros and ones"
        for name, parts in columns.categories.items()
    ]


def _counter_notes(X: FloatArray, columns: Columns) -> list[str]:
    """Point out columns that only number the rows."""
    return [
        f"column {name!r} just counts the rows; if it is no feature, --drop it"
        for j, name in enumerate(columns.names)
        if len(X) > 2 and (np.diff(X[:, j]) == 1).all()
    ]


def _labels(coded: Coded, keep: npt.NDArray[np.bool_] | None, name: Any) -> npt.NDArray[Any]:
    if len(coded.values) > _MOST_GROUPS:
        raise ValueError(
            f"the column {name!r} has {len(coded.values):,} different values, and at most "
            f"{_MOST_GROUPS} groups are taken; choose another column for --sensitive, or put its "
            "values into classes first."
        )
    labels = coded.listed(keep)
    return np.fromiter(labels, dtype=object, count=len(labels))
