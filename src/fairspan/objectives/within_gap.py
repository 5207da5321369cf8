"""The least total error among subspaces that treat groups (almost) alike: ExactlyFairPCA's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairspan.ground.types import FloatArray


@dataclass(frozen=True)
class TotalErrorWithinGap:
    """The total error where the group errors differ by at most a gap, infinite elsewhere.

    Parameters
    ----------
    shares : ndarray of shape (n_groups,)
        How much each group counts in the total error; they sum to 1.
    max_gap : float
        The largest difference that is allowed, in squared units of the data.
    """

    shares: FloatArray
    max_gap: float = 0.0
    lowest = 0.0
    promises = ("total error within a gap",)

    def value(self, m: FloatArray, /) -> float:
        """Give the total error, infinite where the gap is too large."""
        return float(self.shares @ m) if np.ptp(m) <= self.max_gap else math.inf
