"""What must be known of all rows before the first is used: categories, and what fills blanks.

One pass over the columns concerned counts, on every engine, how much each value weighs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from fairspan.ground.listed import listed
from fairspan.ground.types import FloatArray
from fairspan.tables.columns import Columns
from fairspan.tables.findings import Findings, Name, TableError
from fairspan.tables.pieces import Coded, Piece, Table, Wanted
from fairspan.tables.refusals import is_label

_MOST_CATEGORIES = 100
"""A column of text with more values is hardly one of categories."""
Step = Callable[[Table, Wanted], Any]
"""A function of one part, and what to read of it."""
Add = Callable[[Any, Any], Any]
Run = Callable[[Step, Add, Wanted], Any]
"""An engine: applies a step to each part and adds what comes out."""


@dataclass(frozen=True)
class Tally:
    """Different numbers, in order, and the total weight of each."""

    values: FloatArray = field(default_factory=lambda: np.empty(0))
    weights: FloatArray = field(default_factory=lambda: np.empty(0))

    def __add__(self, other: Tally) -> Tally:
        values = np.concatenate([self.values, other.values])
        found, places = np.unique(values, return_inverse=True)
        weights = np.concatenate([self.weights, other.weights])
        return Tally(found, np.bincount(places, weights, len(found)).astype(np.float64))

    def quantile(self, share: float) -> float:
        """Give the value below which this share lies; between two, the middle of both."""
        reached = np.cumsum(self.weights)
        target, last = share * reached[-1], len(reached) - 1
        low = min(int(np.searchsorted(reached, target, "left")), last)
        high = min(int(np.searchsorted(reached, target, "right")), last)
        return float(self.values[low] + self.values[high]) / 2

    def cuts(self, count: int) -> tuple[float, ...]:
        """Give the upper ends of groups of about the same size, without the last."""
        if not len(self.values):
            return ()
        reached = np.cumsum(self.weights)
        targets = reached[-1] * np.arange(1, count) / count
        # A cut at the largest value would leave the last group empty.
        found = self.values[np.searchsorted(reached, targets)]
        return tuple(np.unique(found[found < self.values[-1]]).tolist())

    def most_frequent(self) -> float:
        """Give the value of the largest weight, the smallest of several."""
        return float(self.values[np.argmax(self.weights)])


@dataclass(frozen=True)
class Seen:
    """What was seen in some rows: sums, numbers and labels, by column; parts add up."""

    sums: dict[Name, tuple[float, float]] = field(default_factory=dict)
    numbers: dict[Name, Tally] = field(default_factory=dict)
    labels: dict[Name, dict[str, float]] = field(default_factory=dict)

    def __add__(self, other: Seen) -> Seen:
        return Seen(
            _added(self.sums, other.sums, lambda one, two: (one[0] + two[0], one[1] + two[1])),
            _added(self.numbers, other.numbers, Tally.__add__),
            _added(self.labels, other.labels, partial(_added, add=float.__add__)),
        )


def _added(one: dict[Any, Any], two: dict[Any, Any], add: Any) -> dict[Any, Any]:
    both = {name: add(one[name], two[name]) for name in one if name in two}
    return one | two | both


def settled(columns: Columns, run: Run, where: str) -> Columns:
    """Find the categories that are not known, and what takes the place of missing values."""
    if columns.encodes:
        columns = _with_text(columns, run)
        columns = replace(settled(replace(columns, encodes=False), run, where), encodes=True)
        _check_few(columns, where)
        return replace(columns, encodes=False)
    blank = [n for n in columns.features if columns.rule is not None and n not in columns.fills]
    numbers = tuple(name for name in blank if name not in columns.categories)
    labels = tuple({**dict.fromkeys(columns.unknown), **dict.fromkeys(blank)})
    labels = tuple(name for name in labels if name in columns.categories)
    cut = {name: count for name, count in columns.bins.items() if isinstance(count, int)}
    if not numbers and not labels and not cut:
        return columns
    weight = () if columns.weight is None else (columns.weight,)
    wanted = Wanted(columns.wanted.rows, tuple(dict.fromkeys((*numbers, *cut, *weight))), labels)
    seen: Seen = run(partial(_look, columns), Seen.__add__, wanted)
    known: Any = {name: tuple(sorted(seen.labels.get(name, ()))) for name in columns.unknown}
    fills = {name: _fill(columns.rule, name, seen) for name in blank}
    found = {name: value for name, value in fills.items() if value is not None}
    bins: Any = {name: seen.numbers.get(name, Tally()).cuts(count) for name, count in cut.items()}
    return replace(
        columns,
        categories=columns.categories | known,
        fills=columns.fills | found,
        bins=columns.bins | bins,
    )


def _with_text(columns: Columns, run: Run) -> Columns:
    """Take the features that hold text for categories; dates and odd numbers are none."""
    wanted = Wanted(columns.wanted.rows, columns.numbers)
    text: dict[Name, dict[str, Any]] = run(_texts, partial(_added, add=dict.__or__), wanted)
    found: Any = {name: None for name in columns.numbers if is_label(text.get(name, {}))}
    return replace(columns, categories=columns.categories | found)


def _texts(table: Table, wanted: Wanted) -> dict[Name, dict[str, Any]]:
    met = Findings()
    for _ in table.read(wanted, met):
        pass
    return met.text


def _check_few(columns: Columns, where: str) -> None:
    many = {n: len(parts or ()) for n, parts in columns.categories.items()}
    many = {name: count for name, count in many.items() if count > _MOST_CATEGORIES}
    if many:
        counts = listed((f"{name!r} ({count:,})" for name, count in many.items()), str)
        raise TableError(
            f"{where} has columns of text with too many different values to become features: "
            f"{counts}. Leave them out with drop={list(many)}, or name the columns to encode with "
            "one_hot=[...]."
        )


def _fill(rule: str | None, name: Name, seen: Seen) -> Any:
    """Give what takes the place of missing values; None if there are no others."""
    if name in seen.labels:
        weights = seen.labels[name]
        return min(weights, key=lambda text: (-weights[text], text), default=None)
    total, weight = seen.sums.get(name, (0.0, 0.0))
    if rule == "mean":
        return total / weight if weight and np.isfinite(total) else None
    tally = seen.numbers.get(name)
    if tally is None or not tally.weights.any():
        return None
    return tally.quantile(0.5) if rule == "median" else tally.most_frequent()


def _look(columns: Columns, table: Table, wanted: Wanted) -> Seen:
    seen = Seen()
    for piece in table.read(wanted, Findings()):
        seen += _seen_in(piece, columns, wanted)
    return seen


def _seen_in(piece: Piece, columns: Columns, wanted: Wanted) -> Seen:
    weight = np.ones(piece.size)
    if columns.weight is not None and columns.weight in piece.numbers:
        weight = np.nan_to_num(piece.numbers[columns.weight])
    sums, numbers = {}, {}
    for name, column in piece.numbers.items():
        there = ~np.isnan(column)
        if columns.rule == "mean" and name not in columns.bins:
            with np.errstate(over="ignore", invalid="ignore"):
                sums[name] = float(weight[there] @ column[there]), float(weight[there].sum())
        else:
            numbers[name] = Tally() + Tally(column[there], weight[there])
    labels = {
        name: _counted(coded.filled(columns.fills.get(name)), weight)
        for name, coded in piece.labels.items()
    }
    return Seen(sums, numbers, labels)


def _counted(coded: Coded, weight: FloatArray) -> dict[str, float]:
    """Give the weight of each text that occurs; it may be zero."""
    there = coded.codes >= 0
    sums = np.bincount(coded.codes[there], weight[there], len(coded.values))
    counts = np.bincount(coded.codes[there], minlength=len(coded.values))
    found: dict[str, float] = {}
    for place in np.flatnonzero(counts):
        text = str(coded.values[place])
        found[text] = found.get(text, 0.0) + float(sums[place])
    return found
