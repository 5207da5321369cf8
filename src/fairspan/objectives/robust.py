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

Two choices make a family of it. Errors may be compared with a reference r_a of each group, which
adds λ (r_b - r_a) to J_ab. And instead of the gap the largest error alone may count, so that no
group is counted down:

    J_a = sum over all c of p_c φ(m_c) + λ (φ(m_a) - r_a).

======  ==================================================================
symbol  name
======  ==================================================================
m       group errors: mean squared reconstruction error of each group
p       shares of the groups
λ       fairness weight
ε       radius of each group's ambiguity set, in squared units of the data
φ, ψ    worst error of a group that counts positively, negatively
r       reference of each group, a constant
======  ==================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairspan.ground.parameters import check_choice
from fairspan.ground.types import BoolArray, FloatArray, IntArray

DISPARITIES = ("gap", "largest")
Pair = tuple[int, int]
"""The group counted up and the group counted down in a piece J_ab.

Twice the same group where none is counted down: (a, a) for J_a, (0, 0) where nothing is compared.
"""


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


class Counted(NamedTuple):
    """What each group adds to a piece when counted up, and takes away when counted down.

    Attributes
    ----------
    up : ndarray of shape (n_groups,)
        Coefficient of φ when the group is counted up.
    down : ndarray of shape (n_groups,)
        What is taken away from the coefficient of its error when it is counted down.
    down_worst : ndarray of shape (n_groups,)
        The part of it that is taken from the coefficient of φ; the rest counts ψ.
    up_constant, down_constant : ndarray of shape (n_groups,)
        The same of its reference.
    """

    up: FloatArray
    down: FloatArray
    down_worst: FloatArray
    up_constant: FloatArray
    down_constant: FloatArray

    @property
    def down_best(self) -> FloatArray:
        """Coefficient of ψ that is taken away."""
        return self.down - self.down_worst


@dataclass(frozen=True)
class RobustFairObjective:
    """Worst-case total error plus fairness weight times worst-case disparity of the groups.

    Parameters
    ----------
    shares : ndarray of shape (n_groups,)
        How much each group counts in the total error; they sum to 1.
    fairness_weight : float
        How much the disparity counts, 0 or more.
    radii : ndarray of shape (n_groups,)
        Squared radius of each group's ambiguity set, 0 or more.
    in_gap : ndarray of shape (n_groups,), optional
        Which groups the disparity is about, all if not given; a gap needs at least two of them. The
        others count in the total error, and in its worst case, but no piece counts them up or down.
    disparity : {"gap", "largest"}
        Largest minus smallest error, or the largest error alone.
    references : ndarray of shape (n_groups,), optional
        What is subtracted from each group's error before errors are compared; 0 if not given.

    Examples
    --------
    >>> import numpy as np
    >>> shares, errors = np.array([0.5, 0.5]), np.array([4.0, 1.0])
    >>> RobustFairObjective(shares, 2.0, np.zeros(2)).value(errors)  # mean 2.5 plus 2 times gap 3
    8.5
    >>> RobustFairObjective(shares, 2.0, np.zeros(2), disparity="largest").value(errors)
    10.5
    """

    shares: FloatArray
    fairness_weight: float
    radii: FloatArray
    in_gap: BoolArray | None = None
    disparity: str = "gap"
    references: FloatArray | None = None

    def __post_init__(self) -> None:
        check_choice("disparity", self.disparity, DISPARITIES)
        least = 2 if self.counts_down else 1
        if self.in_gap is not None and self.in_gap.sum() < least:
            raise ValueError(
                f"disparity={self.disparity!r} needs at least {least} groups to compare; set "
                "fairness_weight=0 for fewer."
            )

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.shares)

    @property
    def counts_down(self) -> bool:
        """Whether a piece counts a group down: the smaller its error, the worse."""
        return self.disparity == "gap"

    @property
    def lowest(self) -> float:
        """No value is below this; errors beyond references may be negative."""
        return 0.0 if self.references is None else -math.inf

    @property
    def promises(self) -> tuple[str, ...]:
        """What solvers may rely on: see :mod:`fairspan.objectives.objective`."""
        return ("concave pieces", "total error alone") if self.is_linear else ("concave pieces",)

    @property
    def is_linear(self) -> bool:
        """Whether it grows with the total error alone, which PCA minimises."""
        return self.n_groups == 1 or (self.fairness_weight == 0 and not self.radii.any())

    @cached_property
    def counting(self) -> Counted:
        """What each group adds to a piece when it is counted up, and takes away when down."""
        λ = 0.0 if self.n_groups == 1 and self.counts_down else self.fairness_weight
        none, p = np.zeros(self.n_groups), self.shares
        beyond = none if self.references is None else λ * self.references
        if not self.counts_down:
            return Counted(none + λ, none, none, -beyond, none)
        return Counted(none + λ, none + λ, np.minimum(p, λ), -beyond, -beyond)

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
        a, b = self.largest_pair(up, down)
        # Heavy weights lift both far above the base: their difference comes first.
        return np.asarray(base.sum(axis=-1) + (_at(up, a) - _at(down, b)))

    def size(self, m: FloatArray) -> float:
        """Give F(m) without references, which is never negative: gaps are measured against it."""
        plain = self.unreferenced(m)
        return self.value(m) if plain is None else plain

    def unreferenced(self, m: FloatArray) -> float | None:
        """Give F(m) without references; None where there are none."""
        return None if self.references is None else replace(self, references=None).value(m)

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
        a, b = self.largest_pair(*self.parts(m)[1:])
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
        pairs = self.largest_pair(*self.parts(m)[1:])
        u = np.broadcast_to(self.shares, m.shape).copy()
        for group, change in zip(pairs, (self.counting.up, -self.counting.down), strict=True):
            index = group[..., None]
            moved = np.take_along_axis(u, index, -1) + change[index]
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
            The coefficients.
        """
        u = self.shares.copy()
        u[pair[0]] += self.counting.up[pair[0]]
        u[pair[1]] -= self.counting.down[pair[1]]
        return u

    def _counted(self, pair: Pair) -> list[float]:
        # Searches ask for the same few pieces again and again.
        if pair not in self._known:
            self._known[pair] = self.coefficients(pair).tolist()
        return self._known[pair]

    @cached_property
    def _known(self) -> dict[Pair, list[float]]:
        return {}

    @cached_property
    def _radii(self) -> list[float]:
        return [float(radius) for radius in self.radii]

    def constant(self, pair: Pair) -> float:
        """Give what references add to a piece."""
        return float(self.counting.up_constant[pair[0]] - self.counting.down_constant[pair[1]])

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
        counted = self._counted(pair)
        return sum(map(worst_error, counted, m.tolist(), self._radii), self.constant(pair))

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
        counted = self._counted(pair)
        return np.array(list(map(worst_error_slope, counted, m.tolist(), self._radii)))

    def parts(self, m: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Split F = sum(base) + max over pairs of up_a - down_b."""
        root, edge = np.sqrt(m), np.sqrt(self.radii)
        φ = (root + edge) ** 2
        ψ = np.maximum(root - edge, 0.0) ** 2
        base, up, down = self.split(φ, ψ)
        return base, *self._eligible(
            up + self.counting.up_constant, down + self.counting.down_constant
        )

    def split(self, φ: FloatArray, ψ: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Split the pieces by what φ and ψ count in them: J_ab = sum(base) + up_a - down_b.

        Together with ``counting`` this is the only place that says what a piece is. It is linear in
        φ and ψ, and so holds for their values as for their slopes and chords; constants are apart.

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
        c = self.counting
        # Written so that without radii up and down are the same function, however heavy λ is.
        return self.shares * φ, c.up * φ, c.down * ψ + c.down_worst * (φ - ψ)

    def _eligible(self, up: FloatArray, down: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Keep groups that are not compared out of every pair: they are never the largest."""
        if self.in_gap is None or self.fairness_weight == 0:
            return up, down
        up = np.where(self.in_gap, up, -np.inf)
        return up, np.where(self.in_gap, down, np.inf) if self.counts_down else down

    def largest_pair(self, up: FloatArray, down: FloatArray) -> tuple[IntArray, IntArray]:
        """Find the pair with the largest up_a - down_b, along the last axis."""
        if self.counts_down:
            return largest_difference(up, down)
        a = np.argmax(up, axis=-1)
        return a, a


def largest_difference(up: FloatArray, down: FloatArray) -> tuple[IntArray, IntArray]:
    """Find a != b with the largest up_a - down_b, along the last axis."""
    a, b = up.argmax(axis=-1), down.argmin(axis=-1)
    clash = a == b
    if not clash.any():
        return a, b
    groups = np.arange(up.shape[-1])
    second_a = np.argmax(np.where(groups == a[..., None], -np.inf, up), axis=-1)
    second_b = np.argmin(np.where(groups == b[..., None], np.inf, down), axis=-1)
    keep_a = _at(up, a) - _at(down, second_b) >= _at(up, second_a) - _at(down, b)
    return np.where(clash & ~keep_a, second_a, a), np.where(clash & keep_a, second_b, b)


def _at(values: FloatArray, index: IntArray) -> FloatArray:
    if values.ndim == 1:
        return np.asarray(values[index])
    return np.asarray(np.take_along_axis(values, index[..., None], -1)[..., 0])
