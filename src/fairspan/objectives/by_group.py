"""Radii and references: one number for each group, by a rule or from a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairspan.ground.parameters import (
    LARGEST,
    check_by_group,
    check_choice,
    check_number,
    is_number,
)
from fairspan.ground.types import FloatArray

if TYPE_CHECKING:
    from fairspan.moments.group_moments import GroupMoments

REFERENCES = ("none", "own")
Reference = str | Mapping[Any, float]
"""What a group's error is compared with: "none", "own" (its own best), or {label: number}."""


def radii_from(radius: float, weights: FloatArray) -> FloatArray:
    """Give each group's radius by the paper's rule, radius / sqrt(size of the group).

    Parameters
    ----------
    radius : float
        One number for all groups, in squared units of the data.
    weights : ndarray of shape (n_groups,)
        Sizes of the groups.

    Returns
    -------
    ndarray of shape (n_groups,)
        The radii.
    """
    return np.asarray(radius / np.sqrt(weights))


def radii_of(radius: float | Mapping[Any, float], moments: GroupMoments) -> FloatArray:
    """Give each group its radius: by the paper's rule from one number, or from a mapping.

    Parameters
    ----------
    radius : float or mapping
        One number, divided by the square root of each group's size, or {label: radius}.
    moments : GroupMoments
        Gives the groups and their sizes.

    Returns
    -------
    ndarray of shape (n_groups,)
        The radii, in squared units of the data.
    """
    if not isinstance(radius, Mapping):
        return radii_from(check_number("radius", radius), moments.weights)
    check_by_group("radius", radius, moments.labels)
    return np.array([check_number(f"radius[{a!r}]", radius[a]) for a in moments.labels])


def check_reference(reference: Any) -> None:
    """Check a choice of references, or finite numbers by group.

    Parameters
    ----------
    reference : {"none", "own"} or mapping
        What was given.
    """
    if not isinstance(reference, Mapping):
        allowed = " A mapping {label: number} is allowed too."
        try:
            check_choice("reference", reference, REFERENCES)
        except ValueError as error:
            raise ValueError(f"{error}{allowed}") from None
        return
    for label, value in reference.items():
        if not is_number(value) or not abs(value) <= LARGEST:
            raise ValueError(f"reference[{label!r}]={value!r} must be a finite number.")


def references_of(
    reference: Reference, labels: tuple[Any, ...], radii: FloatArray, own_best: FloatArray | None
) -> FloatArray | None:
    """Give each group its reference.

    Parameters
    ----------
    reference : {"none", "own"} or mapping
        None at all, the worst case of the group's own best error, or {label: number}.
    labels : tuple
        The groups.
    radii : ndarray of shape (n_groups,)
        Their radii.
    own_best : ndarray of shape (n_groups,) or None
        The smallest error that each group can have; needed for "own".

    Returns
    -------
    ndarray of shape (n_groups,) or None
        The references; None for none.
    """
    if isinstance(reference, Mapping):
        check_by_group("reference", reference, labels)
        return np.array([float(reference[label]) for label in labels])
    if reference == "none":
        return None
    assert own_best is not None
    return np.asarray((np.sqrt(own_best) + np.sqrt(radii)) ** 2)
