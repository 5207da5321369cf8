"""The published descents of RFPCA, number for number, all candidates and starts at once.

The published program moves an orthonormal basis U of the d - k lost directions; here the k kept
ones move instead. A step U - γ (I - U U') H U spans the complement of V + γ (I - V V') H V, so that
both walk through the same subspaces, which is all that the objective and the next step depend on.
Descents are stored as columns (k, d, n_descents): every operation runs over all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.objectives.counting import radii_from

STARTS = 20
"""Random starts of each candidate; PCA is one more, the first."""


class Pieces(NamedTuple):
    """Both pieces of the objective: F_a = sum_c u_ac m_c + 2 |u_ac| sqrt(ε_c m_c) + u_ac ε_c.

    Attributes
    ----------
    u : ndarray of shape (2, 2, n_descents)
        How much group c counts in piece a.
    radii : ndarray of shape (2, n_descents)
        The radius ε_c of each group.
    """

    u: FloatArray
    radii: FloatArray

    def values(self, m: FloatArray) -> FloatArray:
        """Give F_0 and F_1 at group errors m, each of shape (2, n_descents)."""
        both = self.u * (m + self.radii) + 2 * np.abs(self.u) * np.sqrt(self.radii * m)
        return np.asarray(both.sum(axis=1))

    def slopes(self, m: FloatArray) -> FloatArray:
        """Give twice the slopes of the larger piece; of equal ones, those of the first."""
        F = self.values(m)
        u = np.where(F[0] >= F[1], self.u[0], self.u[1])
        return np.asarray(2 * (u + np.abs(u) * np.sqrt(self.radii / m)))

    def repeated(self, n: int) -> Pieces:
        """Give every candidate as often as it has starts."""
        return Pieces(np.repeat(self.u, n, axis=-1), np.repeat(self.radii, n, axis=-1))


def published_subspaces(
    moments: GroupMoments,
    k: int,
    grid: Sequence[dict[str, float]],
    steps: int,
    draws: np.random.RandomState,
) -> list[FloatArray]:
    """Solve all candidates by the published descents.

    Parameters
    ----------
    moments : GroupMoments
        Moments of two groups; the rows have mean 0.
    k : int
        Number of components.
    grid : sequence of dict
        ``radius`` and ``fairness_weight`` of each candidate, in the order of their draws.
    steps : int
        Steps of each descent.
    draws : numpy.random.RandomState
        The generator of the starts, which one split shares over its folds and the final fit.

    Returns
    -------
    list of ndarray of shape (d, k)
        The last iterate of each candidate's best start, the first of equal ones.
    """
    M, d = moments.second_moments, moments.n_features
    leading = np.linalg.eigh(np.tensordot(moments.shares, M, axes=1))[1][:, ::-1][:, :k]
    starts = []
    for _ in grid:
        drawn = [draws.randn(d, d - k) for _ in range(STARTS)]
        # The last columns of a complete factor span what the drawn columns leave; without a copy
        # they would keep all of it in memory.
        left = np.linalg.qr(np.array(drawn), mode="complete")[0][:, :, d - k :].copy()
        starts += [leading[None], left]
    V = np.ascontiguousarray(np.concatenate(starts).transpose(2, 1, 0))
    pieces = _pieces(moments, k, grid).repeated(1 + STARTS)
    for _ in range(steps):
        V = _step(M, pieces, V, 1 / np.sqrt(steps + 1))
    values = pieces.values(_errors(M, V, M[:, None] @ V)).max(axis=0)
    winners = values.reshape(len(grid), -1).argmin(axis=1) + (1 + STARTS) * np.arange(len(grid))
    return [V[:, :, winner].T for winner in winners]


def lowered_weight(moments: GroupMoments, k: int, weight: float, radii: FloatArray) -> float:
    """Lower a fairness weight as the published program does where its theory does not hold.

    Parameters
    ----------
    moments : GroupMoments
        Moments of two groups.
    k : int
        Number of components.
    weight : float
        The fairness weight.
    radii : ndarray of shape (2,)
        The radius of each group.

    Returns
    -------
    float
        The smaller share, if the weight is above it and a group may lose less than its radius;
        else the weight. None of the paper's 14 tables is such a case.
    """
    least = np.linalg.eigvalsh(moments.second_moments)[:, : moments.n_features - k].sum(axis=1)
    smaller = float(moments.shares.min())
    return smaller if weight > smaller and (least < radii).any() else weight


def _pieces(moments: GroupMoments, k: int, grid: Sequence[dict[str, float]]) -> Pieces:
    radii = np.array([radii_from(one["radius"], moments.weights) for one in grid])
    weights = np.array(
        [
            lowered_weight(moments, k, one["fairness_weight"], own)
            for one, own in zip(grid, radii, strict=True)
        ]
    )
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    u = moments.shares[None, :, None] + signs[:, :, None] * weights
    return Pieces(u, radii.T)


def _errors(M: FloatArray, V: FloatArray, image: FloatArray) -> FloatArray:
    kept = np.einsum("ajdn,jdn->an", image, V)
    # The slope at 0 is infinite; the smallest positive number keeps it finite.
    lost = np.einsum("add->a", M)[:, None] - kept
    return np.asarray(np.maximum(lost, np.finfo(float).tiny))


def _step(M: FloatArray, pieces: Pieces, V: FloatArray, length: float) -> FloatArray:
    image = M[:, None] @ V
    slopes = length * pieces.slopes(_errors(M, V, image))
    move = slopes[0] * image[0] + slopes[1] * image[1]
    inner = np.einsum("idn,jdn->ijn", V, move)
    moved = V + move
    for i, column in enumerate(V):
        moved -= inner[i][:, None] * column
    for j, column in enumerate(moved):
        for earlier in moved[:j]:
            column -= np.einsum("dn,dn->n", earlier, column) * earlier
        column /= np.sqrt(np.einsum("dn,dn->n", column, column))
    return np.asarray(moved)
