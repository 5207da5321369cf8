"""Candidates on a fold: fitted to its training part, measured on its validation part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from fairspan.fitting import Prepared, prepare
from fairspan.ground.types import FloatArray
from fairspan.judging.case import GroupValues
from fairspan.objectives.counting import Counting
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem
from fairspan.selection.folds import Fold
from fairspan.selection.grid import Optimum, solve_grid
from fairspan.selection.scoring import Scoring
from fairspan.solvers import SolverOptions, SolverResult
from fairspan.solvers.options import Patience
from fairspan.solvers.ordering import of_size, solve_greedy

Params = dict[str, Any]
"""n_components, fairness_weight and radius of a candidate."""


@dataclass(frozen=True)
class Judge:
    """How candidates are fitted and measured.

    Attributes
    ----------
    scoring : Scoring
        Turns errors into scores.
    gap_centering : {"global", "group"}
        From where the errors in the gap are measured.
    standardize : bool
        Whether features are divided by the deviations of the training part.
    gap_as_given : bool
        Whether the gap is measured in the units of the data all the same.
    counting : Counting
        How groups count.
    is_greedy : bool
        Whether components are found one by one.
    options : SolverOptions
        Those of the solver.
    patience : Patience
        The work that all candidates share.
    """

    scoring: Scoring
    gap_centering: str
    standardize: bool
    gap_as_given: bool
    counting: Counting
    is_greedy: bool
    options: SolverOptions
    patience: Patience


class Measured(NamedTuple):
    """Measurements of the candidates on a fold, and the eigen-solves they took."""

    score: FloatArray
    total_error: FloatArray
    error_gap: FloatArray
    optimality_gap: FloatArray
    n_eigensolves: int


def evaluate(fold: Fold, candidates: Sequence[Params], judge: Judge) -> Measured:
    """Fit candidates to the training part of a fold and measure them on the validation part.

    Parameters
    ----------
    fold : Fold
        The parts.
    candidates : sequence of dict
        Parameters; those with the same number of components follow one another.
    judge : Judge
        How to fit and to measure.

    Returns
    -------
    Measured
        Scores, errors and gaps, in the order of the candidates.
    """
    prepared = prepare(fold.train, judge.standardize, warn=False)
    scale = prepared.scale
    optima, n_eigensolves = _fit(prepared, candidates, judge)
    second = fold.second_moments("global", scale)
    compared = fold.second_moments(judge.gap_centering, None if judge.gap_as_given else scale)
    total = _errors(second, optima) @ fold.validation.shares
    errors = _errors(compared, optima)
    labels, weights = fold.validation.labels, fold.validation.weights
    gap = judge.counting.gap(errors, fold.validation)
    in_gap = judge.counting.in_gap(fold.validation)
    values = [GroupValues("error", labels, row, weights, in_gap) for row in errors]
    gaps = np.array([optimum.gap for optimum in optima])
    return Measured(judge.scoring.scores(total, gap, values), total, gap, gaps, n_eigensolves)


def _fit(
    prepared: Prepared, candidates: Sequence[Params], judge: Judge
) -> tuple[list[Optimum], int]:
    optima, n_eigensolves = [], 0
    for k, same in groupby(candidates, key=lambda params: params["n_components"]):
        problem, settings = prepared.problem(k, judge.counting), list(same)
        if judge.is_greedy:
            found = [_greedy(prepared, problem, params, judge) for params in settings]
            optima += [Optimum(one.components.T, one.optimality_gap) for one in found]
            n_eigensolves += sum(one.n_eigensolves for one in found)
            continue
        objectives = [_objective(prepared, problem, params, judge) for params in settings]
        optima += solve_grid(problem, objectives, judge.options, judge.patience)
        n_eigensolves += problem.n_eigensolves
    return optima, n_eigensolves


def _objective(
    prepared: Prepared, problem: SubspaceProblem, params: Params, judge: Judge
) -> RobustFairObjective:
    setting = (params["fairness_weight"], params["radius"])
    return judge.counting.objective(prepared.inner, *setting, problem)


def _greedy(
    prepared: Prepared, problem: SubspaceProblem, params: Params, judge: Judge
) -> SolverResult:
    def objective_of(size: int) -> RobustFairObjective:
        return _objective(prepared, of_size(problem, size), params, judge)

    options = judge.patience.options(judge.options)
    return judge.patience.settle(solve_greedy(problem, objective_of, options))


def _errors(second: FloatArray, optima: Sequence[Optimum]) -> FloatArray:
    """Return the group errors of each subspace, (n_candidates, n_groups)."""
    lost = []
    whole = np.einsum("aii->a", second)
    for optimum in optima:
        kept = np.einsum("adk,dk->a", second @ optimum.subspace, optimum.subspace)
        lost.append(np.maximum(whole - kept, 0.0))
    return np.array(lost)
