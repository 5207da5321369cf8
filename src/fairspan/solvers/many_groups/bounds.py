"""A bound that needs no search: from PCA alone."""

from __future__ import annotations

import math

import numpy as np

from fairspan.objectives.robust import RobustFairObjective
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
