"""The paper's Algorithm 1: Riemannian subgradient descent, for any number of groups.

All restarts move together as one array of subspaces V (restarts, d, k). The paper moves the
orthogonal complement U; moving V costs d^2 k instead of d^2 (d - k) a step and walks through
exactly the complementary subspaces. Each step goes against a Riemannian subgradient of the active
piece,

    D = -2 (I - V V') sum_b s'_b M_b V,   step 1 / sqrt(steps + 1),

and returns to the manifold by a QR or a polar factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.bounds import plain_bound
from fairspan.solvers.result import SolverResult, is_closed, safe_bound

Retraction = Literal["qr", "polar"]


def solve_subgradient(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    n_init: int = 20,
    retraction: Retraction = "qr",
    iterate: Literal["best", "last"] = "best",
    rng: np.random.Generator | None = None,
    start_at_pca: bool = True,
    watch: Callable[[int, FloatArray, FloatArray], None] | None = None,
) -> SolverResult:
    """Minimise by subgradient steps from random starts and from PCA.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What to minimise.
    tol : float
        The relative gap below which the result counts as optimal.
    max_iter : int
        Number of steps of each restart.
    n_init : int
        Number of random starts.
    retraction : {"qr", "polar"}
        How a step returns to the manifold.
    iterate : {"best", "last"}
        Keep the best iterate of all, or the best last iterate as the paper does.
    rng : numpy.random.Generator, optional
        Source of the random starts.
    start_at_pca : bool
        Whether one more restart begins at the PCA subspace.
    watch : callable, optional
        Called with the number of steps, the values and the subspaces (restarts, d, k) of all
        restarts, before the first step and after each.

    Returns
    -------
    SolverResult
        The best subspace; its history holds the best value over restarts before the first step and
        after each.
    """
    solves_before = problem.n_eigensolves
    rng = rng or np.random.default_rng()
    bound = plain_bound(problem, objective)
    V = random_subspaces(rng, n_init, problem.d, problem.k)
    if start_at_pca or n_init == 0:
        V = np.concatenate([V, problem.best_subspace(problem.shares).subspace[None]])
    retract = _RETRACTIONS[retraction]
    step = 1.0 / math.sqrt(max_iter + 1)
    best, best_V, history = math.inf, V[0], []
    for iteration in range(max_iter + 1):
        image, errors = _images(problem, V)
        values = objective.values(errors)
        winner = int(np.argmin(values))
        if watch is not None:
            watch(iteration, values, V)
        # Keeping the last iterate means forgetting every earlier one.
        if values[winner] < best or iterate == "last":
            best, best_V = float(values[winner]), V[winner]
        history.append(best)
        if iteration == max_iter:
            break
        V = retract(V, -step * _subgradients(objective, V, image, errors))
    errors = problem.errors(best_V)
    size = objective.unreferenced(errors)
    proved = is_closed(problem, best, bound, tol, objective.fairness_weight, size=size)
    return SolverResult(
        components=best_V.T,
        group_errors=errors,
        objective=best,
        lower_bound=safe_bound(bound, best, problem.scale, size),
        status="optimal" if proved else "iteration_limit",
        scale=problem.scale,
        solver="subgradient",
        n_eigensolves=problem.n_eigensolves - solves_before,
        history=np.column_stack([history, np.full(len(history), min(bound, best))]),
    )


def random_subspaces(rng: np.random.Generator, count: int, d: int, k: int) -> FloatArray:
    """Draw subspaces uniformly.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    count, d, k : int
        How many, in how many dimensions, of which dimension.

    Returns
    -------
    ndarray of shape (count, d, k)
        Orthonormal columns.
    """
    return np.asarray(np.linalg.qr(rng.standard_normal((count, d, k)))[0])


def _images(problem: SubspaceProblem, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give M_b V, shape (groups, restarts, d, k), and the group errors (restarts, groups)."""
    count, d, k = V.shape
    columns = V.transpose(1, 0, 2).reshape(d, count * k)
    image = (problem.moments @ columns).reshape(-1, d, count, k).transpose(0, 2, 1, 3)
    kept = np.einsum("brdk,rdk->rb", image, V)
    return image, problem.lost(kept)


def _subgradients(
    objective: RobustFairObjective, V: FloatArray, image: FloatArray, errors: FloatArray
) -> FloatArray:
    # An error of exactly 0 has an infinite slope; the smallest positive number keeps it finite.
    slopes = objective.active_slopes(np.maximum(errors, np.finfo(float).tiny))
    gradient = -2 * np.einsum("rb,brdk->rdk", slopes, image)
    return np.asarray(gradient - V @ (V.transpose(0, 2, 1) @ gradient))


def _retract_qr(V: FloatArray, step: FloatArray) -> FloatArray:
    Q, R = np.linalg.qr(V + step)
    signs = np.sign(np.einsum("rii->ri", R))
    return np.asarray(Q * np.where(signs == 0, 1.0, signs)[:, None, :])


def _retract_polar(V: FloatArray, step: FloatArray) -> FloatArray:
    # For a tangent step, (V + D)(I + D'D)^(-1/2) is the orthonormal polar factor of V + D.
    left, _, right = np.linalg.svd(V + step, full_matrices=False)
    return np.asarray(left @ right)


_RETRACTIONS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "qr": _retract_qr,
    "polar": _retract_polar,
}
