"""The ambiguity set made visible: how far two distributions are apart, and whom robustness fears.

A group's ambiguity set holds every distribution whose mean and covariance lie within a radius of
the group's own, measured by the squared Gelbrich divergence (the squared 2-Wasserstein distance,
for Gaussians). The worst distribution is the group itself, moved: away from the subspace where its
error counts positively, towards it where it counts negatively.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.linalg import eigh, svdvals
from sklearn.utils import check_array

from fairspan.ground.parameters import LARGEST
from fairspan.ground.rows import check_real
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments


def gelbrich_divergence(
    mean: FloatArray, covariance: FloatArray, other_mean: FloatArray, other_covariance: FloatArray
) -> float:
    """Squared Gelbrich divergence between two pairs of moments.

    ``|mean - other_mean|^2 + tr(A + B - 2 (B^(1/2) A B^(1/2))^(1/2))`` for covariances A and B.

    Parameters
    ----------
    mean, other_mean : ndarray of shape (n_features,)
        Means.
    covariance, other_covariance : ndarray of shape (n_features, n_features)
        Covariances (positive semidefinite).

    Returns
    -------
    float
        The divergence, in squared units of the data.
    """
    given = {
        "mean": mean,
        "covariance": covariance,
        "other_mean": other_mean,
        "other_covariance": other_covariance,
    }
    place, spread, other, other_spread = parts = [_real(name, x) for name, x in given.items()]
    shapes, d = [part.shape for part in parts], place.size
    if shapes != [(d,), (d, d), (d,), (d, d)]:
        raise ValueError(
            "Both means must have the shape (n_features,) and both covariances (n_features, "
            f"n_features); their shapes are {', '.join(map(str, shapes))}."
        )
    return _gelbrich(place, spread, other, other_spread)


def _gelbrich(
    mean: FloatArray, covariance: FloatArray, other_mean: FloatArray, other_covariance: FloatArray
) -> float:
    apart = mean - other_mean
    # tr (B^1/2 A B^1/2)^1/2 is the sum of the singular values of A^1/2 B^1/2, found without
    # squaring, which would halve the digits.
    cross = svdvals(_square_root(covariance) @ _square_root(other_covariance)).sum()
    spread = float(np.trace(covariance) + np.trace(other_covariance) - 2 * cross)
    return float(apart @ apart) + max(spread, 0.0)


def _real(name: str, values: Any) -> FloatArray:
    """Check finite numbers that can be squared, and of covariances, that they are some."""
    check_real(values, name)
    array = np.asarray(check_array(values, dtype=np.float64, ensure_2d=False, input_name=name))
    largest = float(np.abs(array).max())
    if largest > LARGEST:
        raise ValueError(f"{name} has values above {LARGEST:g}, too large to square.")
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        if np.abs(array - array.T).max() > 1e-8 * largest:
            raise ValueError(f"{name} is not symmetric, so it is not a covariance.")
        if np.linalg.eigvalsh(array)[0] < -1e-8 * largest:
            raise ValueError(f"{name} has a negative eigenvalue, so it is not a covariance.")
    return array


def worst_case_rows(
    centred: FloatArray, components: FloatArray, error: float, radius: float, coefficient: float
) -> FloatArray:
    """Move rows of a group to the worst distribution within its radius.

    Parameters
    ----------
    centred : ndarray of shape (n_rows, n_features)
        Rows of one group, centred by the mean of all groups.
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows that span the subspace.
    error : float
        The group's mean squared reconstruction error.
    radius : float
        The group's radius, in squared units of the data.
    coefficient : float
        How the group's error counts; only its sign matters.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
        The moved rows: their mean error is the worst case of the objective.
    """
    lost = centred - (centred @ components.T) @ components
    if error > 0:
        stretch = np.sqrt(radius / error)
        return np.asarray(centred + (stretch if coefficient >= 0 else -min(stretch, 1.0)) * lost)
    if coefficient < 0 or radius == 0:
        return centred.copy()
    # Without any error there is no direction to stretch: the mean leaves the subspace instead.
    return np.asarray(centred + np.sqrt(radius) * _unit_outside(components))


def _unit_outside(components: FloatArray) -> FloatArray:
    k, d = components.shape
    if k == d:
        raise ValueError(
            f"n_components={k} spans all {d} features: nothing is ever lost, so no distribution "
            "is worse than another."
        )
    outside = np.eye(d) - components.T @ components
    column = outside[:, int(np.argmax(np.diag(outside)))]
    return np.asarray(column / np.linalg.norm(column))


def _square_root(matrix: Any) -> FloatArray:
    values, vectors = eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def bootstrap_radii(
    moments: GroupMoments,
    replicates: Iterable[GroupMoments],
    level: float,
    scale: FloatArray | None = None,
) -> FloatArray:
    """Give each group the radius that its bootstrap moments keep to with a probability.

    Parameters
    ----------
    moments : GroupMoments
        Moments of the data.
    replicates : iterable of GroupMoments
        Moments of resampled data, measured from the same shift or near it.
    level : float
        The probability, between 0 and 1.
    scale : ndarray of shape (n_features,), optional
        Divisors of the features, in whose units the radii are wanted.

    Returns
    -------
    ndarray of shape (n_groups,)
        The quantile of the squared Gelbrich divergences of each group.
    """
    counts = zip(moments.labels, moments.counts.tolist(), strict=True)
    single = [label for label, count in counts if count < 2]
    if single:
        raise ValueError(
            "radius='bootstrap' resamples the rows of each group, and a single row is always the "
            f"same; groups with one row: {single[:5]}. Give a number, a radius for each group as "
            "{label: radius}, or merge small groups."
        )
    place, spread = _places(moments, moments.shift, scale)
    found = []
    for replicate in replicates:
        other, covariance = _places(replicate, moments.shift, scale)
        found.append(list(map(_gelbrich, place, spread, other, covariance)))
    return np.asarray(np.quantile(found, level, axis=0))


def _places(
    moments: GroupMoments, shift: FloatArray, scale: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Means, measured from a shift, and covariances of the groups, in scaled units."""
    moments = moments.dense()
    means = (moments.shift - shift) + moments.offsets
    covariances = moments.scatters / moments.weights[:, None, None]
    if scale is None:
        return means, covariances
    return means / scale, covariances / np.outer(scale, scale)
