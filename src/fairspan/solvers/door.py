"""The one door to all solvers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairspan.ground import defaults
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.descent import solve_subgradient
from fairspan.solvers.many_groups.certified_newton import solve_newton
from fairspan.solvers.result import SolverResult, is_closed, safe_bound, settled
from fairspan.solvers.two_groups.boundary import solve_boundary
from fairspan.solvers.two_groups.lines import Boundary

SOLVERS = ("auto", "newton", "boundary", "subgradient")
RETRACTIONS = ("qr", "polar")


@dataclass(frozen=True)
class SolverOptions:
    """How to solve: the solver's name and its settings."""

    solver: str = "auto"
    tol: float = defaults.TOL
    max_iter: int = defaults.MAX_ITER
    max_time: float = defaults.MAX_TIME
    n_init: int = defaults.N_INIT
    retraction: Any = "qr"
    rng: np.random.Generator | None = None


class Patience:
    """The seconds that many fits may search together: each may take its share of what is left.

    Parameters
    ----------
    seconds : float
        For all of them.
    n_fits : int
        How many there are.
    """

    def __init__(self, seconds: float, n_fits: int) -> None:
        self._deadline = time.monotonic() + seconds
        self._fits = n_fits

    def share(self) -> float:
        """Give the seconds of the next fit; those that finish early leave theirs to the others."""
        left = max(self._deadline - time.monotonic(), 0.0)
        share = left / max(self._fits, 1)
        self._fits -= 1
        return share


def solve(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    options: SolverOptions | None = None,
    *,
    boundary: Boundary | None = None,
) -> SolverResult:
    """Minimise an objective over subspaces.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What to minimise.
    options : SolverOptions, optional
        Which solver, and how.
    boundary : Boundary, optional
        Two groups: supporting lines that are known already; new ones are added to it.

    Returns
    -------
    SolverResult
        The subspace found, with its bound; what rounding hides is not claimed.
    """
    result = _solve(problem, objective, options or SolverOptions(), boundary)
    return settled(result, problem, objective.fairness_weight)


def _solve(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    options: SolverOptions,
    boundary: Boundary | None,
) -> SolverResult:
    if problem.k == problem.d or not problem.traces.any():
        return _nothing_lost(problem, objective)
    if options.solver == "auto" and objective.is_linear:
        return _pca(problem, objective, options.tol)
    limits: dict[str, Any] = {"tol": options.tol, "max_iter": options.max_iter}
    if options.solver == "subgradient":
        return solve_subgradient(
            problem,
            objective,
            n_init=options.n_init,
            retraction=options.retraction,
            rng=options.rng,
            **limits,
        )
    # For two groups the walk needs half the eigen-solves of the Newton method.
    if options.solver == "boundary" or (options.solver == "auto" and problem.n_groups == 2):
        return solve_boundary(problem, objective, boundary=boundary, **limits)
    return solve_newton(problem, objective, max_time=options.max_time, rng=options.rng, **limits)


def _nothing_lost(problem: SubspaceProblem, objective: RobustFairObjective) -> SolverResult:
    """All of the space is kept, or nothing varies: any subspace will do, without any error."""
    errors = np.zeros(problem.n_groups)
    value = objective.value(errors)
    return SolverResult(
        components=np.eye(problem.d)[: problem.k],
        group_errors=errors,
        objective=value,
        lower_bound=value,
        status="optimal",
        scale=problem.scale,
        solver="rotation",
    )


def _pca(problem: SubspaceProblem, objective: RobustFairObjective, tol: float) -> SolverResult:
    """Solve where the objective grows with the total error alone, by one eigen-solve."""
    solves_before = problem.n_eigensolves
    found = problem.best_subspace(objective.shares)
    value = objective.value(found.errors)
    if objective.n_groups == 1:
        bound = objective.value(np.array([max(found.sigma, 0.0)]))
    else:
        bound = found.sigma
    bound = safe_bound(bound, value, problem.scale)
    proved = is_closed(problem, value, bound, tol, objective.fairness_weight)
    return SolverResult(
        components=found.subspace.T,
        group_errors=found.errors,
        objective=value,
        lower_bound=bound,
        status="optimal" if proved else "feasible",
        scale=problem.scale,
        solver="pca",
        n_eigensolves=problem.n_eigensolves - solves_before,
        history=np.array([[value, bound]]),
    )
