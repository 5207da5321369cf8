"""What a trade-off is asked for: which groups and how they count, fairness weights, radii."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

from fairspan.estimators.steps import (
    check_scales,
    check_size,
    in_fit_units,
    robust_objective,
    total_weights,
)
from fairspan.ground.parameters import check_components, check_number, is_listing
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import groups_in_gap
from fairspan.objectives.robust import RobustFairObjective, radii_of
from fairspan.problem.subspace import SubspaceProblem

Radius = float | Mapping[Any, float]
Grid = Sequence[tuple[float, Radius]]
"""Fairness weights and radii."""


class Counting(NamedTuple):
    """How groups count in the total error, and which of them are compared."""

    group_weights: str | Mapping[Any, float]
    missing_groups: str

    def objective(
        self, moments: GroupMoments, weight: float, radius: Radius
    ) -> RobustFairObjective:
        """Give the objective of a fairness weight and a radius."""
        return robust_objective(moments, weight, radii_of(radius, moments), *self)

    def in_gap(self, moments: GroupMoments) -> BoolArray:
        """Say which groups are compared."""
        return groups_in_gap(moments.labels, self.missing_groups)

    def weights(self, moments: GroupMoments) -> FloatArray:
        """Give how much each group counts in the total error."""
        return total_weights(self.group_weights, moments, self.in_gap(moments))


def moments_to_compare(
    X_or_moments: Any, sensitive_features: Any, missing_groups: str, n_bootstrap: int
) -> GroupMoments:
    """Take moments as they are, or make them of rows; there must be groups to compare.

    Parameters
    ----------
    X_or_moments : array-like or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or None
        The group of each row.
    missing_groups : {"raise", "own_group", "total_only"}
        What to do about rows without a group.
    n_bootstrap : int
        Replicates that are asked for, which need rows.

    Returns
    -------
    GroupMoments
        The moments.
    """
    if isinstance(X_or_moments, GroupMoments):
        if sensitive_features is not None:
            raise ValueError(
                "sensitive_features is given together with moments, which have groups of their own "
                f"({list(X_or_moments.labels[:5])}); leave it out."
            )
        if n_bootstrap:
            raise ValueError(
                f"n_bootstrap={n_bootstrap} needs the rows, which moments do not hold; give X and "
                "sensitive_features, or n_bootstrap=0."
            )
        moments = X_or_moments
    else:
        moments = GroupMoments.from_arrays(
            X_or_moments, sensitive_features, missing_groups=missing_groups
        )
    compared = int(groups_in_gap(moments.labels, missing_groups).sum())
    if compared < 2:
        raise ValueError(
            f"A trade-off needs at least 2 groups to compare, and there are {compared}. Pass "
            "sensitive_features=...."
        )
    return moments


def problem_of(
    moments: GroupMoments, n_components: int, standardize: bool, counting: Counting
) -> SubspaceProblem:
    """Give the problem of moments, in the units that are asked for.

    Parameters
    ----------
    moments : GroupMoments
        Moments in the units of the data.
    n_components : int
        Number of components.
    standardize : bool
        Whether to divide features by their standard deviation.
    counting : Counting
        How groups count.

    Returns
    -------
    SubspaceProblem
        The problem.
    """
    k = check_components(n_components, moments.n_features)
    check_size(moments)
    moments, _ = in_fit_units(moments, standardize)
    check_scales(moments)
    small = moments.with_room(k).in_basis()
    return SubspaceProblem(small.second_moments, counting.weights(moments), k)


def check_radii(radius: Any) -> list[Radius]:
    """Take one radius or several, each a number or a mapping by group.

    Parameters
    ----------
    radius : float, mapping or iterable of them
        What was given.

    Returns
    -------
    list of float or mapping
        At least one.
    """
    if isinstance(radius, Mapping):
        return [radius]
    if is_listing(radius):
        listed = list(radius)
        found = [r if isinstance(r, Mapping) else check_number("radius", r) for r in listed]
        if found:
            return found
    return list(check_numbers("radius", radius))


def check_numbers(name: str, values: Any) -> list[float]:
    """Take one number or several, 0 or more.

    Parameters
    ----------
    name : str
        What they are, for errors.
    values : float or iterable of float
        What was given.

    Returns
    -------
    list of float
        At least one.
    """
    if isinstance(values, Real):
        values = [values]
    elif not is_listing(values):
        raise TypeError(f"{name}={values!r} must be a number or a sequence of numbers, 0 or more.")
    numbers = [check_number(name, value) for value in values]
    if not numbers:
        raise ValueError(f"{name} is empty; give at least one number.")
    return numbers
