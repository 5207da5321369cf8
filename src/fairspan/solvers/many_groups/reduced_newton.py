"""Newton descent for many features: solve in a small basis, look once at the full matrix, repeat.

The basis holds the subspaces met so far and their images under every group's moment. A stationary
point inside it gives weights; the leading eigenspace for these weights, found in full, either
confirms the point or enters the basis.
"""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.reduced import new_directions
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.newton import Stationary, descend, error_floor

_ROUNDS = 12
_SETTLED = 1e-11


def descend_reduced(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    start: FloatArray,
    *,
    max_iter: int = 100,
) -> Stationary:
    """Descend from a subspace to a stationary point, with few eigen-solves of full size.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What to minimise.
    start : ndarray of shape (d, k)
        Orthonormal columns.
    max_iter : int
        Most Newton iterations in the small basis, each time.

    Returns
    -------
    Stationary
        The subspace found and its mixture.
    """
    basis, current, new = np.empty((problem.d, 0)), start, start
    inner = np.empty((problem.n_groups, 0, 0))
    history: list[float] = []
    for _ in range(_ROUNDS):
        fresh = new_directions(np.hstack([new, *(problem.moments @ new)]), basis)
        known, basis = basis.shape[1], np.hstack([basis, fresh])
        # Only what is new is computed: images of all of the basis would take much memory.
        across = basis.T @ (problem.moments @ fresh)
        inner = np.concatenate([inner, across[:, :known].transpose(0, 2, 1)], axis=1)
        inner = np.concatenate([inner, across], axis=2)
        small = SubspaceProblem(inner, problem.shares, problem.k, traces=problem.traces)
        # The new subspace is a start as well: the current one may be a saddle.
        starts = [current] if new is current else [current, new]
        found = min(
            (
                descend(small, objective, np.linalg.qr(basis.T @ V)[0], max_iter=max_iter)
                for V in starts
            ),
            key=attrgetter("value"),
        )
        current = basis @ found.subspace
        history += found.history
        slope = found.mixture.slopes(np.maximum(found.errors, error_floor(problem)))
        true = problem.best_subspace(slope)
        settled = _SETTLED * objective.size(found.errors)
        if float(slope @ (found.errors - true.errors)) <= settled:
            break
        new = true.subspace
    errors = problem.errors(current)
    return Stationary(current, errors, objective.value(errors), found.mixture, history)
