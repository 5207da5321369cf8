"""From pieces of a table to complete rows, and from these to moments, on every engine."""

from __future__ import annotations

import logging
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairspan.ground.rows import check_memory
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.columns import Columns
from fairspan.tables.findings import Findings, Name, TableError, same_values
from fairspan.tables.first_pass import Run, settled
from fairspan.tables.groups import Partial, groups_of, partial_moments, with_types
from fairspan.tables.pieces import Coded, Piece, Table, Wanted, binned

logger = logging.getLogger("fairspan")


@dataclass(frozen=True)
class TableMoments:
    """Moments of a table whose rows were seen once and not kept."""

    moments: GroupMoments
    columns: Columns
    notes: tuple[str, ...]


def table_moments(
    columns: Columns, run: Run, where: str, untyped: Sequence[Name] = ()
) -> TableMoments:
    """Find the categories that are not known, then the moments.

    Parameters
    ----------
    columns : Columns
        The part each column plays.
    run : Run
        The engine.
    where : str
        The table, as errors name it.
    untyped : sequence of str or int
        Columns without a type of their own, which shows when all labels are known.

    Returns
    -------
    TableMoments
        Moments of all rows; notes are logged, too.
    """
    columns = settled(columns, run, where)
    check_memory(1, len(columns.names))
    total: Partial = run(partial(_part_moments, columns), operator.add, columns.wanted)
    moments = with_types(total.result(where), [name in untyped for name in columns.sensitive])
    notes = total.met.sentences(columns.categories, columns.fills, columns.bins)
    for note in notes:
        logger.info("%s.", note)
    return TableMoments(moments, columns, notes)


def _part_moments(columns: Columns, table: Table, wanted: Wanted) -> Partial:
    reader, total = RowReader(columns, table), Partial()
    for rows in reader.read(wanted):
        groups = groups_of({name: rows.labels[name] for name in columns.sensitive}, len(rows.X))
        total += partial_moments(rows.X, groups, rows.weight, columns.feature_names)
    return total + Partial(met=reader.met)


@dataclass(frozen=True)
class Rows:
    """Rows: features, weights, columns of labels and columns handed on."""

    X: FloatArray
    weight: FloatArray | None
    labels: dict[Name, Coded]
    kept: dict[Name, Coded]

    def taken(self, rows: BoolArray) -> Rows:
        """Give some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        labels = {name: coded.taken(rows) for name, coded in self.labels.items()}
        kept = {name: coded.taken(rows) for name, coded in self.kept.items()}
        return Rows(self.X[rows], weight, labels, kept)


class RowReader:
    """Turns the pieces of a table into complete rows; what it meets is counted.

    Parameters
    ----------
    columns : Columns
        The part each column plays.
    table : Table
        The table.
    """

    def __init__(self, columns: Columns, table: Table) -> None:
        self.columns, self.table = columns, table
        left = (name for name in table.index if name and name not in columns.wanted.names)
        index = (f"dropped the index written by pandas, {name!r}" for name in left)
        self.met = Findings(notes=dict.fromkeys((*table.notes, *index)))
        self._places = {name: columns.places[name] for name in columns.numbers}
        self._names = columns.names
        self._last: FloatArray | None = None

    def read(self, wanted: Wanted) -> Iterator[Rows]:
        """Read rows; after the last, raise if any could not be used.

        Parameters
        ----------
        wanted : Wanted
            What to read.

        Yields
        ------
        Rows
            The next rows; the next ones take the place of their features.
        """
        columns, met = self.columns, self.met
        # A buffer is used again and again: fresh memory is slow to write to. Columns stay whole.
        buffer = np.empty((0, len(columns.names)))
        for piece in self.table.read(wanted, met):
            if len(buffer) < piece.size:
                buffer = np.empty((piece.size, buffer.shape[1]), order="F")
            self._check_counter(piece)
            rows = self._filled(piece, buffer[: piece.size])
            self._follow(rows.X)
            absent = self._absent(rows)
            met.rows += piece.size
            if met.refusal(self.table.where, columns.rules):
                continue
            for name in columns.sensitive:
                if advice := columns.check_few(name, rows.labels[name].values):
                    met.notes[advice] = None
            met.dropped += int(absent.sum())
            rows = rows.taken(~absent) if absent.any() else rows
            if len(rows.X):
                met.constant = same_values(met.constant, self._constant(rows.X))
            yield rows
        met.put_in_order([*columns.features, *columns.labels, columns.weight])
        if refusal := met.refusal(self.table.where, columns.rules):
            raise TableError(refusal)

    def _check_counter(self, piece: Piece) -> None:
        """Leave a first column without a name out if it is a written index, counting from 0."""
        if "" not in piece.numbers:
            return
        counted = np.arange(self.met.rows, self.met.rows + piece.size)
        if not np.array_equal(piece.numbers[""], counted):
            raise TableError(
                f"column 1 of {self.table.where} has no name and does not count the rows from 0; "
                "name it in the first line, drop it with drop=[''], or list the features with "
                "features=[...]."
            )
        self.met.notes["dropped the first column: it has no name and counts the rows"] = None

    def _filled(self, piece: Piece, X: FloatArray) -> Rows:
        """Put values where they are missing, as the rule says; make features of categories."""
        columns, fills = self.columns, self.columns.fills
        labels = {name: coded.filled(fills.get(name)) for name, coded in piece.labels.items()}
        numbers = dict(piece.numbers)
        for name in fills:
            if name in piece.labels:
                self.met.filled[name] += int((piece.labels[name].codes < 0).sum())
            if name in numbers and (blank := np.isnan(numbers[name])).any():
                numbers[name] = np.where(blank, float(fills[name]), numbers[name])
                self.met.filled[name] += int(blank.sum())
        labels |= {name: binned(numbers[name], cuts) for name, cuts in columns.bins.items()}
        for name, place in columns.places.items():
            if name in columns.categories:
                self._indicate(name, labels[name], X[:, place:])
            else:
                X[:, place] = numbers[name]
        return Rows(
            X, None if columns.weight is None else numbers[columns.weight], labels, piece.kept
        )

    def _indicate(self, name: Name, coded: Coded, X: FloatArray) -> None:
        """Write one column of zeros and ones for each category."""
        known = {part: i for i, part in enumerate(self.columns.categories[name] or ())}
        fault = f"column {name!r} has values that are not among its categories: "
        unseen = (text for text in map(str, coded.used) if text not in known)
        self.met.faults.update({f"{fault}{text!r}": None for text in unseen})
        codes = np.array([*(known.get(str(value), -1) for value in coded.values), -1])[coded.codes]
        X[:, : len(known)] = 0.0
        rows = np.flatnonzero(codes >= 0)
        X[rows, codes[rows]] = 1.0

    def _follow(self, X: FloatArray) -> None:
        """Find the features that only count the rows."""
        before = X[0] - 1 if self._last is None else self._last

        def counts(place: int) -> bool:
            column = X[:, place]
            # Two rows tell nearly always, and spare a look at all.
            if column[0] != before[place] + 1 or (len(column) > 1 and column[1] != column[0] + 1):
                return False
            return bool((column[1:] == column[:-1] + 1).all())

        names = self._places if self.met.counting is None else self.met.counting
        self.met.counting = tuple(name for name in names if counts(self._places[name]))
        self._last = X[-1].copy()

    def _constant(self, X: FloatArray) -> dict[str, float]:
        """Find the features that have one value."""
        # The last row tells nearly always, and spares a look at all.
        same = [j for j in np.flatnonzero(X[0] == X[-1]) if (X[:, j] == X[0, j]).all()]
        return {self._names[j]: float(X[0, j]) for j in same}

    def _absent(self, rows: Rows) -> BoolArray:
        """Find the rows that miss a value, counted by column; note numbers that cannot be used."""
        met, X = self.met, rows.X
        with np.errstate(invalid="ignore", over="ignore"):
            # Whatever is not finite shows in the sums, which spares a search.
            is_finite = np.isfinite(np.ones(len(X)) @ X)
        numbers = {
            name: X[:, place] for name, place in self._places.items() if not is_finite[place]
        }
        if rows.weight is not None and self.columns.weight is not None:
            numbers[self.columns.weight] = rows.weight
            if (rows.weight < 0).any():
                met.faults[f"weight={self.columns.weight!r} has negative values"] = None
        infinite = (name for name, column in numbers.items() if np.isinf(column).any())
        met.faults.update(
            {
                f"column {name!r} has infinite values: correct them, or leave it out with "
                f"drop={[name]}": None
                for name in infinite
            }
        )
        masks = {name: coded.codes < 0 for name, coded in rows.labels.items()}
        masks |= {name: np.isnan(column) for name, column in numbers.items()}
        absent = np.zeros(len(X), dtype=np.bool_)
        for name, mask in masks.items():
            if count := int(mask.sum()):
                met.missing[name] += count
                absent |= mask
        return absent
