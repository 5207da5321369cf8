"""Folds of wide rows: fitted and measured by products, each part by weights on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from fairspan.estimators.wide import Wide, shared_basis
from fairspan.ground.types import FloatArray, IntArray
from fairspan.judging.case import GroupValues
from fairspan.objectives.robust import RobustFairObjective
from fairspan.products import SecondMoments, second_moments
from fairspan.products.grid import SharedBasis, small_moments
from fairspan.selection.evaluate import Judge, Measured, Params
from fairspan.selection.folds import Split, refuse_part
from fairspan.selection.grid import solve_grid
from fairspan.solvers.result import relative_gap

_ACCURACY = 1e-8
"""Of subspaces, relative to the eigenvalues they have: errors of held-out rows follow it, where the
objective of the training part only shows its square."""


@dataclass(frozen=True)
class WideFold:
    """The training and validation parts of one split, as operators on the same rows.

    Attributes
    ----------
    train, validation : SecondMoments
        Both with the same groups; rows of the other part count nothing.
    """

    train: SecondMoments
    validation: SecondMoments

    @classmethod
    def of(
        cls, wide: Wide, weight: FloatArray | None, number: int, split: Split, standardize: bool
    ) -> WideFold:
        """Make the operators of a split, the training part in the units of its fit."""
        train, validation = (
            _part(wide, weight, number, name, rows, scaled)
            for name, rows, scaled in zip(
                ("training", "validation"), split, (standardize, False), strict=True
            )
        )
        return cls(train, validation)

    def errors(
        self, columns: FloatArray, inside: Sequence[FloatArray], centering: str, scaled: bool
    ) -> FloatArray:
        """Measure the validation groups around training means.

        Parameters
        ----------
        columns : ndarray of shape (d, r)
            A basis that holds all subspaces.
        inside : sequence of ndarray of shape (r, k)
            The subspaces in it, orthonormal columns.
        centering : {"global", "group"}
            Around the mean of the training part, or of the group in it.
        scaled : bool
            Whether errors are in the units of the fit.

        Returns
        -------
        ndarray of shape (n_subspaces, n_groups)
            The errors.
        """
        train, seen = self.train, self.validation
        scale = train.scale if scaled else None
        unit = np.ones(train.n_features) if scale is None else scale
        columns = columns / unit[:, None]
        center = train.group_means if centering == "group" else train.mean
        before, after = (seen.group_means - one for one in (seen.mean, center))
        # From second moments about the mean of the validation part to those about the center.
        small = small_moments(seen, columns)
        small += _squares(after @ columns) - _squares(before @ columns)
        whole = ((seen.diagonals - before**2 + after**2) / unit**2).sum(axis=1)
        kept = [np.einsum("ars,rk,sk->a", small, one, one, optimize=True) for one in inside]
        return np.asarray(np.maximum(whole - np.array(kept), 0.0))


def _part(
    wide: Wide, weight: FloatArray | None, number: int, name: str, rows: IntArray, scaled: bool
) -> SecondMoments:
    """Make the operator of some rows: all others count nothing, and none is copied."""
    counted = np.zeros(len(wide.groups.codes))
    counted[rows] = 1.0 if weight is None else weight[rows]
    n_groups = len(wide.groups.labels)
    totals = np.bincount(wide.groups.codes, counted, n_groups)
    for label, total in zip(wide.groups.labels, totals, strict=True):
        if total <= 0:
            refuse_part(number, name, label)
    names: Any = wide.names
    part = second_moments(
        wide.X, wide.groups, sample_weight=counted, feature_names=names, standardize=scaled
    )
    part.counts = np.bincount(wide.groups.codes[counted > 0], minlength=n_groups)
    return part


def _squares(rows: FloatArray) -> FloatArray:
    return rows[:, :, None] * rows[:, None, :]


def evaluate_by_products(
    fold: WideFold,
    candidates: Sequence[Params],
    judge: Judge,
    *,
    n_proofs: int,
    failure_probability: float,
    random_state: Any,
) -> tuple[Measured, float]:
    """Fit candidates to the training part of a fold and measure them on the validation part.

    Parameters
    ----------
    fold : WideFold
        The parts.
    candidates : sequence of dict
        Parameters; those with the same number of components follow one another.
    judge : Judge
        How to fit and to measure.
    n_proofs : int
        Candidates of all folds, among which the failure probability is divided.
    failure_probability : float
        How probably any of the bounds may be wrong.
    random_state : int, RandomState instance or None
        Seed of the random blocks.

    Returns
    -------
    Measured
        Scores, errors and gaps, in the order of the candidates.
    float
        How probably any of the gaps may be wrong.
    """
    totals, errors, gaps, failure = [], [], [], 0.0
    for k, same in groupby(candidates, key=lambda params: params["n_components"]):
        shared = shared_basis(
            fold.train,
            k,
            n_proofs,
            tol=judge.options.tol,
            failure_probability=failure_probability,
            random_state=random_state,
            warn=False,
        )
        objectives = [
            judge.counting.objective(fold.train, one["fairness_weight"], one["radius"])
            for one in same
        ]
        inside, proved, chance = _optima(shared, objectives, judge)
        failure = max(failure, chance)
        gaps += proved
        columns = shared.basis.columns
        plain = fold.errors(columns, inside, "global", scaled=True)
        totals.append(plain @ fold.validation.shares)
        same_units = not judge.gap_as_given or fold.train.scale is None
        as_plain = judge.gap_centering == "global" and same_units
        errors.append(
            plain if as_plain else fold.errors(columns, inside, judge.gap_centering, same_units)
        )
    total, compared = np.concatenate(totals), np.concatenate(errors)
    gap = judge.counting.gap(compared, fold.validation)
    labels, weights = fold.validation.labels, fold.validation.weights
    in_gap = judge.counting.in_gap(fold.validation)
    values = [GroupValues("error", labels, row, weights, in_gap) for row in compared]
    score = judge.scoring.scores(total, gap, values)
    return Measured(score, total, gap, np.array(gaps), 0), failure


def _optima(
    shared: SharedBasis, objectives: Sequence[RobustFairObjective], judge: Judge
) -> tuple[list[FloatArray], list[float], float]:
    """Prove every objective on a growing basis, then solve all of them in the same one.

    Candidates that are alike but for rounding must score alike, which fits of different bases
    would not.
    """
    bounds = [shared.solve(objective, accuracy=_ACCURACY) for objective in objectives]
    problem = shared.problem(objectives[0].shares)
    found = solve_grid(problem, objectives, judge.options, judge.patience)
    gaps = []
    for optimum, bound, objective in zip(found, bounds, objectives, strict=True):
        errors = problem.errors(optimum.subspace)
        size = objective.unreferenced(errors)
        value = objective.value(errors)
        gap = relative_gap(value, bound.lower_bound, problem.scale, size=size)
        gaps.append(1.0 if bound.is_hidden else gap)
    failure = max(bound.failure_probability for bound in bounds)
    return [optimum.subspace for optimum in found], gaps, failure
