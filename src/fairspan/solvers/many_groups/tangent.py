"""How group errors change around a subspace: the second-order model of all Newton methods here."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairspan.ground.types import UNIT, FloatArray
from fairspan.problem.subspace import SubspaceProblem

_FLAT = 1e-7
"""Curvatures below this share of the sizes of their two eigenvalues are closed, or negative. Sizes
of their own, because features in other units leave the others' curvatures tiny."""
_FILL = 1e-3
"""Those get this share instead."""
_NOISE = 1e-10
"""Sizes are not taken below this share of the largest eigenvalue."""


class Expansion(NamedTuple):
    """Gradients of the errors in a tangent step T, and the curvature of their weighted sum.

    The bases of the subspace and its complement make the curvature diagonal:
    L_li = 2 (x_i - y_l), x and y the eigenvalues of C(w) inside and outside.
    """

    subspace: FloatArray
    outside: FloatArray
    gradients: FloatArray
    curvature: FloatArray


def expand(problem: SubspaceProblem, V: FloatArray, weights: FloatArray) -> Expansion:
    """Expand the errors around a subspace.

    Parameters
    ----------
    problem : SubspaceProblem
        The moments.
    V : ndarray of shape (d, k)
        Orthonormal columns.
    weights : ndarray of shape (n_groups,)
        Weights of the errors whose curvature is wanted.

    Returns
    -------
    Expansion
        Gradients G_a = -2 outside' C_a V, of shape (d - k, k) each, and the curvature, made
        positive.
    """
    k = V.shape[1]
    basis = np.linalg.qr(V, mode="complete")[0]
    C = basis.T @ problem.combination(weights) @ basis
    x, inner = np.linalg.eigh(C[:k, :k])
    y, outer = np.linalg.eigh(C[k:, k:])
    V, outside = basis[:, :k] @ inner, basis[:, k:] @ outer
    curvature = 2 * (x[None, :] - y[:, None])
    largest = max(np.abs(x).max(), np.abs(y).max()) or 1.0
    size = np.maximum(2 * (np.abs(x)[None, :] + np.abs(y)[:, None]), _NOISE * largest)
    rounding = problem.d * UNIT * largest
    is_open = curvature > np.maximum(_FLAT * size, rounding)
    curvature = np.where(is_open, curvature, _FILL * size)
    return Expansion(V, outside, -2 * (outside.T @ (problem.moments @ V)), curvature)
