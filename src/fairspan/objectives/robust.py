"""The robust fair objective, a function of the short vector of group errors alone.

The worst expected error of one group, over all distributions whose moments lie within its
radius, is known in closed form; the objective is the largest total over all ordered pairs of
groups, one counted up by the fairness weight and the other counted down:

    F(m) = max over a != b of J_ab(m),
    J_ab = s(p_a + λ, m_a, ε_a) + s(p_b - λ, m_b, ε_b) + sum over other c of s(p_c, m_c, ε_c),
    s(u, m, ε) = u φ(m) if u >= 0 else u ψ(m),
    φ(m) = (sqrt m + sqrt ε)^2,   ψ(m) = max(sqrt m - sqrt ε, 0)^2.

It needs no condition on λ, ε or m. This is the last line of the proof of the paper's theorem for
many groups; the theorem as printed drops a term that depends on the subspace.

======  ==================================================================
symbol  name
======  ==================================================================
m       group errors: mean squared reconstruction error of each group
p       shares of the groups
λ       fairness weight
ε       radius of each group's ambiguity set, in squared units of the data
φ, ψ    worst error of a group that counts positively, negatively
======  ==================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairspan.ground.parameters import check_by_group, check_number
from fairspan.ground.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from fairspan.moments.group_moments import GroupMoments

Pair = tuple[int, int]
"""The group counted up and the group counted down in a piece J_ab; (0, 0) for one group."""


def worst_error(u: float, m: float, ε: float) -> float:
    """Worst case of u times the error of one group: s(u, m, ε)."""
    if u >= 0:
        return u * (math.sqrt(m) + math.sqrt(ε)) ** 2
    return u * max(math.sqrt(m) - math.sqrt(ε), 0.0) ** 2


def worst_error_slope(u: float, m: float, ε: float) -> float:
    """Derivative of s(u, m, ε) in m; infinite at m = 0 where u and ε are positive."""
    if u == 0 or ε == 0:
        return u
    ratio = math.sqrt(ε / m) if m > 0 else math.inf
    return u * (1.0 + ratio) if u > 0 else u * max(1.0 - ratio, 0.0)


@dataclass(frozen=True)
class RobustFairObjective:
    """Worst-case total error plus fairness weight times worst-case gap, for any number of groups.

    Parameters
    ----------
    shares : ndarray of shape (n_groups,)
        How much each group counts in the total error; they sum to 1.
    fairness_weight : float
        How much the gap counts, 0 or more.
    radii : ndarray of shape (n_groups,)
        Squared radius of each group's ambiguity set, 0 or more.
    in_gap : ndarray of shape (n_groups,), optional
        Which groups the gap is about, at least two of them, all if not given. The others count in
        the total error, and in its worst case, but no pair holds them.

    Examples
    --------
    >>> import numpy as np
    >>> objective = RobustFairObjective(np.array([0.5, 0.5]), 2.0, np.zeros(2))
    >>> objective.value(np.array([4.0, 1.0]))  # mean 2.5 plus 2 times the gap 3
    8.5
    """

    shares: FloatArray
    fairness_weight: float
    radii: FloatArray
    in_gap: BoolArray | None = None
    lowest = 0.0

    def __post_init__(self) -> None:
        if self.in_gap is not None and self.in_gap.sum() < 2:
            raise ValueError("A gap needs at least two groups; set fairness_weight=0 for fewer.")

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.shares)

    @property
    def promises(self) -> tuple[str, ...]:
        """What solvers may rely on: see :mod:`fairspan.objectives.objective`."""
        return ("concave pieces", "total error alone") if self.is_linear else ("concave pieces",)

    @property
    def is_linear(self) -> bool:
        """Whether it is the plain total error, which PCA minimises."""
        return self.n_groups == 1 or (self.fairness_weight == 0 and not self.radii.any())

    def value(self, m: FloatArray) -> float:
        """Give F(m) in O(n_groups).

        Parameters
        ----------
        m : ndarray of shape (n_groups,)
            Group errors.

        Returns
        -------
        float
            The objective.
        """
        return float(self.values(m))

    def values(self, m: FloatArray) -> FloatArray:
        """Give F for many vectors of group errors at once.

        Parameters
        ----------
        m : ndarray of shape (..., n_groups)
            Group errors.

        Returns
        -------
        ndarray of shape (...)
            The objective of each.
        """
        base, up, down = self.parts(m)
        if self.n_groups == 1:
            return np.asarray(base.sum(axis=-1))
        a, b = largest_difference(up, down)
        # Heavy weights lift both far above the base: their difference comes first.
        return np.asarray(base.sum(axis=-1) + (_at(up, a) - _at(down, b)))

    def active_pair(self, m: FloatArray) -> Pair:
        """Give the pair (a, b) whose piece J_ab attains F(m).

        Parameters
        ----------
        m : ndarray of shape (n_groups,)
            Group errors.

        Returns
        -------
        tuple of int
            The group counted up and the group counted down.
        """
        if self.n_groups == 1:
            return (0, 0)
        _, up, down = self.parts(m)
        a, b = largest_difference(up, down)
        return int(a), int(b)

    def active_slopes(self, m: FloatArray) -> FloatArray:
        """Give the gradient of the active piece at each of many vectors of positive errors.

        Parameters
        ----------
        m : ndarray of shape (..., n_groups)
            Group errors, all positive.

        Returns
        -------
        ndarray of shape (..., n_groups)
            The slopes.
        """
        u = np.broadcast_to(self.shares, m.shape).copy()
        if self.n_groups > 1:
            _, up, down = self.parts(m)
            for group, sign in zip(largest_difference(up, down), (1, -1), strict=True):
                index = group[..., None]
                moved = np.take_along_axis(u, index, -1) + sign * self.fairness_weight
                np.put_along_axis(u, index, moved, -1)
        ratio = np.sqrt(self.radii / m)
        return np.asarray(u * np.where(u >= 0, 1 + ratio, np.maximum(1 - ratio, 0.0)))

    def coefficients(self, pair: Pair) -> FloatArray:
        """Give how much each group's error counts in a piece.

        Parameters
        ----------
        pair : tuple of int
            The group counted up and the group counted down.

        Returns
        -------
        ndarray of shape (n_groups,)
            The coefficients; they sum to 1.
        """
        u = self.shares.copy()
        if pair[0] != pair[1]:
            u[pair[0]] += self.fairness_weight
            u[pair[1]] -= self.fairness_weight
        return u

    def piece(self, m: FloatArray, pair: Pair) -> float:
        """Give J_ab(m), a concave function of m.

        Parameters
        ----------
        m : ndarray of shape (n_groups,)
            Group errors.
        pair : tuple of int
            The group counted up and the group counted down.

        Returns
        -------
        float
            The value of the piece.
        """
        u = self.coefficients(pair).tolist()
        return sum(map(worst_error, u, m.tolist(), self.radii.tolist()))

    def slopes(self, m: FloatArray, pair: Pair) -> FloatArray:
        """Give the gradient of J_ab at m.

        Parameters
        ----------
        m : ndarray of shape (n_groups,)
            Group errors.
        pair : tuple of int
            The group counted up and the group counted down.

        Returns
        -------
        ndarray of shape (n_groups,)
            The slopes; infinite where an error is 0 and its radius is not.
        """
        u = self.coefficients(pair).tolist()
        return np.array(list(map(worst_error_slope, u, m.tolist(), self.radii.tolist())))

    def parts(self, m: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Split F = sum(base) + max over a != b of up_a - down_b."""
        root, edge = np.sqrt(m), np.sqrt(self.radii)
        φ = (root + edge) ** 2
        ψ = np.maximum(root - edge, 0.0) ** 2
        base, up, down = self.split(φ, ψ)
        return base, *self.eligible(up, down)

    def split(self, φ: FloatArray, ψ: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Split the pieces by what φ and ψ count in them: J_ab = sum(base) + up_a - down_b.

        This is the only place that says what a piece is. It is linear in φ and ψ, and so holds for
        their values as for their slopes and chords.

        Parameters
        ----------
        φ, ψ : ndarray of shape (..., n_groups)
            Of each group.

        Returns
        -------
        tuple of ndarray
            What every piece holds, what a group adds when it is counted up, and what it takes away
            when it is counted down.
        """
        λ, p = self.fairness_weight, self.shares
        # Written so that without radii up and down are the same function, however heavy λ is.
        return p * φ, λ * φ, λ * ψ + np.minimum(p, λ) * (φ - ψ)

    def eligible(self, up: FloatArray, down: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Keep groups that the gap is not about out of every pair: they are never the largest.

        Parameters
        ----------
        up, down : ndarray of shape (..., n_groups)
            What a group adds when it is counted up, and takes away when it is counted down.

        Returns
        -------
        tuple of ndarray
            The same, infinitely bad for the groups in question.
        """
        if self.in_gap is None:
            return up, down
        return np.where(self.in_gap, up, -np.inf), np.where(self.in_gap, down, np.inf)


def largest_difference(up: FloatArray, down: FloatArray) -> tuple[IntArray, IntArray]:
    """Find a != b with the largest up_a - down_b, along the last axis."""
    a, b = np.argmax(up, axis=-1), np.argmin(down, axis=-1)
    clash = a == b
    if not clash.any():
        return a, b
    groups = np.arange(up.shape[-1])
    second_a = np.argmax(np.where(groups == a[..., None], -np.inf, up), axis=-1)
    second_b = np.argmin(np.where(groups == b[..., None], np.inf, down), axis=-1)
    keep_a = _at(up, a) - _at(down, second_b) >= _at(up, second_a) - _at(down, b)
    return np.where(clash & ~keep_a, second_a, a), np.where(clash & keep_a, second_b, b)


def _at(values: FloatArray, index: IntArray) -> FloatArray:
    return np.asarray(np.take_along_axis(values, index[..., None], -1)[..., 0])


def radii_from(radius: float, weights: FloatArray) -> FloatArray:
    """Give each group's radius by the paper's rule, radius / sqrt(size of the group).

    Parameters
    ----------
    radius : float
        One number for all groups, in squared units of the data.
    weights : ndarray of shape (n_groups,)
        Sizes of the groups.

    Returns
    -------
    ndarray of shape (n_groups,)
        The radii.
    """
    return np.asarray(radius / np.sqrt(weights))


def radii_of(radius: float | Mapping[Any, float], moments: GroupMoments) -> FloatArray:
    """Give each group its radius: by the paper's rule from one number, or from a mapping.

    Parameters
    ----------
    radius : float or mapping
        One number, divided by the square root of each group's size, or {label: radius}.
    moments : GroupMoments
        Gives the groups and their sizes.

    Returns
    -------
    ndarray of shape (n_groups,)
        The radii, in squared units of the data.
    """
    if not isinstance(radius, Mapping):
        return radii_from(check_number("radius", radius), moments.weights)
    check_by_group("radius", radius, moments.labels)
    return np.array([check_number(f"radius[{a!r}]", radius[a]) for a in moments.labels])
