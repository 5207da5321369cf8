"""Which group errors can a subspace attain? Moments and k, without any objective.

Every eigen-solve gives a subspace (a point that is attained) and a cut, weights . m >= sigma, that
holds for every subspace. Neither depends on the fairness weight or the radius, so what is
found once serves a whole grid of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import UNIT, FloatArray
from fairspan.moments.second_moments import LazyMoments, Stack
from fairspan.problem.reduced import ReducedBasis
from fairspan.problem.spectrum import TopSpace, top_space


class Support(NamedTuple):
    """What one eigen-solve says about the attainable group errors.

    Attributes
    ----------
    subspace : ndarray of shape (d, k)
        Orthonormal columns that minimise weights . m.
    errors : ndarray of shape (n_groups,)
        The group errors m they attain.
    sigma : float
        Proved: weights . m >= sigma for every subspace.
    """

    subspace: FloatArray
    errors: FloatArray
    sigma: float


LARGE = 200
"""From this many features on, eigen-solves are worth avoiding."""


class SubspaceProblem:
    """Group errors over all k-dimensional subspaces, for given second moments.

    What closed-form proofs ask of a large problem are ``top``, ``blocks`` and ``largest_outside``.

    Parameters
    ----------
    second_moments : ndarray of shape (n_groups, d, d)
        Second moment of each group around the mean of all rows.
    shares : ndarray of shape (n_groups,)
        Share of each group.
    n_components : int
        The dimension k of the subspace, from 1 to d.
    traces : ndarray of shape (n_groups,), optional
        Total variance of each group, where the moments show only a part of the space.
    has_hidden_features : bool
        Whether some features vary so little that rounding of the others hides them: an objective
        that is no more than rounding then says nothing.
    """

    def __init__(
        self,
        second_moments: Stack,
        shares: FloatArray,
        n_components: int,
        *,
        traces: FloatArray | None = None,
        has_hidden_features: bool = False,
    ) -> None:
        self.moments = second_moments
        self.has_hidden_features = has_hidden_features
        self.shares = shares
        self.k = n_components
        self.traces = _traces(second_moments) if traces is None else traces
        self.rounding = 8 * self.d * UNIT * self.traces
        self.n_eigensolves = 0
        self._warm: FloatArray | None = None
        pair = len(second_moments) == 2 and self.is_large
        self._reduced = ReducedBasis(second_moments, n_components) if pair else None

    def resolution(self, fairness_weight: float) -> float:
        """Give how far value and bound may be apart by rounding alone, at radius 0."""
        gap = 2 * fairness_weight * float(self.rounding.max())
        return 4 * (float(self.shares @ self.rounding) + gap)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.moments)

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.moments.shape[1])

    @property
    def is_large(self) -> bool:
        """Whether work with full matrices is worth avoiding."""
        return self.d >= LARGE and 8 * self.k <= self.d

    @property
    def scale(self) -> float:
        """Total variance: the total error of the empty subspace."""
        return float(self.shares @ self.traces)

    def combination(self, weights: FloatArray) -> FloatArray:
        """Give the weighted sum of the second moments.

        Parameters
        ----------
        weights : ndarray of shape (n_groups,)
            Any real numbers.

        Returns
        -------
        ndarray of shape (d, d)
            The sum.
        """
        if isinstance(self.moments, LazyMoments):
            return self.moments.combination(weights)
        return np.asarray(
            (weights @ self.moments.reshape(self.n_groups, -1)).reshape(self.d, self.d)
        )

    @property
    def is_whole(self) -> bool:
        """Whether the moments are those of the whole space, not of a part of it."""
        return True

    def top(self, weights: FloatArray) -> TopSpace:
        """Give the leading eigenspace of the weighted sum of the second moments."""
        return top_space(self.combination(weights), self.k)

    def blocks(
        self, groups: list[int], V: FloatArray, growth: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Give the moments of groups inside a subspace, and how they lead out of it.

        Parameters
        ----------
        groups : list of int
            Places of the groups.
        V : ndarray of shape (d, k)
            Orthonormal columns.
        growth : ndarray of shape (k,)
            Positive units for each column.

        Returns
        -------
        top : ndarray of shape (n, k, k)
            V'M_aV.
        across : ndarray of shape (n, n)
            Sum over i of x_ai . x_bi / growth_i, with x_ai the part of M_a v_i orthogonal to V.
        """
        image = np.array([self.moments[a] @ V for a in groups])
        top = V.T @ image
        off = ((image - V @ top) / np.sqrt(growth)).reshape(len(groups), -1)
        return top, off @ off.T

    def largest_outside(self, group: int, V: FloatArray) -> float:
        """Bound the largest eigenvalue of a group's moment orthogonal to a subspace."""
        self.n_eigensolves += 1
        M = self.moments[group]
        image = M @ V
        outside = M - image @ V.T
        outside -= V @ (image.T - (V.T @ image) @ V.T)
        return top_space(0.5 * (outside + outside.T), 1).bound

    def errors(self, subspace: FloatArray) -> FloatArray:
        """Give the group errors of a subspace.

        Parameters
        ----------
        subspace : ndarray of shape (d, k)
            Orthonormal columns.

        Returns
        -------
        ndarray of shape (n_groups,)
            Mean squared reconstruction error of each group; 0 where it is within rounding of 0.
        """
        images = self.moments @ subspace
        return self.lost(images.reshape(len(images), -1) @ subspace.ravel())

    def lost(self, kept: FloatArray) -> FloatArray:
        """Give the errors that remain when subspaces keep so much of each group's variance.

        A robust objective has infinite slope at 0, where rounding would show in its eighth digit.

        Parameters
        ----------
        kept : ndarray of shape (..., n_groups)
            Variance kept.

        Returns
        -------
        ndarray of shape (..., n_groups)
            Errors, exactly 0 where they are within rounding of 0.
        """
        lost = self.traces - kept
        return np.where(lost > self.rounding, lost, 0.0)

    def best_subspace(self, weights: FloatArray) -> Support:
        """Minimise a weighted sum of group errors: one eigen-solve.

        Parameters
        ----------
        weights : ndarray of shape (n_groups,)
            Any real numbers, not all zero.

        Returns
        -------
        Support
            The minimiser, its errors and the proved minimum.
        """
        answer = self._answer_cheaply(weights)
        if answer is not None:
            return answer
        found = self._solve(weights)
        return Support(found.vectors, self.errors(found.vectors), self._sigma(weights, found.bound))

    def least_error(self, group: int) -> float:
        """Give a proved lower bound of a group's error, from its own best subspace.

        Parameters
        ----------
        group : int
            The group's place.

        Returns
        -------
        float
            No subspace has a smaller error.
        """
        self.n_eigensolves += 1
        return (
            float(self.traces[group]) * (1 - 8 * UNIT)
            - top_space(self.moments[group], self.k).bound
        )

    @cached_property
    def own_best(self) -> list[Support]:
        """Each group's own best subspace, found once."""
        return [self.best_subspace(unit) for unit in np.eye(self.n_groups)]

    @property
    def own_errors(self) -> FloatArray:
        """The error of each group in its own best subspace."""
        return np.array([found.errors[a] for a, found in enumerate(self.own_best)])

    def _answer_cheaply(self, weights: FloatArray) -> Support | None:
        if self._reduced is None:
            return None
        widest = self._reduced.widest(weights)
        if widest is not None:
            self._solve(widest)
        answer = self._reduced.answer(weights)
        if answer is None:
            return None
        subspace, kept, bound = answer
        return Support(subspace, self.lost(kept), self._sigma(weights, bound))

    def _solve(self, weights: FloatArray) -> TopSpace:
        self.n_eigensolves += 1
        wider = 3 if self.is_large else 0
        found = top_space(self.combination(weights), self.k, self._warm, wider=wider)
        self._warm = found.vectors
        if self._reduced is not None:
            self._reduced.learn(weights, found.wide, found.beyond)
        return found

    def _sigma(self, weights: FloatArray, bound: float) -> float:
        rounding = 4 * UNIT * float(np.abs(weights) @ self.traces)
        return float(weights @ self.traces) - bound - rounding


def _traces(moments: Stack) -> FloatArray:
    if isinstance(moments, LazyMoments):
        return moments.traces
    return np.asarray(np.einsum("aii->a", moments))
