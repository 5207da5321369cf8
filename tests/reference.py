"""Slow and obvious computations that tests compare with; they share no code with the package."""

from __future__ import annotations

import numpy as np


def worst_error(u: float, m: float, eps: float) -> float:
    if u >= 0:
        return u * (m**0.5 + eps**0.5) ** 2
    return u * max(m**0.5 - eps**0.5, 0.0) ** 2


def objective(errors, shares, fairness_weight, radii, in_gap=None) -> float:
    """The largest of J_ab over all ordered pairs of different groups, term by term."""
    n_groups = len(shares)
    if n_groups == 1:
        return worst_error(shares[0], errors[0], radii[0])
    largest = -np.inf
    for a in range(n_groups):
        for b in range(n_groups):
            if a == b or (in_gap is not None and not (in_gap[a] and in_gap[b])):
                continue
            value = 0.0
            for c in range(n_groups):
                u = shares[c] + fairness_weight * ((c == a) - (c == b))
                value += worst_error(u, errors[c], radii[c])
            largest = max(largest, value)
    return largest


def compared_objective(
    errors, shares, fairness_weight, radii, in_gap=None, disparity="gap", references=None
) -> float:
    """The objective with references, for the gap or for the largest error, term by term."""
    n_groups = len(shares)
    beyond = np.zeros(n_groups) if references is None else references
    if disparity == "gap":
        best = -np.inf
        for a in range(n_groups):
            for b in range(n_groups):
                if a == b or (in_gap is not None and not (in_gap[a] and in_gap[b])):
                    continue
                pair = np.arange(n_groups) == a, np.arange(n_groups) == b
                u = shares + fairness_weight * (pair[0].astype(float) - pair[1])
                value = sum(map(worst_error, u, errors, radii))
                best = max(best, value - fairness_weight * (beyond[a] - beyond[b]))
        return best if n_groups > 1 else worst_error(shares[0], errors[0], radii[0])
    worst = [worst_error(1.0, m, e) for m, e in zip(errors, radii, strict=True)]
    losses = [worst[a] - beyond[a] for a in range(n_groups) if in_gap is None or in_gap[a]]
    return np.dot(shares, worst) + fairness_weight * max(losses)


def two_group_objective(errors, shares, fairness_weight, radii) -> np.ndarray:
    """F of many pairs of errors, shape (..., 2), for two groups."""
    root, edge = np.sqrt(np.maximum(errors, 0.0)), np.sqrt(radii)
    up, down = (root + edge) ** 2, np.maximum(root - edge, 0.0) ** 2
    pieces = []
    for a, b in ((0, 1), (1, 0)):
        u = shares[b] - fairness_weight
        other = u * (up[..., b] if u >= 0 else down[..., b])
        pieces.append((shares[a] + fairness_weight) * up[..., a] + other)
    return np.maximum(*pieces)


def group_second_moments(X, groups) -> tuple[np.ndarray, np.ndarray]:
    """Second moments around the mean of all rows, and shares, of the sorted groups."""
    X, groups = np.asarray(X, float), np.asarray(groups)
    centred = X - X.mean(axis=0)
    labels = sorted(set(groups.tolist()))
    parts = [centred[groups == label] for label in labels]
    moments = np.array([part.T @ part / len(part) for part in parts])
    return moments, np.array([len(part) / len(X) for part in parts])


def group_errors(moments, subspace) -> np.ndarray:
    """What a subspace (orthonormal columns) loses of each group: tr of (I - VV') M."""
    lost = np.eye(len(subspace)) - subspace @ subspace.T
    return np.array([max(np.trace(lost @ moment @ lost), 0.0) for moment in moments])


def scan_boundary(first, second, n_angles: int = 1600, chunk: int = 100) -> np.ndarray:
    """Errors of the best subspaces of cos t M_0 + sin t M_1 for angles t in (-45, 135) degrees.

    One full eigen-decomposition an angle serves every number of components: the result has shape
    (n_angles, d + 1, 2), its entry [:, k] the errors of the k leading eigenvectors.
    """
    d = len(first)
    angles = np.radians(np.linspace(-45.0, 135.0, n_angles + 2)[1:-1])
    errors = np.zeros((n_angles, d + 1, 2))
    for start in range(0, n_angles, chunk):
        t = angles[start : start + chunk, None, None]
        vectors = np.linalg.eigh(np.cos(t) * first + np.sin(t) * second)[1]
        for group, moment in enumerate((first, second)):
            energy = np.einsum("nij,nij->nj", vectors, moment @ vectors)
            # Ascending eigenvalues: dropping the first j columns keeps k = d - j components.
            lost = np.cumsum(np.maximum(energy, 0.0), axis=1)
            errors[start : start + chunk, :d, group] = lost[:, ::-1]
    return errors


def random_subspace(rng, d: int, k: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, k)))[0]


def random_moments(rng, n_groups: int, d: int, rank: int | None = None) -> np.ndarray:
    """Positive semidefinite matrices with widely spread eigenvalues."""
    moments = []
    for _ in range(n_groups):
        factor = rng.standard_normal((d, rank or d)) * np.exp(rng.normal(0, 1, rank or d))
        moments.append(factor @ factor.T / d)
    return np.array(moments)


def largest_angle(first, second) -> float:
    """The largest principal angle between the spans of orthonormal rows, in radians."""
    first, second = np.atleast_2d(first), np.atleast_2d(second)
    outside = second - (second @ first.T) @ first
    return float(np.arcsin(min(np.linalg.norm(outside, 2), 1.0)))
