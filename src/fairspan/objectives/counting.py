"""How groups count in an objective: weights, radii and references, by a rule or from a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fairspan.ground.parameters import (
    LARGEST,
    check_by_group,
    check_choice,
    check_number,
    is_number,
)
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.moments.groups import MISSING_GROUPS, SMALL_GROUPS, groups_in_gap
from fairspan.moments.summary import GroupSummary
from fairspan.objectives.robust import DISPARITIES, RobustFairObjective

if TYPE_CHECKING:
    from fairspan.problem.subspace import SubspaceProblem

REFERENCES = ("none", "own")
Reference = str | Mapping[Any, float]
"""What a group's error is compared with: "none", "own" (its own best), or {label: number}."""
Radius = float | Mapping[Any, float]
"""The paper's alpha, or a radius for each group."""
_HEAVIEST = 1e20
"""Weights multiply variances, and the products are squared."""


@dataclass(frozen=True)
class Counting:
    """How groups count in the total error, which of them are compared, and how.

    Attributes
    ----------
    group_weights : {"share", "equal"} or mapping
        Groups count by their share of the rows, all alike, or as the mapping says.
    missing_groups : {"raise", "own_group", "total_only"}
        With "total_only" the group "missing" counts in the total error and not in the gap.
    disparity : {"gap", "largest"}
        What the fairness weight is about: largest minus smallest error, or the largest error.
    reference : {"none", "own"} or mapping
        What is subtracted from errors that are compared: nothing, the group's own best error, or
        {label: number}.
    small_groups : {"keep", "pool", "total_only"}
        With "total_only" the group "small groups" counts in the total error and not in the gap.
    """

    group_weights: str | Mapping[Any, float] = "share"
    missing_groups: str = "raise"
    disparity: str = "gap"
    reference: Reference = "none"
    small_groups: str = "keep"

    def checked(self) -> Self:
        """Refuse settings that are not allowed."""
        check_choice("missing_groups", self.missing_groups, MISSING_GROUPS)
        check_choice("small_groups", self.small_groups, SMALL_GROUPS)
        check_choice("disparity", self.disparity, DISPARITIES)
        check_reference(self.reference)
        if isinstance(self.group_weights, Mapping):
            for label, value in self.group_weights.items():
                check_number(f"group_weights[{label!r}]", value, positive=True)
        elif not isinstance(self.group_weights, str) or self.group_weights not in (
            "share",
            "equal",
        ):
            raise ValueError(
                f"group_weights={self.group_weights!r} is not known; use 'share', 'equal' or a "
                "mapping {label: weight}."
            )
        return self

    def in_gap(self, moments: GroupSummary) -> BoolArray:
        """Return which groups are compared."""
        if "total_only" not in (self.missing_groups, self.small_groups):
            return np.ones(len(moments.labels), dtype=bool)
        return groups_in_gap(moments.labels, self.missing_groups, self.small_groups)

    @property
    def is_paper(self) -> bool:
        """Whether errors are compared as in the paper: by their gap, with no reference."""
        return self.disparity == "gap" and self.reference == "none"

    def compares(self, moments: GroupSummary) -> bool:
        """Return whether there are enough groups to compare: two for a gap, or one."""
        return int(self.in_gap(moments).sum()) >= (2 if self.disparity == "gap" else 1)

    def gap(self, errors: FloatArray, moments: GroupSummary) -> FloatArray:
        """Largest minus smallest error of the groups that are compared, along the last axis."""
        compared = errors[..., self.in_gap(moments)]
        if not compared.shape[-1]:
            return np.zeros(errors.shape[:-1])
        return np.asarray(compared.max(axis=-1) - compared.min(axis=-1))

    def weights(self, moments: GroupSummary) -> FloatArray:
        """Return how much each group counts in the total error; the weights sum to 1."""
        if self.group_weights == "share":
            return moments.shares
        shares, in_gap = moments.shares, self.in_gap(moments)
        if isinstance(self.group_weights, Mapping):
            check_by_group("group_weights", self.group_weights, moments.labels)
            given = np.array([float(self.group_weights[label]) for label in moments.labels])
            return np.asarray(given / given.sum())
        if not in_gap.any():
            return shares
        return np.where(in_gap, shares[in_gap].sum() / in_gap.sum(), shares)

    def objective(
        self,
        moments: GroupSummary,
        fairness_weight: float,
        radius: Radius,
        problem: SubspaceProblem | None = None,
    ) -> RobustFairObjective:
        """Return the objective of a setting.

        Parameters
        ----------
        moments : GroupMoments
            Gives the groups and their sizes.
        fairness_weight : float
            How much the disparity counts; with too few groups to compare it has no effect.
        radius : float or mapping
            As in RobustFairPCA.
        problem : SubspaceProblem, optional
            Gives each group's own best error, which ``reference="own"`` needs.

        Returns
        -------
        RobustFairObjective
            The objective.
        """
        return self.objective_of(moments, fairness_weight, radii_of(radius, moments), problem)

    def objective_of(
        self,
        moments: GroupSummary,
        fairness_weight: float,
        radii: FloatArray,
        problem: SubspaceProblem | None = None,
    ) -> RobustFairObjective:
        """Return the objective, given the radius of each group."""
        in_gap = self.in_gap(moments)
        weight = float(fairness_weight) if self.compares(moments) else 0.0
        if weight > _HEAVIEST:
            raise ValueError(
                f"fairness_weight={weight:g} must be at most {_HEAVIEST:g}; errors have 16 digits, "
                "so that from 1e16 on nothing but the gap counts."
            )
        compared = None if in_gap.all() or weight == 0 else in_gap
        references = self.references(moments, problem, radii)
        return RobustFairObjective(
            self.weights(moments),
            weight,
            radii,
            compared,
            self.disparity,
            references if weight > 0 else None,
        )

    def references(
        self,
        moments: GroupSummary,
        problem: SubspaceProblem | None,
        radii: FloatArray | None = None,
    ) -> FloatArray | None:
        """Return what errors are compared with, None for nothing.

        Parameters
        ----------
        moments : GroupMoments
            Gives the groups.
        problem : SubspaceProblem or None
            Gives each group's own best error, which ``reference="own"`` needs.
        radii : ndarray of shape (n_groups,), optional
            Where the own best error counts by its worst case, the radius of each group.

        Returns
        -------
        ndarray of shape (n_groups,) or None
            The references.
        """
        own = None
        if self.reference == "own":
            if problem is None:
                raise ValueError("reference='own' needs the problem, for each group's own best.")
            own = problem.own_errors
        radii = np.zeros(len(moments.labels)) if radii is None else radii
        return references_of(self.reference, moments.labels, radii, own)


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


def radii_of(radius: float | Mapping[Any, float], moments: GroupSummary) -> FloatArray:
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
