"""Everything a report says about one number of components, from moments alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from fairspan import words
from fairspan.fitting import Prepared, least_largest_loss
from fairspan.ground.types import BoolArray, FloatArray
from fairspan.judging.improvement import DominatingProjection, dominated, improvement
from fairspan.objectives.counting import Counting
from fairspan.problem.subspace import SubspaceProblem
from fairspan.report._curve import PageCurve, trace_page_curve
from fairspan.report._settings import NOTIONS, Notion, Settings
from fairspan.solvers import SolverOptions, SolverResult, solve
from fairspan.solvers.result import settled
from fairspan.solvers.two_groups.trace import TradeOff

_EFFORT, _ALL_EFFORT = 0.05, 4.0
"""Effort of the proof at each stop of more than two groups, and of all of them."""
_FEATURES = 12
"""Most features whose loadings are shown for a component."""


@dataclass(frozen=True)
class Data:
    """Moments in the units of the projection, and the names of the features."""

    prepared: Prepared
    feature_names: list[str]


@dataclass
class Analysis:
    """What is known for one number of components.

    Attributes
    ----------
    k : int
        Number of components.
    pca, chosen : SolverResult
        Plain PCA, and the optimum of the report's setting.
    fair_pca : SolverResult
        The optimum of the method of that name.
    own : ndarray of shape (n_groups,)
        Each group's own best error.
    trade_off, curve : TradeOff and PageCurve, or None
        Two groups: all that is attainable.
    optima : list of SolverResult
        More groups: the optima of all settings, in the order of ``Settings``.
    better : DominatingProjection
        What improves on the chosen optimum most.
    dominated : ndarray of shape (n_optima,)
        More groups: which optima some other subspace improves on, for every group.
    components : ndarray of shape (k, n_features)
        The chosen components, in PCA's basis.
    loadings : list of dict
        The largest loadings of each component, next to PCA's.
    """

    k: int
    pca: SolverResult
    chosen: SolverResult
    fair_pca: SolverResult
    own: FloatArray
    better: DominatingProjection
    trade_off: TradeOff | None = None
    curve: PageCurve | None = None
    optima: list[SolverResult] = field(default_factory=list)
    dominated: BoolArray = field(default_factory=lambda: np.empty(0, dtype=bool))
    components: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    loadings: list[dict[str, Any]] = field(default_factory=list)


def n_solves(settings: Settings, numbers: Sequence[int]) -> int:
    """Count the steps that analyses of these numbers of components report."""
    if len(settings.shares) == 2:
        return len(numbers)
    stops = len(settings.notions) * len(settings.weights) * len(settings.radii)
    return stops * len(numbers)


def effort_each(n_stops: int) -> float:
    """Share the work of all proofs among the stops."""
    return min(_EFFORT, _ALL_EFFORT / n_stops)


def analyse(
    data: Data,
    k: int,
    weight: float,
    radius: float,
    settings: Settings,
    *,
    notion: Notion = NOTIONS[0],
    effort: float = _EFFORT,
    step: Callable[[], None] = lambda: None,
) -> Analysis:
    """Find all that a report says about k components.

    Parameters
    ----------
    data : Data
        The moments.
    k : int
        Number of components.
    weight, radius : float
        The setting of the report.
    settings : Settings
        Where the sliders can be set.
    notion : Notion
        What the report's own setting counts.
    effort : float
        Work of the proof at each stop, for more than two groups.
    step : callable
        Called after each of the steps that :func:`n_solves` counts.

    Returns
    -------
    Analysis
        The results.
    """
    prepared, counting = data.prepared, Counting(disparity=notion[0], reference=notion[1])
    problem = prepared.problem(k)
    own = problem.own_errors
    pca = solve(problem, Counting().objective(prepared.moments, 0.0, 0.0))
    objective = counting.objective(prepared.moments, weight, radius, problem)
    losses, _ = least_largest_loss(problem, prepared.inner)
    fair_pca = settled(replace(losses, group_errors=problem.errors(losses.components.T)), problem)
    if problem.n_groups == 2:
        trade_off = TradeOff(problem)
        chosen = solve(problem, objective, boundary=trade_off.boundary)
        better = improvement(problem, prepared.moments.labels, chosen.group_errors)
        found = Analysis(k, pca, chosen, fair_pca, own, better, trade_off)
        # The region's lines are those that the curve starts from.
        assert trade_off.region is not None
        found.curve = trace_page_curve(trade_off.boundary, replace(settings, own=own))
        step()
    else:
        chosen = solve(problem, objective)
        better = improvement(problem, prepared.moments.labels, chosen.group_errors)
        found = Analysis(k, pca, chosen, fair_pca, own, better)
        setting = (notion, weight, radius)
        found.optima = _optima(problem, data, settings, setting, chosen, effort, step)
        points = np.array([optimum.group_errors for optimum in found.optima])
        slopes = [optimum.bound_weights for optimum in found.optima]
        limits = [optimum.improvable for optimum in found.optima]
        # Gains that do not show are not worth a word: the optima of the stops are rougher.
        share = words.RULES["small"] / 100
        found.dominated = dominated(problem, points, slopes=slopes, limits=limits, share=share)
    found.components, _ = prepared.canonical(chosen.components)
    plain_components, _ = prepared.canonical(pca.components)
    found.loadings = _loadings(data.feature_names, found.components, plain_components)
    return found


def _optima(
    problem: SubspaceProblem,
    data: Data,
    settings: Settings,
    setting: tuple[Notion, float, float],
    chosen: SolverResult,
    effort: float,
    step: Callable[[], None],
) -> list[SolverResult]:
    """Solve every stop; the report's own has been solved with more work for its proof."""
    found: list[SolverResult] = []
    moments = data.prepared.moments
    for notion, weight, radius in product(settings.notions, settings.weights, settings.radii):
        if (notion, weight, radius) == setting:
            found.append(chosen)
        elif weight == 0 and len(found) >= len(settings.radii):
            # What is not counted is no different for another notion.
            found.append(found[settings.radii.index(radius)])
        else:
            counting = Counting(disparity=notion.disparity, reference=notion.reference)
            objective = counting.objective(moments, weight, radius, problem)
            start = found[-1].components.T if found else chosen.components.T
            found.append(solve(problem, objective, SolverOptions(effort=effort, start=start)))
        step()
    return found


def _loadings(names: list[str], fair: FloatArray, plain: FloatArray) -> list[dict[str, Any]]:
    """The largest loadings of each component and PCA's, with PCA's sign turned to agree."""
    plain = plain * np.where(np.sum(plain * fair, axis=1) < 0, -1.0, 1.0)[:, None]
    rows = []
    for ours, theirs in zip(fair, plain, strict=True):
        size = np.maximum(np.abs(ours), np.abs(theirs))
        shown = np.argsort(-size, kind="stable")[:_FEATURES]
        rows.append(
            {
                "features": [names[j] for j in shown],
                "chosen": ours[shown],
                "pca": theirs[shown],
                "left_out": len(ours) - len(shown),
            }
        )
    return rows
