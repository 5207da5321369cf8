"""Rows to moments: each group around its own mean, in the space of the rows where they are few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairspan.ground.rows import check_finite, check_weights
from fairspan.ground.types import FloatArray
from fairspan.moments.accumulate import scatter_by_group
from fairspan.moments.groups import Groups
from fairspan.moments.sparse import is_sparse, scatter_sparse

_WIDE = 256
_FEW_ROWS = 2
"""From so many features on, and with so many features a row, rows are fewer than needed."""
_VANISHES = 1e-150
"""Squares of smaller numbers are 0, or nearly."""


def fields_of_rows(
    X: Any, groups: Groups, sample_weight: Any, feature_names: Sequence[str] | None
) -> dict[str, Any]:
    """Give what GroupMoments hold about rows.

    Parameters
    ----------
    X : ndarray, csr or csc array of shape (n_rows, n_features)
        A float32 or float64 array.
    groups : Groups
        The group of each row.
    sample_weight : array-like of shape (n_rows,) or None
        How often each row counts.
    feature_names : sequence of str or None
        Names of the features.

    Returns
    -------
    dict
        The fields of GroupMoments, and their values.
    """
    n_rows, n_features = X.shape
    few = _FEW_ROWS * n_rows <= n_features >= _WIDE
    fields = (_in_row_space if few else _centred)(X, groups, sample_weight, feature_names)
    names = None if feature_names is None else tuple(feature_names)
    return fields | {"labels": groups.labels, "feature_names": names}


def _centred(
    X: Any, groups: Groups, sample_weight: Any, feature_names: Sequence[str] | None
) -> dict[str, Any]:
    weight = None if sample_weight is None else check_weights(sample_weight, X.shape[0])
    sum_rows = scatter_sparse if is_sparse(X) else scatter_by_group
    raw = sum_rows(X, groups.codes, len(groups.labels), weight)
    # Missing and infinite values show in the sums, which spares a pass over X to look for
    # them; only then is X searched, to name the columns.
    if not np.isfinite(raw.sums).all():
        check_finite(X, feature_names)
    for label, total in zip(groups.labels, raw.weights, strict=True):
        if total <= 0:
            raise ValueError(
                f"sample_weight is zero for every row of group {label!r}; "
                "each group needs a positive total weight. Drop its rows to leave it out."
            )
    offsets = raw.sums / raw.weights[:, None]
    scatters = raw.scatters
    with np.errstate(over="ignore", invalid="ignore"):
        for a, offset in enumerate(offsets):
            scatters[a] -= raw.weights[a] * np.outer(offset, offset)
    if not np.isfinite(scatters).all():
        raise ValueError(
            "X holds values too large to square in double precision (above about 1e154); "
            "rescale its features."
        )
    if not scatters.any():
        _check_underflow(X, raw.shift)
    return {
        "counts": raw.counts,
        "weights": raw.weights,
        "squared_weights": raw.squared_weights,
        "shift": raw.shift,
        "offsets": offsets,
        "scatters": scatters,
    }


def _check_underflow(X: Any, shift: FloatArray) -> None:
    """Refuse values whose squares vanish, which look as if nothing varied."""
    largest = np.abs(X.data if is_sparse(X) else X - shift).max(initial=0.0)
    if 0 < largest < _VANISHES:
        raise ValueError(
            f"X varies by {largest:.2g} at most, too little to square in double precision; rescale "
            "its features."
        )


def _in_row_space(
    X: Any, groups: Groups, sample_weight: Any, feature_names: Sequence[str] | None
) -> dict[str, Any]:
    """Find the moments where rows are far fewer than features, in the space the rows span."""
    # Sparse rows are filled up here: the basis is as large.
    X = X.toarray() if is_sparse(X) else X
    check_finite(X, feature_names)
    X = np.asarray(X, dtype=np.float64)
    shift = X.mean(axis=0)
    columns, triangle = np.linalg.qr((X - shift).T)
    small = _centred(triangle.T, groups, sample_weight, None)
    means = small["shift"] + small["offsets"]
    return small | {"shift": shift, "offsets": means @ columns.T, "basis": columns.T}
