"""Bounds that need no search: from PCA alone, and for the subgradient method's progress."""

from __future__ import annotations

import itertools
import math

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.spectrum import top_space
from fairspan.problem.subspace import SubspaceProblem


def plain_bound(problem: SubspaceProblem, objective: RobustFairObjective) -> float:
    """Bound the objective from below by what PCA of all rows and of each group can reach.

    The mean over all pairs is at least sum_b p_b (sqrt m_b + sqrt ε_b)^2, where the total error is
    at least PCA's and each m_b at least that of the group's own PCA.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        The objective.

    Returns
    -------
    float
        No subspace has a smaller objective.
    """
    bound = problem.best_subspace(objective.shares).sigma
    terms = zip(np.eye(problem.n_groups), objective.shares, objective.radii, strict=True)
    for unit, share, radius in terms:
        if radius > 0:
            least = max(problem.best_subspace(unit).sigma, 0.0)
            bound += float(share) * (float(radius) + 2 * math.sqrt(radius * least))
    return bound


def largest_eigenvalues(problem: SubspaceProblem) -> FloatArray:
    """Give the largest eigenvalue of each group's second moment.

    Parameters
    ----------
    problem : SubspaceProblem
        The moments.

    Returns
    -------
    ndarray of shape (n_groups,)
        The eigenvalues.
    """
    return np.array([top_space(moment, 1).values[0] for moment in problem.moments])


def lipschitz_constant(problem: SubspaceProblem, objective: RobustFairObjective) -> float:
    """Lipschitz constant of the objective as a function of the complement U.

    ``max over pairs of sum_b 2 |u_b| (sqrt(ε_b σ_b) + sqrt(d - k) σ_b)``, σ_b the largest
    eigenvalue of M_b. The paper takes the largest of three terms where the bound is their sum, and
    asks for a positive smallest eigenvalue, which is not needed.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        The objective.

    Returns
    -------
    float
        The constant.
    """
    largest = largest_eigenvalues(problem)
    steep = 2 * (np.sqrt(objective.radii * largest) + math.sqrt(problem.d - problem.k) * largest)
    pairs = itertools.permutations(range(problem.n_groups), 2) if problem.n_groups > 1 else [(0, 0)]
    return max(float(np.abs(objective.coefficients(pair)) @ steep) for pair in pairs)


def convergence_bound(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    start_value: float,
    lower_bound: float,
    steps: int,
) -> float:
    """Bound the least stationarity gap that subgradient descent has met after some steps.

    ``2 sqrt(F(U_0) - bound + 2 L^2 (L + 1) L) / (steps + 1)^(1/4)``: the paper's theorem with the
    corrected constant L. It is about the best of the iterates, not about the last one.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        An objective with a fairness weight of at most every group's share (there it is convex in
        U, the paper's case).
    start_value : float
        Value of the objective at the start.
    lower_bound : float
        A proved lower bound of the objective.
    steps : int
        Number of steps, each of length 1 / sqrt(steps + 1).

    Returns
    -------
    float
        The bound.
    """
    if objective.fairness_weight > objective.shares.min():
        raise ValueError(
            f"fairness_weight={objective.fairness_weight} exceeds the smallest group share "
            f"({objective.shares.min():.4g}); the convergence bound is known only below it."
        )
    L = lipschitz_constant(problem, objective)
    progress = start_value - lower_bound + 2 * L**3 * (L + 1)
    return 2 * math.sqrt(progress) / math.sqrt(math.sqrt(steps + 1))
