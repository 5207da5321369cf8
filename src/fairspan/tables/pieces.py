"""What every kind of table is read into: numbers, and columns of few values as codes.

Cells of text are read by these rules, whoever cuts a csv file into cells:

- spaces around a cell are no part of it; around labels they are counted;
- a cell is missing if it is blank, quoted or not, or one of ``MISSING_WORDS``;
- a number is what Python reads as one, in ASCII digits and without underscores, with a decimal
  comma in the place of the point where that is asked for; infinity is written ``inf``, and any
  spelling of ``nan`` in a column of numbers is missing;
- ``true`` and ``false`` in a column of numbers are 1 and 0, in any case of letters;
- everything else is text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from fairspan.ground.types import BoolArray, FloatArray
from fairspan.tables.findings import Findings, Name

NUMBER, TEXT = "number", "text"
"""Kinds of columns: numbers, and text that may mean numbers; others are names of types."""

MISSING_WORDS = (
    *("", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "NULL", "null"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""What means a missing value, in any column."""
TRUTHS = {"true": 1.0, "false": 0.0}
_STRAY = 0.9
"""Text in a column with more numbers than this share of its cells is there by mistake."""
_SWAPPED = str.maketrans(",.", ".,")
"""With a decimal comma, a point is no part of a number."""
_NAN = re.compile(r"[-+]?nan(\(\w*\))?", re.IGNORECASE | re.ASCII)


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
        """Fill in a value where there is none; None leaves them missing."""
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
    """Columns to read, and how many rows at a time; the counter is an unnamed first column."""

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


def number_of(word: str, point: str = ".") -> float | None:
    """Read a word as a number, NaN if it means a missing value; None if it is text."""
    if word in MISSING_WORDS or _NAN.fullmatch(word):
        return np.nan
    word = word if point == "." else word.translate(_SWAPPED)
    try:
        # Python reads 12_30 and the digits of every script, too.
        return float(word) if word.isascii() and "_" not in word else None
    except ValueError:
        return None


def numbers_of(
    name: Name, cells: Sequence[str], lines: Sequence[int], met: Findings, point: str = "."
) -> FloatArray:
    """Read cells as numbers.

    Parameters
    ----------
    name : str
        The column.
    cells : sequence of str
        The cells.
    lines : sequence of int
        The lines they stand in.
    met : Findings
        Where text and words for true and false are noted.
    point : str
        The decimal mark.

    Returns
    -------
    ndarray
        The numbers; NaN where they are missing or text.
    """
    together = "".join(cells)
    if together.isascii() and "_" not in together:
        plain = cells if point == "." else [cell.translate(_SWAPPED) for cell in cells]
        try:
            return np.fromiter(map(float, plain), np.float64, len(cells))
        except ValueError:
            pass
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        word = cell.strip()
        number = number_of(word, point)
        if number is None:
            number = TRUTHS.get(word.lower())
            if number is None:
                word.encode()  # raises where the bytes are not of the encoding
                met.add_text(name, word, f" in line {lines[i]}")
                continue
            met.truths[name] += 1
        values[i] = number
    if name in met.text and np.count_nonzero(np.isfinite(values)) > _STRAY * len(cells):
        met.strays[name] = None
    return values


def binned(numbers: FloatArray, cuts: Any) -> Coded:
    """Cut numbers into groups with names; a cut belongs to the group below it.

    Parameters
    ----------
    numbers : ndarray
        Numbers; NaN is in no group.
    cuts : sequence of float
        Where the groups end, in ascending order.

    Returns
    -------
    Coded
        The groups: "27 or less", "27 to 37", "over 37".
    """
    ends = [f"{cut:.15g}" for cut in cuts]
    between = (f"{low} to {high}" for low, high in pairwise(ends))
    names = [f"{ends[0]} or less", *between, f"over {ends[-1]}"] if ends else ["all"]
    codes = np.searchsorted(np.asarray(cuts, dtype=np.float64), numbers)
    return Coded(np.where(np.isnan(numbers), -1, codes), objects(names))


def labels_of(name: Name, coded: Coded, met: Findings | None) -> Coded:
    """Read coded cells as labels: without spaces, and without words that mean no value.

    Parameters
    ----------
    name : str
        The column.
    coded : Coded
        Cells as they are written.
    met : Findings or None
        Where spaces and words are noted; None leaves words as they are.

    Returns
    -------
    Coded
        The labels.
    """
    words = [str(cell).strip() for cell in coded.values]
    for word in words:
        word.encode()  # raises where the bytes are not of the encoding
    if met is None:
        return coded.recoded(word or None for word in words)
    spaced = [i for i, word in enumerate(words) if word and word != coded.values[i]]
    if spaced and (count := int(np.isin(coded.codes, spaced).sum())):
        met.spaces[name] += count
    for word in words:
        if word and word in MISSING_WORDS:
            met.words.setdefault(name, word)
    return coded.recoded(None if word in MISSING_WORDS else word for word in words)
