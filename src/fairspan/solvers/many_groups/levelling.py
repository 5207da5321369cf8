"""The last digits of a minimum under a heavy fairness weight: pieces that meet are made equal.

A weight of 1e9 multiplies the sixteenth digit of the errors to the seventh digit of the value. So
errors are computed more accurately than numbers are kept, and the subspace is moved, by Newton's
method, to where the pieces that meet at the minimum are equal. Such steps are of the size of
rounding: the total error does not change by them.
"""

from __future__ import annotations

import numpy as np

from fairspan.certificate.known import Known
from fairspan.ground.types import FloatArray
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.accurate import AccurateProblem
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.newton import Stationary

_ROUNDS = 12
"""After two or three all that is left is the rounding of the subspace, and the best is taken."""
_INDEPENDENT = 1e-6


def levelled(problem: SubspaceProblem, objective: RobustFairObjective, found: Known) -> Known:
    """Move a minimum until the pieces that meet there are equal, as nearly as numbers allow.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    objective : RobustFairObjective
        What is minimised.
    found : Known
        A minimum, and the pieces that meet there.

    Returns
    -------
    Known
        The best of the subspaces on the way, with its accurate errors.
    """
    accurate = AccurateProblem(problem)
    pairs = [pair for pair, _ in found.mixture.pieces]
    V, ways = found.subspace, []
    for _ in range(_ROUNDS):
        m = accurate.errors(V)
        ways.append(Stationary(V, m, objective.value(m), found.mixture, found.history))
        slopes = np.array([objective.slopes(m, pair) for pair in pairs])
        if not np.isfinite(slopes).all():
            break
        values = np.array([objective.piece(m, pair) for pair in pairs])
        apart = slopes - slopes.mean(axis=0)
        step = _least_step(problem, V, apart, values - values.mean())
        V = np.linalg.qr(V + step)[0]
    return min(ways, key=lambda one: one.value)


def _least_step(
    problem: SubspaceProblem, V: FloatArray, slopes: FloatArray, values: FloatArray
) -> FloatArray:
    """Give the shortest tangent step that takes some linear functions of the errors to 0."""
    images = problem.moments @ V
    gradients = -2 * (images - V @ (V.T @ images))
    rows = slopes @ gradients.reshape(len(gradients), -1)
    step = np.linalg.lstsq(rows, -values, rcond=_INDEPENDENT)[0]
    return np.asarray(step.reshape(V.shape))
