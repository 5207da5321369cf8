"""What every kind of table is read into: numbers, and columns of few values as codes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fairspan.ground.types import BoolArray, FloatArray
from fairspan.tables.findings import Findings, Name

NUMBER, TEXT = "number", "text"
"""Kinds of columns: numbers, and text that may mean numbers; others are names of types."""


@dataclass(frozen=True)
class Coded:
    """A column of few values: row i has ``values[codes[i]]``, or none where the code is -1."""

    codes: npt.NDArray[np.integer[Any]]
    values: npt.NDArray[Any]

    @classmethod
    def of(cls, cells: Sequence[str]) -> Self:
        """Code texts."""
        lookup: defaultdict[str, int] = defaultdict(count().__next__)
        codes = np.fromiter(map(lookup.__getitem__, cells), np.int32, len(cells))
        return cls(codes, objects(lookup))

    def recoded(self, values: Iterable[Any]) -> Self:
        """Put another value, or None for no value, in the place of each; equal ones become one."""
        lookup: dict[Any, int] = {}
        places = [-1 if v is None else lookup.setdefault(v, len(lookup)) for v in values]
        return type(self)(np.array([*places, -1], np.int32)[self.codes], objects(lookup))

    def filled(self, value: Any) -> Self:
        """Put a value where there is none; None leaves it so."""
        if value is None:
            return self
        codes = np.where(self.codes < 0, len(self.values), self.codes)
        return type(self)(codes, objects([*self.values, value]))

    def taken(self, rows: BoolArray) -> Self:
        """Give some of the rows."""
        return type(self)(self.codes[rows], self.values)

    @property
    def used(self) -> list[Any]:
        """The values that occur."""
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))
        return [self.values[place] for place in np.flatnonzero(counts)]

    def listed(self) -> npt.NDArray[Any]:
        """Give the value of each row; None where there is none."""
        return np.asarray(objects([*self.values, None])[self.codes])


def objects(values: Iterable[Any]) -> npt.NDArray[Any]:
    """Give an array of Python objects, tuples whole."""
    listed = list(values)
    return np.fromiter(listed, dtype=object, count=len(listed))


class Wanted(NamedTuple):
    """Columns to read, so many rows at once; the counter is a first column without a name."""

    rows: int
    numbers: tuple[Name, ...] = ()
    labels: tuple[Name, ...] = ()
    kept: tuple[Name, ...] = ()
    has_counter: bool = False

    @property
    def names(self) -> list[Name]:
        """All columns."""
        return list(dict.fromkeys((*self.numbers, *self.labels, *self.kept)))


class Piece(NamedTuple):
    """Some rows: numbers, NaN where there are none; labels; and columns as they are written."""

    size: int
    numbers: dict[Name, FloatArray]
    labels: dict[Name, Coded]
    kept: dict[Name, Coded]

    @classmethod
    def read(
        cls,
        size: int,
        wanted: Wanted,
        met: Findings,
        numbers: Callable[[Name, Findings], FloatArray],
        labels: Callable[[Name, Findings | None], Coded],
    ) -> Self:
        """Read columns by two functions; without findings, labels stay as they are written."""
        return cls(
            size,
            {name: numbers(name, met) for name in wanted.numbers},
            {name: labels(name, met) for name in wanted.labels},
            {name: labels(name, None) for name in wanted.kept},
        )


@dataclass(frozen=True)
class Table:
    """A file or a partition, whose columns are known and can be read, some rows at a time.

    Attributes
    ----------
    where : str
        The table, as errors name it.
    kinds : dict of str or int to str
        The columns and what they hold.
    read : callable
        Gives pieces of the columns that are wanted; none is without rows.
    index : frozenset of str
        Columns that number the rows: features only where they are named.
    notes : tuple of str
        What was assumed.
    """

    where: str
    kinds: dict[Name, str]
    read: Callable[[Wanted, Findings], Iterator[Piece]]
    index: frozenset[Name] = frozenset()
    notes: tuple[str, ...] = ()
