"""Steps of every fit: what is asked of moments before a solve, and what is made of its result."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairspan.exceptions import HiddenFeatureWarning, SmallGroupWarning
from fairspan.ground.parameters import LARGEST, check_by_group, check_flag, check_number, is_integer
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import groups_in_gap
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.spectrum import UNIT
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.result import SolverResult

_SMALL = 10
"""Groups of fewer rows are warned of."""


def check_moments(moments: Any) -> None:
    """Check that moments are given, and not the rows they are made of."""
    if not isinstance(moments, GroupMoments):
        raise TypeError(
            f"moments is a {type(moments).__name__}; make a GroupMoments from data with "
            "GroupMoments.from_arrays(X, sensitive_features)."
        )


def check_size(moments: GroupMoments) -> None:
    """Check that there are enough rows to speak of a variance."""
    rows = int(moments.counts.sum())
    if rows < 2:
        raise ValueError(f"X has n_samples={rows}; 1 sample is too few, at least 2 are needed.")
    if moments.total_weight <= 1:
        raise ValueError(
            f"sample_weight sums to {moments.total_weight:.4g}; weights count as repeated rows, so "
            "their sum must exceed 1. Multiply them, for instance by n_samples / sum."
        )


def take_features(estimator: Any, moments: GroupMoments) -> None:
    """Note the number and names of the features that an estimator is fitted on."""
    estimator.n_features_in_ = moments.n_features
    if moments.feature_names is not None:
        estimator.feature_names_in_ = np.array(moments.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def least_rows(n_components: Any) -> int:
    """How many rows a group needs for its error to say something about others like them."""
    return max(_SMALL, int(n_components) + 1) if is_integer(n_components) else _SMALL


def warn_of_small_groups(moments: GroupMoments, n_components: Any) -> None:
    """Warn of groups among several that have very few rows, with their counts."""
    least = least_rows(n_components)
    pairs = zip(moments.labels, moments.counts.tolist(), strict=True)
    small = {label: count for label, count in pairs if count < least}
    if small and moments.n_groups > 1:
        shown = ", ".join(f"{label!r}: {count}" for label, count in list(small.items())[:5])
        warnings.warn(
            f"{len(small)} of {moments.n_groups} groups have fewer than {least} rows ({shown}); "
            "their errors say little about other members of these groups.",
            SmallGroupWarning,
            stacklevel=3,
        )


def check_group_weights(group_weights: Any) -> None:
    """Check how groups are to count in the total error."""
    if isinstance(group_weights, Mapping):
        for label, value in group_weights.items():
            check_number(f"group_weights[{label!r}]", value, positive=True)
    elif not isinstance(group_weights, str) or group_weights not in ("share", "equal"):
        raise ValueError(
            f"group_weights={group_weights!r} is not known; use 'share', 'equal' or a mapping "
            "{label: weight}."
        )


def total_weights(
    group_weights: str | Mapping[Any, float], moments: GroupMoments, in_gap: BoolArray
) -> FloatArray:
    """Give how much each group counts in the total error; the weights sum to 1.

    Parameters
    ----------
    group_weights : {"share", "equal"} or mapping
        The rule.
    moments : GroupMoments
        Gives the groups and their shares.
    in_gap : ndarray of shape (n_groups,)
        Which groups are compared; the others keep their share.

    Returns
    -------
    ndarray of shape (n_groups,)
        The weights.
    """
    shares = moments.shares
    if isinstance(group_weights, Mapping):
        check_by_group("group_weights", group_weights, moments.labels)
        given = np.array([float(group_weights[label]) for label in moments.labels])
        return np.asarray(given / given.sum())
    if group_weights == "share" or not in_gap.any():
        return shares
    return np.where(in_gap, shares[in_gap].sum() / in_gap.sum(), shares)


def robust_objective(
    moments: GroupMoments,
    fairness_weight: float,
    radii: FloatArray,
    group_weights: str | Mapping[Any, float] = "share",
    missing_groups: str = "raise",
) -> RobustFairObjective:
    """Say what a setting asks of the errors of these groups.

    Parameters
    ----------
    moments : GroupMoments
        Gives the groups and their shares.
    fairness_weight : float
        How much the gap counts; without two groups to compare there is none that could.
    radii : ndarray of shape (n_groups,)
        Radius of each group.
    group_weights : {"share", "equal"} or mapping, default="share"
        How much each group counts in the total error.
    missing_groups : {"raise", "own_group", "total_only"}, default="raise"
        With "total_only" the gap leaves the group "missing" out.

    Returns
    -------
    RobustFairObjective
        The objective.
    """
    in_gap = groups_in_gap(moments.labels, missing_groups)
    weight = float(fairness_weight) if in_gap.sum() > 1 else 0.0
    return RobustFairObjective(
        total_weights(group_weights, moments, in_gap),
        weight,
        radii,
        None if in_gap.all() or weight == 0 else in_gap,
    )


def pooled_scale(moments: GroupMoments) -> FloatArray:
    """Standard deviation of each feature over all rows; 1 for those constant up to rounding."""
    deviation = _deviations(moments)
    return np.where(deviation > 0, deviation, 1.0)


def in_fit_units(moments: GroupMoments, standardize: Any) -> tuple[GroupMoments, FloatArray | None]:
    """Divide features by their standard deviation over all rows, if that is asked for.

    Parameters
    ----------
    moments : GroupMoments
        Moments in the units of the data.
    standardize : bool
        Whether to divide.

    Returns
    -------
    moments : GroupMoments
        Moments in the units of the fit.
    scale : ndarray of shape (n_features,) or None
        The divisors, if any.
    """
    if not check_flag("standardize", standardize):
        return moments, None
    scale = pooled_scale(moments)
    return moments.scaled(scale), scale


def check_scales(moments: GroupMoments, stacklevel: int = 4) -> bool:
    """Warn of features that rounding hides beside larger ones, and refuse what cannot be squared.

    Parameters
    ----------
    moments : GroupMoments
        Moments in the units of the fit.
    stacklevel : int
        How many calls up the warning points to.

    Returns
    -------
    bool
        Whether there are such features.
    """
    variances = check_magnitude(moments)
    # Errors are differences of total variances, known to so much.
    rounding = 8 * len(moments.scatters[0]) * UNIT * variances.sum()
    hidden = (variances > 0) & (variances <= 10 * rounding)
    if hidden.any():
        warnings.warn(
            f"{_named(moments, hidden)} a variance so small beside the largest "
            f"({variances.max():.2g}) that rounding hides it: group errors, objective and bound "
            "say nothing about it. Look for outliers, or use standardize=True.",
            HiddenFeatureWarning,
            stacklevel=stacklevel,
        )
    return bool(hidden.any())


def without_claim(result: SolverResult, problem: SubspaceProblem, weight: float) -> SolverResult:
    """Claim nothing of an objective that is rounding, where features are hidden.

    Parameters
    ----------
    result : SolverResult
        A result for moments with hidden features.
    problem : SubspaceProblem
        Gives the rounding.
    weight : float
        The fairness weight.

    Returns
    -------
    SolverResult
        The result, not proved where its objective is no more than rounding.
    """
    if result.objective > problem.resolution(weight):
        return result
    return replace(result, status="feasible", is_hidden=True)


def check_magnitude(moments: GroupMoments) -> FloatArray:
    """Refuse what cannot be squared, and give the variances of the features over all rows."""
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


def _named(moments: GroupMoments, chosen: BoolArray) -> str:
    names = moments.feature_names or range(moments.n_features)
    found = [name for name, one in zip(names, chosen, strict=True) if one]
    shown = ", ".join(map(repr, found[:5])) + (", ..." if len(found) > 5 else "")
    return f"Feature {shown} has" if len(found) == 1 else f"Features {shown} have"


def _deviations(moments: GroupMoments) -> FloatArray:
    """Standard deviation of each feature over all rows, 0 where rounding explains it."""
    deviation = np.sqrt(np.maximum(moments.variances, 0.0))
    constant = deviation <= 1e-10 * np.abs(moments.mean)
    # A part of the data may be constant far from the shift of the whole; what is left of its
    # scatter there is rounding.
    constant |= deviation <= 1e-7 * np.sqrt(moments.shares @ moments.offsets**2)
    return np.where(constant, 0.0, deviation)


def canonical_basis(
    problem: SubspaceProblem, components: FloatArray, basis: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Choose the basis that PCA would choose inside a subspace.

    Parameters
    ----------
    problem : SubspaceProblem
        Gives the pooled covariance.
    components : ndarray of shape (k, d)
        Orthonormal rows, in any rotation.
    basis : ndarray of shape (d, n_features), optional
        Orthonormal rows in whose coordinates the components are given.

    Returns
    -------
    components : ndarray of shape (k, d)
        Rows that diagonalise the pooled covariance, most variance first, the largest loading of
        each positive.
    variances : ndarray of shape (k,)
        Pooled variance of each (ddof 0).
    """
    image = np.einsum("a,adk->dk", problem.shares, problem.moments @ components.T)
    variances, rotation = np.linalg.eigh(components @ image)
    rotated = rotation[:, ::-1].T @ components
    if basis is not None:
        rotated = rotated @ basis
    largest = np.abs(rotated).argmax(axis=1)
    signs = np.sign(rotated[np.arange(len(rotated)), largest])
    return rotated * signs[:, None], np.maximum(variances[::-1], 0.0)
