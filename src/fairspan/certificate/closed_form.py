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

from fairspan.certificate.box import Box
from fairspan.ground.types import UNIT, FloatArray
from fairspan.objectives.mixture import Mixture
from fairspan.problem.spectrum import TopSpace, top_space
from fairspan.problem.subspace import SubspaceProblem

_SHARES = (0.5, 0.25, 0.75, 0.1, 0.9)
"""Places in the eigengap at which the lemma is tried."""
_PLENTY = 0.5
"""A ratio below this is as good as a smaller one: what it costs is of the second order."""
_NARROWEST = min(*_SHARES, 1 - max(_SHARES))
"""The smallest distance of these places from an end of the gap, as a share of it."""


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
    spectrum = top_space(C, problem.k if problem.is_large else problem.d)
    k = problem.k
    kept = spectrum.bound if problem.is_large else float(spectrum.values[:k].sum())
    best = problem.errors(spectrum.vectors[:, :k])
    sigma = float(slope @ problem.traces) - kept
    sigma -= 4 * problem.d * UNIT * float(np.abs(slope) @ problem.traces)
    tangent = mixture.value(errors) + sigma - float(slope @ errors)
    κ = parabola(mixture, errors, box.lower)
    if not κ.any():
        return tangent
    apart = best - errors
    width = np.maximum(box.upper - errors, errors - box.lower) + np.abs(apart)
    reach = float(0.5 * κ @ width**2)
    ratio = _ratio_from_top if problem.is_large else _ratio
    ρ = ratio(problem, spectrum, κ, reach)
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


def _ratio(problem: SubspaceProblem, spectrum: TopSpace, κ: FloatArray, reach: float) -> float:
    """ρ: how much of the growth the parabola can eat up, the best over a few ν."""
    k, θ, vectors = problem.k, spectrum.values, spectrum.vectors
    gap = float(θ[k - 1] - θ[k])
    doubt = _doubt(problem, θ, gap)
    if doubt == np.inf:
        return np.inf
    active = κ > 0
    weight = np.sqrt(0.5 * κ[active])
    turned = vectors.T @ problem.moments[active] @ vectors * weight[:, None, None]
    top, low, off = turned[:, :k, :k], turned[:, k:, k:], turned[:, :k, k:]
    across = 2 * _in_units(off, θ[:k, None] - θ[None, k:])
    apart = _largest_square(across)
    best = np.inf
    for share in _SHARES:
        ν = θ[k] + share * gap
        above, below = θ[:k] - ν, ν - θ[k:]
        inside = _in_units(top, 0.5 * (above[:, None] + above))
        outside = _in_units(low, 0.5 * (below[:, None] + below))
        first = _largest_square(np.hstack([across, inside, outside]))
        largest = np.maximum(_largest(top, above), _largest(low, below))
        best = min(best, first, _combined(apart, float(largest @ largest), reach))
        if doubt * best < _PLENTY:
            break
    return doubt * best


def _doubt(problem: SubspaceProblem, θ: FloatArray, gap: float) -> float:
    """How much larger ρ may be for the rounding of eigenvalues; infinite where the gap is rounding.

    ρ falls with the square of growths, differences of eigenvalues known to 4 d u |θ| each.
    """
    unsure = 8 * problem.d * UNIT * float(np.abs(θ).max()) / _NARROWEST
    return float((1 - unsure / gap) ** -2) if gap > 10 * unsure else np.inf


def _ratio_from_top(
    problem: SubspaceProblem, spectrum: TopSpace, κ: FloatArray, reach: float
) -> float:
    """ρ from the leading eigenpairs alone: all others count as the largest of them."""
    θ, V, rest = spectrum.values, spectrum.vectors, spectrum.rest
    doubt = _doubt(problem, θ, float(θ[-1] - rest))
    if doubt == np.inf:
        return np.inf
    active = κ > 0
    weight = np.sqrt(0.5 * κ[active])
    image = np.array([problem.moments[a] @ V for a in np.flatnonzero(active).tolist()])
    image *= weight[:, None, None]
    top = V.T @ image
    off = (image - V @ top).transpose(0, 2, 1)
    across = 2 * _in_units(off, np.repeat((θ - rest)[:, None], len(V), axis=1))
    apart = _largest_square(across)
    # Blocks orthogonal to the eigenspace are at most their traces, the errors; only where that
    # is not enough are their largest eigenvalues found.
    low = problem.errors(V)[active] * weight
    best = doubt * _best_share(θ, rest, top, low, apart, reach)
    if best >= 1:
        low = (
            np.array([_largest_outside(problem, a, V) for a in np.flatnonzero(active).tolist()])
            * weight
        )
        best = doubt * _best_share(θ, rest, top, low, apart, reach)
    return best


def _best_share(
    θ: FloatArray, rest: float, top: FloatArray, low: FloatArray, apart: float, reach: float
) -> float:
    best = np.inf
    for share in _SHARES:
        ν = rest + share * (θ[-1] - rest)
        largest = np.maximum(_largest(top, θ - ν), low / (ν - rest))
        best = min(best, _combined(apart, float(largest @ largest), reach))
    return best


def _largest_outside(problem: SubspaceProblem, group: int, V: FloatArray) -> float:
    """Bound the largest eigenvalue of a group's moment orthogonal to a subspace."""
    problem.n_eigensolves += 1
    M = problem.moments[group]
    image = M @ V
    outside = M - image @ V.T
    outside -= V @ (image.T - (V.T @ image) @ V.T)
    return top_space(0.5 * (outside + outside.T), 1).bound


def _combined(apart: float, squares: float, reach: float) -> float:
    """ρ where the diagonal blocks are bounded through how far errors can be apart."""
    return float((np.sqrt(max(apart, 0.0)) + np.sqrt(squares * reach)) ** 2)


def _in_units(blocks: FloatArray, growth: FloatArray) -> FloatArray:
    """Each group's block as a row, its entries in units of the root of the growth."""
    return np.asarray((blocks / np.sqrt(growth)).reshape(len(blocks), -1))


def _largest_square(rows: FloatArray) -> float:
    """Largest squared singular value, by the smaller of the two products: groups may be many."""
    square = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    return float(np.linalg.eigvalsh(square)[-1])


def _largest(blocks: FloatArray, growth: FloatArray) -> FloatArray:
    """Largest eigenvalue of each block in units of the growth."""
    root = np.sqrt(growth)
    return np.asarray(np.linalg.eigvalsh(blocks / root[:, None] / root)[:, -1])
