"""The least largest loss: FairPCA's objective (Samadi et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairspan.ground.types import FloatArray


@dataclass(frozen=True)
class LargestLoss:
    """The largest group error beyond what each group is measured against.

    Parameters
    ----------
    offsets : ndarray of shape (n_groups,)
        What is subtracted from each group's error; for FairPCA the error in the group's own best
        subspace, ``problem.own_best()``.
    lowest : float
        No subspace has a smaller largest loss; 0 for FairPCA.
    """

    offsets: FloatArray
    lowest: float = 0.0
    promises = ("convex", "increasing", "largest loss")

    def value(self, m: FloatArray, /) -> float:
        """Give the largest loss."""
        return float(np.max(m - self.offsets))

    def gradient(self, m: FloatArray, /) -> FloatArray:
        """Give 1 for the group that loses most, 0 for the others."""
        slope = np.zeros(len(m))
        slope[np.argmax(m - self.offsets)] = 1.0
        return slope
