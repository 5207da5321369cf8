"""Newton's method in the slopes, for the common case: the best subspace is a leading eigenspace.

Where the relaxation is tight, the answer is the leading eigenspace of C(c) = sum_b c_b M_b for the
slopes c of a mixture of pieces at the answer's own errors. An eigen-solve of C(c) tells more than
the errors m(c) of that eigenspace: with eigenvalues θ, inside i and outside l, and gradients
G_b = -2 V⊥' M_b V, their derivative in c is -<G_a, G_b / (2 (θ_i - θ_l))>, which is what the model
of a Newton step asks for. The step predicts errors, and its mixture's slopes there are the next c.

The eigen-solve at which this ends is the one that its proof needs, so that it costs no more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairspan.certificate.closed_form import Leading
from fairspan.ground.types import FloatArray
from fairspan.objectives.mixture import Mixture, Pieces
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.many_groups.local_model import LinearModel, minimax_step
from fairspan.solvers.many_groups.newton import Stationary, first_pieces, local_model
from fairspan.solvers.many_groups.tangent import Expansion

_STEPS = 10
_APART = 1e-9
"""Smaller eigengaps, as a share of the largest eigenvalue, have no derivative worth using."""
_BENT = 4.0
"""How often the bend between the errors predicted and attained may count in a proof."""
_SHARPEST = 0.1
"""Errors are predicted no smaller than this share of the last ones."""


def follow_leading(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    slope: FloatArray,
    pieces: Pieces,
    unproved: Callable[[FloatArray, float], float],
    max_iter: int = _STEPS,
) -> Stationary | None:
    """Find a leading eigenspace that is stationary.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components; not large.
    objective : RobustFairObjective
        What to minimise.
    slope : ndarray of shape (n_groups,)
        Weights of the errors to begin with.
    pieces : tuple
        The pieces that meet there and their weights, where they are known.
    unproved : callable
        How far the tangent may stay below a value at given errors.
    max_iter : int
        Most eigen-solves; beyond ten of them a descent does better.

    Returns
    -------
    Stationary or None
        The eigenspace, with the eigen-solve that proves it; None where there is none nearby.
    """
    mixture: Mixture | None = None
    touch, history = slope, []
    for _ in range(min(max_iter, _STEPS)):
        leading = Leading(problem, slope)
        m = leading.errors
        if not (m > 0).all():
            return None
        model = LinearModel.at(objective, m)
        value = model.value
        history.append(value)
        if mixture is None:
            pairs, weights = first_pieces(model, pieces)
            mixture = Mixture.of_pairs(objective, pairs, weights)
        else:
            tangent = mixture.value(touch) + float(slope @ (m - touch))
            # The mixture bends away from its tangent; a proof loses that and somewhat more.
            bent = tangent - mixture.value(m)
            if value - tangent + _BENT * bent <= unproved(m, value):
                return Stationary(leading.subspace, m, value, mixture, history, touch, leading)
        expansion = _expand(problem, leading)
        if expansion is None:
            return None
        inverse = local_model(expansion, mixture, m).inverse()
        step = minimax_step(model, inverse, pairs, weights)
        pairs, weights = step.pieces, step.weights
        mixture = Mixture.of_pairs(objective, pairs, weights)
        touch = np.maximum(m - inverse @ step.slope, _SHARPEST * m)
        slope = mixture.slopes(touch)
    return None


def _expand(problem: SubspaceProblem, leading: Leading) -> Expansion | None:
    """Expand the errors around a leading eigenspace, from its spectrum alone."""
    k, θ, V = problem.k, leading.spectrum.values, leading.subspace
    if not θ[k - 1] - θ[k] > _APART * max(abs(θ[0]), abs(θ[-1])):
        return None
    outside = leading.spectrum.vectors[:, k:]
    curvature = 2 * (θ[None, :k] - θ[k:, None])
    return Expansion(V, outside, -2 * (outside.T @ (problem.moments @ V)), curvature)
