"""What is met in a table: columns, missing values, text, spaces; and what is said about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from fairspan.ground.listed import listed
from fairspan.ground.parameters import is_integer, is_listing
from fairspan.tables.refusals import CATEGORIES, SHOWN, Rules, not_complete, not_numbers
from fairspan.tables.refusals import Name as Name
from fairspan.words.writing import plural

_ALL, _LONG = 12, 30
"""Columns that are named where one is not found; characters of a text that are shown."""


_MARK = re.compile(r"[^\w\s.'\"-]")
_NUMBER = re.compile(r"[-+]?\d*[.,]?\d+")


class TableError(ValueError):
    """A table that cannot be used as it is; the message names it."""


@dataclass
class Findings:
    """What was met in some rows; findings add up.

    Attributes
    ----------
    rows, dropped : int
        Rows that were read, and how many of them were left out.
    missing, truths, spaces, filled : Counter
        By column: values that are missing, words for true and false read as numbers, labels with
        spaces around them, and missing values that were filled in.
    text : dict of dicts
        By column: texts that are no numbers, and their places.
    strays : dict
        Columns of text in which nearly all cells are numbers.
    words : dict
        By column of labels: a word in it that means a missing value.
    faults, notes : dict of str
        Sentences about what cannot be used, and about what was assumed. Each once.
    counting : tuple or None
        Features that only count the rows; None before the first row.
    constant : dict or None
        Features with one value in all rows that were used, and the value; None before the first.
    """

    rows: int = 0
    dropped: int = 0
    missing: Counter[Name] = field(default_factory=Counter)
    truths: Counter[Name] = field(default_factory=Counter)
    spaces: Counter[Name] = field(default_factory=Counter)
    filled: Counter[Name] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)
    counting: tuple[Name, ...] | None = None
    constant: dict[str, float] | None = None
    text: dict[Name, dict[str, str | None]] = field(default_factory=dict)
    strays: dict[Name, None] = field(default_factory=dict)
    words: dict[Name, str] = field(default_factory=dict)
    faults: dict[str, None] = field(default_factory=dict)

    def __add__(self, other: Findings) -> Findings:
        # Rows with text or faults have raised before they are added to others.
        one, two = self.counting, other.counting
        return Findings(
            self.rows + other.rows,
            self.dropped + other.dropped,
            self.missing + other.missing,
            self.truths + other.truths,
            self.spaces + other.spaces,
            self.filled + other.filled,
            self.notes | other.notes,
            two if one is None else one if two is None else tuple(n for n in one if n in two),
            same_values(self.constant, other.constant),
        )

    def add_text(self, name: Name, word: str, place: str = "") -> None:
        """Note a text that should be a number."""
        found = self.text.setdefault(name, {})
        if len(found) <= CATEGORIES:
            found.setdefault(word if len(word) <= _LONG else f"{word[:_LONG]} ...", place)

    def put_in_order(self, names: Sequence[Name | None]) -> None:
        """List columns in an order that does not depend on the rows."""
        found: Any
        for found in (self.missing, self.truths, self.spaces, self.filled, self.text):
            found.update({name: found.pop(name) for name in names if name in found})

    def sentences(
        self,
        categories: Mapping[Name, Collection[str] | None],
        fills: Mapping[Name, Any],
        bins: Mapping[Name, Any],
    ) -> tuple[str, ...]:
        """Note what was read in a way that users should know."""
        left_out = []
        if self.dropped:
            left_out = [f"{self.dropped:,} of {self.rows:,} rows left out: {self._missing}"]
        if count := self.filled.total():
            by = (f"{n!r} ({c:,}) by {_short(fills[n])}" for n, c in self.filled.items() if c)
            filled = f"{plural(count, 'missing value')} filled in"
            left_out.append(f"{filled}: {listed(by, str, most=SHOWN)}")
        return (
            *self.notes,
            *(f"column {name!r}: true and false are read as 1 and 0" for name in self.truths),
            *(
                f"column {n!r}: spaces around labels removed ({c:,})"
                for n, c in self.spaces.items()
            ),
            *(
                f"column {name!r} became {plural(len(parts or ()), 'column')} of zeros and ones"
                for name, parts in categories.items()
            ),
            *(
                f"column {name!r} was cut at {listed(cuts, '{:.15g}'.format, most=_ALL)}"
                for name, cuts in bins.items()
            ),
            *left_out,
            *(
                f"column {name!r} just counts the rows; if it is not a feature, use drop={[name]}"
                for name in (self.counting or () if self.rows > 2 else ())
            ),
            *(
                [f"the same value in every row: {listed(self.constant, most=SHOWN)}"]
                if self.constant and self.rows > 2
                else []
            ),
        )

    def refusal(self, where: str, rules: Rules) -> str | None:
        """Say why the rows cannot be used, if so, naming all columns and the ways out."""
        if self.text:
            return not_numbers(where, self.text, rules, self.strays)
        if self.missing and not rules.drops:
            missing = f"{where} has {self._missing} of {self.rows:,} rows"
            return not_complete(missing, self.rows, self.missing, self.words, rules)
        if self.faults:
            faults = listed(self.faults, str, most=SHOWN, separator="; ")
            return f"{where} cannot be used: {faults}."
        return None

    @property
    def none_left(self) -> str:
        """Say that there are no rows left, and why."""
        return (
            f"has no complete rows: every row has {self._missing}"
            if self.dropped
            else "has no rows"
        )

    @property
    def _missing(self) -> str:
        counts = (f"{name!r} ({count})" for name, count in self.missing.items())
        return f"missing values in {listed(counts, str, most=SHOWN)}"


def _short(value: Any) -> str:
    """Write what fills missing values: numbers with as many digits as people read."""
    return repr(float(f"{value:.6g}") if isinstance(value, float) else value)


def same_values(
    one: dict[str, float] | None, two: dict[str, float] | None
) -> dict[str, float] | None:
    """Keep what is the same in two parts; None knows of no rows."""
    if one is None or two is None:
        return two if one is None else one
    return {name: value for name, value in one.items() if two.get(name) == value}


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
    asked = () if given is None else tuple(given) if is_listing(given) else (given,)
    positions = [name for name in kinds if isinstance(name, int)]
    found: list[Name] = []
    for one in asked:
        name = one
        if positions and (is_integer(one) or (isinstance(one, str) and one.lstrip("-").isdigit())):
            name = int(one) + (len(positions) if int(one) < 0 else 0)
        elif not isinstance(one, str):
            raise TypeError(f"{argument}=... holds {one!r}; columns are given by name.")
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
    there = f"are {listed(names, most=_ALL)}"
    is_numbered = all(isinstance(name, int) for name in names)
    if is_numbered:
        there = f"are numbered 0 to {len(names) - 1}"
    near = get_close_matches(str(missing[0]), map(str, names), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    if len(names) == 1:
        if mark := _MARK.search(str(names[0])):
            hint += f" If {mark[0]!r} separates the columns, use separator={mark[0]!r}."
        hint += " If the names of columns come further down, remove the lines above them."
    elif not is_numbered and 2 * sum(
        _NUMBER.fullmatch(str(name)) is not None for name in names
    ) > len(names):
        hint += " If its first line holds values, add a line of column names at its top."
    return f"{where} has no column {listed(missing, most=8)} ({why}); its columns {there}.{hint}"


def no_choice(path: str, what: str, given: str, there: Iterable[str]) -> str:
    """Say that a file has no sheet of a name, and which it has."""
    near = get_close_matches(given, there, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{path!r} has no {what} {given!r}; there are {listed(there, most=_ALL)}.{hint}"


def check_once(path: str, names: Iterable[str]) -> None:
    """Refuse a table with several columns of the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(f"{path!r} has columns of the same name: {twice[:5]}; rename them.")
