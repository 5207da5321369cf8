"""Groups of the rows of a table, and the moments of a part of its rows, which add up.

A part may hold no rows, rows that are left out, and groups whose rows weigh nothing so far; whether
that is an error shows only when all parts are added.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground.rows import check_memory
from fairspan.ground.types import BoolArray, FloatArray, Label
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups, check_sizes, encode_groups, sort_labels
from fairspan.tables.findings import Findings, Name
from fairspan.tables.pieces import Coded

_ENOUGH = 10_000
"""Rows after which groups must not be nearly as many."""
_MANY = 2**20
"""So many combinations of labels are counted in a table; more are sorted."""

# What begins with a zero is a name, such as a postal code.
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass(frozen=True)
class Partial:
    """What is known of some rows; partials add up in any order.

    Attributes
    ----------
    moments : GroupMoments or None
        Moments of the groups that have weight.
    weightless : Counter
        Rows of groups whose weights are all zero so far.
    met : Findings
        What else was met in the rows, and how many of them were left out.
    """

    moments: GroupMoments | None = None
    weightless: Counter[Label] = field(default_factory=Counter)
    met: Findings = field(default_factory=Findings)

    def __add__(self, other: Partial) -> Partial:
        both = [part.moments for part in (self, other) if part.moments is not None]
        moments = sum(both[1:], both[0]) if both else None
        if moments is not None and (rows := int(moments.counts.sum())) >= _ENOUGH:
            # Before there is a matrix for every row of a large table.
            check_sizes(moments.n_groups, rows)
        return Partial(moments, self.weightless + other.weightless, self.met + other.met)

    def result(self, where: str = "X") -> GroupMoments:
        """Give the moments of all parts.

        Parameters
        ----------
        where : str
            The table, as errors name it.

        Returns
        -------
        GroupMoments
            The moments; with the number of rows that were left out.
        """
        weighted = () if self.moments is None else self.moments.labels
        for label in self.weightless:
            if label not in weighted:
                raise ValueError(
                    f"The weight is zero for every row of group {label!r}; "
                    "each group needs a positive total weight. Drop its rows to leave it out."
                )
        if self.moments is None:
            raise ValueError(f"{where} {self.met.none_left}.")
        extra = np.array([self.weightless[label] for label in weighted], dtype=np.int64)
        counts = self.moments.counts + extra
        check_sizes(len(counts), int(counts.sum()))
        return replace(self.moments, counts=counts, dropped_rows=self.met.dropped)


def partial_moments(
    X: npt.NDArray[Any],
    groups: Groups,
    weight: FloatArray | None = None,
    feature_names: Sequence[str] | None = None,
) -> Partial:
    """Compute the moments of some rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        A float array, perhaps without rows.
    groups : Groups
        The group of each row.
    weight : ndarray of shape (n_rows,), optional
        How often each row counts; finite and not negative.
    feature_names : sequence of str, optional
        Names of the features.

    Returns
    -------
    Partial
        The moments.
    """
    if X.shape[0] == 0:
        return Partial()
    check_memory(len(groups.labels), X.shape[1])
    weightless: Counter[Label] = Counter()
    if weight is not None:
        heavy = np.bincount(groups.codes, weight, len(groups.labels)) > 0
        counts = np.bincount(groups.codes, minlength=len(groups.labels))
        weightless.update({groups.labels[a]: int(counts[a]) for a in np.flatnonzero(~heavy)})
        if weightless:
            rows = heavy[groups.codes]
            X, weight, groups = X[rows], weight[rows], _without(groups, rows, heavy)
        if not groups.labels:
            return Partial(None, weightless)
    moments = GroupMoments.from_groups(X, groups, sample_weight=weight, feature_names=feature_names)
    return Partial(moments, weightless)


def _without(groups: Groups, rows: BoolArray, heavy: BoolArray) -> Groups:
    places = np.cumsum(heavy) - 1
    labels = tuple(label for label, kept in zip(groups.labels, heavy, strict=True) if kept)
    return Groups(places[groups.codes[rows]], labels)


def groups_of(coded: dict[Name, Coded], n_rows: int) -> Groups:
    """Assign rows to groups by columns of labels without missing values.

    Parameters
    ----------
    coded : dict of str or int to Coded
        Sensitive columns; several are intersected, none make one group.
    n_rows : int
        Number of rows.

    Returns
    -------
    Groups
        As :func:`fairspan.moments.groups.encode_groups` gives for a frame of these columns.
    """
    if not coded or not n_rows:
        return Groups.single(n_rows)
    sizes = [len(column.values) for column in coded.values()]
    combined = np.ravel_multi_index([column.codes for column in coded.values()], sizes)
    if (size := int(np.prod(sizes, dtype=float))) <= _MANY:
        present = np.flatnonzero(np.bincount(combined, minlength=size))
        inverse = np.zeros(size, dtype=np.intp)
        inverse[present] = np.arange(len(present))
        inverse = inverse[combined]
    else:
        present, inverse = np.unique(combined, return_inverse=True)
    # Only the combinations that occur are encoded, by the rules for frames in memory.
    places = zip(coded.items(), np.unravel_index(present, sizes), strict=True)
    groups = encode_groups({name: column.values[place] for (name, column), place in places})
    return Groups(groups.codes[inverse], groups.labels)


def with_types(moments: GroupMoments, is_untyped: Sequence[bool]) -> GroupMoments:
    """Give labels of columns without a type of their own the type that all of them have.

    Files of text do not say what type a column has, and its first rows may mislead; only when all
    labels are known is the type: whole numbers, numbers, truth values, or text. Arrays have one
    type for all columns: numbers that are all whole become whole numbers.

    Parameters
    ----------
    moments : GroupMoments
        Moments by labels.
    is_untyped : sequence of bool
        For each sensitive column, whether it has no type of its own.

    Returns
    -------
    GroupMoments
        Moments by typed labels; "1.0" and "1.00" become one group.
    """
    if not any(is_untyped):
        return moments
    labels = typed_labels(is_untyped, moments.labels)
    found = sort_labels(dict.fromkeys(labels))
    places = [[a for a, label in enumerate(labels) if label == one] for one in found]
    if all(len(same) == 1 for same in places):
        return _taken(moments, [same[0] for same in places], found)
    parts = [_taken(moments, [a], (label,)) for a, label in enumerate(labels)]
    return replace(sum(parts[1:], parts[0]), dropped_rows=moments.dropped_rows)


def typed_labels(is_untyped: Sequence[bool], labels: Sequence[Label]) -> list[Label]:
    """Give all labels the types that their columns have, as :func:`with_types` does."""
    if not any(is_untyped):
        return list(labels)
    several = len(is_untyped) > 1
    rows: list[Any] = [label if several else (label,) for label in labels]
    columns = [
        list(map(parser(column), column)) if untyped else column
        for column, untyped in zip(zip(*rows, strict=True), is_untyped, strict=True)
    ]
    return [row if several else row[0] for row in zip(*columns, strict=True)]


def _taken(moments: GroupMoments, places: list[int], labels: tuple[Label, ...]) -> GroupMoments:
    names = ("counts", "weights", "squared_weights", "offsets", "scatters")
    fields: dict[str, Any] = {name: getattr(moments, name)[places] for name in names}
    return replace(moments, labels=labels, **fields)


def parser(values: Sequence[Any]) -> Callable[[Any], Label]:
    """Give the function that makes labels of values: the strictest type that all of them have.

    Parameters
    ----------
    values : sequence of str, or of numbers
        All the labels of a column.

    Returns
    -------
    callable
        int, float, the meaning of true and false, or str. Texts like "007" stay text.
    """
    if not all(isinstance(value, str) for value in values):
        is_whole = all(isinstance(value, float) and value.is_integer() for value in values)
        return int if is_whole else lambda value: value
    if all(_WHOLE.fullmatch(value) for value in values):
        return int
    if all(_NUMBER.fullmatch(value) for value in values):
        return float
    return _TRUTH.__getitem__ if all(value in _TRUTH for value in values) else str
