"""Which columns of a table are features, groups and weights: chosen once, kept by the model.

Every rule works row by row, so that parts of a table, read anywhere and in any order, add up to the
moments of the whole. What is known after the last row only, such as the mean that fills blanks, is
found by a first pass; it differs between sites.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Self, TypedDict

from fairspan.ground.parameters import (
    check_integer,
    check_options,
)
from fairspan.tables.asked import FILLS, bins_of, categories_of, fills_of, number_in
from fairspan.tables.findings import TableError, find_columns
from fairspan.tables.pieces import NUMBER, TEXT, Wanted
from fairspan.tables.refusals import Name, Rules, not_numbers

ALL = "all"
"""Stands for all columns of text."""
_BATCH_BYTES = 2**24
_FEW = 20
"""A column of more different numbers is hardly one of groups."""


class TableOptions(TypedDict, total=False):
    """How the columns of a table are read; all keywords are optional.

    Attributes
    ----------
    drop : sequence of str
        Columns that are no features, where ``features`` does not name those that are.
    weight : str
        The column that says how often each row counts: integer weights equal repeated rows.
    one_hot : sequence of str, "all", or mapping of str to sequences of values
        Columns of categories; "all" takes every feature that holds text. Each becomes a feature
        ``column=category`` for each category, 1 in rows that have it and else 0. Categories are
        compared as text. Without a list of them, they are found by a first pass over these columns
        alone. A category that is not listed raises.
    missing : {"raise", "drop_rows", "mean", "median", "most_frequent"} or mapping, default="raise"
        What to do about missing values (null or NaN): refuse them, leave out rows that miss the
        value of any column in use, or put a value in their place: the mean, the median or the most
        frequent value of the column, found by a first pass. Categories get their most frequent
        one; groups and weights are not filled in so. A mapping of columns to values puts these in
        their place; its key "*" holds the rule for all other columns, else they are refused.
    bins : mapping of str to int or sequence of numbers
        Sensitive columns of numbers, and into how many groups of about the same size they are cut,
        or where. A cut belongs to the group below it.
    batch_rows : int
        Rows held at once; by default as many as 16 MB hold, or twice the number of features.
    """

    drop: Sequence[str]
    weight: str | None
    one_hot: str | Sequence[str] | Mapping[str, Sequence[Any]]
    missing: str | Mapping[str, Any]
    bins: Mapping[str, int | Sequence[float]]
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
    rule : {"mean", "median", "most_frequent"} or None
        How to find what takes the place of missing values of the other features.
    drops : bool
        Whether rows with other missing values are left out; else they are refused.
    dropped : tuple of str or int, or None
        Columns left out on request, where all others are features; None where these are named.
    batch_rows, most_groups : int or None
        Rows held at once; different values that a column of groups may have.
    encodes : bool
        Whether features that turn out to hold text become categories, too.
    bins : dict of str or int to int or tuple of float
        Into how many groups columns of numbers are cut; or where, once that is known.
    scales : tuple of float or None
        What features are divided by, once they are read.
    are_fixed : bool
        Whether the features are those of a model, so that none can be left out or filled anew.
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
    rule: str | None = None
    encodes: bool = False
    bins: dict[Name, int | tuple[float, ...]] = field(default_factory=dict)
    scales: tuple[float, ...] | None = None
    are_fixed: bool = False

    @property
    def owners(self) -> list[Name]:
        """The column that each feature comes from, once all categories are known."""
        return [
            name
            for name in self.features
            for _ in (self.categories[name] or () if name in self.categories else ("",))
        ]

    @property
    def numbers(self) -> tuple[Name, ...]:
        """Features to be read as numbers."""
        return tuple(name for name in self.features if name not in self.categories)

    @property
    def labels(self) -> tuple[Name, ...]:
        """Columns to be read as labels."""
        found = dict.fromkeys((*self.sensitive, *self.categories))
        return tuple(name for name in found if name not in self.bins)

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
        """The columns that define the groups."""
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
        numbers = tuple(dict.fromkeys((*self.numbers, *weight, *self.bins)))
        counter = self.dropped is not None and "" not in self.dropped
        # No table has more rows than a machine can count.
        return Wanted(min(rows, sys.maxsize), numbers, self.labels, self.kept, counter)

    @property
    def rules(self) -> Rules:
        """What to do with missing values, and which columns are not features."""
        given = self.drops, self.weight, self.sensitive, self.rule, self.are_fixed
        return Rules(*given, keeps_target=bool(self.kept))

    def check_few(self, name: Name, values: Collection[Any]) -> str | None:
        """Refuse a column with too many values to define groups, or advise against it."""
        numbers = [number_in(value) for value in values]
        is_measure = len(numbers) > _FEW and None not in numbers
        is_fraction = is_measure and any(number % 1 for number in numbers if number is not None)
        if self.most_groups is not None and (len(values) > self.most_groups or is_fraction):
            most = _FEW if is_fraction else self.most_groups
            cut = f"cut it into groups with bins={{{name!r}: 4}}, or choose"
            raise TableError(
                f"the column {name!r} has more than {most} different values; "
                f"{cut if is_measure else 'choose'} another column for sensitive=...."
            )
        if not is_measure:
            return None
        return f"column {name!r} has more than {_FEW} numbers; bins={{{name!r}: 4}} makes 4 groups"

    def to_json(self) -> dict[str, Any]:
        """Describe it for a model file."""
        return {
            "features": list(self.features),
            "categories": {name: list(parts or ()) for name, parts in self.categories.items()},
            "sensitive": list(self.sensitive),
            "weight": self.weight,
            "fills": {
                str(name): str(value) if name in self.categories else float(value)
                for name, value in self.fills.items()
                if name in self.features
            },
            "bins": {
                str(name): list(cuts)
                for name, cuts in self.bins.items()
                if not isinstance(cuts, int)
            },
            "scales": None if self.scales is None else list(self.scales),
        }

    @classmethod
    def from_json(cls, document: Any) -> Self:
        """Read what :meth:`to_json` gave."""
        parts = document["categories"]
        features = tuple(document["features"])
        categories: dict[Name, tuple[str, ...] | None]
        # Names in JSON are texts, those of arrays too.
        categories = {name: tuple(parts[str(name)]) for name in features if str(name) in parts}
        # Files of before there were fills and scales have none.
        given = document.get("fills", {})
        fills = {name: given[str(name)] for name in features if str(name) in given}
        sensitive = tuple(document["sensitive"])
        scales = document.get("scales")
        return cls(
            features,
            categories,
            sensitive,
            document["weight"],
            fills=fills,
            scales=None if scales is None else tuple(scales),
        )


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
    one_hot = options.get("one_hot")
    # An array compares with a text element by element.
    encodes = isinstance(one_hot, str) and one_hot == ALL and ALL not in kinds
    categories = {} if encodes else categories_of(find, one_hot)
    if features is None:
        taken = {*groups, weight, *dropped, *index}
        chosen = tuple(name for name in kinds if name not in taken)
    elif dropped:
        raise ValueError("Give features=[...] or drop=[...], not both.")
    else:
        named = find("features", features)
        chosen = (*named, *(name for name in categories if name not in named))
    if encodes:
        categories = {name: None for name in chosen if "string" in kinds[name]}
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
    maybe = (name for name in kinds if encodes and kinds[name] == TEXT)
    rule, fills = fills_of(find, missing, kinds, {*groups, *categories}, {*maybe})
    rows = options.get("batch_rows")
    if rows is not None:
        check_integer("batch_rows", rows, 1)
    left = dropped if features is None else None
    columns = Columns(
        chosen, categories, groups, weight, (), fills, rule == "drop_rows", left, rows
    )
    columns = replace(
        columns,
        rule=rule if rule in FILLS else None,
        encodes=encodes,
        bins=bins_of(find, options.get("bins"), groups),
    )
    kind = {name: kinds[name] for name in columns.wanted.numbers}
    text = {name: {kind: None} for name, kind in kind.items() if kind not in (NUMBER, TEXT)}
    if text:
        raise TableError(not_numbers(where, text, columns.rules))
    return columns
