"""Scales of features: how much each varies, and what double precision can resolve."""

from __future__ import annotations

import numpy as np

from fairspan.exceptions import HiddenFeatureWarning
from fairspan.ground.listed import listed
from fairspan.ground.parameters import LARGEST
from fairspan.ground.types import UNIT, BoolArray, FloatArray
from fairspan.ground.warn import warn
from fairspan.moments.group_moments import GroupMoments


def pooled_scale(moments: GroupMoments) -> FloatArray:
    """Return the standard deviation of each feature; 1 if it is constant up to rounding."""
    deviation = _deviations(moments)
    return np.where(deviation > 0, deviation, 1.0)


def check_magnitude(moments: GroupMoments) -> FloatArray:
    """Refuse variances that cannot be squared.

    Parameters
    ----------
    moments : GroupMoments
        Moments in the units of a fit.

    Returns
    -------
    ndarray of shape (n_features,)
        Variance of each feature over all rows.
    """
    variances = _deviations(moments) ** 2
    largest = float(variances.max())
    if not largest <= LARGEST:
        raise ValueError(
            f"{_named(moments, variances > LARGEST)} a variance above {LARGEST:g}, too large to "
            "compute with in double precision. Look for outliers, rescale X or use "
            "standardize=True."
        )
    if 0 < largest < 1 / LARGEST:
        raise ValueError(
            f"The largest variance of a feature is {largest:.2g}, below {1 / LARGEST:g}: too "
            "small to compute with in double precision. Rescale X or use standardize=True."
        )
    return variances


def hidden_features(moments: GroupMoments) -> BoolArray:
    """Return which features vary so little that rounding of larger ones hides them.

    Parameters
    ----------
    moments : GroupMoments
        Moments in the units of a fit.

    Returns
    -------
    ndarray of shape (n_features,)
        Whether each is hidden.
    """
    variances = check_magnitude(moments)
    # Errors are differences of total variances, known to this accuracy.
    rounding = 8 * len(moments.scatters[0]) * UNIT * variances.sum()
    return np.asarray((variances > 0) & (variances <= 10 * rounding))


def warn_of_hidden_features(moments: GroupMoments, hidden: BoolArray) -> None:
    """Warn of the features that rounding hides, if there are any.

    Parameters
    ----------
    moments : GroupMoments
        Moments in the units of a fit.
    hidden : ndarray of shape (n_features,)
        What :func:`hidden_features` found.
    """
    if hidden.any():
        warn(
            f"{_named(moments, hidden)} a variance so small compared with the largest "
            f"({moments.variances.max():.2g}) that rounding hides it: group errors, objective and "
            "bound say nothing about it. Look for outliers, or use standardize=True.",
            HiddenFeatureWarning,
        )


def _named(moments: GroupMoments, chosen: BoolArray) -> str:
    names = moments.feature_names or range(moments.n_features)
    found = [name for name, one in zip(names, chosen, strict=True) if one]
    return f"Feature {listed(found)} has" if len(found) == 1 else f"Features {listed(found)} have"


def _deviations(moments: GroupMoments) -> FloatArray:
    """Return the standard deviation of each feature; 0 if rounding explains it."""
    deviation = np.sqrt(np.maximum(moments.variances, 0.0))
    constant = deviation <= 1e-10 * np.abs(moments.mean)
    # A part of the data may be constant far from the shift of the whole; what is left of its
    # scatter there is rounding.
    constant |= deviation <= 1e-7 * np.sqrt(moments.shares @ moments.offsets**2)
    return np.where(constant, 0.0, deviation)
