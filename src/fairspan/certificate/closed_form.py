"""A proved lower bound for every subspace, from one mixture of pieces; whoever found the point.

A mixture h = sum_b A_b φ_b - B_b ψ_b never exceeds the objective. On a box of errors around m̂ it is
at least its tangent minus a parabola,

    h(m) >= h(m̂) + c . (m - m̂) - 1/2 sum_b κ_b (m_b - m̂_b)^2,

and for subspaces the tangent's value grows quadratically away from the leading eigenspace X* of
C = sum_b c_b M_b. With C = Q diag(θ) Q', ν in its eigengap, Y = Q'XQ and E = Y - Q'X*Q, every X
with 0 <= X <= I and trace k has (growth lemma)

    <C, X* - X> >= sum_il (θ_i - θ_l) Y_il^2 + sum_ii' ((θ_i + θ_i')/2 - ν) E_ii'^2
                                             + sum_ll' (ν - (θ_l + θ_l')/2) E_ll'^2.

If this growth outweighs the parabola (ρ < 1 below), the tangent's minimum, a sum of eigenvalues,
bounds the objective of all subspaces in the box.
"""

from __future__ import annotations

import numpy as np

from fairspan._types import FloatArray
from fairspan.certificate.box import Box
from fairspan.mixture import Mixture
from fairspan.problem import SubspaceProblem
from fairspan.spectrum import UNIT, top_space


def closed_form_bound(
    problem: SubspaceProblem, mixture: Mixture, errors: FloatArray, box: Box
) -> float:
    """Bound the objective of every subspace whose errors lie in a box.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    mixture : Mixture
        A mixture of pieces, best one that is stationary at the errors.
    errors : ndarray of shape (n_groups,)
        Errors of a subspace near the minimum.
    box : Box
        Bounds on the errors of the subspaces in question.

    Returns
    -------
    float
        The bound; minus infinity if the growth does not outweigh the curvature.
    """
    radii = mixture.objective.radii
    if ((errors <= 0) & (radii > 0)).any():
        return -np.inf
    problem.n_eigensolves += 1
    slope = mixture.slopes(np.where(errors > 0, errors, 1.0))
    C = problem.combination(slope)
    spectrum = top_space(C, problem.d)
    k, θ = problem.k, spectrum.values
    best = problem.errors(spectrum.vectors[:, :k])
    sigma = float(slope @ problem.traces) - float(θ[:k].sum())
    sigma -= 4 * problem.d * UNIT * float(np.abs(slope) @ problem.traces)
    tangent = mixture.value(errors) + sigma - float(slope @ errors)
    κ = parabola(mixture, errors, box.lower)
    if not κ.any():
        return tangent
    apart = best - errors
    ρ = _ratio(problem, spectrum.vectors, θ, κ, errors, apart, box)
    if not ρ < 1:
        return -np.inf
    # (1 + η) ρ = 1 leaves 1 + 1/η = 1 / (1 - ρ).
    return tangent - 0.5 / (1 - ρ) * float(κ @ apart**2)


def parabola(mixture: Mixture, m: FloatArray, lower: FloatArray) -> FloatArray:
    """Curvatures κ such that h stays above its tangent at m minus κ/2 times the squared distance.

    Parameters
    ----------
    mixture : Mixture
        The mixture h.
    m : ndarray of shape (n_groups,)
        Where the tangent touches; positive where the radius is.
    lower : ndarray of shape (n_groups,)
        Lower bounds of the errors in question.

    Returns
    -------
    ndarray of shape (n_groups,)
        The curvatures, 0 where the radius is 0.
    """
    radii = mixture.objective.radii
    root, edge = np.sqrt(np.where(m > 0, m, 1.0)), np.sqrt(radii)
    bend = 2 * edge / (root * (np.sqrt(lower) + root) ** 2)
    # Below its radius ψ is flat, and rises later like a parabola.
    flat = np.where(radii > 0, 2 / (edge + root) ** 2, 0.0)
    return np.asarray(mixture.above * bend + mixture.below * np.where(m < radii, flat, bend))


def _ratio(
    problem: SubspaceProblem,
    vectors: FloatArray,
    θ: FloatArray,
    κ: FloatArray,
    errors: FloatArray,
    apart: FloatArray,
    box: Box,
) -> float:
    """ρ: how much of the growth the parabola can eat up, the best over a few ν."""
    k = problem.k
    gap = float(θ[k - 1] - θ[k])
    if gap <= 1e3 * problem.d * UNIT * float(np.abs(θ).max()):
        return np.inf
    active = κ > 0
    weight = np.sqrt(0.5 * κ[active])
    turned = vectors.T @ problem.moments[active] @ vectors * weight[:, None, None]
    top, low, off = turned[:, :k, :k], turned[:, k:, k:], turned[:, :k, k:]
    off_growth = θ[:k, None] - θ[None, k:]
    q_off = 4 * _gram(off, off_growth)
    width = np.maximum(box.upper - errors, errors - box.lower) + np.abs(apart)
    reach = float(0.5 * κ @ width**2)
    best = np.inf
    for share in (0.5, 0.25, 0.75, 0.1, 0.9):
        ν = θ[k] + share * gap
        above, below = θ[:k] - ν, ν - θ[k:]
        q_all = q_off + _gram(top, 0.5 * (above[:, None] + above))
        q_all = q_all + _gram(low, 0.5 * (below[:, None] + below))
        first = float(np.linalg.eigvalsh(q_all)[-1])
        squares = sum(
            max(_largest(t, above), _largest(b, below)) ** 2 for t, b in zip(top, low, strict=True)
        )
        second = (np.sqrt(np.linalg.eigvalsh(q_off)[-1]) + np.sqrt(squares * reach)) ** 2
        best = min(best, first, float(second))
    return best


def _gram(blocks: FloatArray, growth: FloatArray) -> FloatArray:
    flat = blocks.reshape(len(blocks), -1)
    return np.asarray((flat / growth.ravel()) @ flat.T)


def _largest(block: FloatArray, growth: FloatArray) -> float:
    """Largest eigenvalue of a block in units of the growth."""
    root = np.sqrt(growth)
    return float(np.linalg.eigvalsh(block / root[:, None] / root)[-1])
