"""Newton descent with proof: find a stationary point, prove it, and look further only if needed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter

import numpy as np

from fairspan.certificate.branch import Prover
from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.descent import random_subspaces
from fairspan.solvers.many_groups.bounds import plain_bound
from fairspan.solvers.many_groups.newton import Stationary, descend
from fairspan.solvers.many_groups.reduced_newton import descend_reduced
from fairspan.solvers.result import SolverResult, is_closed, safe_bound
from fairspan.solvers.two_groups.boundary import solve_boundary

_FEW_STARTS = 4
_MANY_STARTS = 40


def solve_newton(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    max_time: float = math.inf,
    start: FloatArray | None = None,
    rng: np.random.Generator | None = None,
) -> SolverResult:
    """Minimise the objective of any number of groups and prove how close to the minimum it is.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What to minimise.
    tol : float
        The relative gap to reach.
    max_iter : int
        Most Newton iterations of a descent.
    max_time : float
        Seconds after which the proof is given up; the bound proved so far is returned.
    start : ndarray of shape (d, k), optional
        Where to start, besides PCA.
    rng : numpy.random.Generator, optional
        Source of further starts, used where the first proof fails.

    Returns
    -------
    SolverResult
        The best subspace found and the best bound proved.
    """
    solves_before = problem.n_eigensolves
    deadline = time.monotonic() + max_time
    find = partial(
        descend_reduced if problem.is_large else descend, problem, objective, max_iter=max_iter
    )
    found = find(problem.best_subspace(objective.shares).subspace)
    if start is not None:
        found = min(found, find(start), key=attrgetter("value"))
    prover = _prover(problem, objective, found, tol, deadline)
    bound = prover.quick()
    if bound < prover.enough and problem.n_groups == 2:
        # For two groups the walk on the boundary proves every case, at less cost.
        walked = solve_boundary(problem, objective, tol=tol, max_iter=max_iter)
        if walked.objective < found.value:
            return replace(walked, n_eigensolves=problem.n_eigensolves - solves_before)
        bound = max(bound, walked.lower_bound)
    elif bound < prover.enough:
        found, more = _look_further(found, prover, find, rng or np.random.default_rng(0))
        bound = max(bound, more)
    weight = objective.fairness_weight
    if not is_closed(problem, found.value, bound, tol, weight):
        bound = max(bound, plain_bound(problem, objective))
    bound = safe_bound(bound, found.value, problem.scale)
    proved = is_closed(problem, found.value, bound, tol, weight)
    return SolverResult(
        components=found.subspace.T,
        group_errors=found.errors,
        objective=found.value,
        lower_bound=bound,
        status="optimal" if proved else "feasible",
        scale=problem.scale,
        solver="newton",
        n_eigensolves=problem.n_eigensolves - solves_before,
        history=np.array([(v, bound) for v in np.minimum.accumulate(found.history)]),
    )


def _look_further(
    found: Stationary,
    prover: Prover,
    find: Callable[[FloatArray], Stationary],
    rng: np.random.Generator,
) -> tuple[Stationary, float]:
    """Start elsewhere, and prove harder; again from more places if the proof still fails."""
    problem, objective, bound = prover.problem, prover.objective, -math.inf
    for starts in (_promising(problem, rng), _random(problem, rng)):
        for subspace in starts:
            found = min(found, find(subspace), key=attrgetter("value"))
            if time.monotonic() > prover.deadline:
                break
        better = found.value < prover.value * (1 - 1e-12)
        if better:
            prover = _prover(problem, objective, found, prover.tol, prover.deadline)
            bound = max(bound, prover.quick())
        # Without a better point, what the first proof could not close stays open.
        if (better or bound == -math.inf) and bound < prover.enough:
            bound = max(bound, prover.thorough())
        if bound >= prover.enough or time.monotonic() > prover.deadline:
            break
    return found, bound


def _prover(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    found: Stationary,
    tol: float,
    deadline: float,
) -> Prover:
    return Prover(problem, objective, found.errors, found.value, found.mixture, tol, deadline)


def _promising(problem: SubspaceProblem, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Subspaces from which a better minimum may be reached: those that serve some groups best."""
    n = problem.n_groups
    for weights in [np.full(n, 1 / n), *np.eye(n), *rng.dirichlet(np.ones(n), _FEW_STARTS)]:
        yield problem.best_subspace(weights).subspace
    yield from random_subspaces(rng, _FEW_STARTS, problem.d, problem.k)


def _random(problem: SubspaceProblem, rng: np.random.Generator) -> Iterator[FloatArray]:
    if not problem.is_large:
        yield from random_subspaces(rng, _MANY_STARTS, problem.d, problem.k)
