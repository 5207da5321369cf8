"""Groups that a subspace can serve without any error: the walk near an axis, settled in one step.

Where a group lies in k dimensions or fewer (two rows, say), its error can be 0, and with a positive
radius the objective is infinitely steep there. Lines close to the axis would have to resolve
errors below rounding. Instead, let group 1 have rank <= k, range U and positive eigenvalues Λ >= μ,
let M be the other group's moment, and take, over the complement of U,

    g(x) = sum of the d-k smallest eigenvalues of M_⊥⊥ - x B,   B = M_⊥U Λ^(-1) M_U⊥.

A Schur complement gives m_0 + (1/x + τ/μ) m_1 >= g(x) for all subspaces and x > 0, if τ is no less
than the (d-k)-th smallest eigenvalue of M_⊥⊥ less the smallest of M_UU: what U adds then comes
behind the d-k smallest eigenvalues. g is concave and g(0) is the least error of group 0 among
subspaces that contain U. With γ = (g(0) - g(x_0)) / x_0 and the best x, sqrt(m_1 / γ) <= x_0,

    m_0 >= g(0) - 2 sqrt(γ) y - (τ/μ) y^2,   y = sqrt(m_1).

The same with -M bounds m_0 from above. In (m_0, y) what is near the axis is a region with straight
edges on which the pieces have concave minorants: its corners bound the objective.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.problem.spectrum import TopSpace, top_space
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.two_groups.lines import Point
from fairspan.solvers.two_groups.pieces import TwoPieces

_RANK = 1e-10
"""Eigenvalues below this share of the largest count as zero, if rounding explains them."""
_TRIES = 10
"""How often what is near the axis is narrowed, each time by a factor of 8."""


class Face(NamedTuple):
    """All that is near one axis, settled.

    Attributes
    ----------
    reach : float
        Subspaces that leave the group an error below this are settled.
    bound : float
        The objective is proved to be no less for them.
    ends : list of ndarray of shape (d, k)
        Subspaces that serve the group without error and the other group best, and worst.
    """

    reach: float
    bound: float
    ends: list[FloatArray]


def settle_face(problem: SubspaceProblem, pieces: TwoPieces, group: int) -> Face | None:
    """Settle the subspaces that leave a group of low rank almost no error.

    Parameters
    ----------
    problem : SubspaceProblem
        A problem of two groups.
    pieces : TwoPieces
        The objective; the group's radius is positive.
    group : int
        The group whose error can be 0.

    Returns
    -------
    Face or None
        None if the group's rank is not clearly k or less, or the objective falls away from the
        axis, so that there is nothing to settle.
    """
    deflated = _Deflated.of(problem, group)
    if deflated is None:
        return None
    guard = float(problem.rounding.max())
    lower, upper = deflated.extreme(1.0), deflated.extreme(-1.0)
    least, most = max(-lower.bound - guard, 0.0), upper.bound + guard
    near = _NearAxis(pieces, group, least, most)
    y = math.sqrt(pieces.radii[group])
    for _ in range(_TRIES):
        fall = deflated.fall(1.0, lower, y, guard)
        rise = deflated.fall(-1.0, upper, y, guard)
        bound = near.bound(fall, rise, y)
        if bound >= near.on_axis - 1e-10 * near.size:
            return Face(y * y, bound, [deflated.subspace(1.0), deflated.subspace(-1.0)])
        y /= 8
    return None


class _NearAxis:
    """The objective where one error is y^2 and the other lies between two slanted lines."""

    def __init__(self, pieces: TwoPieces, group: int, least: float, most: float) -> None:
        self.pieces, self.group, self.least, self.most = pieces, group, least, most
        start: Point = (0.0, least) if group == 0 else (least, 0.0)
        end: Point = (0.0, most) if group == 0 else (most, 0.0)
        lowest = pieces.lowest_on([start, end], (0.0, 0.0))
        self.on_axis, self.size = lowest.bound, pieces.size(lowest.point)

    def bound(self, fall: float, rise: float, y: float) -> float:
        """Bound the objective up to y, for errors from least - fall y to most + rise y."""
        bend = min(y, self.least / fall)
        left = [self._corner(max(self.least - fall * at, 0.0), at) for at in (0.0, bend, y)]
        right = [self._corner(self.most + rise * at, at) for at in (0.0, y)]
        edges = [*itertools.pairwise(left), *itertools.pairwise(right)]
        sides = [max(min(a[0], b[0]), min(a[1], b[1])) for a, b in edges]
        return min(self.on_axis, *sides)

    def _corner(self, error: float, y: float) -> Point:
        """Concave minorants of both pieces.

        Below its radius a group that counts negatively adds nothing; for one that counts
        positively, (sqrt ε + y)^2 is no less than ε + 2 sqrt ε y.
        """
        radius = self.pieces.radii[self.group]
        own = radius + 2 * math.sqrt(radius) * y
        values = [
            max(self.pieces.coefficients[a][self.group], 0.0) * own
            + self.pieces.term(a, 1 - self.group, error)
            + self.pieces.constants[a]
            for a in (0, 1)
        ]
        return values[0], values[1]


class _Deflated:
    """The other group's moment in the complement of a low-rank group's range."""

    def __init__(
        self, problem: SubspaceProblem, basis: FloatArray, values: FloatArray, other: int
    ) -> None:
        d, rank = len(basis), len(values)
        self.problem, self.rank = problem, rank
        self.range, self.rest = basis[:, d - rank :], basis[:, : d - rank]
        image = problem.moments[other] @ basis
        self.inner = self.rest.T @ image[:, : d - rank]
        cross = (self.rest.T @ image[:, d - rank :]) / np.sqrt(values)
        self.drop = cross @ cross.T
        self.within = np.linalg.eigvalsh(self.range.T @ image[:, d - rank :])
        self.smallest = float(values.min())

    @classmethod
    def of(cls, problem: SubspaceProblem, group: int) -> _Deflated | None:
        moment = problem.moments[group]
        problem.n_eigensolves += 1
        full = top_space(moment, problem.d)
        values, basis = full.values[::-1], full.vectors[:, ::-1]
        positive = values > _RANK * values[-1]
        rounding = 16 * problem.rounding[group]
        rank = int(positive.sum())
        if not 0 < rank <= problem.k or np.abs(values[~positive]).max(initial=0.0) > rounding:
            return None
        return cls(problem, basis, values[positive], 1 - group)

    def extreme(self, sign: float, x: float = 0.0) -> TopSpace:
        """Solve for g(x), for M or -M; minus its bound is a proved lower bound of g(x)."""
        self.problem.n_eigensolves += 1
        return top_space(x * self.drop - sign * self.inner, self.problem.d - self.problem.k)

    def fall(self, sign: float, on_axis: TopSpace, y: float, guard: float) -> float:
        """How fast the bound on the other error gives way, up to a depth y."""
        vectors = on_axis.vectors
        slope = max(float(np.sum(vectors * (self.drop @ vectors))), guard)
        # gamma is never below the slope at 0, so the best x, y / sqrt(gamma), stays within this.
        x = y / math.sqrt(slope)
        gamma = (self.extreme(sign, x).bound - on_axis.bound + guard) / x
        # The eigenvalues are those of -M_⊥⊥ or M_⊥⊥, in descending order.
        behind = max(guard - float(on_axis.values[-1] + (sign * self.within).min()), 0.0)
        return 2 * math.sqrt(max(gamma, slope)) + behind / self.smallest * y

    def subspace(self, sign: float) -> FloatArray:
        """Columns that contain the group's range and serve the other group best (or worst)."""
        more = self.problem.k - self.rank
        if more == 0:
            return self.range
        best = top_space(sign * self.inner, more).vectors
        return np.hstack([self.range, self.rest @ best])
