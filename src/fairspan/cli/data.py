"""Data for a command: a table with chosen columns, or moments; nothing is left out in silence."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fairspan.cli import UsageError, in_options
from fairspan.cli.console import Progress
from fairspan.ground.archive import format_of
from fairspan.ground.types import FloatArray
from fairspan.moments import file as moments_file
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.columns import Columns
from fairspan.tables.csv import Dialect
from fairspan.tables.findings import find_columns, no_column
from fairspan.tables.parts import FilePart, Files, TableRows
from fairspan.tables.pieces import MISSING_WORDS
from fairspan.tables.rows import TableMoments as TableMoments

_MOST_GROUPS = 200
"""A column with more values is hardly one of groups, and each costs a matrix."""
_LARGE = 64 * 2**20
"""Bytes from which on reading shows its progress."""


Data = TableRows
"""Rows of a table, ready for a fit."""


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
        text = "what a model will predict, which is therefore no feature"
        table.add_argument("--target", metavar="COLUMN", help=text)
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
    table.add_argument(
        "--encoding", help="of a csv file (default: utf-8, or as its byte-order mark says)"
    )


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Let programs read the answer."""
    parser.add_argument("--json", action="store_true", help="answer in JSON, numbers in full")


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[Files]:
    """Open the table of the options, and show how far its reading is."""
    size = os.path.getsize(options.data)
    label = f"reading {Path(options.data).name} (MB)"
    with Progress(size // 2**20, label, hidden=size < _LARGE) as bar:

        def tell(place: int) -> None:
            bar.step(place // 2**20 - bar.done)

        try:
            dialect = Dialect(options.separator, options.encoding, tell)
        except ValueError as error:
            raise UsageError(in_options(str(error))) from None
        yield Files([FilePart(options.data)], dialect)


def is_moments(path: str) -> bool:
    """Whether a file should be read as moments, whose reader tells what else it may be."""
    return Path(path).suffix.lower() == ".npz" or format_of(path) is not None


def load_moments(options: argparse.Namespace) -> tuple[GroupMoments, Columns | None]:
    """Read a moments file, and refuse what only rows can answer."""
    given = [
        f"--{name.replace('_', '-')}"
        for name in ("sensitive", "weight", "target", "features", "drop", "one_hot")
        if getattr(options, name)
    ]
    if given:
        raise UsageError(
            f"{given[0]} chooses columns of a table, but {options.data!r} holds moments, whose "
            "features and groups are fixed; leave it out."
        )
    moments, columns = moments_file.load(options.data)
    return moments, None if columns is None else Columns.from_json(columns)


def load_data(options: argparse.Namespace, *, keeps_target: bool = False) -> Data:
    """Read the table of the options into memory: features, groups and weights.

    Parameters
    ----------
    options : namespace
        What :func:`add_table_arguments` and ``data`` gave.
    keeps_target : bool
        Whether the target is handed on, in ``kept``.

    Returns
    -------
    Data
        The rows, with notes about all that was done to them.
    """
    with opened(options) as files:
        rows = files.rows(_choose(files, options, keeps_target))
    return replace(rows, notes=_notes(rows.notes))


def target_of(data: Data, name: str | None) -> Any:
    """Return the target that was kept: numbers, if all of its cells are."""
    if name is None or name not in data.kept:
        return None
    cells = data.kept[name].tolist()
    missing = sum(cell is None or cell in MISSING_WORDS for cell in cells)
    if missing:
        raise ValueError(
            f"the target {name!r} is missing in {missing} of {len(cells)} rows; drop these rows "
            "from the table first."
        )
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array(cells, dtype=str)


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
    with opened(options) as files:
        found = files.moments(_choose(files, options))
    return replace(found, notes=_notes(found.notes))


def read_features(
    files: Files, columns: Columns, options: Any
) -> tuple[FloatArray, dict[Any, list[Any]], list[str]]:
    """Read the features that a model was fitted on, from any table that has them.

    Parameters
    ----------
    files : Files
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
    kinds = files.first.kinds
    missing = [name for name in columns.features if name not in kinds]
    if missing:
        raise ValueError(no_column(files.where, kinds, missing, "which the model needs"))
    kept = find_columns(files.where, kinds, "keep", options.keep)
    drops = options.missing == "drop-rows"
    rows = files.rows(Columns(columns.features, columns.categories, kept=kept, drops=drops))
    handed = {name: column.tolist() for name, column in rows.kept.items()}
    return rows.X, handed, list(_notes(rows.notes))


def _choose(files: Files, options: argparse.Namespace, keeps_target: bool = False) -> Columns:
    """Settle which columns play which role."""
    names = list(files.first.kinds)
    if not options.sensitive:
        listed = ", ".join(map(repr, names[:12]))
        if len(names) > 12:
            listed += f", ... and {len(names) - 12} more, the last {names[-1]!r}"
        raise UsageError(
            "--sensitive is missing: name the column that tells groups apart. "
            f"The columns of {options.data!r} are {listed}."
        )
    one_hot = {}
    for word in options.one_hot or []:
        # A name may hold an equals sign; a column of the whole name comes first.
        name, _, parts = (word, "", "") if word in names else word.partition("=")
        # Categories with commas are quoted as in csv files.
        one_hot[name] = next(csv.reader([parts], skipinitialspace=True)) if parts else None
    wanted = [options.target] if options.target else None
    target = find_columns(files.where, files.first.kinds, "target", wanted)
    used = {*options.sensitive, options.weight, *(options.features or ()), *one_hot}
    if used.intersection(target):
        raise UsageError(
            f"--target {target[0]} is also a feature, a weight or a group; give it one part only."
        )
    drop = [*(options.drop or ()), *(name for name in target if not options.features)]
    given = {"drop": drop, "weight": options.weight, "one_hot": one_hot}
    given["missing"] = {"drop-rows": "drop_rows", "refuse": "raise"}[options.missing]
    columns = files.choose(options.sensitive, options.features, given)
    return replace(columns, most_groups=_MOST_GROUPS, kept=target if keeps_target else ())


def _notes(notes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(in_options, notes))
