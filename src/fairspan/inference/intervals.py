"""Means of groups over independent units, and what is known about them.

A unit counts with a weight and a weighted sum of errors; a mean is a ratio of sums over units,
whose variance is that of its linearisation. With rows of weight 1 it is the usual one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from fairspan.ground.types import FloatArray, IntArray
from fairspan.words import FEW_ROWS as FEW_ROWS
from fairspan.words import LEAST_ROWS as LEAST_ROWS

LEVEL = 0.95
_DRAWS, _TIMES = 1000, 10
"""Draws at once, and how often: with thousands of groups they need memory."""


@dataclass(frozen=True)
class Means:
    """Means of groups, and how well they are known.

    Attributes
    ----------
    means : ndarray of shape (n_groups,)
        The means.
    variances : ndarray of shape (n_groups,)
        Variances of the means; NaN for a single unit.
    sizes : ndarray of shape (n_groups,)
        Kish's effective numbers of units: (sum of weights)^2 / sum of squared weights.
    """

    means: FloatArray
    variances: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, sums: FloatArray, weights: FloatArray, codes: IntArray, n_groups: int) -> Means:
        """Find the means of groups from the sums of errors and the weights of units."""
        total = np.bincount(codes, weights, n_groups)
        means = np.bincount(codes, sums, n_groups) / total
        apart = sums - means[codes] * weights
        counts = np.bincount(codes, minlength=n_groups).astype(np.float64)
        squares = np.bincount(codes, apart**2, n_groups) / total**2
        few = np.divide(counts, counts - 1, out=np.full(n_groups, np.nan), where=counts > 1)
        sizes = total**2 / np.bincount(codes, weights**2, n_groups)
        return cls(means, squares * few, sizes)

    @property
    def intervals(self) -> FloatArray:
        """Student's interval of each mean, (n_groups, 2)."""
        reach = np.sqrt(self.variances) * _quantile(self.sizes - 1)
        return np.stack([self.means - reach, self.means + reach], axis=-1)

    def welch(self, a: int, b: int) -> tuple[float, float, float]:
        """Give the mean of one group minus that of another, its error and degrees of freedom."""
        parts, freedom = self.variances[[a, b]], self.sizes[[a, b]] - 1
        variance = float(parts.sum())
        shares = float((parts**2 / np.maximum(freedom, 1e-300)).sum())
        degrees = variance**2 / shares if shares > 0 else float(freedom.sum())
        return float(self.means[a] - self.means[b]), float(np.sqrt(variance)), degrees

    def reach(self, rng: np.random.Generator) -> float:
        """Give a number within which all differences of means are off at once.

        Estimates are off by independent Student variables; of these the largest difference is
        drawn.
        """
        errors, shape = np.sqrt(self.variances), (_DRAWS, len(self.means))
        widest = [
            np.ptp(errors * rng.standard_t(self.sizes - 1, shape), axis=1) for _ in range(_TIMES)
        ]
        return float(np.quantile(widest, LEVEL))


def welch_interval(found: tuple[float, float, float]) -> FloatArray:
    """Give the interval of a difference."""
    difference, error, degrees = found
    reach = error * float(_quantile(np.array(degrees)))
    return np.array([difference - reach, difference + reach])


def absolute(interval: FloatArray) -> FloatArray:
    """Give what an interval of a signed difference says about its size."""
    low, high = np.abs(interval).min(), np.abs(interval).max()
    return np.array([0.0 if interval[0] <= 0 <= interval[1] else low, high])


def _quantile(degrees: FloatArray) -> FloatArray:
    # Below one degree of freedom, which unequal weights may leave, there is no interval.
    known = np.where(degrees >= 1, degrees, np.nan)
    return np.asarray(stats.t.ppf((1 + LEVEL) / 2, known))
