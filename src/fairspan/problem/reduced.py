"""Large problems of two groups: answer eigen-solves in a small basis, and prove the answers.

The basis Q holds the eigenspaces found so far and their images under both moments. For new weights
the small matrix H = Q'CQ gives a subspace, and the residual R = CQ - QH tells what was left out. If
x'Cx <= β for all unit x orthogonal to Q, then for every τ > β

    C <= Q (H + R'R / (τ - β)) Q' + τ (I - QQ'),

so that the k largest eigenvalues of the small matrix, where they exceed τ, bound those of C. β is
known at the weights solved in full and, being convex and homogeneous in the weights, in between.
"""

from __future__ import annotations

import math
from bisect import bisect

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.moments.second_moments import Stack
from fairspan.problem.spectrum import top_space

LEAST_DIFFERENCE, LARGEST_DIFFERENCE = -0.25 * math.pi, 0.75 * math.pi
"""Angles of weights that count the difference of both errors alone: no minimiser lies beyond."""
_ACCURACY = 1e-11
"""Answers are given when they are proved to this share of the total variance."""


class ReducedBasis:
    """Eigenspaces of all combinations of two moments, learned from a few of them.

    Parameters
    ----------
    moments : ndarray of shape (2, d, d)
        The second moments.
    k : int
        Dimension of the eigenspaces.
    """

    def __init__(self, moments: Stack, k: int) -> None:
        self.moments, self.k = moments, k
        d = moments.shape[1]
        self.basis = np.empty((d, 0))
        self.images = np.empty((2, d, 0))
        self.small = np.empty((2, 0, 0))
        self.grams = np.empty((2, 2, 0, 0))
        self.angles: list[float] = []
        self.rests: list[float] = []
        self.scale = float(sum(np.trace(moments[a]) for a in range(2)))

    def widest(self, weights: FloatArray) -> FloatArray | None:
        """Weights worth a full eigen-solve before these, when questions keep leaving the range.

        Parameters
        ----------
        weights : ndarray of shape (2,)
            The weights asked for.

        Returns
        -------
        ndarray of shape (2,) or None
            The last weights on that side that a minimiser can have, at most once a side.
        """
        angle = math.atan2(weights[1], weights[0])
        if len(self.angles) < 2 or self.angles[0] < angle < self.angles[-1]:
            return None
        limit = LEAST_DIFFERENCE if angle <= self.angles[0] else LARGEST_DIFFERENCE
        known = self.angles[0] <= limit <= self.angles[-1]
        if known or not LEAST_DIFFERENCE < angle < LARGEST_DIFFERENCE:
            return None
        return np.array([math.cos(limit), math.sin(limit)])

    def learn(self, weights: FloatArray, subspace: FloatArray, rest: float) -> None:
        """Take in an eigenspace that was found in full.

        Parameters
        ----------
        weights : ndarray of shape (2,)
            The weights of the moments.
        subspace : ndarray of shape (d, k or more)
            The leading eigenspace of the weighted sum.
        rest : float
            Bound on the weighted sum orthogonal to the subspace.
        """
        length = float(np.linalg.norm(weights))
        angle = math.atan2(weights[1], weights[0])
        place = bisect(self.angles, angle)
        self.angles.insert(place, angle)
        self.rests.insert(place, rest / length)
        images = self.moments @ subspace
        new = new_directions(np.hstack([subspace, *images]), self.basis)
        self.basis = np.hstack([self.basis, new])
        self.images = np.concatenate([self.images, self.moments @ new], axis=2)
        self.small = self.basis.T @ self.images
        self.small = 0.5 * (self.small + self.small.transpose(0, 2, 1))
        residuals = self.images - self.basis @ self.small
        self.grams = np.einsum("adr,bds->abrs", residuals, residuals, optimize=True)

    def answer(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, float] | None:
        """Give an eigenspace from the small basis, if it can be proved to be good enough.

        Parameters
        ----------
        weights : ndarray of shape (2,)
            The weights of the moments.

        Returns
        -------
        tuple or None
            The subspace (d, k), the variance it keeps of each group, and a proved bound on the sum
            of the k largest eigenvalues; None if a full eigen-solve is needed.
        """
        rest = self._rest(weights)
        if rest is None:
            return None
        found = top_space(np.tensordot(weights, self.small, 1), self.k)
        lowest = float(found.values[-1])
        if lowest <= rest:
            return None
        gram = np.einsum("a,b,abrs->rs", weights, weights, self.grams)
        level = 0.5 * (lowest + rest)
        lifted = top_space(np.tensordot(weights, self.small, 1) + gram / (level - rest), self.k)
        slack = lifted.bound - float(found.values.sum())
        if slack > _ACCURACY * self.scale * float(np.linalg.norm(weights)):
            return None
        kept = np.einsum("rk,ars,sk->a", found.vectors, self.small, found.vectors, optimize=True)
        return self.basis @ found.vectors, kept, lifted.bound

    def _rest(self, weights: FloatArray) -> float | None:
        """Bound the weighted sum orthogonal to the basis, between two angles solved in full."""
        angle, length = math.atan2(weights[1], weights[0]), float(np.linalg.norm(weights))
        place = bisect(self.angles, angle)
        if place in (0, len(self.angles)):
            return None
        before, after = self.angles[place - 1], self.angles[place]
        turn = after - before
        if not 1e-12 < turn < 3.0:
            return None
        shares = math.sin(after - angle), math.sin(angle - before)
        mixed = shares[0] * self.rests[place - 1] + shares[1] * self.rests[place]
        return length * mixed / math.sin(turn)


def new_directions(columns: FloatArray, basis: FloatArray) -> FloatArray:
    """Orthonormal columns for what columns add to a basis.

    Parameters
    ----------
    columns : ndarray of shape (d, any)
        Any vectors.
    basis : ndarray of shape (d, r)
        Orthonormal columns.

    Returns
    -------
    ndarray of shape (d, at most any)
        Orthonormal, and orthogonal to the basis.
    """
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    # Twice, so that rounding leaves nothing of the basis in them. What is small after the first
    # time is not new; what is small after the second was rounding.
    for smallest in (1e-8, 0.5):
        columns = columns - basis @ (basis.T @ columns)
        left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
        columns = left[:, sizes > smallest]
    return np.asarray(columns)
