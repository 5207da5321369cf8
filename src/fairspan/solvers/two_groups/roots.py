"""One way to find a root."""

from __future__ import annotations

from collections.abc import Callable

from scipy.optimize import brentq


def root_between(
    function: Callable[[float], float],
    low: float = 0.0,
    high: float = 1.0,
    *,
    accuracy: float = 1e-15,
) -> float:
    """Find where a continuous function changes its sign.

    Parameters
    ----------
    function : callable
        Of opposite signs at the two ends; where rounding hides that, the end with the smaller
        value is given.
    low, high : float
        The ends.
    accuracy : float
        How near to the root to come. Callers look at the value there, they do not trust it.

    Returns
    -------
    float
        The root.
    """
    first, last = function(low), function(high)
    if first * last >= 0:
        return low if abs(first) <= abs(last) else high
    return float(brentq(function, low, high, xtol=accuracy, full_output=True, disp=False)[0])
