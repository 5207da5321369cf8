"""Group errors to their last digit, where a heavy fairness weight multiplies their rounding.

Products are kept with what rounding takes from them (Dekker 1971), and sums are exact (``fsum``),
so that the result is the same on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.problem.subspace import SubspaceProblem

_SPLIT = 2.0**27 + 1


class AccurateProblem(SubspaceProblem):
    """The same problem, with errors as if they were computed with twice as many digits.

    Parameters
    ----------
    problem : SubspaceProblem
        The problem, of few features: errors cost much more than their rounding is worth elsewhere.
    """

    def __init__(self, problem: SubspaceProblem) -> None:
        super().__init__(
            problem.moments,
            problem.shares,
            problem.k,
            traces=problem.traces,
            has_hidden_features=problem.has_hidden_features,
        )
        self._diagonals = np.array([np.diagonal(self.moments[a]) for a in range(self.n_groups)])
        beyond = self.traces - self._diagonals.sum(axis=1)
        # Variance that the moments do not show, as inside a subspace of all features.
        self._beyond = np.where(np.abs(beyond) > self.rounding, beyond, 0.0)

    def errors(self, subspace: FloatArray) -> FloatArray:
        """Give the group errors of the span of some columns.

        Parameters
        ----------
        subspace : ndarray of shape (d, k)
            Columns that are orthonormal but for rounding, which is allowed for.

        Returns
        -------
        ndarray of shape (n_groups,)
            Mean squared reconstruction error of each group; 0 where it is within rounding of 0.
        """
        projector, less = _sums_of_products(subspace, subspace)
        inner, rest = _sums_of_products(subspace.T, subspace.T)
        off = (inner - np.eye(len(inner))) + rest
        less = less - subspace @ off @ subspace.T
        left = np.empty(self.n_groups)
        for a in range(self.n_groups):
            M = self.moments[a]
            kept, lost = _product(M, projector)
            rest = (lost + M * less).ravel()
            parts = (self._diagonals[a], self._beyond[a : a + 1], -kept.ravel(), -rest)
            left[a] = math.fsum(np.concatenate(parts).tolist())
        return np.where(left > self.rounding, left, 0.0)


def _product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Multiply entry by entry: the rounded products, and what they lack."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    lack = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, lack


def _halves(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    large = _SPLIT * a
    high = large - (large - a)
    return high, a - high


def _sums_of_products(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Multiply a and the transpose of b: the rounded product of matrices, and what it lacks."""
    total = np.zeros((len(a), len(b)))
    lack = np.zeros_like(total)
    for left, right in zip(a.T, b.T, strict=True):
        product, less = _product(left[:, None], right[None, :])
        new = total + product
        part = new - total
        lack += less + ((total - (new - part)) + (product - part))
        total = new
    return total, lack
