"""Problems inside a basis whose bounds hold in the whole space.

For A a weighted sum of second moments, H = Q'AQ, R = AQ - QH, and β at least x'Ax for all unit x
orthogonal to Q: for every τ > β

    A <= Q (H + R'R / (τ - β)) Q' + τ (I - QQ'),

so that the sum of the k largest eigenvalues of A is at most that of max(τ, λ_i(H + R'R / (τ - β))).
"""

from __future__ import annotations

import math

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.problem.spectrum import TopSpace, top_space
from fairspan.problem.subspace import SubspaceProblem, Support
from fairspan.products.basis import Basis, Cut, Residuals

LEVEL = 0.7
"""Where τ is, between β and the k-th eigenvalue."""
_LOW_LEVEL = 0.4
"""The same where what matters is how far leading eigenvalues are above all others."""
_ABOVE = (0.1, 0.3, 1.0, 3.0)
"""Where τ is tried for the largest eigenvalue of one group, above β and in units of it."""
_SAFETY = 1e-2
"""Residuals are taken this much larger, and their rounding by its inverse, to cover cross terms."""


class Rests:
    """What is proved of combinations of second moments orthogonal to a basis.

    Traces bound every group by itself, without doubt; what is learned of combinations is added.
    Second moments are semidefinite: for c >= 0 a combination w is at most c times a known one plus
    what is left of each group's weight, max(w - c known, 0), times that group's own bound.

    Parameters
    ----------
    basis : Basis
        The basis.
    residuals : Residuals
        Those of the basis, which know the rounding of its small matrices.
    """

    def __init__(self, basis: Basis, residuals: Residuals) -> None:
        operator = basis.operator
        kept = np.einsum("aii->a", basis.small)
        error = operator.trace_error + math.sqrt(basis.size) * residuals.small_error
        self.by_group = np.maximum(operator.traces - kept, 0.0) + error
        self.is_whole = basis.is_whole
        self._known, self._cuts = basis.learned, basis.cuts
        for weights, bound in self._known:
            self._take(weights, bound)

    def learn(self, weights: FloatArray, bound: float) -> None:
        """Add a bound on a combination, for all that the basis will be used for."""
        # Each step of a recursion bounds the same combination anew.
        self._known[:] = [one for one in self._known if one[0] is not weights]
        self._known.append((weights, max(bound, 0.0)))
        # Lines that were lifted before hold, but those of now are tighter.
        self._cuts.clear()
        self._take(weights, bound)

    def _take(self, weights: FloatArray, bound: float) -> None:
        """Let a bound on a single group count as its own."""
        single = np.flatnonzero(weights)
        if len(single) == 1 and weights[single[0]] > 0:
            a = int(single[0])
            self.by_group[a] = min(self.by_group[a], max(bound, 0.0) / weights[a])

    def of(self, weights: FloatArray) -> float:
        """Bound x'Ax for unit x orthogonal to the basis."""
        if self.is_whole:
            return -math.inf
        best = float(np.maximum(weights, 0.0) @ self.by_group)
        for known, bound in self._known:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = weights / known
            for c in ratios[np.isfinite(ratios) & (ratios > 0)]:
                left = np.maximum(weights - c * known, 0.0)
                left[left <= 4e-16 * np.abs(weights)] = 0.0
                best = min(best, (1 + 1e-14) * (c * bound) + float(left @ self.by_group))
        return best


class LiftedProblem(SubspaceProblem):
    """The problem inside a basis; every line that it gives holds in the whole space.

    It is not for solvers: the moments they may look at are those inside the basis only.

    Parameters
    ----------
    basis : Basis
        The basis.
    shares : ndarray of shape (n_groups,)
        How much each group counts in the total error.
    n_components : int
        Dimension of the subspaces.
    rests : Rests
        What is proved outside of the basis.
    residuals : Residuals
        Those of the basis.
    """

    def __init__(
        self,
        basis: Basis,
        shares: FloatArray,
        n_components: int,
        rests: Rests,
        residuals: Residuals,
        *,
        has_hidden_features: bool = False,
    ) -> None:
        operator = basis.operator
        super().__init__(
            basis.small,
            shares,
            n_components,
            traces=operator.traces,
            has_hidden_features=has_hidden_features,
        )
        self._reduced = None
        self.rests, self.residuals = rests, residuals
        self.rounding = rounding_of(basis, n_components)
        self._basis = basis

    @property
    def known_cuts(self) -> list[Cut]:
        """Lines of two groups that were found with what is known now; more may be added."""
        return self._basis.cuts[self.k]

    @property
    def is_large(self) -> bool:
        """Whether only leading eigenpairs are known; those beyond the basis never are."""
        return True

    @property
    def is_whole(self) -> bool:
        """Whether the moments are those of the whole space; they are those in the basis."""
        return False

    def best_subspace(self, weights: FloatArray) -> Support:
        """Minimise a weighted sum of group errors inside the basis, and bound it outside too.

        Parameters
        ----------
        weights : ndarray of shape (n_groups,)
            Any real numbers, not all zero.

        Returns
        -------
        Support
            The minimiser inside, its errors, and the minimum proved for the whole space.
        """
        self.n_eigensolves += 1
        found = top_space(self.combination(weights), self.k)
        bound = self._raised(weights, found, LEVEL).bound
        return Support(found.vectors, self.errors(found.vectors), self._sigma(weights, bound))

    def _sigma(self, weights: FloatArray, bound: float) -> float:
        """Subtract what is kept at most from the traces, which are known up to rounding."""
        lost = float(np.abs(weights) @ self._basis.operator.trace_error)
        return super()._sigma(weights, bound) - lost

    def least_error(self, group: int) -> float:
        """Give a proved lower bound of a group's error in the whole space."""
        return self.best_subspace(np.eye(self.n_groups)[group]).sigma

    def separates(self, weights: FloatArray, needed: float) -> bool:
        """Say whether the rest is known to be low enough for lifting to cost little.

        Parameters
        ----------
        weights : ndarray of shape (n_groups,)
            Any real numbers, not all zero.
        needed : float
            The rest must not be above this, for the sake of the first k directions.

        Returns
        -------
        bool
            Whether that is so, and lifting mixes hardly any other direction into the first k.
        """
        rest = self.rests.of(weights)
        if rest == -math.inf or rest > needed:
            return rest <= needed
        small = self.combination(weights)
        first = top_space(small, self.k)
        apart = LEVEL * (float(first.values[-1]) - rest)
        if not apart > 0:
            return False
        raised = self._outside(weights) / apart
        alone = float(np.sum(first.vectors * (raised @ first.vectors)))
        both = top_space(small + raised, self.k)
        return float(both.values.sum()) <= first.bound + 2 * alone

    def top(self, weights: FloatArray) -> TopSpace:
        """Give the leading eigenspace of a matrix that is no less than the weighted sum."""
        return self._raised(weights, top_space(self.combination(weights), self.k), _LOW_LEVEL)

    def _raised(self, weights: FloatArray, inside: TopSpace, share: float) -> TopSpace:
        """Lift the weighted sum, whose leading eigenspace inside the basis is given."""
        rounding = math.sqrt(self.k) * float(np.abs(weights) @ self.residuals.small_error)
        rest, lowest = self.rests.of(weights), float(inside.values[-1])
        if rest == -math.inf:
            return inside._replace(bound=inside.bound + rounding)
        outside = self._outside(weights)
        level = rest + share * (lowest - rest)
        if not level > rest:
            # Nothing separates the space from the rest: every eigenvalue may be off by |R|.
            level = rest + math.sqrt(max(top_space(outside, 1).bound, np.finfo(float).tiny))
        found = top_space(self.combination(weights) + outside / (level - rest), self.k)
        slack = found.bound - float(found.values.sum())
        bound = float(np.maximum(found.values, level).sum()) + slack + rounding
        return found._replace(bound=bound, rest=max(found.rest, level))

    def blocks(
        self, groups: list[int], V: FloatArray, growth: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Give the moments of groups inside a subspace of the basis, and how they lead out of it.

        Parameters
        ----------
        groups : list of int
            Places of the groups.
        V : ndarray of shape (r, k)
            Orthonormal columns, in the basis.
        growth : ndarray of shape (k,)
            Positive units for each column.

        Returns
        -------
        top : ndarray of shape (n, k, k)
            V'M_aV.
        across : ndarray of shape (n, n)
            No less than the sums of :meth:`SubspaceProblem.blocks`, as a matrix.
        """
        top, across = super().blocks(groups, V, growth)
        residuals = self.residuals
        grams = residuals.grams[np.ix_(groups, groups)]
        across += np.einsum("ri,abrs,si,i->ab", V, grams, V, 1 / growth, optimize=True)
        # Beyond rounding of products, residuals may be off by their errors.
        lost = residuals.error[groups] ** 2 + residuals.small_error[groups] ** 2
        guard = (1 + 1 / _SAFETY) * lost + 2 * residuals.gram_error * np.einsum("aarr->a", grams)
        return top, (1 + _SAFETY) * across + len(groups) * np.diag(
            guard * float((1 / growth).sum())
        )

    def largest_outside(self, group: int, V: FloatArray) -> float:
        """Bound the largest eigenvalue of a group's moment orthogonal to a subspace."""
        unit = np.eye(self.n_groups)[group]
        rest, error = self.rests.of(unit), float(self.residuals.small_error[group])

        def largest(matrix: FloatArray) -> float:
            projected = matrix - V @ (V.T @ matrix)
            projected -= (projected @ V) @ V.T
            return top_space(0.5 * (projected + projected.T), 1).bound + error

        if rest == -math.inf:
            return largest(self.moments[group])
        outside = self._outside(unit)
        best = math.inf
        for share in _ABOVE:
            level = rest + share * max(rest, np.finfo(float).tiny)
            lifted = largest(self.moments[group] + outside / (level - rest))
            best = min(best, max(level, lifted))
        return best

    def _outside(self, weights: FloatArray) -> FloatArray:
        """Bound R'R, with all that rounding may hide of it."""
        residuals, r = self.residuals, self.d
        gram = np.einsum("a,b,abrs->rs", weights, weights, residuals.grams, optimize=True)
        gram = 0.5 * (gram + gram.T)
        lengths = np.sqrt(np.maximum(np.einsum("aaii->a", residuals.grams), 0.0))
        size = float(np.abs(weights) @ lengths) ** 2
        error = float(np.abs(weights) @ residuals.error)
        guard = (1 + 1 / _SAFETY) * error**2 + 2 * residuals.gram_error * size
        return np.asarray((1 + _SAFETY) * gram + guard * np.eye(r))


def rounding_of(basis: Basis, n_components: int) -> FloatArray:
    """Say how far rounding may have moved each group's error of a subspace of the basis."""
    operator = basis.operator
    return np.asarray(
        operator.trace_error + math.sqrt(n_components) * 2 * operator.image_error(basis.size)
    )
