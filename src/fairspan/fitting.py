"""The one way from moments and settings to a result whose claims are settled.

Every caller prepares moments here (checks, units, a basis with room) and gets its problem from
what was prepared. The problem knows whether rounding hides features, so that whatever is
solved through :func:`fairspan.solvers.solve` claims the same about the same data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fairspan.exceptions import NoGroupsWarning, SmallGroupWarning
from fairspan.ground.listed import listed
from fairspan.ground.parameters import (
    check_by_group,
    check_choice,
    check_components,
    check_flag,
    check_number,
    is_integer,
)
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.ground.warn import warn
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import MISSING_GROUPS, groups_in_gap
from fairspan.moments.scales import hidden_features, pooled_scale, warn_of_hidden_features
from fairspan.objectives.by_group import Reference, check_reference, radii_of, references_of
from fairspan.objectives.robust import DISPARITIES, RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers.result import SolverResult

Radius = float | Mapping[Any, float]
"""The paper's alpha, or a radius for each group."""

_SMALL = 10
"""Groups of fewer rows are warned of."""


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
    """

    group_weights: str | Mapping[Any, float] = "share"
    missing_groups: str = "raise"
    disparity: str = "gap"
    reference: Reference = "none"

    def checked(self) -> Self:
        """Refuse settings that are not allowed."""
        check_choice("missing_groups", self.missing_groups, MISSING_GROUPS)
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

    def in_gap(self, moments: GroupMoments) -> BoolArray:
        """Return which groups are compared."""
        return groups_in_gap(moments.labels, self.missing_groups)

    @property
    def is_paper(self) -> bool:
        """Whether errors are compared as in the paper: by their gap, with no reference."""
        return self.disparity == "gap" and self.reference == "none"

    def compares(self, moments: GroupMoments) -> bool:
        """Return whether there are enough groups to compare: two for a gap, or one."""
        return int(self.in_gap(moments).sum()) >= (2 if self.disparity == "gap" else 1)

    def gap(self, errors: FloatArray, moments: GroupMoments) -> FloatArray:
        """Largest minus smallest error of the groups that are compared, along the last axis."""
        compared = errors[..., self.in_gap(moments)]
        return np.ptp(compared, axis=-1) if compared.shape[-1] else np.zeros(errors.shape[:-1])

    def weights(self, moments: GroupMoments) -> FloatArray:
        """Return how much each group counts in the total error; the weights sum to 1."""
        shares, in_gap = moments.shares, self.in_gap(moments)
        if isinstance(self.group_weights, Mapping):
            check_by_group("group_weights", self.group_weights, moments.labels)
            given = np.array([float(self.group_weights[label]) for label in moments.labels])
            return np.asarray(given / given.sum())
        if self.group_weights == "share" or not in_gap.any():
            return shares
        return np.where(in_gap, shares[in_gap].sum() / in_gap.sum(), shares)

    def objective(
        self,
        moments: GroupMoments,
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
        moments: GroupMoments,
        fairness_weight: float,
        radii: FloatArray,
        problem: SubspaceProblem | None = None,
    ) -> RobustFairObjective:
        """Return the objective, given the radius of each group."""
        in_gap = self.in_gap(moments)
        weight = float(fairness_weight) if self.compares(moments) else 0.0
        compared = None if in_gap.all() or weight == 0 else in_gap
        own = None
        if self.reference == "own":
            if problem is None:
                raise ValueError("reference='own' needs the problem, for each group's own best.")
            own = np.array([found.errors[a] for a, found in enumerate(problem.own_best)])
        references = references_of(self.reference, moments.labels, radii, own)
        return RobustFairObjective(
            self.weights(moments),
            weight,
            radii,
            compared,
            self.disparity,
            references if weight > 0 else None,
        )


@dataclass(frozen=True)
class Prepared:
    """Moments in the units of a fit, and the way back to the features.

    Attributes
    ----------
    moments : GroupMoments
        As given, in the units of the data.
    scale : ndarray of shape (n_features,) or None
        Divisors of the features.
    inner : GroupMoments
        In the units of the fit, and in coordinates of the basis.
    basis : ndarray of shape (rank, n_features) or None
        The basis, where there are far fewer rows than features.
    has_hidden_features : bool
        Whether rounding hides some features.
    """

    moments: GroupMoments
    scale: FloatArray | None
    inner: GroupMoments
    basis: FloatArray | None
    has_hidden_features: bool

    def problem(self, n_components: int, counting: Counting | None = None) -> SubspaceProblem:
        """Return the problem for a number of components; groups count by share by default."""
        # Gaps are measured against the variance as the objective counts it: by shares of the rows,
        # a large group that hardly counts would hide how far the others are from their best.
        return SubspaceProblem(
            self.inner.second_moments,
            (counting or Counting()).weights(self.moments),
            check_components(n_components, self.moments.n_features),
            has_hidden_features=self.has_hidden_features,
        )

    def in_features(self, components: FloatArray) -> FloatArray:
        """Return components in the space of the features."""
        return components if self.basis is None else np.asarray(components @ self.basis)

    def canonical(self, components: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Choose the basis that PCA would choose inside a subspace.

        Parameters
        ----------
        components : ndarray of shape (k, rank)
            Orthonormal rows, in any rotation.

        Returns
        -------
        components : ndarray of shape (k, n_features)
            Rows that diagonalise the pooled covariance, most variance first, the largest loading
            of each positive.
        variances : ndarray of shape (k,)
            Pooled variance of each (ddof 0).
        """
        second = self.inner.second_moments
        image = np.einsum("a,adk->dk", self.moments.shares, second @ components.T)
        _, rotation = np.linalg.eigh(components @ image)
        return self.in_order(rotation[:, ::-1].T @ components)

    def in_order(self, components: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return components as they are, and the variance along each.

        Parameters
        ----------
        components : ndarray of shape (k, rank)
            Orthonormal rows.

        Returns
        -------
        components : ndarray of shape (k, n_features)
            The rows in the space of the features, the largest loading of each positive.
        variances : ndarray of shape (k,)
            Pooled variance of each (ddof 0).
        """
        second = self.inner.second_moments
        image = np.einsum("a,adk->kd", self.moments.shares, second @ components.T)
        variances = np.einsum("kd,kd->k", image, components)
        rows = self.in_features(components)
        largest = np.abs(rows).argmax(axis=1)
        signs = np.sign(rows[np.arange(len(rows)), largest])
        return rows * signs[:, None], np.maximum(variances, 0.0)


def prepare(
    moments: Any,
    standardize: Any = False,
    *,
    room: int | None = None,
    warn: bool = True,
) -> Prepared:
    """Check moments and bring them into the units of a fit.

    Parameters
    ----------
    moments : GroupMoments
        Moments in the units of the data.
    standardize : bool
        Whether to divide features by their standard deviation over all rows.
    room : int, optional
        The largest number of components; without it the moments are those of the whole space.
    warn : bool
        Whether to warn of features that rounding hides.

    Returns
    -------
    Prepared
        What problems are made of.
    """
    check_moments(moments)
    _check_size(moments)
    scale = pooled_scale(moments) if check_flag("standardize", standardize) else None
    scaled = moments if scale is None else moments.scaled(scale)
    hidden = hidden_features(scaled)
    if warn:
        warn_of_hidden_features(scaled, hidden)
    scaled = scaled.dense() if room is None else scaled.with_room(room)
    return Prepared(moments, scale, scaled.in_basis(), scaled.basis, bool(hidden.any()))


def check_moments(moments: Any) -> None:
    """Check that moments are given, and not rows."""
    if not isinstance(moments, GroupMoments):
        raise TypeError(
            f"moments is a {type(moments).__name__}; make a GroupMoments from data with "
            "GroupMoments.from_arrays(X, sensitive_features)."
        )


def _check_size(moments: GroupMoments) -> None:
    """Check that there are enough rows for a variance."""
    rows = int(moments.counts.sum())
    if rows < 2:
        raise ValueError(f"X has n_samples={rows}; 1 sample is too few, at least 2 are needed.")
    if moments.total_weight <= 1:
        raise ValueError(
            f"sample_weight sums to {moments.total_weight:.4g}; weights count as repeated rows, so "
            "their sum must exceed 1. Multiply them, for instance by n_samples / sum."
        )


def least_rows(n_components: Any) -> int:
    """Return how many rows a group needs for its error to say something about the population."""
    return max(_SMALL, int(n_components) + 1) if is_integer(n_components) else _SMALL


def warn_of_small_groups(moments: GroupMoments, n_components: Any) -> None:
    """Warn of groups that have very few rows, with their counts."""
    least = least_rows(n_components)
    pairs = zip(moments.labels, moments.counts.tolist(), strict=True)
    small = {label: count for label, count in pairs if count < least}
    if small and moments.n_groups > 1:
        shown = listed(small, lambda label: f"{label!r}: {small[label]}")
        warn(
            f"{len(small)} of {moments.n_groups} groups have fewer than {least} rows ({shown}); "
            "their errors say little about other members of these groups.",
            SmallGroupWarning,
        )


def warn_of_one_group() -> None:
    """Warn that there is only one group, so that the result is PCA."""
    warn(
        "There is only one group, so the result is PCA. Pass sensitive_features=....",
        NoGroupsWarning,
    )


def warn_unless_optimal(result: SolverResult, tol: float) -> None:
    """Warn when a result is not proved optimal to the tolerance, and state the gap.

    Parameters
    ----------
    result : SolverResult
        The result; what rounding hides has been warned of already.
    tol : float
        The tolerance that was asked for.
    """
    # Components that were asked for one by one are not meant to be the best.
    if result.status != "optimal" and not result.is_hidden and result.solver != "greedy":
        warn(
            f"Solver {result.solver!r} ended with status {result.status!r}: the objective "
            f"{result.objective:.6g} is proved optimal to a relative gap of "
            f"{result.optimality_gap:.2g}, not to tol={tol}. A larger effort may help "
            "or, if features differ much in size, standardize=True.",
            ConvergenceWarning,
        )
