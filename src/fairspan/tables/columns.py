"""Which columns of a table are features, groups and weights: chosen once, kept by the model.

Every rule works row by row, so that parts of a table, read anywhere and in any order, add up to the
moments of the whole. That is why missing values are not replaced by means: those are not known
before the last row is read, and would differ between sites.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, Self, TypedDict

import numpy as np

from fairspan.ground.parameters import (
    check_choice,
    check_integer,
    check_options,
    is_listing,
    is_number,
)
from fairspan.tables.findings import Name, TableError, find_columns, not_numbers
from fairspan.tables.pieces import NUMBER, TEXT, Wanted

_BATCH_BYTES = 2**24


class TableOptions(TypedDict, total=False):
    """How the columns of a table are read; all keywords are optional.

    Attributes
    ----------
    drop : sequence of str
        Columns that are no features, where ``features`` does not name those that are.
    weight : str
        The column that says how often each row counts: integer weights equal repeated rows.
    one_hot : sequence of str, or mapping of str to sequences of values
        Columns of categories. Each becomes a feature ``column=category`` for each category, 1 in
        rows that have it and else 0. Categories are compared as text. Without a list of them, they
        are found by a first pass over these columns alone. A category that is not listed raises.
    missing : {"raise", "drop_rows"} or mapping of column names to values, default="raise"
        What to do about missing values (null or NaN): refuse them, leave out rows that miss the
        value of any column in use, or put a value in their place. Columns that a mapping does not
        name are refused if values are missing.
    batch_rows : int
        Rows held at once; by default as many as 16 MB hold, or twice the number of features.
    """

    drop: Sequence[str]
    weight: str | None
    one_hot: Sequence[str] | Mapping[str, Sequence[Any]]
    missing: str | Mapping[str, Any]
    batch_rows: int | None


@dataclass(frozen=True)
class Columns:
    """The part each column plays. Small and picklable: tasks carry it to where the rows are.

    Attributes
    ----------
    features, sensitive : tuple of str or int
        Columns of features, in order, and of groups.
    categories : dict of str or int to tuple of str, or None
        Categories of columns that become indicators; None where they are not known yet.
    weight : str, int or None
        Column of weights.
    kept : tuple of str or int
        Columns to hand on as they are written.
    fills : dict
        What takes the place of missing values, by column.
    drops : bool
        Whether rows with other missing values are left out; else they are refused.
    dropped : tuple of str or int, or None
        Columns left out on request, where all others are features; None where these are named.
    batch_rows, most_groups : int or None
        Rows held at once; different values that a column of groups may have.
    """

    features: tuple[Name, ...]
    categories: dict[Name, tuple[str, ...] | None] = field(default_factory=dict)
    sensitive: tuple[Name, ...] = ()
    weight: Name | None = None
    kept: tuple[Name, ...] = ()
    fills: dict[Name, Any] = field(default_factory=dict)
    drops: bool = False
    dropped: tuple[Name, ...] | None = None
    batch_rows: int | None = None
    most_groups: int | None = None

    @property
    def numbers(self) -> tuple[Name, ...]:
        """Features to be read as numbers."""
        return tuple(name for name in self.features if name not in self.categories)

    @property
    def labels(self) -> tuple[Name, ...]:
        """Columns to be read as labels."""
        return tuple(dict.fromkeys((*self.sensitive, *self.categories)))

    @cached_property
    def places(self) -> dict[Name, int]:
        """Where the features of each column begin, once all categories are known."""
        widths = [len(self.categories.get(name, ("",)) or ()) for name in self.features]
        return dict(zip(self.features, accumulate(widths, initial=0), strict=False))

    @property
    def is_named(self) -> bool:
        """Whether columns have names; those of arrays are numbered."""
        return not any(isinstance(name, int) for name in self.features)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features that come out, once all categories are known."""
        parts = {
            name: [f"{name}={p}" for p in found or ()] for name, found in self.categories.items()
        }
        return tuple(text for name in self.features for text in parts.get(name, [str(name)]))

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features; columns of arrays have none."""
        return self.names if self.is_named else None

    @property
    def by(self) -> str:
        """The columns that tell groups apart."""
        return " and ".join(map(str, self.sensitive))

    @property
    def unknown(self) -> tuple[Name, ...]:
        """Columns whose categories are not known yet."""
        return tuple(name for name, parts in self.categories.items() if parts is None)

    @property
    def wanted(self) -> Wanted:
        """What to read."""
        weight = () if self.weight is None else (self.weight,)
        rows = self.batch_rows or batch_rows(len(self.names))
        numbers = tuple(dict.fromkeys((*self.numbers, *weight)))
        counter = self.dropped is not None and "" not in self.dropped
        # No table has more rows than a machine can count.
        return Wanted(min(rows, sys.maxsize), numbers, self.labels, self.kept, counter)

    def check_few(self, name: Name, values: Collection[Any]) -> None:
        """Refuse a column of so many values that it hardly tells groups apart."""
        if self.most_groups is not None and len(values) > self.most_groups:
            raise TableError(
                f"the column {name!r} has more than {self.most_groups} different values; choose "
                "another column for sensitive=..., or group its values first."
            )

    def to_json(self) -> dict[str, Any]:
        """Describe it for a model file."""
        return {
            "features": list(self.features),
            "categories": {name: list(parts or ()) for name, parts in self.categories.items()},
            "sensitive": list(self.sensitive),
            "weight": self.weight,
        }

    @classmethod
    def from_json(cls, document: Any) -> Self:
        """Read what :meth:`to_json` gave."""
        parts = document["categories"]
        features = tuple(document["features"])
        categories: dict[Name, tuple[str, ...] | None]
        # Names in JSON are texts, those of arrays too.
        categories = {name: tuple(parts[str(name)]) for name in features if str(name) in parts}
        return cls(features, categories, tuple(document["sensitive"]), document["weight"])


def batch_rows(n_features: int) -> int:
    """Choose how many rows are held at once."""
    d = max(n_features, 1)
    # Adding costs as much as a few rows for each feature, whatever the size of the batch.
    return max(_BATCH_BYTES // (8 * d), 2 * d)


def choose(
    where: str,
    kinds: Mapping[Name, str],
    sensitive: Any,
    features: Any,
    options: Mapping[str, Any],
    index: Collection[Name] = (),
) -> Columns:
    """Choose columns of a table and check that it has them.

    Parameters
    ----------
    where : str
        The table, as errors name it.
    kinds : mapping of str or int to str
        The columns there are, and what they hold.
    sensitive : str, int, sequence of them or None
        Columns of groups.
    features : sequence of str or int, or None
        Columns of features; None takes all others.
    options : TableOptions
        The rules.
    index : collection of str
        Columns that number the rows: features only if ``features`` names them.

    Returns
    -------
    Columns
        The choice.
    """
    check_options(options, TableOptions)

    def find(argument: str, given: Any) -> tuple[Name, ...]:
        return find_columns(where, kinds, argument, given)

    groups, dropped = find("sensitive", sensitive), find("drop", options.get("drop"))
    weights = find("weight", None if options.get("weight") is None else [options["weight"]])
    weight = weights[0] if weights else None
    categories = _categories(find, options.get("one_hot"))
    if features is None:
        taken = {*groups, weight, *dropped, *index}
        chosen = tuple(name for name in kinds if name not in taken)
    elif dropped:
        raise ValueError("Give features=[...] or drop=[...], not both.")
    else:
        named = find("features", features)
        chosen = (*named, *(name for name in categories if name not in named))
    if not chosen:
        raise ValueError(f"{where} has no column left to be a feature.")
    if "" in chosen:
        raise TableError(
            f"column {list(kinds).index('') + 1} of {where} has no name; name it in the first "
            "line, drop it with drop=[''], or list the features with features=[...]."
        )
    if other := [name for name in categories if name in {*groups, weight, *dropped}]:
        raise ValueError(
            f"one_hot=... names the column {other[0]!r}, which has another role; a column of "
            "categories must be a feature."
        )
    missing = options.get("missing", "raise")
    fills = _fills(find, missing, kinds, {*groups, *categories})
    rows = options.get("batch_rows")
    if rows is not None:
        check_integer("batch_rows", rows, 1)
    left = dropped if features is None else None
    drops = not fills and missing == "drop_rows"
    columns = Columns(chosen, categories, groups, weight, (), fills, drops, left, rows)
    kind = {name: kinds[name] for name in columns.wanted.numbers}
    text = {name: {kind: None} for name, kind in kind.items() if kind not in (NUMBER, TEXT)}
    if text:
        raise TableError(not_numbers(where, text, weight))
    return columns


def _categories(find: Any, given: Any) -> dict[Name, tuple[str, ...] | None]:
    """Give the categories of each column as texts; None where they are to be found."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(find("one_hot", given))
    found: dict[Name, tuple[str, ...] | None] = {}
    for name, values in zip(find("one_hot", list(given)), given.values(), strict=True):
        if values is not None and (
            not is_listing(values) or len({*map(str, values)}) < len(values)
        ):
            raise ValueError(
                f"one_hot={{{name!r}: {values!r}}} must list the column's categories, each once."
            )
        found[name] = None if values is None else tuple(map(str, values))
    return found


def _fills(
    find: Any, missing: Any, kinds: Mapping[Name, str], labels: Collection[Name]
) -> dict[Name, Any]:
    """Give what takes the place of missing values, by column."""
    if not isinstance(missing, Mapping):
        check_choice("missing", missing, ("raise", "drop_rows"))
        return {}
    given = zip(find("missing", list(missing)), missing.values(), strict=True)
    return {name: _fill(name, value, kinds[name], name in labels) for name, value in given}


def _fill(name: Name, value: Any, kind: str, is_label: bool) -> Any:
    """Check what takes the place of missing values in a column."""
    given = f"missing={{{name!r}: {value!r}}}"
    is_text, is_date = isinstance(value, str), isinstance(value, datetime.date | np.datetime64)
    is_real = isinstance(value, bool | np.bool_) or is_number(value)
    if value is None or ((is_real or is_date) and value != value):
        raise ValueError(
            f"{given} puts a missing value in the place of missing ones; give a value, or use "
            "missing='drop_rows'."
        )
    if kind == TEXT and is_label:
        fits, value = is_text or is_real or is_date, str(value)
    elif kind in (NUMBER, TEXT):
        fits, kind = is_real and abs(value) <= sys.float_info.max, NUMBER
    else:
        fits = is_text if "str" in kind or kind.startswith("<U") else is_date
    if not fits:
        raise ValueError(
            f"{given}: the column holds values of type {kind}; give a value of that type."
        )
    return value
