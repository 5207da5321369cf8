"""What a user may ask of the columns of a table: categories, fills and bins, checked."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from fairspan.ground.parameters import check_choice, check_integer, is_listing, is_number
from fairspan.tables.pieces import NUMBER, TEXT, number_of
from fairspan.tables.refusals import OTHERS, Name

FILLS = ("mean", "median", "most_frequent")
"""What may take the place of missing values, found from the others of its column."""


def categories_of(find: Any, given: Any) -> dict[Name, tuple[str, ...] | None]:
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


def bins_of(find: Any, given: Any, groups: Collection[Name]) -> dict[Name, int | tuple[float, ...]]:
    """Give the sensitive columns that are cut into groups."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"bins={given!r} must map columns to numbers of groups or to cuts.")
    found: dict[Name, int | tuple[float, ...]] = {}
    for name, value in zip(find("bins", list(given or {})), (given or {}).values(), strict=True):
        if name not in groups:
            raise ValueError(f"bins=... names the column {name!r}, which is not sensitive=....")
        cuts = tuple(map(float, value)) if is_listing(value) else ()
        if cuts != tuple(sorted({*cuts})) or not all(map(math.isfinite, cuts)):
            given_cuts = ", ".join(f"{cut:g}" for cut in cuts)
            raise ValueError(
                f"bins=... cuts {name!r} at {given_cuts}; list finite cuts in ascending order."
            )
        found[name] = cuts or check_integer("bins", value, 2)
    return found


def number_in(value: Any) -> float | None:
    """Read a label as a number, also with a decimal comma."""
    if not isinstance(value, str):
        return float(value) if is_number(value) else None
    number = number_of(value)
    return number_of(value, ",") if number is None else number


def fills_of(
    find: Any,
    missing: Any,
    kinds: Mapping[Name, str],
    labels: Collection[Name],
    maybe: Collection[Name],
) -> tuple[str, dict[Name, Any]]:
    """Give the rule for missing values, and what takes their place, by column."""
    given = dict(missing) if isinstance(missing, Mapping) else {OTHERS: missing}
    rule = "raise" if OTHERS in kinds else given.pop(OTHERS, "raise")
    check_choice("missing", rule, ("raise", "drop_rows", *FILLS))
    found = zip(find("missing", list(given)), given.values(), strict=True)
    return rule, {
        name: _fill(
            name, value, kinds[name], name in labels or (name in maybe and isinstance(value, str))
        )
        for name, value in found
    }


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
