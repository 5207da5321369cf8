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

Name = str | int
"""Columns of tables have names; those of arrays have numbers."""

_ALL, _SHOWN, _CATEGORIES = 12, 6, 20
"""Columns that are named where one is not found, and where some cannot be used; a column with more
different texts is hardly one of categories."""
_COMMA = re.compile(r"[-+]?\d[\d.]*,[\d.,]*\d")


class TableError(ValueError):
    """A table that cannot be used as it is; the message names it."""


@dataclass
class Findings:
    """What was met in some rows; findings add up.

    Attributes
    ----------
    rows, dropped : int
        Rows that were read, and how many of them were left out.
    missing, truths, spaces : Counter
        By column: values that are missing, words for true and false read as numbers, and labels
        with spaces around them.
    text : dict of dicts
        By column: texts that are no numbers, and their places.
    words, faults, notes : dict of str
        Labels that mean a missing value; sentences about what cannot be used; and about what was
        assumed. Each once.
    counting : tuple or None
        Features that only count the rows; None before the first row.
    """

    rows: int = 0
    dropped: int = 0
    missing: Counter[Name] = field(default_factory=Counter)
    truths: Counter[Name] = field(default_factory=Counter)
    spaces: Counter[Name] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)
    counting: tuple[Name, ...] | None = None
    text: dict[Name, dict[str, str | None]] = field(default_factory=dict)
    words: dict[str, None] = field(default_factory=dict)
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
            self.notes | other.notes,
            two if one is None else one if two is None else tuple(n for n in one if n in two),
        )

    def add_text(self, name: Name, word: str, place: str = "") -> None:
        """Note a text that should be a number."""
        found = self.text.setdefault(name, {})
        if len(found) <= _CATEGORIES:
            found.setdefault(word[:30], place)

    def put_in_order(self, names: Sequence[Name | None]) -> None:
        """List columns in an order that does not depend on the rows."""
        found: Any
        for found in (self.missing, self.truths, self.spaces, self.text):
            found.update({name: found.pop(name) for name in names if name in found})

    def sentences(self, categories: Mapping[Name, Collection[str] | None]) -> tuple[str, ...]:
        """Say what was read in a way that should be known."""
        left_out = []
        if self.dropped:
            left_out = [f"{self.dropped:,} of {self.rows:,} rows left out: {self._missing}"]
        return (
            *self.notes,
            *(f"column {name!r}: true and false are read as 1 and 0" for name in self.truths),
            *(
                f"column {n!r}: spaces around labels removed ({c:,})"
                for n, c in self.spaces.items()
            ),
            *(
                f"column {name!r} became {len(parts or ())} columns of zeros and ones"
                for name, parts in categories.items()
            ),
            *left_out,
            *(
                f"column {name!r} just counts the rows; if it is not a feature, use drop={[name]}"
                for name in (self.counting or () if self.rows > 2 else ())
            ),
        )

    def refusal(self, where: str, drops: bool, weight: Name | None) -> str | None:
        """Say why the rows cannot be used, if so, naming all columns and the ways out."""
        if self.text:
            return not_numbers(where, self.text, weight)
        if self.missing and not drops:
            words = ", ".join(map(repr, self.words))
            label = f" A label spelled {words} counts as missing in csv files." if words else ""
            return (
                f"{where} has {self._missing} of {self.rows:,} rows. Leave out those rows with "
                "missing='drop_rows' or those columns with drop=[...], or fill them in with "
                f"missing={{column: value}}.{label}"
            )
        if self.faults:
            faults = listed(self.faults, str, most=_SHOWN, separator="; ")
            return f"{where} cannot be used: {faults}."
        return None

    @property
    def why_none(self) -> str:
        """Say why no row is left, after a sentence that says so."""
        return f": every row has {self._missing}" if self.dropped else ""

    @property
    def _missing(self) -> str:
        counts = (f"{name!r} ({count})" for name, count in self.missing.items())
        return f"missing values in {listed(counts, str, most=_SHOWN)}"


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
    if all(isinstance(name, int) for name in names):
        there = f"are numbered 0 to {len(names) - 1}"
    near = get_close_matches(str(missing[0]), map(str, names), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{where} has no column {listed(missing, most=8)} ({why}); its columns {there}.{hint}"


def check_once(path: str, names: Iterable[str]) -> None:
    """Refuse a table with several columns of the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(f"{path!r} has columns of the same name: {twice[:5]}; rename them.")


def not_numbers(where: str, text: Mapping[Name, Mapping[str, str | None]], weight: Any) -> str:
    """Say which columns should be numbers and are not, and the ways out.

    Parameters
    ----------
    where : str
        The table.
    text : mapping
        By column, texts and the places where they were met; or its type and None.
    weight : str, int or None
        The column of weights, which cannot be left out.

    Returns
    -------
    str
        The refusal.
    """
    examples = {name: next(iter(met.items())) for name, met in text.items()}
    shown = (
        f"{name!r} ({word if place is None else f'{word!r}{place}'})"
        for name, (word, place) in examples.items()
    )
    sentence = f"{where} has columns that are not numbers: {listed(shown, str, most=_SHOWN)}."
    commas = [name for name, met in text.items() if all(map(_COMMA.fullmatch, met))]
    if commas:
        sentence += (
            f" Numbers in {listed(commas, most=_SHOWN)} have a comma; write a decimal comma as a "
            "point, and leave out commas between thousands."
        )
    others = [name for name in text if name not in commas and name != weight]
    few = [
        name
        for name in others
        if len(text[name]) <= _CATEGORIES
        and (examples[name][1] is not None or "string" in examples[name][0])
    ]
    if others:
        sentence += f" Leave them out with {_keyword('drop', others)}"
        if few:
            zeros = "turn each category into a column of zeros and ones with"
            sentence += f", {zeros} {_keyword('one_hot', few)}"
        sentence += ", or name the columns to use with features=[...]."
    if weight in text:
        sentence += f" weight={weight!r} must be a column of numbers."
    return sentence


def _keyword(option: str, names: Sequence[Name]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{option}={list(names[:_SHOWN])}{more}"
