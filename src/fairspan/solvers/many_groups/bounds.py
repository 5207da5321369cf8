"""A bound that needs no search: from PCA alone."""

from __future__ import annotations

import numpy as np

from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem


def plain_bound(problem: SubspaceProblem, objective: RobustFairObjective) -> float:
    """Bound the objective from below by what PCA of all rows and of each group can reach.

    The mean over all pairs is at least sum_b p_b (sqrt m_b + sqrt ε_b)^2, where the total error is
    at least PCA's and each m_b at least that of the group's own PCA; references cancel in it. Where
    no group is counted down, λ times the largest of the groups' own best comes in addition, and may
    be negative.

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
    counts_up = not objective.counts_down and objective.fairness_weight > 0
    if not objective.radii.any() and not counts_up:
        return bound
    least = np.array([max(found.sigma, 0.0) for found in problem.own_best])
    spread = objective.radii + 2 * np.sqrt(objective.radii * least)
    bound += float(objective.shares @ spread)
    return bound + float(objective.parts(least)[1].max()) if counts_up else bound
