"""Constants of the descent's convergence theory, and certified proximal points.

The paper's algorithm moves U, an orthonormal basis of the d - k lost directions, and its objective
F(U) = max over pieces of J(m(U)) is defined for all matrices. It is L-Lipschitz around the manifold
and ρ-weakly convex: F + ρ |U|^2 / 2 is convex. For smoothing μ < 1 / (ρ + L) the Moreau envelope

    e(X) = min over orthonormal Y of F(Y) + |Y - X|^2 / (2 μ)

is attained at one proximal point Y, and |X - Y| / μ measures how far X is from being stationary.
Proofs are in the documentation ("Convergence of the descent").
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import Pair, RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.simplex import simplex_quadratic

_STEPS = 500
_CLOSED = 1e-12
"""The distance between value and bound at which a proximal point is found, as a share of L μ L."""
_PRECISION, _ROUNDING = 1e-6, 1e-14
"""Relative precision of the distance, and what rounding leaves of it and of values."""


class Proximal(NamedTuple):
    """A proximal point and the evidence for it.

    Attributes
    ----------
    lost : ndarray of shape (d, d - k)
        The proximal point Y, an orthonormal basis of what its subspace loses.
    value, bound : float
        The envelope's value at Y, and a proved lower bound of the envelope.
    distance : float
        |X - Y|.
    """

    lost: FloatArray
    value: float
    bound: float
    distance: float


def lipschitz_constant(problem: SubspaceProblem, objective: RobustFairObjective) -> float:
    """Bound every difference quotient of F over orthonormal U.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What is minimised.

    Returns
    -------
    float
        L, a sum over groups where the paper's lemma takes the largest term.
    """
    largest = np.linalg.eigvalsh(problem.moments)[:, -1].clip(min=0.0)
    steep = 2 * (np.sqrt(objective.radii * largest) + np.sqrt(problem.d - problem.k) * largest)
    return max(float(np.abs(objective.coefficients(pair)) @ steep) for pair in _pairs(objective))


def weak_convexity(problem: SubspaceProblem, objective: RobustFairObjective) -> float:
    """Give the modulus of weak convexity: 0 where F is convex in U.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What is minimised.

    Returns
    -------
    float
        The smallest ρ that the pieces' quadratic parts need.
    """
    least = [
        float(np.linalg.eigvalsh(problem.combination(objective.coefficients(pair)))[0])
        for pair in _pairs(objective)
    ]
    return 2 * max(-min(least), 0.0)


def proximal_point(
    problem: SubspaceProblem, objective: RobustFairObjective, V: FloatArray, smoothing: float
) -> Proximal:
    """Find the proximal point of a subspace, with a proof of how exact it is.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What is minimised.
    V : ndarray of shape (d, k)
        Orthonormal columns.
    smoothing : float
        The envelope's μ, below 1 / (ρ + L).

    Returns
    -------
    Proximal
        The point, the envelope and its bound.
    """
    lost = np.linalg.qr(V, mode="complete")[0][:, problem.k :]
    model = _Model(problem, objective, lost, smoothing)
    tol = _CLOSED * smoothing * lipschitz_constant(problem, objective) ** 2
    Y, found = model.X, model.value(model.X)
    bound, pairs = -np.inf, [model.active(Y)]
    for _ in range(_STEPS):
        move, proved = model.step(Y, pairs)
        bound = max(bound, proved)
        length, limit = 1.0, found + _ROUNDING * abs(found)
        while model.value(candidate := _polar(Y + length * move)) > limit and length > _ROUNDING:
            length /= 2
        Y, found = candidate, model.value(candidate)
        distance = float(np.linalg.norm(Y - model.X))
        # Near stationary points values differ by less than rounding; moves still show progress.
        if found - bound <= tol and np.linalg.norm(move) <= _PRECISION * distance + _ROUNDING:
            break
        active = model.active(Y)
        pairs += [active] if active not in pairs else []
    return Proximal(Y, found, min(bound, found), distance)


class _Model:
    """F plus the distance from X, and its linear model over some pieces."""

    def __init__(
        self, problem: SubspaceProblem, objective: RobustFairObjective, X: FloatArray, μ: float
    ) -> None:
        self.M, self.objective, self.X, self.μ = problem.moments, objective, X, μ
        self.ρ = weak_convexity(problem, objective)

    def errors(self, U: FloatArray) -> FloatArray:
        lost = np.einsum("adr,dr->a", self.M @ U, U)
        # The slope at 0 is infinite; the smallest positive number keeps it finite.
        return np.asarray(np.maximum(lost, np.finfo(float).tiny))

    def value(self, U: FloatArray) -> float:
        distance = float(np.linalg.norm(U - self.X))
        return self.objective.value(self.errors(U)) + distance**2 / (2 * self.μ)

    def active(self, U: FloatArray) -> Pair:
        return self.objective.active_pair(self.errors(U))

    def step(self, Y: FloatArray, pairs: list[Pair]) -> tuple[FloatArray, float]:
        """Minimise the linear model on the tangent space; give the step and a proved bound."""
        m, images = self.errors(Y), self.M @ Y
        values = np.array([self.objective.piece(m, pair) for pair in pairs])
        slopes = np.array([self.objective.slopes(m, pair) for pair in pairs])
        gradients = 2 * np.einsum("pa,adr->pdr", slopes, images)
        pull = _tangent(Y, (self.X - Y) / self.μ)
        flat = np.array([_tangent(Y, one) for one in gradients]).reshape(len(pairs), -1)
        linear = values + self.μ * flat @ pull.ravel()
        weights = simplex_quadratic(linear, self.μ * flat @ flat.T)
        move = self.μ * (pull.ravel() - weights @ flat).reshape(Y.shape)
        gradient = np.tensordot(weights, gradients, axes=1)
        return move, self._bound(Y, float(weights @ values), gradient)

    def _bound(self, Y: FloatArray, value: float, gradient: FloatArray) -> float:
        """Bound the envelope: on the manifold, the weakly convex minorant at Y is linear."""
        size = Y.shape[1]
        pull = self.X / self.μ - gradient - self.ρ * Y
        constant = value - float(np.vdot(gradient, Y)) - self.ρ * size + size / self.μ
        return float(constant - np.linalg.svd(pull, compute_uv=False).sum())


def _pairs(objective: RobustFairObjective) -> list[Pair]:
    if objective.n_groups == 1:
        return [(0, 0)]
    all_groups = np.ones(objective.n_groups, dtype=bool)
    given = all_groups if objective.in_gap is None else objective.in_gap
    compared = np.flatnonzero(given).tolist()
    if not objective.counts_down:
        return [(a, a) for a in compared]
    return list(itertools.permutations(compared, 2))


def _tangent(Y: FloatArray, Z: FloatArray) -> FloatArray:
    inner = Y.T @ Z
    return np.asarray(Z - Y @ (inner + inner.T) / 2)


def _polar(Y: FloatArray) -> FloatArray:
    left, _, right = np.linalg.svd(Y, full_matrices=False)
    return np.asarray(left @ right)
