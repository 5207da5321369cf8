"""Group membership: sensitive features in any form become codes and labels.

Groups are ordered by their labels, whatever order the rows come in, so that results do
not depend on it. Rows described by several columns belong to the intersection of their
values, whose label is the tuple of those values.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from fairspan.ground.parameters import check_choice
from fairspan.ground.rows import as_known
from fairspan.ground.types import BoolArray, Label
from fairspan.moments.coded import Coded

ONE_GROUP: Label = "all"
"""The label of the only group when no sensitive features are given."""

MISSING: Label = "missing"
"""The label of rows without one, where these are not refused."""
MISSING_GROUPS = ("raise", "own_group", "total_only")
SMALL: Label = "small groups"
"""The label of groups with very few rows, where these are not kept apart."""
SMALL_GROUPS = ("keep", "pool", "total_only")

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_INTERVAL = re.compile(rf"(over )?({_NUMBER})( or less| to {_NUMBER})?")
"""The names of groups that are cut from numbers: "27 or less", "27 to 37", "over 37"."""
_MANY = 50
"""Up to this many groups may be as small as they like."""
_FEW = 32
"""Up to this many groups, comparing the column with each label beats sorting it."""


@dataclass(frozen=True)
class Groups:
    """Rows assigned to groups: row i belongs to ``labels[codes[i]]``."""

    codes: npt.NDArray[np.integer[Any]]
    labels: tuple[Label, ...]

    @classmethod
    def single(cls, n_rows: int) -> Groups:
        """Put all rows in one group."""
        return cls(np.zeros(n_rows, dtype=np.uint8), (ONE_GROUP,))

    @classmethod
    def of(cls, sensitive_features: Any, n_rows: int, missing_groups: str = "raise") -> Groups:
        """Encode sensitive features; without any, all rows form one group."""
        if sensitive_features is None:
            return cls.single(n_rows)
        return encode_groups(sensitive_features, n_rows, missing_groups)


def encode_groups(
    sensitive_features: Any, n_rows: int | None = None, missing_groups: str = "raise"
) -> Groups:
    """Convert sensitive features to group codes and sorted labels.

    Parameters
    ----------
    sensitive_features : array-like of shape (n_rows,) or (n_rows, n_columns), series, frame or dict
        One or several columns of labels of any type. Several columns (a 2-d array, a pandas,
        polars or other frame that narwhals knows, or a dict of columns) are intersected.
    n_rows : int, optional
        The number of rows the features must have.
    missing_groups : {"raise", "own_group", "total_only"}, default="raise"
        What to do with rows without a label (None, NaN, NaT). "own_group" labels them "missing",
        in each column by itself; "total_only" puts rows that lack any label into one
        group of that name, which estimators leave out of the gap.

    Returns
    -------
    Groups
        Codes and labels; only labels that occur are groups.
    """
    check_choice("missing_groups", missing_groups, MISSING_GROUPS)
    columns = _columns(sensitive_features)
    if not columns:
        raise ValueError("sensitive_features has no columns; at least one is needed.")
    for name, column in columns.items():
        where = f"sensitive_features{name}"
        if column.ndim != 1:
            raise ValueError(f"{where} has {column.ndim} dimensions; a column of labels has one.")
        if n_rows is not None and len(column) != n_rows:
            raise ValueError(f"{where} has {len(column)} rows but X has {n_rows}.")
    if missing_groups != "raise":
        columns = {name: np.asarray(column) for name, column in columns.items()}
        columns = _label_missing(columns, whole_rows=missing_groups == "total_only")
        if missing_groups == "total_only" and len(columns) > 1:
            columns = {"": _tuples(list(columns.values()))}
    coded = [
        _encode_codes(column, name) if isinstance(column, Coded) else _encode_column(column, name)
        for name, column in columns.items()
    ]
    if len({len(codes) for codes, _ in coded}) > 1:
        lengths = {name.strip("[]'"): len(column) for name, column in columns.items()}
        raise ValueError(f"The columns of sensitive_features differ in length: {lengths}.")
    if len(coded) == 1:
        codes, labels = coded[0]
        return Groups(_compact(codes, len(labels)), tuple(labels))
    return _intersect(coded)


def ask_for_more(compared: Iterable[Label]) -> str:
    """Say how to get groups to compare where there are not two of them."""
    found = list(compared)
    if found in ([], [ONE_GROUP]):
        return "Pass sensitive_features=..., one label for each row."
    return f"The only group to compare is {found[0]!r}; choose a column with more values."


def check_sizes(n_groups: int, n_rows: int) -> None:
    """Refuse columns with nearly as many values as rows: those are numbers, not groups.

    Parameters
    ----------
    n_groups, n_rows : int
        How many there are.
    """
    if n_groups > _MANY and 2 * n_groups > n_rows:
        raise ValueError(
            f"sensitive_features has {n_groups} different values in {n_rows} rows, so most groups "
            "would have a single row. Choose a column with fewer values, or cut numbers into a few "
            "intervals first, for instance with pandas.qcut(values, 4)."
        )


def groups_in_gap(
    labels: Iterable[Label], missing_groups: str, small_groups: str = "keep"
) -> BoolArray:
    """Return which groups are compared: with "total_only", all but those that it is about.

    Parameters
    ----------
    labels : iterable of labels
        The groups.
    missing_groups : {"raise", "own_group", "total_only"}
        What to do with rows without a label.
    small_groups : {"keep", "pool", "total_only"}
        What to do with groups with very few rows.

    Returns
    -------
    ndarray of shape (n_groups,)
        Whether the group counts in the gap.
    """
    rules = {MISSING: missing_groups, SMALL: small_groups}
    left_out = [label for label, rule in rules.items() if rule == "total_only"]
    return np.array([label not in left_out for label in labels])


def relabelled(groups: Groups, small: Iterable[Label], label: Label = SMALL) -> npt.NDArray[Any]:
    """Give the label of each row, one and the same for all rows of small groups."""
    small = set(small)
    names = np.fromiter(
        (label if name in small else name for name in groups.labels), object, len(groups.labels)
    )
    return np.asarray(names[groups.codes])


def sort_labels(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Sort labels of any type, even mixed: numbers, then intervals, then by type and value."""
    return tuple(sorted(labels, key=_sort_key))


def _sort_key(label: Label) -> tuple[str, Any]:
    if isinstance(label, tuple):
        return ("tuple", tuple(_sort_key(part) for part in label))
    if isinstance(label, bool | int | float):
        return ("", label)
    if isinstance(label, str) and (found := _INTERVAL.fullmatch(label)):
        below, above = found[3] == " or less", found[1] is not None
        if above != (found[3] is not None):
            return (" interval", (float(found[2]), above - below, label))
    if hasattr(label, "left") and hasattr(label, "right"):
        # An interval of pandas.
        return (type(label).__name__, (label.left, label.right, str(label)))
    return (type(label).__name__, label if isinstance(label, str | bytes) else str(label))


def _columns(features: Any) -> dict[str, Any]:
    """Return the columns by the suffix that names each in error messages."""
    if isinstance(features, Mapping):
        return {f"[{name!r}]": _as_column(values) for name, values in features.items()}
    native = as_known(features, "sensitive_features", allow_series=True)
    if isinstance(native, nw.DataFrame):
        return {f"[{name!r}]": _as_column(native[name]) for name in native.columns}
    values = _as_column(native)
    if not isinstance(values, Coded) and values.ndim == 2:
        return {f"[:, {j}]": values[:, j] for j in range(values.shape[1])}
    return {"": values}


def _as_column(values: Any) -> npt.NDArray[Any] | Coded:
    native = as_known(values, "sensitive_features", allow_series=True)
    if isinstance(native, nw.Series):
        return Coded.of(native) or np.asarray(native.to_numpy())
    if isinstance(values, np.ma.MaskedArray):
        labels = values.data.astype(object)
        labels[np.ma.getmaskarray(values)] = None
        return np.asarray(labels)
    array = np.asarray(values) if isinstance(values, np.ndarray) else _from_sequence(values)
    # Structured and variable-width string types have no fast comparison; objects do.
    return array.astype(object) if array.dtype.kind in "VT" else array


def _from_sequence(values: Any) -> npt.NDArray[Any]:
    # Sets have no order, so their labels belong to no rows.
    if isinstance(values, str | bytes | set | frozenset) or not hasattr(values, "__len__"):
        raise TypeError(
            f"sensitive_features is a {type(values).__name__}; give one label per row as a "
            "list, array, series, frame or dict of columns, or the name of a column if X is a "
            "frame."
        )
    if hasattr(values, "__array__"):
        return np.asarray(values)
    values = list(values)
    if values and all(isinstance(row, list | np.ndarray) for row in values):
        return np.array([list(row) for row in values], dtype=object)
    # fromiter keeps tuples whole, where np.array would make them rows.
    return np.fromiter(values, dtype=object, count=len(values))


def _encode_column(column: npt.NDArray[Any], name: str) -> tuple[npt.NDArray[Any], list[Label]]:
    kind = column.dtype.kind
    if kind in "fmM" and (missing := column != column).any():
        _raise_missing(missing, name)
    found = None if kind == "O" else _few_labels(column)
    if found is not None:
        labels = sort_labels(map(_label, found))
        ranks = np.zeros(len(column), dtype=np.uint8)
        for value in found:
            place = labels.index(_label(value))
            # Arithmetic on the mask is seventy times faster than assigning through it.
            if place:
                ranks += (column == value).view(np.uint8) * np.uint8(place)
        return ranks, list(labels)
    if kind == "O":
        codes, names = _encode_objects(column, name)
    else:
        values, codes = np.unique(column, return_inverse=True)
        names = [_label(value) for value in values]
    return _ranked(codes, names)


def _encode_codes(column: Coded, name: str) -> tuple[npt.NDArray[Any], list[Label]]:
    """Encode a column that has codes: only values that occur are groups."""
    if (missing := column.codes < 0).any():
        _raise_missing(missing, name)
    n_values = len(column.values)
    if n_values <= _FEW:
        present = np.flatnonzero([(column.codes == place).any() for place in range(n_values)])
    else:
        present = np.flatnonzero(np.bincount(column.codes, minlength=n_values))
    names = [_label(column.values[place]) for place in present.tolist()]
    if len(present) == n_values:
        return _ranked(column.codes, names)
    places = np.zeros(n_values, dtype=np.intp)
    places[present] = np.arange(len(present))
    return _ranked(places[column.codes], names)


def _ranked(
    codes: npt.NDArray[np.integer[Any]], names: list[Label]
) -> tuple[npt.NDArray[Any], list[Label]]:
    """Give codes in the order of the sorted labels."""
    labels = sort_labels(names)
    if list(labels) == names:
        return codes, names
    rank = {label: i for i, label in enumerate(labels)}
    ranks = np.array([rank[label] for label in names], dtype=np.intp)
    return ranks[codes], list(labels)


def _few_labels(column: npt.NDArray[Any]) -> list[Any] | None:
    """Find the distinct values by repeated comparison; None if there are many."""
    unseen = np.ones(len(column), dtype=np.bool_)
    found: list[Any] = []
    while len(found) < _FEW:
        first = int(np.argmax(unseen)) if len(unseen) else 0
        if not len(unseen) or not unseen[first]:
            return found
        found.append(column[first])
        unseen &= column != column[first]
    return None


def _encode_objects(
    column: npt.NDArray[Any], name: str
) -> tuple[npt.NDArray[np.intp], list[Label]]:
    lookup: defaultdict[Label, int] = defaultdict(count().__next__)
    try:
        codes = np.fromiter(map(lookup.__getitem__, column), np.intp, len(column))
    except TypeError as error:
        raise TypeError(
            f"sensitive_features{name} has labels that cannot be compared ({error}); use "
            "strings, numbers, dates or tuples of them."
        ) from None
    absent = [code for value, code in lookup.items() if _is_missing(value)]
    if absent:
        _raise_missing(np.isin(codes, absent), name)
    return codes, [_label(value) for value in lookup]


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, tuple):
        return any(_is_missing(part) for part in value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _label_missing(
    columns: dict[str, npt.NDArray[Any]], whole_rows: bool
) -> dict[str, npt.NDArray[Any]]:
    """Give missing values a label, in their column or in all columns of their row."""
    absent = {
        name: np.fromiter(map(_is_missing, column.tolist()), np.bool_, len(column))
        if column.dtype.kind == "O"
        else column != column
        for name, column in columns.items()
    }
    if whole_rows:
        anywhere = np.logical_or.reduce(list(absent.values()))
        absent = dict.fromkeys(columns, anywhere)
    found = {}
    for name, column in columns.items():
        rows = absent[name]
        if rows.any():
            column = (
                np.fromiter(column, object, len(column))
                if column.dtype.kind in "mM"
                else column.astype(object)
            )
            if (column[~rows] == MISSING).any():
                raise ValueError(
                    f"sensitive_features{name} has rows labelled {MISSING!r} and rows without a "
                    "label, which get that label; rename those labels."
                )
            column[rows] = MISSING
        found[name] = column
    return found


def _tuples(columns: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Combine columns into tuples; rows with a missing label all get one label."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    labels = (MISSING if MISSING in row else row for row in rows)
    return np.fromiter(labels, dtype=object, count=len(columns[0]))


def _raise_missing(missing: npt.NDArray[np.bool_], name: str) -> None:
    rows = np.flatnonzero(missing)
    raise ValueError(
        f"sensitive_features{name} has {len(rows)} missing values (first at row {rows[0]}); "
        "every row needs a group. Drop those rows, give them a label such as 'unknown', or use "
        "missing_groups=... where that parameter exists."
    )


def _label(value: Any) -> Label:
    if isinstance(value, tuple):
        return tuple(_label(part) for part in value)
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        return value.item()
    return value


def _intersect(coded: list[tuple[npt.NDArray[Any], list[Label]]]) -> Groups:
    sizes = [max(len(labels), 1) for _, labels in coded]
    combined = np.ravel_multi_index([codes for codes, _ in coded], sizes)
    present, inverse = np.unique(combined, return_inverse=True)
    parts = zip(coded, np.unravel_index(present, sizes), strict=True)
    tuples = tuple(zip(*([labels[i] for i in place] for (_, labels), place in parts), strict=True))
    return Groups(_compact(inverse, len(tuples)), tuples)


def _compact(codes: npt.NDArray[Any], n_labels: int) -> npt.NDArray[np.integer[Any]]:
    """Store codes in the smallest type: one byte per row, and a fast radix sort."""
    return codes.astype(np.min_scalar_type(max(n_labels - 1, 0)), copy=False)
