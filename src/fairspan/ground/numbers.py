"""Numbers as people read them; bounds are never written smaller than proved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

DIGITS = {
    # What is below this share of its unit is rounding.
    "zero": 1e-12,
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
_READABLE = 1e-3
"""Bounds from this share on are written in per cent."""


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


def percent(share: float) -> str:
    """Write a share in per cent, as people read it at a glance; negative ones count as 0."""
    value = 100 * max(share, 0.0)
    if math.isinf(value):
        return SHARES["infinite"]
    if value < DIGITS["small"]:
        return SHARES["small"]
    return f"{value:.0f} %" if value >= DIGITS["whole"] else f"{value:.1f} %"


def at_most(value: float, digits: int = 1) -> str:
    """Write an upper bound with few digits, rounded up: 3e-10 for 2.479e-10."""
    if value <= 0:
        return "0"
    return _short(f"{_rounded(value, digits, ROUND_CEILING):.{digits - 1}e}")


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
    # Adding 0 keeps a rounded end from being written as -0.0.
    low, high, middle = (f"{round(x, decimals) + 0.0:.{decimals}f}" for x in (*ends, value))
    return f"{middle}, {low} to {high}"


def pvalue(value: float) -> str:
    """Write a p-value."""
    if value < 1e-3:
        return "p < 0.001"
    return f"p = {value:.2f}" if value >= 0.0995 else f"p = {value:.2g}"


def _short(text: str) -> str:
    mantissa, exponent = text.split("e")
    return f"{mantissa}e{int(exponent)}"


def _rounded(value: float, digits: int, rounding: str) -> float:
    # The shortest text that means the number: 1e-8 is not to become 2e-8.
    return float(Context(prec=digits, rounding=rounding).create_decimal(repr(float(value))))
