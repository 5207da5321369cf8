"""One way to find a root between 0 and 1."""

from __future__ import annotations

from collections.abc import Callable

from scipy.optimize import brentq


def root_between(function: Callable[[float], float], accuracy: float = 1e-15) -> float:
    """Find where a continuous function changes its sign between 0 and 1.

    Parameters
    ----------
    function : callable
        Of opposite signs at 0 and at 1.
    accuracy : float
        How near to the root to come. Where rounding hides the root the best guess is given:
        callers look at the value there, they do not trust it.

    Returns
    -------
    float
        The root.
    """
    return float(brentq(function, 0.0, 1.0, xtol=accuracy, full_output=True, disp=False)[0])
