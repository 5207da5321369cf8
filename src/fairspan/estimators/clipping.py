"""Limits at which extreme values are cut off, learned with the projection and kept with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from fairspan.ground.parameters import check_number
from fairspan.ground.rows import check_finite, check_weights
from fairspan.ground.types import FloatArray


def clipped(X: Any, clip: Any, sample_weight: Any = None) -> FloatArray:
    """Give rows with extreme values cut off at limits that they set themselves."""
    return np.asarray(np.clip(X, *learned_limits(X, clip, sample_weight)))


def learned_limits(X: Any, clip: Any, sample_weight: Any) -> FloatArray:
    """Give the lowest and the highest value of each feature that is left as it is.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    clip : float
        Number of standard deviations from the mean.
    sample_weight : array-like of shape (n_samples,) or None
        How often each row counts.

    Returns
    -------
    ndarray of shape (2, n_features)
        The limits.
    """
    number = check_number("clip", clip, positive=True)
    if issparse(X):
        raise ValueError(f"clip={clip!r} needs dense rows, but X is sparse; use X.toarray().")
    check_finite(X)
    weight = None if sample_weight is None else check_weights(sample_weight, len(X))
    mean = np.average(X, axis=0, weights=weight)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    return np.stack([mean - number * deviation, mean + number * deviation])
