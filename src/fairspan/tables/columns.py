"""Which columns of a table are features, groups and weights, and how their values become numbers.

Every rule works row by row, so that parts of a table, read anywhere and in any order, add up to the
moments of the whole. That is why missing values are not replaced by means: those are not known
before the last row is read, and would differ between sites.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict

import numpy as np

from fairspan.ground.parameters import check_integer, check_options
from fairspan.ground.types import FloatArray
from fairspan.tables.labels import groups_of
from fairspan.tables.named import (
    categories_of,
    check_known,
    check_one_hot,
    features_of,
    names_of,
    rule_of,
)
from fairspan.tables.partial import Partial, check_weights, partial_moments
from fairspan.tables.readers import batch_rows
from fairspan.tables.values import (
    ColumnError,
    as_numbers,
    category_codes,
    count_missing,
    fill_missing,
    is_missing,
    is_number_type,
    texts_of,
)


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
        are found by a first pass over these columns alone. A category that is not listed raises,
        and so does a column that is not one of the features.
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
    features, sensitive : tuple of str
        Columns of features, in order, and of groups.
    weight : str or None
        Column of weights.
    one_hot : dict of str to tuple of str, or None
        Categories of columns of categories; None where they are not known yet.
    missing : str or dict
        The rule for missing values.
    is_named : bool
        Whether the names of the columns are more than their positions.
    batch_rows : int or None
        Rows held at once.
    """

    features: tuple[str, ...]
    sensitive: tuple[str, ...]
    weight: str | None
    one_hot: dict[str, tuple[str, ...] | None]
    missing: str | dict[str, Any]
    is_named: bool = True
    batch_rows: int | None = None

    @classmethod
    def choose(
        cls,
        types: Mapping[str, Any],
        sensitive: Any,
        features: Any,
        options: TableOptions,
        *,
        is_named: bool = True,
        index: Collection[str] = (),
    ) -> Self:
        """Choose columns of a table and check that it has them.

        Parameters
        ----------
        types : mapping of str to pyarrow.DataType
            The columns there are.
        sensitive : str, sequence of str or None
            Columns of groups.
        features : sequence of str or None
            Columns of features; None takes all others.
        options : TableOptions
            The rules.
        is_named : bool, default=True
            Whether the names are more than positions.
        index : collection of str
            Columns that number the rows: features only if ``features`` names them.

        Returns
        -------
        Columns
            The choice.
        """
        check_options(options, TableOptions)
        groups, weight = names_of("sensitive", sensitive), options.get("weight")
        if weight is not None and not isinstance(weight, str):
            raise TypeError(f"weight={weight!r} is not the name of a column.")
        dropped = names_of("drop", options.get("drop"))
        one_hot = categories_of(options.get("one_hot"))
        chosen = features_of(features, types, dropped, {*groups, weight, *index})
        missing = rule_of(options.get("missing", "raise"))
        rows = options.get("batch_rows")
        if rows is not None:
            check_integer("batch_rows", rows, 1)
        weights = () if weight is None else (weight,)
        named = {"sensitive": groups, "features": chosen, "drop": dropped, "weight": weights}
        for argument, names in {**named, "one_hot": one_hot, "missing": missing}.items():
            if not isinstance(names, str):
                check_known(argument, names, types)
        check_one_hot(one_hot, chosen, groups)
        columns = cls(chosen, groups, weight, one_hot, missing, is_named, rows)
        columns._check_features(types)
        if weight is not None and not is_number_type(types[weight]):
            raise ValueError(f"weight={weight!r} is a column of {types[weight]}, not of numbers.")
        return columns

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns to read."""
        weights = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys((*self.features, *self.sensitive, *weights)))

    @property
    def open_columns(self) -> tuple[str, ...]:
        """Columns whose categories are not known yet."""
        return tuple(name for name, known in self.one_hot.items() if known is None)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that come out, once all categories are known."""
        names: list[str] = []
        for name in self.features:
            if name in self.one_hot:
                names.extend(f"{name}={category}" for category in self.one_hot[name] or ())
            else:
                names.append(name)
        return tuple(names)

    @property
    def rows_at_once(self) -> int:
        """Rows of a batch."""
        # No table has more rows than a machine can count.
        return min(self.batch_rows or batch_rows(len(self.feature_names)), sys.maxsize)

    def with_categories(self, found: Mapping[str, Iterable[str]]) -> Self:
        """Settle the categories that were not known."""
        one_hot = dict(self.one_hot)
        one_hot.update({name: tuple(sorted(values)) for name, values in found.items()})
        return replace(self, one_hot=one_hot)

    def categories(self, tables: Iterable[Any]) -> dict[str, set[str]]:
        """Find the categories that occur in tables."""
        found: dict[str, set[str]] = {name: set() for name in self.open_columns}
        for table in tables:
            for name, values in found.items():
                column = self._filled(name, table.column(name))
                values.update(texts_of(column.drop_null().unique()))
        return found

    def moments(self, tables: Iterable[Any]) -> Partial:
        """Add the moments of tables, each of which fits into memory."""
        total = Partial()
        buffer = np.empty((0, len(self.feature_names)))
        for table in tables:
            if len(buffer) < table.num_rows:
                buffer = np.empty((table.num_rows, buffer.shape[1]))
            total += self._moments(table, buffer)
        return total

    def problems(self, tables: Iterable[Any]) -> ColumnError:
        """Go through tables and list all columns whose values cannot be used."""
        error = ColumnError()
        for table in tables:
            for name in self.needed:
                # The tables may hold text where numbers are expected: nothing is filled in here.
                column = table.column(name)
                if name in self.features and name not in self.one_hot:
                    error.note_text(name, column)
                if name not in self._settled:
                    error.note_missing(name, count_missing(column))
        return error

    @property
    def _settled(self) -> Collection[str]:
        """Columns that may miss values, because the rule says what to do."""
        if isinstance(self.missing, str):
            return self.needed if self.missing == "drop_rows" else ()
        return self.missing

    def _moments(self, table: Any, buffer: FloatArray) -> Partial:
        self._check_features(dict(zip(table.column_names, table.schema.types, strict=True)))
        kept, dropped = self._complete(table)
        for name in (*self.sensitive, *self.one_hot, *([self.weight] if self.weight else [])):
            if count_missing(kept[name]):
                raise self.problems([table])
        n_rows = len(next(iter(kept.values())))
        X = self._matrix(kept, buffer[:n_rows])
        groups = groups_of({name: kept[name] for name in self.sensitive}, n_rows)
        weight = None
        if self.weight is not None:
            weight = check_weights(self.weight, as_numbers(kept[self.weight]))
        names = self.feature_names if self.is_named else None
        try:
            part = partial_moments(X, groups, weight, names)
        except ValueError:
            # Missing values show in the sums, which spares a search; now it is worth it.
            if np.isnan(X).any():
                raise self.problems([table]) from None
            raise
        return replace(part, dropped=dropped)

    def _complete(self, table: Any) -> tuple[dict[str, Any], int]:
        """Apply the rule for missing values; give the columns and the number of dropped rows."""
        columns = {name: self._filled(name, table.column(name)) for name in self.needed}
        if self.missing != "drop_rows":
            return columns, 0
        absent = np.zeros(table.num_rows, dtype=np.bool_)
        for column in columns.values():
            if count_missing(column):
                absent |= is_missing(column)
        if not absent.any():
            return columns, 0
        kept = {name: column.filter(~absent) for name, column in columns.items()}
        return kept, int(absent.sum())

    def _filled(self, name: str, column: Any) -> Any:
        if isinstance(self.missing, str) or name not in self.missing or not count_missing(column):
            return column
        return fill_missing(name, column, self.missing[name])

    def _matrix(self, columns: Mapping[str, Any], X: FloatArray) -> FloatArray:
        """Fill the rows of a buffer, which is used again: fresh memory is slow to write to."""
        place = 0
        for name in self.features:
            if name in self.one_hot:
                categories = self.one_hot[name] or ()
                codes = category_codes(name, columns[name], categories)
                X[:, place : place + len(categories)] = 0.0
                X[np.arange(len(X)), place + codes] = 1.0
                place += len(categories)
            else:
                X[:, place] = as_numbers(columns[name])
                place += 1
        return X

    def _check_features(self, types: Mapping[str, Any]) -> None:
        numbers = [name for name in self.features if name not in self.one_hot]
        text = {name: str(types[name]) for name in numbers if not is_number_type(types[name])}
        if text:
            raise ColumnError(text=text)
        if not self.features:
            raise ValueError("There are no columns of features; all are groups, weight or dropped.")
