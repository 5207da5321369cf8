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
from scipy.linalg.lapack import dgesv, dpotrf

from fairspan.certificate.closed_form import Leading
from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture, Pieces
from fairspan.objectives.robust import Pair, RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.local_model import LinearModel, Step, minimax_step
from fairspan.solvers.many_groups.tangent import Expansion, expand, in_errors

_FLOOR = 1e-14
"""Errors are kept above this share of the largest trace, where slopes are finite."""
_STEEPEST = 0.05
"""The least share of the curvature that the mixture's own bend must leave."""
_STEPS = (1.0, 0.4, 0.16, 0.064, 0.0256, 0.01, 1e-3)
_CAUTIOUS_STEPS = 10
_EIGEN_STEPS = 3
"""In so many first iterations the eigenvectors of the new mixture are tried as well."""


@dataclass(frozen=True)
class Stationary:
    """Where the descent ended: a subspace and the mixture of pieces that is stationary there.

    Where they are known, errors at which the mixture's tangent proves most, and its eigen-solve.
    """

    subspace: FloatArray
    errors: FloatArray
    value: float
    mixture: Mixture
    history: list[float]
    touch: FloatArray | None = None
    leading: Leading | None = None


@dataclass(frozen=True)
class Local:
    """The quadratic model at a subspace, in bases that diagonalise the mixture's matrix."""

    V: FloatArray
    outside: FloatArray
    gradients: FloatArray
    curvature: FloatArray
    plain: FloatArray
    bend: FloatArray

    def inverse(self) -> FloatArray:
        """Inverse Hessian in the space of errors."""
        if not self.bend.any():
            return self.plain
        # LAPACK itself: for a handful of groups all else would be checks.
        found, info = dgesv(self._couple().T, self.plain)[2:]
        if info != 0:
            raise np.linalg.LinAlgError("Singular matrix")
        return np.asarray(found.T)

    def tangent(self, slope: FloatArray) -> FloatArray:
        """The step of the model for a slope."""
        q = -(np.linalg.solve(self._couple(), slope) if self.bend.any() else slope)
        return np.asarray(np.einsum("b,blk->lk", q, self.gradients) / self.curvature)

    def moved(self, tangent: FloatArray) -> FloatArray:
        """Retract a step."""
        return np.asarray(np.linalg.qr(self.V + self.outside @ tangent)[0])

    def cautious(self) -> Local:
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
    pieces: Pieces = (),
    is_near: bool = False,
    settled: float = 1e-14,
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
    pieces : tuple
        The pieces that meet at the start and their weights, where they are known.
    is_near : bool
        Whether the start is near the answer, so that nothing but Newton steps is tried.
    settled : float
        A step that lowers the value by no more than this share is the last one, and near the
        answer one after which gains that shrink quadratically leave a hundredth of it.

    Returns
    -------
    Stationary
        The subspace found and its mixture.
    """
    floor = error_floor(problem)
    V, errors = start, problem.errors(start)
    value = objective.value(errors)
    model = LinearModel.at(objective, np.maximum(errors, floor))
    pairs, weights = first_pieces(model, pieces)
    mixture = Mixture.of_pairs(objective, pairs, weights)
    history, cautious_steps, gained, rest = [value], 0, 0.0, 0.01 * settled if is_near else 0.0
    for iteration in range(max_iter):
        m = np.maximum(errors, floor)
        model = LinearModel.at(objective, m) if iteration else model
        problem.n_eigensolves += 1  # two, each of a part of the space
        local = local_model(expand(problem, V, mixture.slopes(m)), mixture, m)
        inverse = local.inverse()
        step = minimax_step(model, inverse, pairs, weights)
        are_same, pairs, weights = set(pairs) == set(step.pieces), step.pieces, step.weights
        mixture = Mixture.of_pairs(objective, pairs, weights)
        plain = objective.unreferenced(errors)
        # Beside references all errors may be 0, and yet there is something to gain.
        decrease, size = value - step.value, value if plain is None else max(plain, floor)
        # Near the answer rounding keeps steps from what little they promise.
        if decrease <= max(rest, 1e-13) * size:
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
        last, gained = gained, (value - found[2]) / size
        V, errors, value = found
        history.append(value)
        if gained <= settled or (are_same and gained**3 <= rest * last**2):
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


def first_pieces(model: LinearModel, pieces: Pieces) -> tuple[list[Pair], FloatArray]:
    """Give pieces to begin with and their weights: those that are known, or the largest one."""
    pairs = [pair for pair, _ in pieces]
    # Without a fairness weight there is one piece, which is none of those that compare.
    if pairs and not (model.objective.counts_down and any(a == b for a, b in pairs)):
        return pairs, np.array([weight for _, weight in pieces])
    return [model.largest(np.zeros(model.objective.n_groups))], np.ones(1)


def local_model(expansion: Expansion, mixture: Mixture, m: FloatArray) -> Local:
    """Build the quadratic model; the mixture's own bend is left out where it outweighs the rest."""
    V, outside, gradients, curvature = expansion
    plain = in_errors(gradients, curvature)
    bend = mixture.curvatures(m)
    if bend.any():
        root = np.sqrt(-bend)
        left = -root[:, None] * plain * root
        left.flat[:: len(bend) + 1] += 1 - _STEEPEST
        if dpotrf(left)[1] != 0:
            bend = np.zeros_like(bend)
    return Local(V, outside, gradients, curvature, plain, bend)


def _line_search(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    local: Local,
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
