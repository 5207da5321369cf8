"""Any number of groups: a Newton method for the minimax problem on the Grassmannian.

At a subspace V with complement V⊥ the objective is modelled by its linearised pieces and the exact
Hessian of their mixture: with C = sum c_b M_b diagonal in V (x) and in V⊥ (y),

    tangent T (d-k, k):   dm_b = <G_b, T>,  G_b = -2 V⊥' M_b V,
    Hessian               <T, L T> + sum_b κ_b dm_b^2,  L_li = 2 (x_i - y_l),  κ_b <= 0,

so that everything but two small eigen-solves happens in the G-dimensional space of errors. The step
is the minimax of the model; it converges in a handful of iterations to a point where a mixture of
the pieces is stationary. Whether that is the global minimum is for the certificate to say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture
from fairspan.objectives.robust import Pair, RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.local_model import LinearModel, Step, minimax_step
from fairspan.solvers.many_groups.tangent import expand, in_errors

_FLOOR = 1e-14
"""Errors are kept above this share of the largest trace, where slopes are finite."""
_STEPS = (1.0, 0.4, 0.16, 0.064, 0.0256, 0.01, 1e-3)
_CAUTIOUS_STEPS = 10
_EIGEN_STEPS = 3
"""In so many first iterations the eigenvectors of the new mixture are tried as well."""


@dataclass(frozen=True)
class Stationary:
    """Where the descent ended: a subspace and the mixture of pieces that is stationary there."""

    subspace: FloatArray
    errors: FloatArray
    value: float
    mixture: Mixture
    history: list[float]


@dataclass(frozen=True)
class _Local:
    """The quadratic model at a subspace, in bases that diagonalise the mixture's matrix."""

    V: FloatArray
    outside: FloatArray
    gradients: FloatArray
    curvature: FloatArray
    plain: FloatArray
    bend: FloatArray

    def inverse(self) -> FloatArray:
        """Inverse Hessian in the space of errors."""
        return (
            np.asarray(self.plain @ np.linalg.inv(self._couple()))
            if self.bend.any()
            else self.plain
        )

    def tangent(self, slope: FloatArray) -> FloatArray:
        """The step of the model for a slope."""
        q = -(np.linalg.solve(self._couple(), slope) if self.bend.any() else slope)
        return np.asarray(np.einsum("b,blk->lk", q, self.gradients) / self.curvature)

    def moved(self, tangent: FloatArray) -> FloatArray:
        """Retract a step."""
        return np.asarray(np.linalg.qr(self.V + self.outside @ tangent)[0])

    def cautious(self) -> _Local:
        """The same with the largest curvature in every direction."""
        curvature = np.full_like(self.curvature, float(self.curvature.max()))
        plain = in_errors(self.gradients, curvature)
        return replace(self, curvature=curvature, plain=plain, bend=np.zeros_like(self.bend))

    def _couple(self) -> FloatArray:
        return np.asarray(np.eye(len(self.bend)) + self.bend[:, None] * self.plain)


def descend(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    start: FloatArray,
    *,
    max_iter: int = 100,
    is_near: bool = False,
) -> Stationary:
    """Descend from a subspace to a stationary point of the objective.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What to minimise.
    start : ndarray of shape (d, k)
        Orthonormal columns.
    max_iter : int
        Most iterations.
    is_near : bool
        Whether the start is near the answer, so that nothing but Newton steps is tried.

    Returns
    -------
    Stationary
        The subspace found and its mixture.
    """
    floor = error_floor(problem)
    V, errors = start, problem.errors(start)
    value = objective.value(errors)
    pairs: list[Pair] = [LinearModel.at(objective, np.maximum(errors, floor)).largest(0 * errors)]
    weights = np.ones(1)
    mixture = Mixture.of_pairs(objective, pairs, weights)
    history, cautious_steps = [value], 0
    for iteration in range(max_iter):
        m = np.maximum(errors, floor)
        model = LinearModel.at(objective, m)
        local = _localise(problem, V, mixture, m)
        inverse = local.inverse()
        step = minimax_step(model, inverse, pairs, weights)
        pairs, weights = step.pieces, step.weights
        mixture = Mixture.of_pairs(objective, pairs, weights)
        plain = objective.unreferenced(errors)
        decrease, size = value - step.value, value if plain is None else plain
        if decrease <= 1e-13 * size:
            break
        found = _line_search(problem, objective, local, model, step, inverse, value)
        if (iteration < _EIGEN_STEPS and not is_near) or found is None:
            candidate = problem.best_subspace(step.slope)
            reached = objective.value(candidate.errors)
            if reached < (value if found is None else found[2]) - 1e-14 * size:
                found = candidate.subspace, candidate.errors, reached
        if found is None and cautious_steps < _CAUTIOUS_STEPS:
            # Where the curvature misleads, a larger one than there is leads downhill.
            cautious_steps += 1
            local = local.cautious()
            step = minimax_step(model, local.inverse(), pairs, weights)
            found = _line_search(problem, objective, local, model, step, local.inverse(), value)
        if found is None:
            break
        before = value
        V, errors, value = found
        history.append(value)
        if before - value <= 1e-14 * size:
            break
    return Stationary(V, errors, value, mixture, history)


def error_floor(problem: SubspaceProblem) -> float:
    """The smallest error at which slopes are taken.

    Parameters
    ----------
    problem : SubspaceProblem
        Gives the scale.

    Returns
    -------
    float
        A tiny share of the largest variance.
    """
    return _FLOOR * float(problem.traces.max())


def _localise(problem: SubspaceProblem, V: FloatArray, mixture: Mixture, m: FloatArray) -> _Local:
    """Build the model; its two eigen-solves count as one."""
    problem.n_eigensolves += 1
    V, outside, gradients, curvature = expand(problem, V, mixture.slopes(m))
    plain = in_errors(gradients, curvature)
    bend = mixture.curvatures(m)
    root = np.sqrt(-bend)
    if (
        bend.any()
        and np.linalg.eigvalsh(np.eye(len(bend)) - root[:, None] * plain * root)[0] <= 0.05
    ):
        bend = np.zeros_like(bend)
    return _Local(V, outside, gradients, curvature, plain, bend)


def _line_search(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    local: _Local,
    model: LinearModel,
    step: Step[Pair],
    inverse: FloatArray,
    value: float,
) -> tuple[FloatArray, FloatArray, float] | None:
    """Take the longest step that lowers the objective enough."""
    tangent = local.tangent(step.slope)
    decrease = value - step.value
    for length in _STEPS:
        V = local.moved(length * tangent)
        errors = problem.errors(V)
        reached = objective.value(errors)
        if reached <= value - 1e-4 * length * decrease:
            return V, errors, reached
        if length == 1.0:
            # Close to a ridge the full step may fail by its second-order terms alone: aim once
            # more, through the values that it attained.
            dm = -inverse @ step.slope
            again = minimax_step(model.corrected(errors, dm), inverse, step.pieces, step.weights)
            V = local.moved(local.tangent(again.slope))
            errors = problem.errors(V)
            reached = objective.value(errors)
            if reached <= value - 1e-4 * decrease:
                return V, errors, reached
    return None
