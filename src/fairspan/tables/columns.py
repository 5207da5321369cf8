"""Which columns of a table are features, groups and weights: chosen once, kept by the model.

Every rule works row by row, so that parts of a table, read anywhere and in any order, add up to the
moments of the whole. That is why missing values are not replaced by means: those are not known
before the last row is read, and would differ between sites.
"""

from __future__ import annotations

import datetime
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import accumulate
from typing import Any, Self, TypedDict

import numpy as np

from fairspan.ground.parameters import (
    check_choice,
    check_integer,
    check_options,
    is_integer,
    is_listing,
    is_number,
)
from fairspan.tables.findings import Name, TableError, not_numbers
from fairspan.tables.pieces import NUMBER, TEXT, Wanted

_BATCH_BYTES = 2**24
_SHOWN = 12


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
    missing : str or dict
        The rule for missing values.
    dropped : tuple of str or int, or None
        Columns left out on request, where all others are features; None where these are named.
    batch_rows, most_groups : int or None
        Rows held at once; different values that a column of groups may have.
    """

    features: tuple[Name, ...]
    categories: dict[Name, tuple[str, ...] | None] = field(default_factory=dict)
    sensitive: tuple[Name, ...] = ()
    weight: Name | None = None
    missing: str | dict[Name, Any] = "raise"
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
        found: list[str] = []
        for name in self.features:
            parts = self.categories.get(name, ())
            found += [f"{name}={part}" for part in parts or ()]
            found += [] if name in self.categories else [str(name)]
        return tuple(found)

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
        return Wanted(min(rows, sys.maxsize), numbers, self.labels, has_counter=counter)

    def check_few(self, name: Name, values: Collection[Any]) -> None:
        """Refuse a column of so many values that it hardly tells groups apart."""
        if self.most_groups is not None and len(values) > self.most_groups:
            raise TableError(
                f"the column {name!r} has more than {self.most_groups} different values; choose "
                "another column for sensitive=..., or put its values into classes first."
            )

    def with_categories(self, found: Mapping[Name, Iterable[str]]) -> Self:
        """Settle the categories that were not known."""
        settled: dict[Name, tuple[str, ...] | None]
        settled = {name: tuple(sorted(values)) for name, values in found.items()}
        return replace(self, categories=self.categories | settled)

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
    (weight,) = find("weight", [options.get("weight")]) if options.get("weight") else (None,)
    categories = _categories(find, options.get("one_hot"))
    if features is None:
        taken = {*groups, weight, *dropped, *index}
        chosen = tuple(name for name in kinds if name not in taken)
    elif dropped:
        raise ValueError("Give features=[...] or drop=[...], not both.")
    else:
        named = find("features", features)
        chosen = (*named, *(name for name in categories if name not in named))
    _check_parts(where, kinds, chosen, categories, {*groups, weight, *dropped})
    missing = _rule(find, options.get("missing", "raise"), kinds, {*groups, *categories})
    rows = options.get("batch_rows")
    if rows is not None:
        check_integer("batch_rows", rows, 1)
    left = dropped if features is None else None
    columns = Columns(chosen, categories, groups, weight, missing, left, rows)
    kind = {name: kinds[name] for name in columns.wanted.numbers}
    text = {name: {kind: None} for name, kind in kind.items() if kind not in (NUMBER, TEXT)}
    if text:
        raise TableError(not_numbers(where, text, weight))
    return columns


def find_columns(
    where: str, kinds: Mapping[Name, str], argument: str, given: Any
) -> tuple[Name, ...]:
    """Find columns by the names a user gave; those of arrays by number, from 0 or from the end.

    Parameters
    ----------
    where : str
        The table, as errors name it.
    kinds : mapping
        Its columns.
    argument : str
        What they are given for.
    given : str, int, sequence of them or None
        The names.

    Returns
    -------
    tuple of str or int
        The columns, each once.
    """
    listed = () if given is None else tuple(given) if is_listing(given) else (given,)
    positions = [name for name in kinds if isinstance(name, int)]
    found: list[Name] = []
    for one in listed:
        name = one
        if positions and (is_integer(one) or (isinstance(one, str) and one.lstrip("-").isdigit())):
            name = int(one) + (len(positions) if int(one) < 0 else 0)
        elif not isinstance(one, str):
            raise TypeError(f"{argument} has {one!r}; columns are given by name.")
        if name not in kinds:
            raise ValueError(no_column(where, kinds, [one], f"{argument}=..."))
        found.append(name)
    twice = [name for name, times in Counter(found).items() if times > 1]
    if twice:
        raise ValueError(f"{argument}=... names the column {twice[0]!r} twice.")
    return tuple(found)


def no_column(where: str, kinds: Iterable[Name], missing: Sequence[Any], why: str) -> str:
    """Say which columns are not there and which are."""
    names = list(kinds)
    there = "its columns are " + ", ".join(map(repr, names[:_SHOWN]))
    there += f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    if all(isinstance(name, int) for name in names):
        there = f"its columns are numbered 0 to {len(names) - 1}"
    near = get_close_matches(str(missing[0]), map(str, names), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(map(repr, missing[:8])) + (" ..." if len(missing) > 8 else "")
    return f"{where} has no column {listed} ({why}); {there}.{hint}"


def _check_parts(
    where: str,
    kinds: Mapping[Name, str],
    features: Collection[Name],
    categories: Collection[Name],
    others: Collection[Name | None],
) -> None:
    """Check that there are features, that each has a name, and that categories are features."""
    if not features:
        raise ValueError(f"{where} has no column left to be a feature.")
    if "" in features:
        raise TableError(
            f"{where} has no name for its column {list(kinds).index('') + 1}; write one in its "
            "first line, leave it out with drop=[''], or name the features."
        )
    groups = [name for name in categories if name in others]
    if groups:
        raise ValueError(
            f"one_hot=... names the column {groups[0]!r}, which has another part: a column of "
            "categories is one of features."
        )


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


def _rule(
    find: Any, missing: Any, kinds: Mapping[Name, str], labels: Collection[Name]
) -> str | dict[Name, Any]:
    """Give the rule for missing values: a word, or what takes their place in each column."""
    if not isinstance(missing, Mapping):
        return check_choice("missing", missing, ("raise", "drop_rows"))
    names = find("missing", list(missing))
    return {
        name: _fill(name, value, kinds[name], name in labels)
        for name, value in zip(names, missing.values(), strict=True)
    }


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
