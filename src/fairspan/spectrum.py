"""The one eigen-solver every method calls: the leading eigenspace, with a proved bound.

Small matrices go to LAPACK. Large ones go to Lanczos (ARPACK) with a warm start, which proves
nothing by itself; a Cholesky factorisation then proves that no larger eigenvalue was missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dsyevr
from scipy.sparse.linalg import ArpackError, aslinearoperator, eigsh

from fairspan._types import FloatArray

_DENSE = 256
"""Below this size, or for many vectors, LAPACK on a subset is faster than Lanczos."""

_RESTARTS = 50
"""Lanczos restarts after which LAPACK is the faster way."""

UNIT = float(np.finfo(np.float64).eps) / 2


class TopSpace(NamedTuple):
    """The leading eigenspace of a symmetric matrix.

    Attributes
    ----------
    vectors : ndarray of shape (d, k)
        Orthonormal.
    values : ndarray of shape (k,)
        Eigenvalues, descending.
    bound : float
        A number proved to be no less than the sum of the k largest eigenvalues.
    rest : float
        A number proved to be no less than x'Ax for unit vectors x orthogonal to the space; it is
        below the k-th eigenvalue where an eigengap was found.
    """

    vectors: FloatArray
    values: FloatArray
    bound: float
    rest: float


def top_space(matrix: FloatArray, k: int, start: FloatArray | None = None) -> TopSpace:
    """Find the k leading eigenvectors of a symmetric matrix.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric.
    k : int
        From 1 to d.
    start : ndarray of shape (d, any), optional
        Vectors near the answer.

    Returns
    -------
    TopSpace
        Vectors, values and the proved bound on the sum of the values.
    """
    d = len(matrix)
    if d >= _DENSE and 8 * k <= d:
        found = _iterative(matrix, k, start)
        if found is not None:
            return found
    some = min(k + 1, d)
    values, vectors, _, _, info = dsyevr(matrix, range="I", il=d - some + 1, iu=d, lower=1)
    if info != 0:
        raise LinAlgError(f"LAPACK found no eigenvalues of a {d} x {d} matrix (info={info}).")
    values, vectors = values[some - 1 :: -1] if some < d else values[::-1], vectors[:, ::-1]
    slack = 4 * d * UNIT * float(np.linalg.norm(matrix))
    rest = float(values[k]) + slack if k < d else -np.inf
    return TopSpace(vectors[:, :k], values[:k], float(values[:k].sum()) + slack, rest)


def _iterative(matrix: FloatArray, k: int, start: FloatArray | None) -> TopSpace | None:
    """Lanczos with proof; None when it does not converge or its answer is not proved."""
    d = len(matrix)
    v0 = start.sum(axis=1) if start is not None else np.ones(d)
    # ARPACK's tolerance has an absolute floor: it must see a matrix of about unit size.
    size = float(np.linalg.norm(matrix)) or 1.0
    operator = aslinearoperator(matrix) * (1 / size)
    try:
        # The bound is quadratic in the residual: ten digits of it give all of the sum's.
        values, vectors = eigsh(operator, k=k + 1, which="LA", v0=v0, tol=1e-10, maxiter=_RESTARTS)
    except ArpackError:
        return None
    order = np.argsort(values)[::-1]
    values, vectors = size * values[order], vectors[:, order]
    top, _ = np.linalg.qr(vectors[:, :k])
    image = matrix @ top
    ritz = np.einsum("ij,ij->j", top, image)
    proved = _proved_bound(matrix, top, image, ritz, float(values[k]))
    return None if proved is None else TopSpace(top, ritz, *proved)


def _proved_bound(
    matrix: FloatArray, top: FloatArray, image: FloatArray, ritz: FloatArray, following: float
) -> tuple[float, float] | None:
    """Bound the sum of the k largest eigenvalues, and the rest, by one Cholesky factorisation.

    With s between the k-th and the next eigenvalue and δ >= |residual|^2 / (s - next): if
    s I - A + V diag(ritz + δ - s) V' is positive semidefinite, then A <= s I + V diag(...) V',
    whose k largest eigenvalues are ritz + δ. It holds for any orthonormal V, however inaccurate.
    """
    d, k = top.shape
    lowest = float(ritz.min())
    if not lowest > following:
        return None
    s = following + 0.25 * (lowest - following)
    residual = float(np.linalg.norm(image - top * ritz))
    rounding = 8 * k * UNIT * float(np.linalg.norm(matrix))
    δ = 2 * residual**2 / (s - following) + rounding
    if δ > 2 * rounding + 1e-13 * float(np.abs(ritz).max()):
        return None  # Too small a gap for a sharp bound.
    shifted = (top * (ritz + δ - s)) @ top.T
    shifted -= matrix
    shifted[np.diag_indices(d)] += s + rounding
    # A factorisation that completes in floating point proves the matrix semidefinite up to
    # (d + 1) u times its trace (Demmel 1989).
    unproved = 2 * rounding + (d + 2) * UNIT * float(np.trace(shifted))
    try:
        cholesky(shifted.T, lower=False, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return float(ritz.sum() + k * (δ + unproved)), float(s + unproved)
