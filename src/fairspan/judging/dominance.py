"""Does some projection serve every group better? Found, or proved that none does by more than x.

The best answer to errors m is the game of FairPCA with offsets m: the least, over subspaces, of the
largest m'_a - m_a. It is negative if and only if every group can gain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairspan.fitting import prepare
from fairspan.ground.parameters import check_by_group, check_integer, check_number
from fairspan.ground.types import BoolArray, FloatArray, Label
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.projection import check_orthonormal, moments_of
from fairspan.objectives import LargestLoss
from fairspan.problem.subspace import SubspaceProblem
from fairspan.solvers import Boundary, SolverOptions, solve
from fairspan.words import Better, group_name

_TOL = 1e-9
_ROUNDING = 1e-8
"""Gains below this share of the largest error are rounding."""


@dataclass(frozen=True)
class DominatingProjection:
    """The projection that improves on given errors most, measured by the group that gains least.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows, in the units in which errors are measured.
    group_labels : tuple
        The groups.
    group_errors : ndarray of shape (n_groups,)
        Their errors with these components.
    given_errors : ndarray of shape (n_groups,)
        The errors to improve on.
    gain : float
        By how much the error of every group falls, at least. Negative if errors were given that no
        projection was found to reach.
    bound : float
        Proved: no projection lowers the error of every group by more than this.
    group_weights : ndarray of shape (n_groups,)
        Weights, summing to 1, that prove the bound. PCA with groups counted like this gives the
        components wherever gain and bound meet.
    dominates : bool
        Whether every group gains, by more than rounding. A group that cannot gain, because it
        has no error or varies alike in all directions, hides what others could gain.
    """

    components: FloatArray = field(repr=False)
    group_labels: tuple[Label, ...]
    group_errors: FloatArray
    given_errors: FloatArray
    gain: float
    bound: float
    group_weights: FloatArray
    dominates: bool

    @property
    def relative_gain(self) -> float:
        """The share of its error by which every group gains, at least."""
        given = self.given_errors
        shares = np.divide(given - self.group_errors, given, out=0 * given, where=given > 0)
        return float(shares.min())

    @property
    def finding(self) -> Better:
        """The plain values of it, which make a sentence."""
        return Better(
            labels=list(map(group_name, self.group_labels)),
            errors=self.group_errors.tolist(),
            group_weights=self.group_weights.tolist(),
            gain=self.gain,
            relative_gain=self.relative_gain,
            bound=self.bound,
            smallest=float(self.given_errors.min()),
            dominates=self.dominates,
        )


def dominating_projection(
    components_or_group_errors: Any,
    moments: Any,
    *,
    n_components: int | None = None,
    sensitive_features: Any = None,
    standardize: bool = False,
) -> DominatingProjection:
    """Find a projection that serves every group better, or prove that none does by more than x.

    Closing a gap by making the better served group worse may leave every group worse off than
    another projection would. That projection is PCA with groups reweighted; any number of groups.

    Parameters
    ----------
    components_or_group_errors : array-like of shape (n_components, n_features) or (n_groups,), \
or mapping
        Orthonormal rows, or the error of each group: in the order of the sorted labels, or as
        {label: error}. Both in the units of the data, or of the standardised data if
        ``standardize``.
    moments : GroupMoments or array-like of shape (n_rows, n_features)
        Moments of the data, or its rows. Errors are about the mean of all rows.
    n_components : int, optional
        Number of components; needed with group errors.
    sensitive_features : array-like, frame or dict, optional
        The group of each row, with rows.
    standardize : bool, default=False
        Whether features are divided by their standard deviation over these rows.

    Returns
    -------
    DominatingProjection
        The projection, its errors and gain, and the proved bound on the gain of any other.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fairspan import GroupMoments, RobustFairPCA, dominating_projection
    >>> data = load_wine()
    >>> moments = GroupMoments.from_arrays(data.data, data.target == 0)
    >>> fair = RobustFairPCA(2, standardize=True).fit_moments(moments)
    >>> better = dominating_projection(fair.components_, moments, standardize=True)
    >>> better.dominates, better.gain <= better.bound
    (True, True)
    """
    moments = moments_of(moments, sensitive_features, None)
    if moments.n_groups < 2:
        raise ValueError("There is one group only; give sensitive_features, one label a row.")
    prepared = prepare(moments, standardize)
    given = components_or_group_errors
    if isinstance(given, Mapping) or np.ndim(given) == 1:
        errors = _errors(given, moments)
        if n_components is None:
            raise ValueError(
                "Group errors do not say how many components the projection may have; pass "
                "n_components=..., or the components themselves."
            )
        problem = prepared.problem(check_integer("n_components", n_components, 1))
        return improvement(problem, moments.labels, errors)
    rows = check_orthonormal(given)
    if rows.shape[1] != moments.n_features or n_components not in (None, len(rows)):
        raise ValueError(
            f"components has shape {rows.shape}; it must have one column for each of the "
            f"n_features={moments.n_features} features"
            + (f" and n_components={n_components} rows." if n_components else ".")
        )
    problem = prepared.problem(len(rows))
    # Rounding left in the rows would show in their errors.
    subspace = np.linalg.qr(rows.T)[0]
    return improvement(problem, moments.labels, problem.errors(subspace), subspace)


def better_than(model: Any) -> DominatingProjection:
    """Find what improves most on a fitted model, on the rows of its fit."""
    prepared = prepare(
        model.moments_, model.scale_ is not None, room=model.n_components_, warn=False
    )
    errors = model.group_errors_
    return improvement(prepared.problem(model.n_components_), model.moments_.labels, errors)


def improvement(
    problem: SubspaceProblem,
    labels: tuple[Label, ...],
    errors: FloatArray,
    subspace: FloatArray | None = None,
) -> DominatingProjection:
    """Find the projection that improves on errors most.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    labels : tuple
        The groups.
    errors : ndarray of shape (n_groups,)
        The errors to improve on.
    subspace : ndarray of shape (d, k), optional
        Orthonormal columns that attain them; the answer where nothing better is found.

    Returns
    -------
    DominatingProjection
        The answer, in the coordinates of the problem.
    """
    # Losses count from the largest error, so that values are of its size: a gain of 0 would be the
    # value 0, of which any bound is as good as any other. They are never negative.
    largest = float(errors.max())
    found = solve(problem, LargestLoss(errors - largest), SolverOptions("exact", tol=_TOL))
    components, reached = found.components, found.group_errors
    gain = float(np.min(errors - reached))
    if subspace is not None and gain <= 0:
        components, reached, gain = subspace.T, errors, 0.0
    rounding = float(problem.rounding.max())
    bound = float(errors.min()) if found.is_hidden else largest - found.lower_bound
    weights = problem.shares if found.bound_weights is None else found.bound_weights
    return DominatingProjection(
        components=components,
        group_labels=labels,
        group_errors=reached,
        given_errors=errors,
        gain=gain,
        bound=max(bound + rounding, gain),
        group_weights=weights / weights.sum(),
        dominates=not found.is_hidden and gain > _visible(problem, errors),
    )


def dominated(
    problem: SubspaceProblem,
    points: FloatArray,
    boundary: Boundary | None = None,
    slopes: Sequence[FloatArray | None] | None = None,
    *,
    games: bool = True,
) -> BoolArray:
    """Say of which group errors some projection was found that serves every group better.

    Parameters
    ----------
    problem : SubspaceProblem
        Moments and number of components.
    points : ndarray of shape (n_points, n_groups)
        Errors that are attained.
    boundary : Boundary, optional
        Two groups: supporting lines that are known.
    slopes : sequence of ndarray of shape (n_groups,), or of None
        For each point, weights for which it may have the least weighted error.
    games : bool
        Whether games are played at all; without them only known points dominate.

    Returns
    -------
    ndarray of shape (n_points,)
        The verdicts; a game is played only where points and lines that are known leave it open.
    """
    units, known = np.eye(problem.n_groups), [found.errors for found in problem.own_best]
    cuts = [(unit, found.sigma) for unit, found in zip(units, problem.own_best, strict=True)]
    for line in boundary.lines if boundary is not None else ():
        normal = np.array([math.cos(line.angle), math.sin(line.angle)])
        if normal.min() >= 0:
            sigma = float(normal @ line.point) - line.slack
            cuts.append((normal / normal.sum(), sigma / float(normal.sum())))
    verdicts = []
    for errors, slope in zip(points, slopes or [None] * len(points), strict=True):
        least = _visible(problem, errors)
        gain = float((errors - np.vstack([*known, points])).min(axis=1).max())
        # A weighted mean of the gains is at most what its cut leaves.
        is_open = gain <= least < min(float(w @ errors) - sigma for w, sigma in cuts)
        is_least = is_open and slope is not None and _is_least(problem, errors, slope, least)
        if games and is_open and not is_least:
            better = improvement(problem, (), errors)
            gain = max(gain, better.gain)
            known.append(better.group_errors)
        verdicts.append(gain > least and not problem.has_hidden_features)
    return np.array(verdicts, dtype=bool)


def _is_least(
    problem: SubspaceProblem, errors: FloatArray, slope: FloatArray, least: float
) -> bool:
    """Say whether a weighted mean of all errors cannot be lower by more than is visible."""
    if slope.min() < 0 or not slope.any():
        return False
    weights = slope / slope.sum()
    return float(weights @ errors) - problem.best_subspace(weights).sigma <= least


def _visible(problem: SubspaceProblem, errors: FloatArray) -> float:
    """Return the smallest gain that is more than rounding."""
    return _ROUNDING * float(errors.max()) + 4 * float(problem.rounding.max())


def _errors(given: Any, moments: GroupMoments) -> FloatArray:
    """Take group errors by label, or in the order of the labels."""
    if isinstance(given, Mapping):
        check_by_group("group_errors", given, moments.labels)
        given = [given[label] for label in moments.labels]
    if len(given) != moments.n_groups:
        raise ValueError(
            f"There are {len(given)} group errors for {moments.n_groups} groups; components have "
            "two dimensions, group errors one number for each group."
        )
    return np.array([check_number("group_errors", value) for value in given])
