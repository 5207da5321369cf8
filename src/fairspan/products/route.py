"""Which way a fit goes: by moments, or by products with the rows."""

from __future__ import annotations

from typing import Any

from scipy.sparse import issparse

from fairspan.ground.rows import ADDED, available_memory, is_wide

ROUTES = ("auto", "moments", "products")
_PASSES = 16
"""What a fit by products usually takes."""
_COLUMNS = 8
_BASIS = 100
"""Columns of a basis, which cost as many products with each other."""


def is_cheaper(X: Any, n_groups: int) -> bool:
    """Whether products cost less than moments of rows with many features, or moments do not fit.

    Parameters
    ----------
    X : ndarray, csr or csc array of shape (n_rows, n_features)
        The rows.
    n_groups : int
        Number of groups.

    Returns
    -------
    bool
        Whether to go by products.
    """
    if not is_wide(X):
        return False
    n_rows, d = X.shape
    stored = X.nnz if issparse(X) else n_rows * d
    few = 2 * n_rows <= d
    if few:
        # Moments are those in the space of the rows, which are filled up for it.
        needed, by_moments = 8.0 * 4 * n_rows * d, 6.0 * n_rows**2 * d
    else:
        needed = 8.0 * ADDED * n_groups * d**2
        by_moments = stored**2 / n_rows + 100.0 * n_groups * d**2
    by_products = _PASSES * (8.0 * _COLUMNS * stored + 24.0 * _COLUMNS * _BASIS * d)
    return bool(needed > available_memory() or by_products < by_moments)


def fits_as_moments(n_features: int) -> bool:
    """Whether moments of two groups fit in memory; if so, one pass is better than many."""
    return 8.0 * ADDED * 2 * n_features**2 <= available_memory()


def check_room(n_features: int, n_groups: int, n_components: int, width: int = _COLUMNS) -> None:
    """Refuse a fit whose basis does not fit into the memory of this machine.

    Parameters
    ----------
    n_features, n_groups, n_components : int
        Of the fit.
    width : int
        Columns of a pass.
    """
    columns = (1 + n_groups) * 8 * (n_components + width) + 12 * width
    needed = 8.0 * n_features * columns
    if needed > available_memory():
        raise MemoryError(
            f"A fit of n_features={n_features} by products needs about {needed / 1e9:.1f} GB, but "
            f"this machine has {available_memory() / 1e9:.1f} GB. Use fewer features or components."
        )
