"""From tables to rows that can be used; what cannot be used is counted and told, never hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairspan.cli.cells import NotNumbers
from fairspan.cli.columns import Columns, indicators
from fairspan.cli.console import plural
from fairspan.cli.tables import Coded, Source, Table
from fairspan.ground.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Rows:
    """Complete rows: features, columns of text and weights."""

    X: FloatArray
    texts: dict[Any, Coded]
    weight: FloatArray | None


class Preparation:
    """Turns the tables of a file into rows, and remembers what it met.

    Parameters
    ----------
    source : Source
        The file.
    columns : Columns
        How columns become features.
    missing : {"refuse", "drop-rows"}
        What to do about missing values.
    """

    def __init__(self, source: Source, columns: Columns, missing: str) -> None:
        self.source, self.columns, self._drops = source, columns, missing == "drop-rows"
        self.n_rows = self.left_out = 0
        self._problems = NotNumbers()
        self._absent: Counter[str] = Counter()
        self._counting = list(range(len(columns.names)))
        self._last: FloatArray | None = None

    @property
    def numbers(self) -> list[Any]:
        """Columns to read as numbers, the weight last."""
        weight = self.columns.weight
        return self.columns.numbers + ([] if weight is None else [weight])

    @property
    def texts(self) -> list[Any]:
        """Columns to read as text."""
        return list(dict.fromkeys([*self.columns.sensitive, *self.columns.categories]))

    @property
    def notes(self) -> tuple[str, ...]:
        """All that was assumed and done, once the rows are read."""
        names = self.columns.names
        one_hot = [
            f"column {name!r} became {len(parts)} columns of zeros and ones"
            for name, parts in self.columns.categories.items()
        ]
        counting = [
            f"column {names[j]!r} just counts the rows; if it is no feature, --drop it"
            for j in self._counting
            if self.n_rows > 2
        ]
        return (*self.source.notes, *self._problems.notes, *one_hot, *self.losses, *counting)

    @property
    def losses(self) -> tuple[str, ...]:
        """Which rows were left out, and why."""
        if not self.left_out:
            return ()
        told = f"{self.left_out:,} of {self.n_rows:,} rows left out: missing values in "
        return (told + self._listed(),)

    def rows(self, tables: Iterable[Table]) -> Iterator[Rows]:
        """Give the complete rows of tables; raise after the last if any may not be left out."""
        for table in tables:
            self.n_rows += len(table.numbers)
            self._problems.merge(table.problems)
            if self._problems.counts:
                continue
            rows = self._complete(table)
            if self._drops or not self._absent:
                yield rows
        if not self.n_rows:
            raise ValueError(f"{str(self.source.path)!r} has no rows.")
        self._refuse_text()
        self._refuse_missing()

    def known(self, table: Table, name: Any) -> Coded:
        """Give a column of text with a value only where it means one."""
        coded = table.texts[name]
        return coded.without_words() if self.source.is_text else coded

    def _complete(self, table: Table) -> Rows:
        columns, names = self.columns, self.columns.names
        X = self._features(table)
        weight = None if columns.weight is None else table.numbers[:, -1]
        self._follow(X)
        texts = table.texts | {name: self.known(table, name) for name in columns.sensitive}
        absent: dict[str, BoolArray] = {names[j]: np.isnan(X[:, j]) for j in range(X.shape[1])}
        absent |= {str(name): texts[name].codes < 0 for name in columns.sensitive}
        if weight is not None:
            absent[str(columns.weight)] = np.isnan(weight)
        counts = {name: int(mask.sum()) for name, mask in absent.items() if mask.any()}
        if not counts:
            return Rows(X, texts, weight)
        self._absent.update(counts)
        keep = ~np.logical_or.reduce([absent[name] for name in counts])
        self.left_out += len(X) - int(keep.sum())
        taken = {name: coded.taken(keep) for name, coded in texts.items()}
        return Rows(X[keep], taken, None if weight is None else weight[keep])

    def _features(self, table: Table) -> FloatArray:
        """Put the features side by side, in the order of the columns."""
        columns = self.columns
        X = table.numbers[:, : len(columns.numbers)]
        if columns.categories:
            place = {name: j for j, name in enumerate(columns.numbers)}
            parts = [
                indicators(name, self.known(table, name), columns.categories[name])
                if name in columns.categories
                else X[:, [place[name]]]
                for name in columns.features
            ]
            X = np.hstack(parts)
        infinite = np.isinf(X).any(axis=0)
        if infinite.any():
            names = [columns.names[j] for j in np.flatnonzero(infinite)[:5]]
            raise ValueError(
                f"infinite values stand in the columns {names}; --drop them or mend them."
            )
        return X

    def _follow(self, X: FloatArray) -> None:
        """Find the columns that only number the rows."""
        if self._last is not None:
            self._counting = [j for j in self._counting if X[0, j] == self._last[j] + 1]
        self._counting = [j for j in self._counting if (np.diff(X[:, j]) == 1).all()]
        self._last = X[-1]

    def _refuse_text(self) -> None:
        """Refuse columns that should be numbers and are not, naming the ways out."""
        if self._problems.counts:
            raise ValueError(self._problems.refusal(self.source.path))

    def _refuse_missing(self) -> None:
        if not self._absent:
            return
        listed = f"{self._listed()} of {self.n_rows} rows"
        if not self._drops:
            raise ValueError(
                f"missing values in {plural(len(self._absent), 'column')}: {listed}. Leave out "
                "those rows (--missing drop-rows) or those columns (--drop), or fill them in first."
            )
        if self.left_out == self.n_rows:
            raise ValueError(f"every row has a missing value: {listed}.")

    def _listed(self) -> str:
        counts = self._absent.items()
        shown = ", ".join(f"{name!r} ({count})" for name, count in list(counts)[:6])
        return shown + (" ..." if len(counts) > 6 else "")
