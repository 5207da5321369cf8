"""Data for a command: a table with chosen columns, or moments; nothing is left out in silence."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.cli import UsageError
from fairspan.cli.columns import Columns, choose, find, unknown
from fairspan.cli.rows import Preparation, Rows
from fairspan.cli.tables import Coded, Source, Table, open_table
from fairspan.ground.archive import format_of
from fairspan.ground.types import FloatArray
from fairspan.moments import file as moments_file
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.labels import intersected, parser, with_types
from fairspan.tables.partial import Partial, check_weights, partial_moments

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
    left_out: int

    def moments(self) -> GroupMoments:
        """Boil the rows down."""
        found = GroupMoments.from_arrays(self.X, self.groups, sample_weight=self.weight)
        names = self.columns.feature_names
        return replace(found, feature_names=names, dropped_rows=self.left_out)


@dataclass(frozen=True)
class TableMoments:
    """Moments of a table whose rows were seen once and not kept."""

    moments: GroupMoments
    columns: Columns
    notes: tuple[str, ...]


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
        help="what to do about missing values: blank, NA, NaN, null (default: refuse)",
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
    moments, columns = moments_file.load(options.data)
    return moments, None if columns is None else Columns.from_json(columns)


def load_data(options: argparse.Namespace) -> Data:
    """Read the table of the options into memory: features, groups and weights.

    Parameters
    ----------
    options : namespace
        What :func:`add_table_arguments` and ``data`` gave.

    Returns
    -------
    Data
        The rows, with notes about all that was done to them.
    """
    preparation = _prepare(options)
    rows = _all_rows(preparation, preparation.texts)
    columns = preparation.columns
    labels = [_labels(name, rows.texts[name], preparation) for name in columns.sensitive]
    return Data(
        rows.X,
        labels[0] if len(labels) == 1 else dict(zip(columns.sensitive, labels, strict=True)),
        rows.weight,
        columns,
        preparation.notes,
        preparation.left_out,
    )


def load_table_moments(options: argparse.Namespace) -> TableMoments:
    """Boil the table of the options down while it is read, however large it is.

    Parameters
    ----------
    options : namespace
        What :func:`add_table_arguments` and ``data`` gave.

    Returns
    -------
    TableMoments
        The moments of the rows that :func:`load_data` gives.
    """
    preparation = _prepare(options)
    columns = preparation.columns
    seen: dict[Any, set[Any]] = {name: set() for name in columns.sensitive}
    total = Partial()
    tables = preparation.source.pieces(preparation.numbers, preparation.texts)
    for rows in preparation.rows(tables):
        coded = {name: rows.texts[name] for name in columns.sensitive}
        for name, column in coded.items():
            seen[name].update(column.values)
            _check_few(name, len(seen[name]))
        if rows.weight is not None:
            check_weights(columns.weight, rows.weight)
        groups = intersected({name: _pair(coded[name]) for name in coded}, len(rows.X))
        total += partial_moments(rows.X, groups, rows.weight, columns.feature_names)
    total = replace(total, dropped=preparation.left_out)
    is_text = [preparation.source.is_text] * len(columns.sensitive)
    return TableMoments(with_types(total.result(), is_text), columns, preparation.notes)


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
    features = replace(columns, sensitive=(), weight=None)
    preparation = Preparation(source, features, options.missing)
    rows = _all_rows(preparation, list(dict.fromkeys([*preparation.texts, *kept])))
    handed = {name: _as_they_are(rows.texts[name], source) for name in kept}
    return rows.X, handed, [*source.notes, *preparation.losses]


def _prepare(options: argparse.Namespace) -> Preparation:
    """Open the table and settle which columns play which role."""
    source = open_data(options)
    if not options.sensitive:
        names = ", ".join(map(repr, source.names[:12]))
        if len(source.names) > 12:
            names += f", ... and {len(source.names) - 12} more, the last {source.names[-1]!r}"
        raise UsageError(
            "--sensitive is missing: name the column that tells groups apart. "
            f"The columns of {options.data!r} are {names}."
        )
    columns, one_hot = choose(source, options)
    categories = {name: parts or () for name, parts in one_hot.items()}
    preparation = Preparation(source, replace(columns, categories=categories), options.missing)
    unknown_parts = [name for name, parts in one_hot.items() if parts is None]
    if unknown_parts:
        found: dict[Any, set[str]] = {name: set() for name in unknown_parts}
        for table in source.pieces([], unknown_parts):
            for name, values in found.items():
                values.update(map(str, preparation.known(table, name).values))
        categories |= {name: tuple(sorted(values)) for name, values in found.items()}
    return Preparation(source, replace(columns, categories=categories), options.missing)


def _all_rows(preparation: Preparation, texts: list[Any]) -> Rows:
    tables = list(preparation.source.pieces(preparation.numbers, texts))
    found = list(preparation.rows([Table.joined(tables)] if tables else []))
    return found[0]


def _labels(name: Any, coded: Coded, preparation: Preparation) -> npt.NDArray[Any]:
    _check_few(name, len(coded.values))
    if preparation.source.is_text:
        coded = Coded(coded.codes, list(map(parser(coded.values), coded.values)))
    labels = coded.listed()
    return np.fromiter(labels, dtype=object, count=len(labels))


def _check_few(name: Any, n_values: int) -> None:
    if n_values > _MOST_GROUPS:
        raise ValueError(
            f"the column {name!r} has {n_values:,} different values, and at most "
            f"{_MOST_GROUPS} groups are taken; choose another column for --sensitive, or put its "
            "values into classes first."
        )


def _pair(coded: Coded) -> tuple[Any, Any]:
    return coded.codes, np.fromiter(coded.values, dtype=object, count=len(coded.values))


def _as_they_are(coded: Coded, source: Source) -> list[Any]:
    """Give the values of a column; whole numbers as such if all of them are."""
    if source.is_text and parser(coded.values) is int:
        coded = Coded(coded.codes, list(map(int, coded.values)))
    return coded.listed()
