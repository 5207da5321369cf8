"""The one eigen-solver every method calls: the leading eigenspace, with a proved bound.

Small matrices go to LAPACK. Large ones go to Lanczos (ARPACK) with a warm start, which proves
nothing by itself; a Cholesky factorisation then proves that no larger eigenvalue was missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dsyev, dsyevd, dsyevr
from scipy.sparse.linalg import ArpackError, aslinearoperator, eigsh

from fairspan.ground.types import UNIT, FloatArray

_DENSE = 256
"""Below this size, or for many vectors, LAPACK on a subset is faster than Lanczos."""

_SMALL = 32
"""Up to this size LAPACK's oldest routine for all eigenvectors is the fastest."""
_FEW = 6
"""Part of a spectrum is faster to find than all of it if all is so many times as much."""
_WIDER = 3
"""This many more eigenvectors are found, in search of a larger eigengap."""
_RESTARTS = 20
"""Lanczos restarts after which LAPACK is the faster way."""


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
        A number proved to be no less than x'Ax for unit vectors x orthogonal to the space.
    wide : ndarray of shape (d, k or more)
        The space and perhaps a few vectors more, up to a larger eigengap.
    beyond : float
        Like rest, for vectors orthogonal to the wide space.
    """

    vectors: FloatArray
    values: FloatArray
    bound: float
    rest: float
    wide: FloatArray
    beyond: float


def top_space(
    matrix: FloatArray, k: int, start: FloatArray | None = None, *, wider: int = 0
) -> TopSpace:
    """Find the k leading eigenvectors of a symmetric matrix.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric.
    k : int
        From 1 to d.
    start : ndarray of shape (d, any), optional
        Vectors near the answer.
    wider : int
        How many vectors more the wide space may have, in search of a larger eigengap.

    Returns
    -------
    TopSpace
        Vectors, values and the proved bound on the sum of the values.
    """
    d = len(matrix)
    if d >= _DENSE and 8 * k <= d:
        found = _iterative(matrix, k, start, max(wider, _WIDER))
        if found is not None:
            return found
    some = min(k + wider + 1, d)
    values, vectors = _leading(matrix, some)
    slack = 4 * d * UNIT * float(np.linalg.norm(matrix))
    bound = float(values[:k].sum()) + slack
    if k == d:
        return TopSpace(vectors, values, bound, -np.inf, vectors, -np.inf)
    wide = _widest_gap(values, k)
    rest, beyond = float(values[k]) + slack, float(values[wide]) + slack
    return TopSpace(vectors[:, :k], values[:k], bound, rest, vectors[:, :wide], beyond)


def whole_spectrum(matrix: FloatArray, vectors: bool = True) -> tuple[FloatArray, FloatArray, bool]:
    """Find all eigenvalues of a symmetric matrix, and all eigenvectors, by LAPACK alone.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric, in C order; it is overwritten.
    vectors : bool
        Whether eigenvectors are wanted.

    Returns
    -------
    values : ndarray of shape (d,)
        Ascending.
    vectors : ndarray of shape (d, d)
        Orthonormal columns; nothing of use where they are not wanted.
    found : bool
        Whether LAPACK succeeded.
    """
    routine = dsyev if vectors and len(matrix) <= _SMALL else dsyevd
    # The transpose of a C-ordered matrix is what Fortran takes without a copy.
    values, columns, info = routine(matrix.T, compute_v=int(vectors), lower=0, overwrite_a=1)
    return values, columns, info == 0


def _leading(matrix: FloatArray, some: int) -> tuple[FloatArray, FloatArray]:
    """Some leading eigenpairs, in descending order."""
    d = len(matrix)
    info = 1
    # Asked for many of them dsyevr is the slower one, and for all of them the less accurate: it
    # misses eigenvalues by up to 60 units of rounding, dsyevd by 13.
    if _FEW * some <= d:
        values, vectors, _, _, info = dsyevr(matrix, range="I", il=d - some + 1, iu=d, lower=1)
    if info != 0:
        # Among clusters of equal eigenvalues (moments of rank 1) a part of the spectrum may not
        # be found; all of it is, by another method.
        values, vectors, found = whole_spectrum(np.array(matrix))
        if not found:
            values, vectors = np.linalg.eigh(matrix)
        values, vectors = values[d - some :], vectors[:, d - some :]
    # BLAS takes no columns in reverse: products with them would be slow.
    return values[:some][::-1], np.ascontiguousarray(vectors[:, :some][:, ::-1])


def _widest_gap(values: FloatArray, k: int) -> int:
    """The size of a leading space of at least k dimensions, up to the largest gap that is known."""
    return k + int(np.argmax(values[k - 1 : -1] - values[k:]))


def _iterative(matrix: FloatArray, k: int, start: FloatArray | None, wider: int) -> TopSpace | None:
    """Lanczos with proof; None when it does not converge or its answer is not proved."""
    d = len(matrix)
    v0 = start.sum(axis=1) if start is not None else np.ones(d)
    # ARPACK's tolerance has an absolute floor: it must see a matrix of about unit size.
    size = float(np.linalg.norm(matrix)) or 1.0
    operator = aslinearoperator(matrix) * (1 / size)
    some = k + wider + 1
    try:
        # The bound is quadratic in the residual: ten digits of it give all of the sum's.
        values, vectors = eigsh(operator, k=some, which="LA", v0=v0, tol=1e-10, maxiter=_RESTARTS)
    except ArpackError:
        return None
    order = np.argsort(values)[::-1]
    values, vectors = size * values[order], vectors[:, order]
    # The proof needs a gap behind the space it is about: of a few, the largest.
    wide = _widest_gap(values, k)
    space = np.linalg.qr(vectors[:, :wide])[0]
    image = matrix @ space
    ritz = np.einsum("ij,ij->j", space, image)
    order = np.argsort(-ritz, kind="stable")
    space, image, ritz = space[:, order], image[:, order], ritz[order]
    excess, beyond = _prove(matrix, space, image, ritz, float(values[wide]))
    if beyond is None:
        return None
    rest = beyond if wide == k else max(float(ritz[k]) + excess, beyond)
    bound = float(ritz[:k].sum()) + k * excess
    return TopSpace(space[:, :k], ritz[:k], bound, rest, space, beyond)


def _prove(
    matrix: FloatArray, space: FloatArray, image: FloatArray, ritz: FloatArray, following: float
) -> tuple[float, float | None]:
    """Prove by one Cholesky factorisation what a space of leading eigenvectors leaves out.

    With s between the space's last eigenvalue and the next, and δ >= |residual|^2 / (s - next): if
    s I - A + V diag(ritz + δ - s) V' is positive semidefinite, then A <= s I + V diag(...) V',
    whose leading eigenvalues are ritz + δ. It holds for any orthonormal V, however inaccurate.
    Gives δ and s with what rounding may hide, or None for s where nothing is proved.
    """
    d, width = space.shape
    s = following + 0.25 * (float(ritz.min()) - following)
    if not s > following:
        return 0.0, None
    residual = float(np.linalg.norm(image - space * ritz))
    rounding = 8 * width * UNIT * float(np.linalg.norm(matrix))
    δ = 2 * residual**2 / (s - following) + rounding
    if δ > 2 * rounding + 1e-13 * float(np.abs(ritz).max()):
        return 0.0, None
    shifted = (space * (ritz + δ - s)) @ space.T
    shifted -= matrix
    shifted[np.diag_indices(d)] += s + rounding
    # A factorisation that completes in floating point proves the matrix semidefinite up to
    # (d + 1) u times its trace (Demmel 1989).
    unproved = 2 * rounding + (d + 2) * UNIT * float(np.trace(shifted))
    try:
        cholesky(shifted.T, lower=False, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return 0.0, None
    return δ + unproved, s + unproved
