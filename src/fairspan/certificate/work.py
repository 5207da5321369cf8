"""Work counted in a way that no machine's load changes: the same call, the same answer."""

from __future__ import annotations

import math
import time

_OVERHEAD = 0.02
"""What calling a routine costs, however small its matrices."""


class Work:
    """What a proof may cost, in eigen-solves of 100 features.

    Parameters
    ----------
    units : float
        The budget.
    max_time : float, optional
        A safety net: seconds after which the work counts as spent.
    """

    def __init__(self, units: float, max_time: float | None = None) -> None:
        self.left = units
        self.was_cut = False
        self._end = math.inf if max_time is None else time.monotonic() + max_time

    def grant(self, units: float) -> None:
        """Add to what is left."""
        self.left = max(self.left, 0.0) + units

    @staticmethod
    def flops(n: float) -> float:
        """Give the units of some multiplications."""
        return n / 2e7

    @staticmethod
    def eigensolve(d: int) -> float:
        """Give the units of an eigen-solve."""
        return _OVERHEAD + (d / 100) ** 3

    def spend(self, units: float) -> None:
        """Count work that is done."""
        self.left -= units
        if time.monotonic() > self._end:
            self.was_cut = True

    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0 or self.was_cut
