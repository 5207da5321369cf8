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
_MUCH, _LITTLE = 0.9, 1e-14
"""So is this one where what it multiplies is such a share of what is added up: rounding."""
_NARROWEST = min(*_SHARES, 1 - max(_SHARES))
"""The smallest distance of these places from an end of the gap, as a share of it."""


class Leading:
    """The subspace that minimises a weighted sum of group errors, with the spectrum behind it.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    slope : ndarray of shape (n_groups,)
        The weights; one eigen-solve of their combination of moments.
    """

    def __init__(self, problem: SubspaceProblem, slope: FloatArray) -> None:
        problem.n_eigensolves += 1
        self.slope = slope
        if problem.is_large:
            self.spectrum = problem.top(slope)
        else:
            self.spectrum = top_space(problem.combination(slope), problem.d)
        self.subspace = self.spectrum.vectors[:, : problem.k]
        self.errors = problem.errors(self.subspace)


def closed_form_bound(
    problem: SubspaceProblem,
    mixture: Mixture,
    errors: FloatArray,
    box: Box,
    leading: Leading | None = None,
) -> float:
    """Bound the objective of every subspace whose errors lie in a box.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    mixture : Mixture
        A mixture of pieces, best one that is stationary at the errors.
    errors : ndarray of shape (n_groups,)
        Where the tangent touches: errors of a subspace near the minimum, or near those.
    box : Box
        Bounds on the errors of the subspaces in question; where there are none above, only the
        cheapest proof is tried.
    leading : Leading, optional
        The eigen-solve for the slopes of the mixture at the errors, where it is known.

    Returns
    -------
    float
        The bound; minus infinity if the growth does not outweigh the curvature.
    """
    radii = mixture.objective.radii
    if ((errors <= 0) & (radii > 0)).any():
        return -np.inf
    positive = np.where(errors > 0, errors, 1.0)
    slope, gross = mixture.slopes(positive), mixture.gross
    if leading is None or not np.array_equal(slope, leading.slope):
        leading = Leading(problem, slope)
    spectrum = leading.spectrum
    kept = spectrum.bound if problem.is_large else float(spectrum.values[: problem.k].sum())
    sigma = float(slope @ problem.traces) - kept
    sigma -= 4 * problem.d * UNIT * float(np.abs(slope) @ problem.traces)
    tangent = mixture.value(errors) + sigma - float(slope @ errors)
    # What heavy weights count up and down may cancel, and their rounding does not.
    sizes = float(gross.slopes(positive) @ problem.traces) + gross.value(errors)
    tangent -= (8 + problem.n_groups) * UNIT * sizes
    κ = parabola(mixture, errors, box.lower)
    if not κ.any():
        return tangent
    apart = leading.errors - errors
    width = np.maximum(box.upper - errors, errors - box.lower) + np.abs(apart)
    # Where the box has no end, a group that does not bend adds nothing all the same.
    reach = float(0.5 * κ @ np.where(κ > 0, width, 0.0) ** 2)
    lost = 0.5 * float(κ @ apart**2)
    if problem.is_large:
        ρ = _ratio_from_top(problem, spectrum, κ, reach)
    else:
        ρ = _ratio(problem, spectrum, κ, reach, _MUCH if lost <= _LITTLE * sizes else _PLENTY)
    if not ρ < 1:
        return -np.inf
    # (1 + η) ρ = 1 leaves 1 + 1/η = 1 / (1 - ρ).
    return tangent - lost / (1 - ρ)


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
    spectrum: TopSpace,
    κ: FloatArray,
    reach: float,
    plenty: float = _PLENTY,
) -> float:
    """ρ: how much of the growth the parabola can eat up, the best over a few ν."""
    k, θ, vectors = problem.k, spectrum.values, spectrum.vectors
    gap = float(θ[k - 1] - θ[k])
    doubt = _doubt(problem, θ, gap)
    if doubt == np.inf:
        return np.inf
    active = κ > 0
    weight = np.sqrt(0.5 * κ[active])
    turned = vectors.T @ problem.moments[active] @ vectors * weight[:, None, None]
    flat = turned.reshape(len(turned), -1)
    top = np.arange(problem.d) < k
    best, apart = np.inf, None
    for share in _SHARES if reach < np.inf else _SHARES[:1]:
        # Distances from ν: those of two eigenvalues add up to their difference across the gap.
        growth = np.abs(θ - (θ[k] + share * gap))
        units = np.sqrt(2 / (growth[:, None] + growth))
        best = min(best, _largest_square(flat * units.ravel()))
        if doubt * best < plenty or reach == np.inf:
            break
        if apart is None:
            apart = _largest_square(flat * (units * (top[:, None] != top)).ravel())
        blocks = (turned[:, :k, :k], growth[:k]), (turned[:, k:, k:], growth[k:])
        largest = np.maximum(*(_largest(block, size) for block, size in blocks))
        best = min(best, _combined(apart, float(largest @ largest), reach))
        if doubt * best < plenty:
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
    groups = np.flatnonzero(κ > 0).tolist()
    weight = np.sqrt(0.5 * κ[groups])
    top, across = problem.blocks(groups, V, θ - rest)
    top *= weight[:, None, None]
    apart = 4 * float(np.linalg.eigvalsh(across * np.outer(weight, weight))[-1])
    # Blocks orthogonal to the eigenspace are at most their traces, the errors; only where that
    # is not enough are their largest eigenvalues found.
    low = problem.errors(V)[groups] * weight
    best = doubt * _best_share(θ, rest, top, low, apart, reach)
    if best >= 1:
        low = np.array([problem.largest_outside(a, V) for a in groups]) * weight
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
