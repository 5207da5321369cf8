"""The projection that improves on given errors most, by moments or by products, with its proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fairspan.ground.types import BoolArray, FloatArray, Label
from fairspan.objectives import LargestLoss
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.products.grid import SharedBasis
from fairspan.solvers import Boundary, SolverOptions, solve
from fairspan.words import Better, group_name, weight_written

PROVED = SolverOptions("exact", tol=1e-9)
_LOOKED_FOR = SolverOptions("exact", tol=1e-5, max_iter=30)
"""A search with a proof, and one that finds a gain which shows."""
ROUNDS = 6
"""Most games that are played by products, each on a larger basis than the one before."""
_ROUNDING = 1e-8
"""Gains below this share of the largest error are rounding."""
_NEARLY = 0.9
"""A share of the gain that counts as all of it: weights are written with few digits."""


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
        Weights, summing to 1, that prove the bound.
    is_pca : bool
        Whether PCA with groups counted like this, to three digits, serves every group better by
        nearly as much. It does not where its eigenvalues are tied, or gain and bound differ.
    dominates : bool
        Whether every group gains, by more than rounding. A group that cannot gain, because it
        has no error or varies alike in all directions, hides what others could gain.
    failure_probability : float
        How probably the bound may be wrong; 0 where it is deterministic.
    """

    components: FloatArray = field(repr=False)
    group_labels: tuple[Label, ...]
    group_errors: FloatArray
    given_errors: FloatArray
    gain: float
    bound: float
    group_weights: FloatArray
    dominates: bool
    is_pca: bool = False
    failure_probability: float = 0.0

    @property
    def relative_gain(self) -> float:
        """The share of its error by which every group gains, at least."""
        return _relative_gain(self.given_errors, self.group_errors)

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
            is_pca=self.is_pca,
            failure=self.failure_probability,
        )


def improvement(
    problem: SubspaceProblem,
    labels: tuple[Label, ...],
    errors: FloatArray,
    subspace: FloatArray | None = None,
    options: SolverOptions = PROVED,
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
    options : SolverOptions
        How long to look for it.

    Returns
    -------
    DominatingProjection
        The answer, in the coordinates of the problem.
    """
    # Losses count from the largest error, so that values are of its size: a gain of 0 would be the
    # value 0, of which any bound is as good as any other. They are never negative.
    largest = float(errors.max())
    found = solve(problem, LargestLoss(errors - largest), options)
    components, reached = found.components, found.group_errors
    gain = float(np.min(errors - reached))
    if subspace is not None and gain <= 0:
        components, reached, gain = subspace.T, errors, 0.0
    rounding = float(problem.rounding.max())
    bound = float(errors.min()) if found.is_hidden else largest - found.lower_bound
    weights = problem.shares if found.bound_weights is None else found.bound_weights
    weights = weights / weights.sum()
    dominates = not found.is_hidden and gain > visible(problem, errors)
    return DominatingProjection(
        components=components,
        group_labels=labels,
        group_errors=reached,
        given_errors=errors,
        gain=gain,
        bound=max(bound + rounding, gain),
        group_weights=weights,
        dominates=dominates,
        is_pca=dominates and _is_pca(problem, weights, errors, reached),
    )


def _relative_gain(given: FloatArray, errors: FloatArray) -> float:
    """Return the share of its error by which every group gains, at least."""
    shares = np.divide(given - errors, given, out=0 * given, where=given > 0)
    return float(shares.min())


def _is_pca(
    problem: SubspaceProblem, weights: FloatArray, given: FloatArray, reached: FloatArray
) -> bool:
    """Say whether PCA with group weights, as they are written, gains as much as what was found."""
    written = np.array([float(weight_written(weight)) for weight in weights.tolist()])
    errors = problem.best_subspace(written / written.sum()).errors
    return _relative_gain(given, errors) >= _NEARLY * _relative_gain(given, reached)


def improvement_on(
    shared: SharedBasis, errors: FloatArray, subspace: FloatArray | None = None
) -> DominatingProjection:
    """Find the projection that improves on errors most, by products.

    The game is played inside a basis. Its weights are those of a line that bounds what any
    projection gains; proving the line makes the basis grow, and the game is played again.

    Parameters
    ----------
    shared : SharedBasis
        With ``ROUNDS`` proofs left.
    errors : ndarray of shape (n_groups,)
        The errors to improve on.
    subspace : ndarray of shape (d, k), optional
        Orthonormal columns that attain them; the answer where nothing better is found.

    Returns
    -------
    DominatingProjection
        The answer, in the space of the features.
    """
    operator, bound = shared.operator, float(errors.min())
    shares, failure = operator.shares, 0.0
    shared.start()
    for _ in range(ROUNDS):
        problem = shared.problem(operator.shares)
        found = improvement(problem, operator.labels, errors)
        line = shared.solve(RobustFairObjective(found.group_weights, 0.0, np.zeros(len(errors))))
        rounding = float(problem.rounding.max())
        left = float(found.group_weights @ errors) - line.lower_bound + 2 * rounding
        if left < bound:
            bound, shares, failure = left, found.group_weights, line.failure_probability
        if bound - max(found.gain, 0.0) <= visible(problem, errors):
            break
    is_better = subspace is None or found.gain > 0
    components = found.components @ shared.basis.columns[:, : found.components.shape[1]].T
    return replace(
        found,
        components=components if is_better or subspace is None else subspace.T,
        group_errors=found.group_errors if is_better else errors,
        gain=found.gain if is_better else 0.0,
        bound=max(bound, found.gain),
        group_weights=shares,
        is_pca=found.dominates and _is_pca(problem, shares, errors, found.group_errors),
        failure_probability=failure,
    )


def dominated(
    problem: SubspaceProblem,
    points: FloatArray,
    boundary: Boundary | None = None,
    slopes: Sequence[FloatArray | None] | None = None,
    limits: Sequence[float] | None = None,
    *,
    share: float = 0.0,
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
    limits : sequence of float, optional
        For each point, a gain that no projection exceeds.
    share : float
        The least gain that counts, as a share of the largest error; with one, games are short.

    Returns
    -------
    ndarray of shape (n_points,)
        The verdicts; a game is played only where points and lines that are known leave it open.
    """
    if problem.has_hidden_features:
        return np.zeros(len(points), dtype=bool)
    known = np.vstack([*(found.errors for found in problem.own_best), points])
    cuts = [
        np.append(np.eye(problem.n_groups)[a], found.sigma)
        for a, found in enumerate(problem.own_best)
    ]
    for line in boundary.lines if boundary is not None else ():
        normal = np.array([math.cos(line.angle), math.sin(line.angle)])
        if normal.min() >= 0:
            sigma = float(normal @ line.point) - line.slack
            cuts.append(np.append(normal, sigma) / float(normal.sum()))
    # A weighted mean of the gains is at most what its cut leaves.
    normals, sigmas = np.split(np.array(cuts), [problem.n_groups], axis=1)
    verdicts, n = [], len(points)
    proofs = zip(points, slopes or [None] * n, limits or [math.inf] * n, strict=True)
    for errors, slope, limit in proofs:
        least = max(visible(problem, errors), share * float(errors.max()))
        gain = float((errors - known).min(axis=1).max())
        most = min(limit, float((normals @ errors - sigmas[:, 0]).min()))
        is_open = gain <= least < most
        is_least = is_open and slope is not None and _is_least(problem, errors, slope, least)
        if is_open and not is_least:
            options = _LOOKED_FOR if share else PROVED
            better = improvement(problem, (), errors, options=options)
            gain = max(gain, better.gain)
            known = np.vstack([known, better.group_errors])
        verdicts.append(gain > least)
    return np.array(verdicts, dtype=bool)


def _is_least(
    problem: SubspaceProblem, errors: FloatArray, slope: FloatArray, least: float
) -> bool:
    """Say whether a weighted mean of all errors cannot be lower by more than is visible."""
    if slope.min() < 0 or not slope.any():
        return False
    weights = slope / slope.sum()
    return float(weights @ errors) - problem.best_subspace(weights).sigma <= least


def visible(problem: SubspaceProblem, errors: FloatArray) -> float:
    """Return the smallest gain that is more than rounding."""
    return _ROUNDING * float(errors.max()) + 4 * float(problem.rounding.max())
