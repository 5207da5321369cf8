"""Groups from columns of a table, with the labels that a frame in memory would have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairspan.ground.types import Label
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups, encode_groups, sort_labels

_MANY = 2**20
"""So many combinations of labels are counted in a table; more are sorted."""

# What begins with a zero is a name, such as a postal code.
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def groups_of(columns: dict[str, Any], n_rows: int) -> Groups:
    """Assign rows to groups by Arrow columns without missing values.

    Parameters
    ----------
    columns : dict of pyarrow.ChunkedArray
        Sensitive columns; several are intersected, none make one group.
    n_rows : int
        Number of rows.

    Returns
    -------
    Groups
        As :func:`fairspan.moments.groups.encode_groups` gives for a frame of these columns.
    """
    return intersected({name: _coded(column) for name, column in columns.items()}, n_rows)


def intersected(coded: dict[Any, tuple[Any, Any]], n_rows: int) -> Groups:
    """Assign rows to groups by columns that are coded already.

    Parameters
    ----------
    coded : dict
        For each sensitive column the codes of the rows and the array of values they stand for.
    n_rows : int
        Number of rows.

    Returns
    -------
    Groups
        As :func:`fairspan.moments.groups.encode_groups` gives for a frame of these columns.
    """
    if not coded:
        return Groups.single(n_rows)
    combined = np.zeros(n_rows, dtype=np.int64)
    for codes, values in coded.values():
        combined = combined * len(values) + codes
    size = int(np.prod([len(values) for _, values in coded.values()], dtype=float))
    if size <= _MANY:
        present = np.flatnonzero(np.bincount(combined, minlength=size))
        inverse = np.zeros(size, dtype=np.intp)
        inverse[present] = np.arange(len(present))
        inverse = inverse[combined]
    else:
        present, inverse = np.unique(combined, return_inverse=True)
    # Only the combinations that occur are encoded, by the rules for frames in memory.
    table: dict[Any, Any] = {}
    rest = present
    for name, (_, values) in reversed(coded.items()):
        rest, place = np.divmod(rest, len(values))
        table[name] = values[place]
    groups = encode_groups({name: table[name] for name in coded})
    return Groups(groups.codes[inverse], groups.labels)


def _coded(column: Any) -> tuple[Any, Any]:
    """Codes of the rows and the values they stand for, as a frame would hold them."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        encoded = column.unify_dictionaries().combine_chunks()
    else:
        encoded = column.dictionary_encode().combine_chunks()
    values = encoded.dictionary
    as_objects = pa.types.is_date(values.type) or pa.types.is_decimal(values.type)
    if as_objects:
        found = np.fromiter(values.to_pylist(), dtype=object, count=len(values))
    else:
        found = values.to_numpy(zero_copy_only=False)
    return encoded.indices.to_numpy(zero_copy_only=False), found


def with_types(moments: GroupMoments, is_text: Sequence[bool]) -> GroupMoments:
    """Give labels that were read as text the type that all of them have.

    Files of text do not say what type a column has, and its first rows may mislead; only when all
    labels are known is the type: whole numbers, numbers, truth values, or text.

    Parameters
    ----------
    moments : GroupMoments
        Moments by labels.
    is_text : sequence of bool
        For each sensitive column, whether it was read as text.

    Returns
    -------
    GroupMoments
        Moments by typed labels; "1.0" and "1.00" become one group.
    """
    if not any(is_text):
        return moments
    several = len(is_text) > 1
    rows = [label if several else (label,) for label in moments.labels]
    columns: list[Sequence[Label]] = []
    for position, text in enumerate(is_text):
        values = [row[position] for row in rows]
        columns.append(list(map(parser(values), values)) if text else values)
    labels = [tuple(row) if several else row[0] for row in zip(*columns, strict=True)]
    found = sort_labels(dict.fromkeys(labels))
    places = [[a for a, label in enumerate(labels) if label == one] for one in found]
    if all(len(same) == 1 for same in places):
        return _taken(moments, [same[0] for same in places], found)
    parts = [_taken(moments, [a], (label,)) for a, label in enumerate(labels)]
    return replace(sum(parts[1:], parts[0]), dropped_rows=moments.dropped_rows)


def parser(values: Sequence[str]) -> Callable[[str], Label]:
    """Give the function that makes labels of texts: the strictest type that all of them have.

    Parameters
    ----------
    values : sequence of str
        All the labels of a column.

    Returns
    -------
    callable
        int, float, the meaning of true and false, or str. Texts like "007" stay text.
    """
    if all(_WHOLE.fullmatch(value) for value in values):
        return int
    if all(_NUMBER.fullmatch(value) for value in values):
        return float
    if all(value in _TRUTH for value in values):
        return _TRUTH.__getitem__
    return str


def _taken(moments: GroupMoments, places: list[int], labels: tuple[Label, ...]) -> GroupMoments:
    names = ("counts", "weights", "squared_weights", "offsets", "scatters")
    fields: dict[str, Any] = {name: getattr(moments, name)[places] for name in names}
    return replace(moments, labels=labels, **fields)
