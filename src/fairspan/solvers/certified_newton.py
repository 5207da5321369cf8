"""Newton descent with proof: find a stationary point, prove it, and look further only if needed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter

import numpy as np

from fairspan._types import FloatArray
from fairspan.certificate.branch import Prover
from fairspan.objectives import RobustFairObjective
from fairspan.problem import SubspaceProblem
from fairspan.solvers.boundary import solve_boundary
from fairspan.solvers.bounds import plain_bound
from fairspan.solvers.newton import Stationary, descend
from fairspan.solvers.reduced_newton import descend_reduced
from fairspan.solvers.result import SolverResult, relative_gap, safe_bound
from fairspan.solvers.subgradient import random_subspaces

_RANDOM_STARTS = 4


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
        bound = walked.lower_bound
    elif bound < prover.enough:
        for subspace in _starts(problem, rng or np.random.default_rng(0)):
            found = min(found, find(subspace), key=attrgetter("value"))
            if time.monotonic() > deadline:
                break
        if found.value < prover.value:
            prover = _prover(problem, objective, found, tol, deadline)
            bound = prover.quick()
        if bound < prover.enough and time.monotonic() < deadline:
            bound = max(bound, prover.thorough())
    if not math.isfinite(bound):
        bound = plain_bound(problem, objective)
    bound = safe_bound(bound, found.value, problem.scale)
    gap = relative_gap(found.value, bound, problem.scale)
    return SolverResult(
        components=found.subspace.T,
        group_errors=found.errors,
        objective=found.value,
        lower_bound=bound,
        status="optimal" if gap <= tol else "feasible",
        scale=problem.scale,
        solver="newton",
        n_eigensolves=problem.n_eigensolves - solves_before,
        history=np.array([(value, bound) for value in found.history]),
    )


def _prover(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    found: Stationary,
    tol: float,
    deadline: float,
) -> Prover:
    return Prover(problem, objective, found.errors, found.value, found.mixture, tol, deadline)


def _starts(problem: SubspaceProblem, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Subspaces from which a better minimum may be reached: those that serve some groups best."""
    n = problem.n_groups
    for weights in [np.full(n, 1 / n), *np.eye(n), *rng.dirichlet(np.ones(n), _RANDOM_STARTS)]:
        yield problem.best_subspace(weights).subspace
    yield from random_subspaces(rng, _RANDOM_STARTS, problem.d, problem.k)
