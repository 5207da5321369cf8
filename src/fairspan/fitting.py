"""The one way from moments and settings to a result whose claims are settled.

Every caller prepares moments here (checks, units, a basis with room) and gets its problem from
what was prepared. The problem knows whether rounding hides features, so that whatever is
solved through :func:`fairspan.solvers.solve` claims the same about the same data.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fairspan.exceptions import NoGroupsWarning, SmallGroupWarning
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_components, check_flag, is_integer
from fairspan.ground.rows import FITTED, check_memory
from fairspan.ground.types import UNIT, FloatArray, Label
from fairspan.ground.warn import warn
from fairspan.moments.from_rows import hidden_by, pooled_scale, warn_of_hidden_features
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import SMALL
from fairspan.moments.second_moments import Stack
from fairspan.moments.summary import GroupSummary
from fairspan.objectives.counting import Counting
from fairspan.objectives.largest_loss import LargestLoss
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import SolverOptions, SolverResult, solve

_SMALL = 10
"""Groups of fewer rows are warned of."""


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

    @cached_property
    def second(self) -> Stack:
        """Second moments of the groups around the mean of all rows."""
        return self.inner.stacked()

    def problem(self, n_components: int, counting: Counting | None = None) -> SubspaceProblem:
        """Return the problem for a number of components; groups count by share by default."""
        # Gaps are measured against the variance as the objective counts it: by shares of the rows,
        # a large group that hardly counts would hide how far the others are from their best.
        return SubspaceProblem(
            self.second,
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
        images = self.second @ np.ascontiguousarray(components.T)
        image = (self.moments.shares @ images.reshape(len(images), -1)).reshape(images.shape[1:])
        variances, rotation = np.linalg.eigh(components @ image)
        return self._signed(rotation[:, ::-1].T @ components, variances[::-1])

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
        image = np.einsum("a,adk->kd", self.moments.shares, self.second @ components.T)
        return self._signed(components, np.einsum("kd,kd->k", image, components))

    def _signed(
        self, components: FloatArray, variances: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return signed(self.in_features(components)), np.maximum(variances, 0.0)


def signed(components: FloatArray) -> FloatArray:
    """Return components with the largest loading of each positive."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return np.asarray(components * signs[:, None])


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
    check_size(moments)
    scale = pooled_scale(moments) if check_flag("standardize", standardize) else None
    if scale is not None:
        check_memory(moments.n_groups, len(moments.scatters[0]), 1 + FITTED)
    scaled = moments if scale is None else moments.scaled(scale)
    # Errors are differences of total variances, known to this accuracy.
    rounding = 8 * len(scaled.scatters[0]) * UNIT * float(scaled.variances.sum())
    hidden = hidden_by(scaled, rounding)
    if warn:
        warn_of_hidden_features(scaled, hidden)
    scaled = scaled.dense() if room is None else scaled.with_room(room)
    return Prepared(moments, scale, scaled.in_basis(), scaled.basis, bool(hidden.any()))


def least_largest_loss(
    problem: SubspaceProblem, moments: GroupMoments, options: SolverOptions | None = None
) -> tuple[SolverResult, FloatArray]:
    """Minimise the largest loss of a group beyond its own best, as FairPCA does.

    Parameters
    ----------
    problem : SubspaceProblem
        Gives the number of components.
    moments : GroupMoments
        In the units of the problem; each group is centred by its own mean.
    options : SolverOptions, optional
        How to solve it.

    Returns
    -------
    result : SolverResult
        The subspace, with the errors of the groups around their own means.
    own_best : ndarray of shape (n_groups,)
        The smallest error that each group can have.
    """
    own = SubspaceProblem(moments.covariances, moments.shares, problem.k)
    own_best = own.own_errors
    result = solve(own, LargestLoss(own_best), options)
    return replace(result, n_eigensolves=own.n_eigensolves), own_best


def check_moments(moments: Any) -> None:
    """Check that moments are given, and not rows."""
    if not isinstance(moments, GroupMoments):
        raise TypeError(
            f"moments is a {type(moments).__name__}; make a GroupMoments from data with "
            "GroupMoments.from_arrays(X, sensitive_features)."
        )


def moments_of(X: Any, sensitive_features: Any, sample_weight: Any = None) -> GroupMoments:
    """Return the moments of rows; moments are returned as they are."""
    if not isinstance(X, GroupMoments):
        return GroupMoments.from_arrays(X, sensitive_features, sample_weight=sample_weight)
    if sensitive_features is not None or sample_weight is not None:
        raise ValueError(
            "GroupMoments already contain groups and weights; pass sensitive_features and "
            "sample_weight only with rows."
        )
    return X


def check_size(moments: GroupSummary) -> None:
    """Check that there are enough rows for a variance."""
    rows = int(moments.counts.sum())
    if rows < 2:
        raise ValueError(f"X has n_samples={rows}; 1 sample is too few, at least 2 are needed.")
    total = float(moments.weights.sum())
    if total <= 1:
        raise ValueError(
            f"sample_weight sums to {total:.4g}; weights count as repeated rows, so "
            "their sum must exceed 1. Multiply them, for instance by n_samples / sum."
        )


def least_rows(n_components: Any) -> int:
    """Return how many rows a group needs for its error to say something about the population."""
    return max(_SMALL, int(n_components) + 1) if is_integer(n_components) else _SMALL


def warn_of_small_groups(
    moments: GroupSummary, n_components: Any, counting: Counting | None = None
) -> None:
    """Warn of compared groups that have very few rows, with their counts."""
    least = least_rows(n_components)
    compared = (counting or Counting()).in_gap(moments)
    rows = zip(moments.labels, moments.counts.tolist(), compared, strict=True)
    small = {label: count for label, count, one in rows if one and count < least}
    if small and len(moments.labels) > 1:
        shown = listed(small, lambda label: f"{label!r}: {small[label]}")
        have = "has" if len(small) == 1 else "have"
        warn(
            f"{len(small)} of {len(moments.labels)} groups {have} fewer than {least} rows "
            f"({shown}); their errors say little about other members of these groups.",
            SmallGroupWarning,
        )


def ask_for_groups(y_given: bool, labels: Collection[Label] = ()) -> str:
    """Say how groups are given; scikit-learn's users may have given them as y, which is ignored."""
    if SMALL in labels:
        return "Small groups are merged: lower min_rows, or leave out small_groups."
    asked = " y is ignored; if it holds the groups, pass sensitive_features=y." if y_given else ""
    return f"sensitive_features=... must have two values or more.{asked}"


def warn_of_one_group(y_given: bool = False) -> None:
    """Warn that there is only one group, so that the result is PCA."""
    warn(
        f"There is only one group, so the result is PCA. {ask_for_groups(y_given)}",
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
    chance = f" {result.proof}" if result.failure_probability > 0 else ""
    if result.status != "optimal" and not result.is_hidden and result.solver != "greedy":
        warn(
            f"Solver {result.solver!r} ended with status {result.status!r}: the objective "
            f"{result.objective:.6g} is proved optimal{chance} to a relative gap of "
            f"{result.optimality_gap:.2g}, not to tol={tol}. "
            f"{_remedy(result)} or, if features differ much in size, standardize=True.",
            ConvergenceWarning,
        )


def _remedy(result: SolverResult) -> str:
    if result.was_cut:
        return "max_time cut the work short. A larger max_time may help"
    if result.n_passes > 0:
        return "Fits by products search no further. Moments, where they fit in memory, may help"
    return "A larger effort may help"
