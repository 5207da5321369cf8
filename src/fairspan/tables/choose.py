"""Columns as the caller names them: each once, known, and in parts that go together."""

from __future__ import annotations

import datetime
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from fairspan.ground.listed import listed
from fairspan.ground.parameters import (
    check_choice,
    check_integer,
    check_options,
    is_integer,
    is_listing,
    is_number,
)
from fairspan.tables.columns import Columns, TableOptions
from fairspan.tables.findings import Name, TableError, not_numbers
from fairspan.tables.pieces import NUMBER, TEXT

_SHOWN = 12


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
    categories = _categories(find, options.get("one_hot"))
    if features is None:
        taken = {*groups, weight, *dropped, *index}
        chosen = tuple(name for name in kinds if name not in taken)
    elif dropped:
        raise ValueError("Give features=[...] or drop=[...], not both.")
    else:
        named = find("features", features)
        chosen = (*named, *(name for name in categories if name not in named))
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
    fills = _fills(find, missing, kinds, {*groups, *categories})
    rows = options.get("batch_rows")
    if rows is not None:
        check_integer("batch_rows", rows, 1)
    left = dropped if features is None else None
    drops = not fills and missing == "drop_rows"
    columns = Columns(chosen, categories, groups, weight, (), fills, drops, left, rows)
    kind = {name: kinds[name] for name in columns.wanted.numbers}
    text = {name: {kind: None} for name, kind in kind.items() if kind not in (NUMBER, TEXT)}
    if text:
        raise TableError(not_numbers(where, text, weight))
    return columns


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
    there = f"are {listed(names, most=_SHOWN)}"
    if all(isinstance(name, int) for name in names):
        there = f"are numbered 0 to {len(names) - 1}"
    near = get_close_matches(str(missing[0]), map(str, names), n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{where} has no column {listed(missing, most=8)} ({why}); its columns {there}.{hint}"


def _categories(find: Any, given: Any) -> dict[Name, tuple[str, ...] | None]:
    """Give the categories of each column as texts; None where they are to be found."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(find("one_hot", given))
    found: dict[Name, tuple[str, ...] | None] = {}
    for name, values in zip(find("one_hot", list(given)), given.values(), strict=True):
        if values is not None and (
            not is_listing(values) or len({*map(str, values)}) < len(values)
        ):
            raise ValueError(
                f"one_hot={{{name!r}: {values!r}}} must list the column's categories, each once."
            )
        found[name] = None if values is None else tuple(map(str, values))
    return found


def _fills(
    find: Any, missing: Any, kinds: Mapping[Name, str], labels: Collection[Name]
) -> dict[Name, Any]:
    """Give what takes the place of missing values, by column."""
    if not isinstance(missing, Mapping):
        check_choice("missing", missing, ("raise", "drop_rows"))
        return {}
    given = zip(find("missing", list(missing)), missing.values(), strict=True)
    return {name: _fill(name, value, kinds[name], name in labels) for name, value in given}


def _fill(name: Name, value: Any, kind: str, is_label: bool) -> Any:
    """Check what takes the place of missing values in a column."""
    given = f"missing={{{name!r}: {value!r}}}"
    is_text, is_date = isinstance(value, str), isinstance(value, datetime.date | np.datetime64)
    is_real = isinstance(value, bool | np.bool_) or is_number(value)
    if value is None or ((is_real or is_date) and value != value):
        raise ValueError(
            f"{given} puts a missing value in the place of missing ones; give a value, or use "
            "missing='drop_rows'."
        )
    if kind == TEXT and is_label:
        fits, value = is_text or is_real or is_date, str(value)
    elif kind in (NUMBER, TEXT):
        fits, kind = is_real and abs(value) <= sys.float_info.max, NUMBER
    else:
        fits = is_text if "str" in kind or kind.startswith("<U") else is_date
    if not fits:
        raise ValueError(
            f"{given}: the column holds values of type {kind}; give a value of that type."
        )
    return value
