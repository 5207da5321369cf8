"""Mean and covariance constraints: a two-block splitting without any linear solve, certified.

    minimise over the Fantope  -<C, X> + μ max(|L+' X|^2, |L-' X|^2)   (spectral norms)

where L+ L+' = e I + G and L- L-' = e I - G. Because L+ L+' + L- L-' = 2 e I, the map
K X = (L+' X, L-' X) is an isometry up to the factor sqrt(2 e): the step in X is a projection on the
Fantope (one eigen-solve), the step in K X clips the singular values of both blocks jointly.
Scaled dual variables Z = ρ U prove, by weak duality for the squared norm, that no X is below

    -(sum of the k largest eigenvalues of C - sym(L+ Z+ + L- Z-)) - (|Z+|_* + |Z-|_*)^2 / (4 μ).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from fairspan.ground.types import FloatArray
from fairspan.problem.spectrum import top_space

_OVER_RELAXATION = 1.6
_CHECK_EVERY = 10
_REBALANCE = 5.0
_SHARP, _STILL = 1e-2, 1e-3
"""The spectrum of X is nearly degenerate, so that its leading eigenvectors need a sharper gap than
was asked for. Where features are collinear the dual part creeps on long after X has settled: then
the gap that was asked for is enough."""


class RelaxedSolution(NamedTuple):
    """A point of the Fantope, its objective, a proved bound, and what they took."""

    matrix: FloatArray
    objective: float
    lower_bound: float
    n_iter: int
    n_eigensolves: int


def isometric_factors(difference: FloatArray, offset: float) -> FloatArray:
    """Give L+ and L-, of shape (2, d, d), for the matrix G and a number e above its norm."""
    identity = offset * np.eye(len(difference))
    return np.linalg.cholesky(np.stack([identity + difference, identity - difference]))


def dual_bound(
    pooled: FloatArray, k: int, left: FloatArray | None, Z: FloatArray | None, mu: float
) -> float:
    """Bound the objective from below, for any dual variables.

    Parameters
    ----------
    pooled : ndarray of shape (d, d)
        The matrix C.
    k : int
        Trace of X.
    left, Z : ndarray of shape (2, d, d) or None
        Factors L and dual variables; None where there is no squared norm.
    mu : float
        Weight of the squared norm.

    Returns
    -------
    float
        No point of the Fantope has a smaller objective.
    """
    if left is None or Z is None:
        return -top_space(pooled, k).bound
    nuclear = float(np.linalg.svd(Z, compute_uv=False).sum())
    return -top_space(pooled - symmetric_sum(left, Z), k).bound - nuclear**2 / (4 * mu)


def symmetric_sum(left: FloatArray, blocks: FloatArray) -> FloatArray:
    """Give the symmetric part of L+ B+ + L- B-.

    Parameters
    ----------
    left, blocks : ndarray of shape (2, d, d)
        Factors and blocks.

    Returns
    -------
    ndarray of shape (d, d)
        The symmetric part.
    """
    image = left[0] @ blocks[0] + left[1] @ blocks[1]
    return np.asarray(0.5 * (image + image.T))


def solve_isometric_admm(
    pooled: FloatArray,
    difference: FloatArray,
    k: int,
    *,
    mu: float,
    offset: float,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> RelaxedSolution:
    """Solve the convex program, to a proved relative gap.

    Parameters
    ----------
    pooled : ndarray of shape (d, d)
        The matrix C whose inner product with X is maximised.
    difference : ndarray of shape (d, d)
        The matrix G, of spectral norm below the offset.
    k : int
        Trace of X.
    mu : float
        Weight of the squared norm, positive.
    offset : float
        The number e.
    tol : float
        The gap to reach, relative to the objective.
    max_iter : int
        The largest number of steps.

    Returns
    -------
    RelaxedSolution
        The best point found; its gap may exceed the tolerance after the last step.
    """
    # In units of its largest part the objective is of order one.
    unit = max(float(np.linalg.eigvalsh(pooled)[-1]), mu)
    pooled, mu = pooled / unit, mu / unit
    left = isometric_factors(difference, offset)
    right = np.ascontiguousarray(left.transpose(0, 2, 1))

    def objective(X: FloatArray) -> float:
        largest = np.linalg.norm(right @ X, 2, axis=(1, 2)).max()
        return float(mu * largest**2 - np.vdot(pooled, X))

    X = checked = best = np.eye(len(pooled)) * (k / len(pooled))
    Y, U, rho = right @ X, np.zeros_like(right), mu
    value, bound = objective(X), -math.inf
    for step in range(1, max_iter + 1):
        target = symmetric_sum(left, Y - U) + pooled / rho
        X = project_fantope(target / (2 * offset), k)
        image = right @ X
        relaxed = _OVER_RELAXATION * image + (1 - _OVER_RELAXATION) * Y
        before, (Y, U) = Y, _clip(relaxed + U, rho / (2 * mu))
        if step % _CHECK_EVERY:
            continue
        bound = max(bound, dual_bound(pooled, k, left, rho * U, mu))
        if (found := objective(X)) < value:
            best, value = X, found
        moved, checked = float(np.abs(X - checked).max()), X
        if value - bound <= (tol if moved <= _STILL * tol else _SHARP * tol) * abs(value):
            break
        primal = float(np.linalg.norm(image - Y))
        dual = rho * float(np.linalg.norm(symmetric_sum(left, Y - before)))
        factor = _balance(primal, dual) if step < max_iter / 2 else 1.0
        rho, U = rho * factor, U / factor
    if not math.isfinite(value - bound):
        raise RuntimeError(f"The splitting method met values that are not finite (step {step}).")
    # One projection a step, one bound a check, and the unit.
    solves = step + step // _CHECK_EVERY + 1
    return RelaxedSolution(best, unit * value, unit * bound, step, solves)


def project_fantope(matrix: FloatArray, k: int) -> FloatArray:
    """Find the nearest matrix with eigenvalues in [0, 1] and trace k.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric.
    k : int
        The trace, at most d.

    Returns
    -------
    ndarray of shape (d, d)
        The projection.
    """
    values, vectors = eigh(matrix, driver="evd", check_finite=False)
    kept = np.clip(values - _shift(values, k), 0.0, 1.0)
    active = kept > 0
    return np.asarray((vectors[:, active] * kept[active]) @ vectors[:, active].T)


def _shift(values: FloatArray, k: int) -> float:
    """Find the shift s with sum(clip(values - s, 0, 1)) = k: piecewise linear in s."""
    breaks = np.sort(np.concatenate([values, values - 1.0]))
    totals = np.clip(values - breaks[:, None], 0.0, 1.0).sum(axis=1)
    # Totals fall from d to 0 along the breaks.
    i = int(np.searchsorted(-totals, -k))
    i = min(max(i, 1), len(breaks) - 1)
    drop = totals[i - 1] - totals[i]
    share = (totals[i - 1] - k) / drop if drop > 0 else 0.0
    return float(breaks[i - 1] + share * (breaks[i] - breaks[i - 1]))


def _clip(blocks: FloatArray, weight: float) -> tuple[FloatArray, FloatArray]:
    """Clip the singular values of both blocks at the level s with s = weight sum (σ - s)_+.

    It is the proximal step of the squared largest singular value. What is cut off comes second.
    """
    left, values, right = np.linalg.svd(blocks)
    ordered = np.sort(values, axis=None)[::-1]
    levels = weight * np.cumsum(ordered) / (1 + weight * np.arange(1, len(ordered) + 1))
    above = int(np.count_nonzero(ordered > levels))
    level = levels[above - 1] if above else 0.0
    cut = np.maximum(values - level, 0.0)
    excess = np.zeros_like(blocks)
    for a in (0, 1):
        n = int(np.count_nonzero(cut[a]))
        excess[a] = (left[a][:, :n] * cut[a][:n]) @ right[a][:n]
    return blocks - excess, excess


def _balance(primal: float, dual: float) -> float:
    """Change ρ when one residual far exceeds the other."""
    if primal > _REBALANCE * dual:
        return 2.0
    return 0.5 if dual > _REBALANCE * primal else 1.0
