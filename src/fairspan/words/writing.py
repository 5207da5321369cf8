"""Numbers and names as people read them; bounds are never written smaller than proved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

DIGITS = {
    # What is below this share of its unit is rounding.
    "zero": 1e-12,
    # Errors that differ by less than this share of the largest are equal.
    "same": 5e-6,
    # Percentages below the first are not written out; those from the second on are whole numbers.
    "small": 0.05,
    "whole": 9.95,
    # Numbers between the first and the second are plain; larger ones have commas up to the third.
    "tiny": 1e-4,
    "large": 9999.5,
    "huge": 1e9,
}
"""How digits are chosen."""
SHARES = {"small": "under 0.1 %", "infinite": "infinite"}
"""Shares in words."""
LEAST_ROWS, FEW_ROWS = 5, 20
"""Groups of fewer rows get no statement about new rows, or a mark."""
_READABLE = 1e-3
"""Bounds from this share on are written in per cent."""
_MOST_NAMES = 3
_MOST_GROUPS, _WORST, _BEST = 20, 6, 4
"""More groups than the first are folded to so many of the worst and the best served."""


def number(value: float, unit: float = 0.0) -> str:
    """Write a number with four digits; 0 for what is rounding compared with the unit."""
    size = abs(value)
    if not math.isfinite(value):
        return f"{value:g}"
    if size <= DIGITS["zero"] * unit:
        return "0"
    if DIGITS["tiny"] <= size < DIGITS["large"]:
        return f"{value:#.4g}".rstrip(".")
    return f"{value:,.0f}" if DIGITS["large"] <= size < DIGITS["huge"] else _short(f"{value:.3e}")


def difference(value: float, errors: Sequence[float]) -> str:
    """Write a difference of errors; 0 where they are equal, which closes a gap."""
    return "0" if abs(value) < DIGITS["same"] * max(errors) else number(value)


def weight_written(weight: float) -> str:
    """Write a group weight between 0 and 1."""
    return f"{round(weight, 4):.3g}"


def percent(share: float) -> str:
    """Write a share in per cent, as people read it at a glance; negative ones count as 0."""
    value = 100 * max(share, 0.0)
    if math.isinf(value):
        return SHARES["infinite"]
    if value < DIGITS["small"]:
        return SHARES["small"]
    return f"{value:.0f} %" if value >= DIGITS["whole"] else f"{value:.1f} %"


def signed_percent(share: float) -> str:
    """Write a change in per cent with its sign; small ones have one digit: +0.03 %."""
    if abs(share) < DIGITS["same"]:
        return "0 %"
    size = 100 * abs(share)
    text = f"{size:.1g} %" if size < DIGITS["small"] else percent(abs(share))
    return f"{'+' if share > 0 else '-'}{text}"


def at_most(value: float) -> str:
    """Write an upper bound with one digit, rounded up: 3e-10 for 2.479e-10."""
    if value <= 0:
        return "0"
    return _short(f"{_rounded(value, 1, ROUND_CEILING):.0e}")


def at_least(value: float, digits: int) -> str:
    """Write a lower bound, rounded down."""
    return f"{_rounded(value, digits, ROUND_FLOOR):.{digits}g}"


def share_at_most(share: float) -> str:
    """Write a share that is proved, rounded up: in per cent where that reads well."""
    if share < _READABLE:
        return at_most(share)
    value = 100 * _rounded(share, 2, ROUND_CEILING)
    return f"{value:.2g} %" if value < 100 else f"{value:.0f} %"


def ranged(value: float, ends: Sequence[float]) -> str:
    """Write an estimate with its range, to the digits that the range leaves: 1.6, 0.4 to 2.8."""
    half = (ends[1] - ends[0]) / 2
    unit = max(map(abs, (value, *ends)))
    if not DIGITS["tiny"] <= half <= unit < DIGITS["large"]:
        low, high = (number(end, unit) for end in ends)
        return f"{number(value, unit)}, {low} to {high}"
    decimals = max(1 - math.floor(math.log10(half)), 0)
    # An end close to 0 is not written as 0: whether the range contains 0 must be seen.
    nearest = min(map(abs, ends))
    if 0 < nearest < 0.5 * 10.0**-decimals:
        decimals = -math.floor(math.log10(max(nearest, DIGITS["tiny"])))
    # Adding 0 keeps a rounded end from being written as -0.0.
    low, high, middle = (f"{round(x, decimals) + 0.0:.{decimals}f}" for x in (*ends, value))
    return f"{middle}, {low} to {high}"


def pvalue(value: float) -> str:
    """Write a p-value."""
    if value < 1e-3:
        return "p < 0.001"
    return f"p = {value:.2f}" if value >= 0.0995 else f"p = {value:.2g}"


def plural(count: int, word: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


@dataclass(frozen=True)
class SmallGroup:
    """A group of so few rows that sentences give their number next to its name.

    Attributes
    ----------
    label : object
        The group.
    rows : int
        Its number of rows.
    """

    label: Any
    rows: int


def with_rows(labels: Iterable[Any], rows: Iterable[int]) -> list[Any]:
    """Mark the groups whose number of rows belongs into every sentence that names them.

    Parameters
    ----------
    labels : iterable
        The groups.
    rows : iterable of int
        Their numbers of rows.

    Returns
    -------
    list
        The same labels, those of small groups as a ``SmallGroup``.
    """
    pairs = zip(labels, rows, strict=True)
    return [SmallGroup(a, int(n)) if n < LEAST_ROWS else a for a, n in pairs]


def group_name(label: Any) -> str:
    """Name a group as people would: the parts of an intersection side by side."""
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def quoted(label: Any) -> str:
    """Name a group inside a sentence: in quotes, unless it is one word; with its rows if few."""
    if isinstance(label, SmallGroup):
        return f"{quoted(label.label)} ({plural(label.rows, 'row')})"
    name = group_name(label)
    return name if name.isalpha() else f"'{name}'"


def folded(*errors: Sequence[float]) -> list[int]:
    """Choose which of many groups to show: those with the largest and smallest errors.

    Parameters
    ----------
    *errors : sequence of float
        The errors of all groups, with one method or several.

    Returns
    -------
    list of int
        Their places, by the errors of the last method; of few groups all, in their order.
    """
    places = range(len(errors[0]))
    if len(places) <= _MOST_GROUPS:
        return list(places)
    orders = [sorted(places, key=lambda a: -own[a]) for own in errors]
    ends = {a for order in orders for a in (*order[:_WORST], *order[-_BEST:])}
    return [a for a in orders[-1] if a in ends]


def listing(names: Sequence[str]) -> str:
    """Join names as people do, the first few of them."""
    shown = list(names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        shown.append(f"{len(names) - _MOST_NAMES} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def _short(text: str) -> str:
    mantissa, exponent = text.split("e")
    return f"{mantissa}e{int(exponent)}"


def _rounded(value: float, digits: int, rounding: str) -> float:
    # The shortest text that means the number: 1e-8 is not to become 2e-8.
    return float(Context(prec=digits, rounding=rounding).create_decimal(repr(float(value))))
