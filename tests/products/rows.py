"""Made-up rows for fits by products, and what dense algebra says about them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar


def made(seed, n=300, d=60, *, far=0.0):
    """Rows of two groups that differ in what varies; eigenvalues fall slowly."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, n)
    X = rng.standard_normal((n, d)) * np.linspace(3, 0.5, d)
    X[groups == 1] *= rng.uniform(0.6, 1.5, d)
    return X + far, groups


def moments_of(X, groups, weight=None, scale=None):
    """Second moments of each group around the mean of all rows, by their definition."""
    weight = np.ones(len(X)) if weight is None else weight
    centered = X - np.average(X, axis=0, weights=weight)
    centered = centered / (1.0 if scale is None else scale)
    return np.array(
        [
            (centered[groups == a].T * weight[groups == a])
            @ centered[groups == a]
            / weight[groups == a].sum()
            for a in np.unique(groups)
        ]
    )


def least_by_duality(moments, shares, k, λ):
    """The least total error plus λ times the gap of two groups, from one eigen-solve an angle.

    Without radii it is the largest, over |μ| <= λ, of the least total error + μ (m_0 - m_1).
    """

    def minus(μ):
        w = shares + μ * np.array([1.0, -1.0])
        kept = np.linalg.eigvalsh(np.tensordot(w, moments, 1))[-k:].sum()
        return -(w @ np.einsum("aii->a", moments) - kept)

    found = minimize_scalar(minus, bounds=(-λ, λ), method="bounded", options={"xatol": 1e-12})
    return max(-found.fun, -minus(-λ), -minus(λ))
