"""From pieces of a table to complete rows, and from these to moments, on every engine."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairspan.ground.rows import check_memory
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.columns import Columns
from fairspan.tables.findings import Findings, Name, TableError
from fairspan.tables.groups import Partial, groups_of, partial_moments, with_types
from fairspan.tables.pieces import Coded, Piece, Table, Wanted

logger = logging.getLogger("fairspan")

Step = Callable[[Table, Wanted], Any]
"""A function of one part, and what to read of it."""
Add = Callable[[Any, Any], Any]
Run = Callable[[Step, Add, Wanted], Any]
"""An engine: applies a step to each part and adds what comes out."""


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
    columns = settled(columns, run)
    check_memory(1, len(columns.names))
    total: Partial = run(partial(_part_moments, columns), operator.add, columns.wanted)
    moments = with_types(total.result(where), [name in untyped for name in columns.sensitive])
    notes = total.met.sentences(columns.categories)
    for note in notes:
        logger.info("%s.", note)
    return TableMoments(moments, columns, notes)


def settled(columns: Columns, run: Run) -> Columns:
    """Find the categories that are not known."""
    if not columns.unknown:
        return columns
    wanted = Wanted(columns.wanted.rows, labels=columns.unknown)
    return columns.with_categories(run(partial(_part_categories, columns), _united, wanted))


def _united(left: dict[Name, set[str]], right: dict[Name, set[str]]) -> dict[Name, set[str]]:
    return {name: values | right[name] for name, values in left.items()}


def _part_categories(columns: Columns, table: Table, wanted: Wanted) -> dict[Name, set[str]]:
    found: dict[Name, set[str]] = {name: set() for name in columns.unknown}
    for piece in table.read(wanted, Findings()):
        for name, values in found.items():
            values.update(map(str, _filled(columns, name, piece.labels[name]).used))
    return found


def _part_moments(columns: Columns, table: Table, wanted: Wanted) -> Partial:
    met, total = Findings(), Partial()
    for rows in complete_rows(columns, table, wanted, met):
        groups = groups_of({name: rows.labels[name] for name in columns.sensitive}, len(rows.X))
        total += partial_moments(rows.X, groups, rows.weight, columns.feature_names)
    return total + Partial(met=met)


@dataclass(frozen=True)
class Rows:
    """Complete rows: features, weights, columns of labels and columns handed on."""

    X: FloatArray
    weight: FloatArray | None
    labels: dict[Name, Coded]
    kept: dict[Name, Coded]

    def taken(self, rows: BoolArray) -> Rows:
        """Give some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        labels, kept = (
            {name: coded.taken(rows) for name, coded in columns.items()}
            for columns in (self.labels, self.kept)
        )
        return Rows(self.X[rows], weight, labels, kept)


def complete_rows(columns: Columns, table: Table, wanted: Wanted, met: Findings) -> Iterator[Rows]:
    """Turn pieces into rows; after the last, raise if any could not be used.

    Parameters
    ----------
    columns : Columns
        The part each column plays.
    table : Table
        The table.
    wanted : Wanted
        What to read of it.
    met : Findings
        Where everything that is met is noted.

    Yields
    ------
    Rows
        The next rows; the next ones take the place of their features.
    """
    left = (name for name in table.index if name and name not in wanted.names)
    notes = (*table.notes, *(f"left out the index that pandas wrote, {name!r}" for name in left))
    met.notes.update(dict.fromkeys(notes))
    # A buffer is used again and again: fresh memory is slow to write to.
    buffer = np.empty((0, len(columns.names)))
    last: FloatArray | None = None
    for piece in table.read(wanted, met):
        if len(buffer) < piece.size:
            buffer = np.empty((piece.size, buffer.shape[1]))
        X = buffer[: piece.size]
        _check_counter(table.where, piece, met)
        labels = {name: _filled(columns, name, coded) for name, coded in piece.labels.items()}
        _fill_features(X, columns, piece, labels, met)
        weight = None if columns.weight is None else _numbers(columns, piece, columns.weight)
        _follow(X, columns, met, X[0] - 1 if last is None else last)
        last = X[-1].copy()
        absent = _absent(X, columns, labels, weight, met)
        met.rows += piece.size
        if met.is_refused(columns.missing):
            continue
        for name in columns.sensitive:
            columns.check_few(name, labels[name].values)
        rows = Rows(X, weight, labels, piece.kept)
        met.dropped += int(absent.sum())
        yield rows.taken(~absent) if absent.any() else rows
    met.put_in_order([*columns.features, *columns.labels, columns.weight])
    met.refuse(table.where, columns.missing, columns.weight)


def _check_counter(where: str, piece: Piece, met: Findings) -> None:
    """Leave a first column without a name out if it is a written index, counting from 0."""
    counter = piece.numbers.get("")
    if counter is None:
        return
    if not np.array_equal(counter, np.arange(met.rows, met.rows + piece.size)):
        raise TableError(
            f"{where} has no name for its column 1, which does not count the rows from 0; write "
            "one in its first line, leave it out with drop=[''], or name the features."
        )
    met.notes["left out the first column, which has no name and counts the rows"] = None


def _filled(columns: Columns, name: Name, coded: Coded) -> Coded:
    rule = columns.missing
    return coded.filled(rule[name]) if isinstance(rule, Mapping) and name in rule else coded


def _numbers(columns: Columns, piece: Piece, name: Name) -> FloatArray:
    values, rule = piece.numbers[name], columns.missing
    if isinstance(rule, Mapping) and name in rule:
        return np.where(np.isnan(values), float(rule[name]), values)
    return values


def _fill_features(
    X: FloatArray, columns: Columns, piece: Piece, labels: Mapping[Name, Coded], met: Findings
) -> None:
    for name, place in columns.places.items():
        categories = columns.categories.get(name)
        if categories is None:
            X[:, place] = _numbers(columns, piece, name)
            continue
        coded, known = labels[name], {part: i for i, part in enumerate(categories)}
        unseen = (text for text in map(str, coded.used) if text not in known)
        fault = f"column {name!r} has values that are not among its categories: "
        met.faults.update({f"{fault}{text!r}": None for text in unseen})
        codes = np.array([*(known.get(str(value), -1) for value in coded.values), -1])[coded.codes]
        X[:, place : place + len(known)] = 0.0
        rows = np.flatnonzero(codes >= 0)
        X[rows, place + codes[rows]] = 1.0


def _follow(X: FloatArray, columns: Columns, met: Findings, before: FloatArray) -> None:
    """Find the features that only count the rows."""

    def counts(place: int) -> bool:
        column = X[:, place]
        # Two rows tell nearly always, and spare a look at all.
        if column[0] != before[place] + 1 or (len(column) > 1 and column[1] != column[0] + 1):
            return False
        return bool((column[1:] == column[:-1] + 1).all())

    names = columns.numbers if met.counting is None else met.counting
    met.counting = tuple(name for name in names if counts(columns.places[name]))


def _absent(
    X: FloatArray,
    columns: Columns,
    labels: Mapping[Name, Coded],
    weight: FloatArray | None,
    met: Findings,
) -> BoolArray:
    """Find the rows that miss a value, counted by column; note numbers that cannot be used."""
    with np.errstate(invalid="ignore", over="ignore"):
        # Whatever is not finite shows in the sums, which spares a search.
        is_finite = np.isfinite(np.ones(len(X)) @ X)
    places = {name: columns.places[name] for name in columns.numbers}
    numbers = {name: X[:, place] for name, place in places.items() if not is_finite[place]}
    if weight is not None and columns.weight is not None:
        numbers[columns.weight] = weight
        if (weight < 0).any():
            met.faults[f"weight={columns.weight!r} has negative values"] = None
    infinite = (name for name, column in numbers.items() if np.isinf(column).any())
    met.faults.update({f"column {name!r} has infinite values": None for name in infinite})
    masks = {name: coded.codes < 0 for name, coded in labels.items()}
    masks |= {name: np.isnan(column) for name, column in numbers.items()}
    absent = np.zeros(len(X), dtype=np.bool_)
    for name, mask in masks.items():
        if count := int(mask.sum()):
            met.missing[name] += count
            absent |= mask
    return absent
