"""PCA among the subspaces that avoid given directions: one small eigen-solve, exact."""

from __future__ import annotations

import numpy as np

from fairspan.ground.types import FloatArray
from fairspan.problem.spectrum import top_space
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.result import SolverResult, safe_bound

SAME = 1e-10
"""Directions shorter than this share of the standard deviation of the data count as zero."""


def complement(directions: FloatArray, scale: float) -> FloatArray:
    """Find an orthonormal basis of everything orthogonal to some directions.

    Parameters
    ----------
    directions : ndarray of shape (n_directions, d)
        Rows to avoid, in any number and not necessarily independent.
    scale : float
        Total variance of the data: what is zero up to rounding is not a direction.

    Returns
    -------
    ndarray of shape (d, d - rank)
        Orthonormal columns.
    """
    _, lengths, right = np.linalg.svd(directions, full_matrices=True)
    rank = int((lengths > SAME * np.sqrt(scale)).sum())
    return np.ascontiguousarray(right[rank:].T)


def restricted_pca(problem: SubspaceProblem, basis: FloatArray, solver: str) -> SolverResult:
    """Minimise the total error among subspaces of the span of a basis.

    Parameters
    ----------
    problem : SubspaceProblem
        Second moments around the mean of all rows.
    basis : ndarray of shape (d, r)
        Orthonormal columns; r is at least the number of components.
    solver : str
        Name to report.

    Returns
    -------
    SolverResult
        The best subspace; objective and bound are about the total error of such subspaces.
    """
    pooled = problem.combination(problem.shares)
    found = top_space(basis.T @ pooled @ basis, problem.k)
    subspace = basis @ found.vectors
    errors = problem.errors(subspace)
    total = float(problem.shares @ errors)
    bound = safe_bound(problem.scale - found.bound, total, problem.scale)
    return SolverResult(
        components=subspace.T,
        group_errors=errors,
        objective=total,
        lower_bound=bound,
        status="optimal",
        scale=problem.scale,
        solver=solver,
        n_eigensolves=1,
        history=np.array([[total, bound]]),
    )


def check_room(n_components: int, n_left: int, n_features: int, reason: str) -> None:
    """Check that enough directions are left for the components.

    Parameters
    ----------
    n_components : int
        Number of components.
    n_left, n_features : int
        Number of directions that are left, and of all.
    reason : str
        Why directions are removed.
    """
    if n_left <= 0:
        raise ValueError(
            f"no direction is left for n_components={n_components}: all n_features={n_features} "
            f"are removed {reason}."
        )
    if n_components > n_left:
        raise ValueError(
            f"n_components={n_components} must be at most {n_left}: of n_features={n_features} "
            f"directions, {n_features - n_left} are removed {reason}."
        )
