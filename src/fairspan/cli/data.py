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

from fairspan.cli import UsageError, checking_arguments, in_options
from fairspan.cli.console import Progress
from fairspan.ground.archive import format_of
from fairspan.ground.types import FloatArray
from fairspan.moments import file as moments_file
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.columns import ALL, Columns
from fairspan.tables.dialect import Dialect
from fairspan.tables.findings import find_columns, no_column
from fairspan.tables.mixed import mixed_scale
from fairspan.tables.parts import FilePart, Files, TableRows
from fairspan.tables.pieces import MISSING_WORDS, number_of
from fairspan.tables.refusals import OTHERS
from fairspan.tables.rows import TableMoments as TableMoments

_MOST_GROUPS = 200
"""A column with more values is hardly one of groups, and each costs a matrix."""
_RULES = {
    "refuse": "raise",
    "drop-rows": "drop_rows",
    "mean": "mean",
    "median": "median",
    "most-frequent": "most_frequent",
}
"""Rules for missing values, as they are typed and as the library calls them."""
_LEARNT = ("mean", "median", "most-frequent", "most_frequent")
"""Rules that depend on the rows."""
READING = ("separator", "decimal", "sheet", "encoding")
"""Options that say how a file is read, whatever its columns are."""
_LARGE = 64 * 2**20
"""Bytes from which on reading shows its progress."""


Data = TableRows
"""Rows of a table, ready for a fit."""


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[Files]:
    """Open the table of the options, and show how far its reading is."""
    size = os.path.getsize(options.data)
    label = f"reading {Path(options.data).name} (MB)"
    with Progress(size // 2**20, label, hidden=size < _LARGE) as bar:

        def tell(place: int) -> None:
            bar.step(place // 2**20 - bar.done)

        with checking_arguments():
            dialect = Dialect(
                options.separator, options.encoding, options.decimal, options.sheet, tell
            )
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
    moments, document = moments_file.load(options.data)
    columns = None if document is None else Columns.from_json(document)
    if not is_mixed(options):
        return moments, columns
    if columns is None:
        raise UsageError(
            f"--scale mixed: {options.data!r} does not say which of its features are categories."
        )
    return _scaled(moments, columns)


def is_mixed(options: argparse.Namespace) -> bool:
    """Whether features are to be scaled as in a factor analysis of mixed data."""
    return getattr(options, "scale", None) == "mixed"


def _scaled(moments: GroupMoments, columns: Columns) -> tuple[GroupMoments, Columns]:
    scale = mixed_scale(moments, columns)
    return moments.scaled(scale), replace(columns, scales=tuple(scale.tolist()))


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
        rows = files.rows(choose_columns(files, options, keeps_target))
    if is_mixed(options):
        rows = rows.scaled(mixed_scale(rows.moments(), rows.columns))
    return replace(rows, notes=_notes(rows.notes))


def target_of(data: Data, options: argparse.Namespace) -> Any:
    """Return the target that was kept: numbers, if all of its cells are."""
    name = getattr(options, "target", None)
    if name is None or name not in data.kept:
        return None
    cells = data.kept[name].tolist()
    missing = sum(cell is None or cell in MISSING_WORDS for cell in cells)
    if missing:
        raise ValueError(
            f"the target {name!r} is missing in {missing} of {len(cells)} rows; drop these rows "
            "from the table first."
        )
    point = options.decimal or "."
    numbers = [number_of(one, point) if isinstance(one, str) else one for one in cells]
    return np.array(cells, dtype=str) if None in numbers else np.array(numbers, dtype=np.float64)


def load_table_moments(options: argparse.Namespace) -> TableMoments:
    """Reduce the table of the options to moments while it is read, however large it is.

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
        found = files.moments(choose_columns(files, options))
    if is_mixed(options):
        moments, columns = _scaled(found.moments, found.columns)
        found = replace(found, moments=moments, columns=columns)
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
    wanted = Columns(
        columns.features,
        columns.categories,
        kept=kept,
        fills=columns.fills if options.missing is None else {},
        drops=options.missing == "drop-rows",
        are_fixed=True,
    )
    rows = files.rows(wanted)
    if columns.scales is not None:
        rows = rows.scaled(np.array(columns.scales))
    handed = {name: column.tolist() for name, column in rows.kept.items()}
    return rows.X, handed, list(_notes(rows.notes))


def choose_columns(
    files: Files, options: argparse.Namespace, keeps_target: bool = False
) -> Columns:
    """Settle which columns play which role."""
    names = list(files.first.kinds)
    if not options.sensitive:
        listed = ", ".join(map(repr, names[:12]))
        if len(names) > 12:
            listed += f", ... and {len(names) - 12} more, the last {names[-1]!r}"
        raise UsageError(
            "--sensitive is missing: name the column that defines the groups. "
            f"The columns of {options.data!r} are {listed}."
        )
    if options.features and options.drop:
        raise UsageError("give --features or --drop, not both.")
    one_hot: Any = {}
    is_all = options.one_hot == [ALL] and ALL not in names
    for word in [] if is_all else options.one_hot or []:
        # A name may hold an equals sign; a column of the whole name comes first.
        name, _, parts = (word, "", "") if word in names else word.partition("=")
        # Categories with commas are quoted as in csv files.
        one_hot[name] = next(csv.reader([parts], skipinitialspace=True)) if parts else None
    wanted = [options.target] if options.target else None
    target = find_columns(files.where, files.first.kinds, "target", wanted)
    used = {*options.sensitive, options.weight, *(options.features or ()), *one_hot}
    if used.intersection(target):
        raise UsageError(
            f"--target {target[0]} is also a feature, a weight or a group; give it one role only."
        )
    learnt = [word for word in options.missing or [] if word.rpartition("=")[2] in _LEARNT]
    if keeps_target and target and learnt:
        raise UsageError(
            f"--missing {learnt[0]} learns from all rows, also from those on which a model of "
            f"{target[0]} is judged. Use --missing drop-rows or --missing COLUMN=VALUE."
        )
    drop = [*(options.drop or ()), *(name for name in target if not options.features)]
    given: dict[str, Any] = {"drop": drop, "weight": options.weight}
    given["one_hot"] = ALL if is_all else one_hot
    given["bins"] = dict(map(_bin, options.bin or []))
    given["missing"] = _missing(options, names, {*options.sensitive, *one_hot})
    columns = files.choose(options.sensitive, options.features, given)
    return replace(columns, most_groups=_MOST_GROUPS, kept=target if keeps_target else ())


def _bin(word: str) -> tuple[str, Any]:
    """Read into how many groups a column is cut, or where."""
    name, _, text = word.rpartition(":")
    numbers = [number_of(one) for one in text.split(",")]
    if not name or None in numbers:
        raise UsageError(f"--bin {word}: write COLUMN:4, or COLUMN:A,B,.. with the cuts.")
    return name, int(text) if text.isdecimal() else numbers


def _missing(options: argparse.Namespace, names: list[Any], labels: set[Any]) -> dict[Any, Any]:
    """Read the rules for missing values, and what takes their place in some columns."""
    found: dict[Any, Any] = {}
    for word in options.missing or []:
        if "=" not in word:
            if OTHERS in found or word not in _RULES:
                raise UsageError(
                    f"--missing {word}: give one of {', '.join(_RULES)}, and COLUMN=VALUE."
                )
            found[OTHERS] = _RULES[word]
            continue
        # A name may hold an equals sign.
        fits = (name for name in map(str, names) if word.startswith(f"{name}="))
        name = max(fits, key=len, default=word.partition("=")[0])
        value = word.removeprefix(f"{name}=")
        # "N/A" is typed where it is a label.
        is_label = name in labels or value in MISSING_WORDS
        number = None if is_label else number_of(value, options.decimal or ".")
        found[name] = value if number is None else number
    return found


def _notes(notes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(in_options, notes))
