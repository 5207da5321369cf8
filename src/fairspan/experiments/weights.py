"""The published loop of FairPCA, all step sizes at once, with its slip and its noise.

The loop chooses between its two candidates by the sum of all entries of a matrix product where a
scalar product is meant, and on most of the paper's tables some of its step sizes are above the
limit of stability. What it returns can therefore depend on rounding; the same loop on perturbed
moments shows how much.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments

STEPS = 1000
NOISE = 1e-15
"""The relative size of the perturbations that show what rounding does."""


def published_mixtures(
    moments: GroupMoments, k: int, rates: Sequence[float], noise: int = 0
) -> FloatArray:
    """Run the published loop for many step sizes.

    Parameters
    ----------
    moments : GroupMoments
        Moments of two groups.
    k : int
        Number of components.
    rates : sequence of float
        Step sizes.
    noise : int
        Seed of a relative perturbation of the covariances by 1e-15; 0 leaves them alone.

    Returns
    -------
    ndarray of shape (n_rates, d, d)
        For each step size the mean of the projections, or the last one.
    """
    C = _perturbed(moments.covariances, noise)
    best = np.linalg.eigvalsh(C)[:, -k:].sum(axis=1)
    d, n = moments.n_features, len(rates)
    weights = np.full((n, len(C)), 1 / len(C))
    total, last, left = np.zeros((n, d, d)), np.zeros((n, d, d)), np.full(n, STEPS)
    mark = weights.copy(), total.copy(), left.copy()
    for step in range(1, STEPS + 1):
        walking = np.flatnonzero(left)
        combined = (weights @ C.reshape(len(C), -1)).reshape(-1, d, d)
        V = np.linalg.eigh(combined[walking])[1][:, :, -k:]
        last[walking] = V @ V.transpose(0, 2, 1)
        total[walking] += last[walking]
        left[walking] -= 1
        losses = best - np.einsum("aij,rij->ra", C, last)
        weights = weights * np.exp(np.asarray(rates)[:, None] * losses)
        weights /= weights.sum(axis=1, keepdims=True)
        # Weights equal to those at the mark, bit by bit, repeat all that followed it: whole rounds
        # are added at once. Marks at powers of two find rounds of any length.
        for i in np.flatnonzero((left > 0) & (weights == mark[0]).all(axis=1)):
            rounds, left[i] = divmod(left[i], mark[2][i] - left[i])
            total[i] += rounds * (total[i] - mark[1][i])
        if step & (step - 1) == 0:
            mark = weights.copy(), total.copy(), left.copy()
    mean = total / STEPS
    takes_mean = _slip(C, best, mean) < _slip(C, best, last)
    return np.where(takes_mean[:, None, None], mean, last)


def _slip(C: FloatArray, best: FloatArray, P: FloatArray) -> FloatArray:
    """Give the largest "loss" as published: the sum of all entries of C P is not <C, P>."""
    sums = P.sum(axis=2) @ C.sum(axis=1).T
    return np.asarray((best - sums).max(axis=1))


def _perturbed(C: FloatArray, noise: int) -> FloatArray:
    if not noise:
        return C
    drawn = np.random.default_rng(noise).standard_normal(C.shape)
    return np.asarray(C * (1 + NOISE * (drawn + drawn.transpose(0, 2, 1))))
