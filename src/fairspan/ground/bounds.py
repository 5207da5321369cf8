"""Proved bounds as text, rounded so that the claim stays true."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context


def at_most(value: float, digits: int = 1) -> str:
    """Write an upper bound with few digits, rounded up.

    Parameters
    ----------
    value : float
        The bound.
    digits : int
        Significant digits.

    Returns
    -------
    str
        For instance 3e-10 for 2.479e-10; 0 for what is not above it.
    """
    if value <= 0:
        return "0"
    mantissa, exponent = f"{_rounded(value, digits, ROUND_CEILING):.{digits - 1}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def at_least(value: float, digits: int) -> str:
    """Write a lower bound, rounded down.

    Parameters
    ----------
    value : float
        The bound.
    digits : int
        Significant digits.

    Returns
    -------
    str
        The number.
    """
    return f"{_rounded(value, digits, ROUND_FLOOR):.{digits}g}"


def _rounded(value: float, digits: int, rounding: str) -> float:
    # The shortest text that means the number: 1e-8 is not to become 2e-8.
    return float(Context(prec=digits, rounding=rounding).create_decimal(repr(float(value))))
