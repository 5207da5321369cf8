"""Components that nest: bases of which the first j components are good for j, not only all k.

"nested" goes backward. Inside a subspace with basis C, dropping the unit vector C v raises the
errors by v'C'M_aC v: the same kind of problem, with moments of size k. What is left is the best
subspace of one dimension less inside the last one, and the one that was proved optimal stays.

"greedy" goes forward: each component is the best one given those before it, a problem with one
component in their complement (Matakos, Ciaperoni and Mannila 2025). Its subspace is another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import Pair, RobustFairObjective
from fairspan.problem.spectrum import whole_spectrum
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.door import solve
from fairspan.solvers.many_groups.newton import descend
from fairspan.solvers.options import SolverOptions
from fairspan.solvers.result import SolverResult, is_closed, safe_bound

ORDERS = ("variance", "nested", "greedy")
ObjectiveOfSize = Callable[[int], RobustFairObjective]
"""Gives the objective for a number of components; they differ where references do."""
_STEPS = 12
_SETTLED = 1e-7
"""Angles that differ by less are the same, and pieces that differ by this share of the errors."""
_NARROW = 1e-5
"""Between angles that are this near, the way from one direction to the other is as good."""
_DRAWN, _BEST, _AROUND, _WIDTHS = 100, 8, 40, tuple(0.4 * 0.6**n for n in range(10))
"""More than two groups: directions drawn, how many are improved, by how many around, how near."""
_TINY = 1e-12
"""Directions at a smaller angle are the same."""


def of_size(problem: SubspaceProblem, n_components: int) -> SubspaceProblem:
    """Return the same problem for another number of components."""
    return SubspaceProblem(
        problem.moments,
        problem.shares,
        n_components,
        traces=problem.traces,
        has_hidden_features=problem.has_hidden_features,
    )


def nested_basis(
    problem: SubspaceProblem, subspace: FloatArray, objective_of: ObjectiveOfSize
) -> FloatArray:
    """Order a basis so that its beginnings are good subspaces too, by dropping one after another.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    subspace : ndarray of shape (d, k)
        Orthonormal columns.
    objective_of : callable
        Gives the objective for a number of components.

    Returns
    -------
    ndarray of shape (d, k)
        Orthonormal columns that span the same subspace.
    """
    basis, n_kept = subspace.copy(), subspace.shape[1]
    moments = subspace.T @ (problem.moments @ subspace)
    ridge: _Ridge | None = None
    while n_kept > 1:
        objective = objective_of(n_kept - 1)
        errors = problem.lost(np.einsum("aii->a", moments))
        if problem.n_groups == 2 and not objective.is_linear:
            step = _Drop(moments, errors, objective, ridge)
            dropped, ridge = step.direction(), step.ridge
        else:
            dropped = _found_drop(problem, moments, objective)
        turn = _reflection(dropped)
        basis[:, :n_kept] = basis[:, :n_kept] @ turn
        moments = (turn @ moments @ turn)[:, :-1, :-1]
        n_kept -= 1
    return basis


def solve_greedy(
    problem: SubspaceProblem, objective_of: ObjectiveOfSize, options: SolverOptions
) -> SolverResult:
    """Find components one by one, each the best given those before it.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective_of : callable
        Gives the objective for a number of components.
    options : SolverOptions
        How to solve each problem.

    Returns
    -------
    SolverResult
        The components in their order, with a bound that holds for every subspace of as many.
    """
    objective = objective_of(problem.k)
    best = solve(problem, objective, options)
    found, rest = np.empty((problem.d, 0)), np.eye(problem.d)
    solves = best.n_eigensolves
    for n_found in range(1, problem.k + 1):
        kept = np.einsum("adk,dk->a", problem.moments @ found, found)
        inside = SubspaceProblem(
            rest.T @ problem.moments @ rest,
            problem.shares,
            1,
            traces=np.maximum(problem.traces - kept, 0.0),
            has_hidden_features=problem.has_hidden_features,
        )
        step = solve(inside, objective_of(n_found), options)
        solves += step.n_eigensolves
        found = np.hstack([found, rest @ step.components.T])
        rest = rest @ _reflection(step.components[0])[:, :-1]
    errors = problem.errors(found)
    value = objective.value(errors)
    size = objective.unreferenced(errors)
    bound = safe_bound(best.lower_bound, value, problem.scale, size)
    proved = is_closed(problem, value, bound, options.tol, objective.fairness_weight, size=size)
    return replace(
        best,
        components=found.T,
        group_errors=errors,
        objective=value,
        lower_bound=bound,
        status="optimal" if proved and best.status == "optimal" else "feasible",
        size=size,
        solver="greedy",
        n_eigensolves=solves,
        history=np.empty((0, 2)),
        relaxed=None,
    )


def _reflection(vector: FloatArray) -> FloatArray:
    """Return the Householder matrix whose last column is a unit vector, up to its sign."""
    normal = vector.copy()
    normal[-1] += math.copysign(1.0, vector[-1])
    return np.asarray(np.eye(len(vector)) - np.outer(normal, 2 / (normal @ normal) * normal))


def _found_drop(
    problem: SubspaceProblem, moments: FloatArray, objective: RobustFairObjective
) -> FloatArray:
    """Return the direction to drop for any number of groups: the best of many, improved.

    At the best direction the weighted moments of the groups have their least eigenvalue, with
    weights as in some mixture of the objective's pieces. Such weights are drawn, and directions
    around the best, ever nearer; always the same, so that the result is.
    """
    shares, size = problem.shares, moments.shape[1]
    inside = SubspaceProblem(moments, shares, size - 1, traces=problem.traces)
    whole, rng = np.einsum("aii->a", moments), np.random.default_rng(0)
    up, down = rng.dirichlet(np.full(len(shares), 0.5), (2, _DRAWN))
    weights = np.vstack([shares, shares + objective.fairness_weight * (up - down)])
    tried = np.linalg.eigh(np.tensordot(weights, moments, 1))[1][:, :, 0]
    if objective.is_linear:
        return np.asarray(tried[0])
    for width in _WIDTHS:
        kept = whole - np.einsum("anj,nj->na", tried @ moments, tried)
        best = tried[np.argsort(objective.values(inside.lost(kept)))[:_BEST]]
        near = best[:, None] + width * rng.normal(size=(_BEST, _AROUND, size))
        tried = np.vstack([best, near.reshape(-1, size)])
        tried /= np.linalg.norm(tried, axis=1, keepdims=True)
    start = np.linalg.svd(best[:1])[2][1:].T
    end = descend(inside, objective, start).subspace
    return np.asarray(np.linalg.svd(end.T)[2][-1])


class _Point(NamedTuple):
    """A direction to drop, the angle of the weights it is least for, and the errors it leaves.

    The rates say how fast these change with the angle.
    """

    angle: float
    direction: FloatArray
    errors: FloatArray
    rates: FloatArray


class _Ridge(NamedTuple):
    """Where two pieces of the objective are equal: the angle, and which they are on both sides."""

    angle: float
    below: Pair
    above: Pair


class _Drop:
    """Two groups: which direction of a small subspace to drop.

    The errors that remain are m + (v'A_0 v, v'A_1 v). At the best v the normal of what is
    attainable agrees with the slope of the objective, or two pieces of the objective meet.
    """

    def __init__(
        self, A: FloatArray, m: FloatArray, objective: RobustFairObjective, ridge: _Ridge | None
    ) -> None:
        self.A, self.m, self.objective = A, m, objective
        self.ridge, self._size = ridge, float(m.sum())
        self._known: dict[float, _Point] = {}

    def direction(self) -> FloatArray:
        """Return the direction whose loss costs least."""
        if self.ridge is not None:
            # Mostly the ridge of the dimension before is near, and no other point is needed.
            middle = self._middle()
            first, last = (self._slope(middle, pair) for pair in self.ridge[:0:-1])
            found = self._meet(self.ridge, first, last, [])
            if found is not None:
                return found
        return self._search()

    def _middle(self) -> FloatArray:
        """Return the errors that dropping any direction leaves on average."""
        return np.asarray(self.m + np.einsum("aii->a", self.A) / self.A.shape[1])

    def _apart(self, errors: FloatArray, ridge: _Ridge) -> float:
        """By how much the piece above exceeds the one below; it grows with the angle."""
        piece = self.objective.piece
        return piece(errors, ridge.above) - piece(errors, ridge.below)

    def _rate(self, point: _Point, ridge: _Ridge) -> float:
        slopes = self.objective.slopes
        turn = slopes(point.errors, ridge.above) - slopes(point.errors, ridge.below)
        return float(turn @ point.rates)

    def _search(self) -> FloatArray:
        """Follow the slope of the objective until it agrees with the normal, or pieces meet."""
        middle = self._middle()
        angle = self._slope(middle, self.objective.active_pair(middle))
        # The last point whose slope points to larger angles, and the last that points back.
        ends: dict[bool, tuple[_Point, Pair]] = {}
        for _ in range(_STEPS):
            point = self._at(angle)
            pair = self.objective.active_pair(point.errors)
            slope = self._slope(point.errors, pair)
            if abs(slope - angle) <= _SETTLED:
                return point.direction
            ends[slope < angle] = point, pair
            angle = slope
            if len(ends) == 2:
                (low, below), (high, above) = ends[False], ends[True]
                if below != above:
                    ridge = _Ridge(0.5 * (low.angle + high.angle), below, above)
                    found = self._meet(ridge, low.angle, high.angle, [low, high])
                    return self._best([low, high]) if found is None else found
                if not low.angle < angle < high.angle:
                    angle = 0.5 * (low.angle + high.angle)
        return self._best([point, *(point for point, _ in ends.values())])

    def _at(self, angle: float) -> _Point:
        # Slopes are mostly those of a ridge that was looked for, so that points come again.
        if angle not in self._known:
            self._known[angle] = self._computed(angle)
        return self._known[angle]

    def _computed(self, angle: float) -> _Point:
        first, second = self.A
        values, vectors, _ = whole_spectrum(math.cos(angle) * first + math.sin(angle) * second)
        least = vectors[:, 0]
        images = self.A @ least
        across = images @ vectors[:, 1:]
        moved = across.T @ np.array([-math.sin(angle), math.cos(angle)])
        rates = -2 * across @ (moved / np.maximum(values[1:] - values[0], 1e-300))
        return _Point(angle, least, self.m + np.maximum(images @ least, 0.0), rates)

    def _slope(self, errors: FloatArray, pair: Pair) -> float:
        first, second = self.objective.slopes(errors, pair)
        return math.atan2(second, first)

    def _best(self, points: list[_Point]) -> FloatArray:
        return min(points, key=lambda point: self.objective.value(point.errors)).direction

    def _meet(
        self, ridge: _Ridge, first: float, last: float, ends: list[_Point]
    ) -> FloatArray | None:
        """Return a direction between two angles at which two pieces are equal; None if none is."""
        angle, (left, right) = ridge.angle, ends or (None, None)
        while last - first > _NARROW:
            if not first < angle < last:
                angle = 0.5 * (first + last)
                # An end that is not known yet tells whether there is anything to find.
                angle = first if left is None else last if right is None else angle
            point = self._at(angle)
            distance = self._apart(point.errors, ridge)
            if (angle == first and distance > 0) or (angle == last and distance < 0):
                return None
            self.ridge = ridge._replace(angle=angle)
            if abs(distance) <= _SETTLED * self._size:
                return point.direction
            if distance < 0:
                first, left = angle, point
            else:
                last, right = angle, point
            rate = self._rate(point, ridge)
            angle = angle - distance / rate if rate > 0 else math.nan
        if left is None or right is None:
            return None
        return self._best([*ends, left, right, self._between(left, right, ridge)])

    def _between(self, left: _Point, right: _Point, ridge: _Ridge) -> _Point:
        """Return the point on the way from one direction to the other where pieces are equal.

        Where the least eigenvalue is double, errors jump with the angle; on this way they do not.
        """
        u, w = left.direction, right.direction
        w = w if u @ w >= 0 else -w
        end = math.atan2(float(np.linalg.norm(w - (w @ u) * u)), float(w @ u))
        if end < _TINY:
            return left
        w = (w - math.cos(end) * u) / math.sin(end)

        def errors(s: float) -> FloatArray:
            v = math.cos(s) * u + math.sin(s) * w
            return np.asarray(self.m + np.maximum((self.A @ v) @ v, 0.0))

        def apart(s: float) -> float:
            return self._apart(errors(s), ridge)

        if not apart(0.0) < 0 < apart(end):
            return left
        s = float(brentq(apart, 0.0, end, xtol=_TINY))
        direction = math.cos(s) * u + math.sin(s) * w
        return _Point(left.angle, direction, errors(s), left.rates)
