"""Two groups at radius 0: supporting lines of the attainable errors as penalties on the gap.

With M the pooled moment and S = M_0 - M_1, the leading eigenspace of M + μ S minimises the total
error + μ (m_0 - m_1). Up to its length, the line's normal (cos t, sin t) is shares + μ (1, -1): μ
is 0 at PCA's angle and infinite at -45 degrees and, with the other sign, at 135 degrees.
"""

from __future__ import annotations

import math

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.problem.reduced import LARGEST_DIFFERENCE, LEAST_DIFFERENCE
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.lines import HEAVIEST, Boundary, Line, root_between

DIFFERENCE = np.array([1.0, -1.0])
_INVARIANT = 1e-9
"""A subspace that a moment leaves by less than this share of its norm is kept by it."""


def line_at(boundary: Boundary, angle: float) -> Line:
    """Give the supporting line at an angle; it is found once."""
    known = (line for line in boundary.lines if line.angle == angle)
    return next(known, None) or boundary.add(angle)


def pca_line(boundary: Boundary) -> Line:
    """Give the supporting line of the total error alone."""
    shares = boundary.problem.shares
    return line_at(boundary, math.atan2(shares[1], shares[0]))


def attainable_differences(boundary: Boundary) -> tuple[float, float]:
    """Find the least and the largest m_0 - m_1 of all subspaces.

    Parameters
    ----------
    boundary : Boundary
        Lines already known; new ones are added to it.

    Returns
    -------
    tuple of float
        Every difference in between is attained, no other.
    """
    ends = [line_at(boundary, angle).point for angle in (LEAST_DIFFERENCE, LARGEST_DIFFERENCE)]
    return ends[0][0] - ends[0][1], ends[1][0] - ends[1][1]


def least_weight(
    problem: SubspaceProblem, subspace: FloatArray, sign: float, low: float, high: float
) -> float:
    """Find the least weight whose penalty a subspace minimises, if it minimises any.

    Parameters
    ----------
    problem : SubspaceProblem
        A problem of two groups.
    subspace : ndarray of shape (d, k)
        Orthonormal columns.
    sign : float
        1 where the first group's error is penalised against the second's, else -1.
    low, high : float
        The weight is known to lie between them.

    Returns
    -------
    float
        The weight; infinite where no finite one will do.
    """
    images = [problem.combination(w) @ subspace for w in (problem.shares, DIFFERENCE)]
    pooled, apart = (image - subspace @ (subspace.T @ image) for image in images)
    steep = float(np.sum(apart**2))
    if steep > (_INVARIANT * float(np.linalg.norm(images[1]))) ** 2:
        # M + μ S keeps the subspace for one μ only.
        weight = -sign * float(np.sum(pooled * apart)) / steep
        return min(max(weight, low), high)
    if np.linalg.norm(pooled) > _INVARIANT * np.linalg.norm(images[0]):
        return math.inf
    return _least_leading(problem, subspace, sign, low, high)


def _least_leading(
    problem: SubspaceProblem, subspace: FloatArray, sign: float, low: float, high: float
) -> float:
    """Both moments keep the subspace: it is the leading one for a whole range of weights."""
    k, rounding = problem.k, float(problem.rounding.sum())
    basis = np.linalg.qr(subspace, mode="complete")[0]
    rotated = basis.T @ problem.moments @ basis

    def lead(weight: float) -> float:
        mixed = np.tensordot(problem.shares + sign * weight * DIFFERENCE, rotated, 1)
        inside, outside = np.linalg.eigvalsh(mixed[:k, :k]), np.linalg.eigvalsh(mixed[k:, k:])
        # Equal eigenvalues on both sides are no obstacle.
        return float(inside[0] - outside[-1]) + (1 + weight) * rounding

    if math.isinf(high):
        high = 1.0
        while lead(high) < 0:
            high *= 4.0
            if high > HEAVIEST:
                return math.inf
    return root_between(lead, low, high)
