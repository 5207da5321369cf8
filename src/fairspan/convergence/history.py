"""The stationarity gap over the descent of a fit."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairspan.convergence import proximal
from fairspan.convergence.of_fits import bound_of_rate, checked_smoothing, parts_of
from fairspan.estimators.robust import RobustFairPCA
from fairspan.fitting import prepare
from fairspan.ground.parameters import check_integer, is_integer
from fairspan.ground.types import FloatArray, IntArray
from fairspan.solvers.descent import solve_subgradient


class ConvergenceHistory(NamedTuple):
    """Values and stationarity gaps on the way of a descent.

    Parameters
    ----------
    steps : ndarray of int
        Numbers of steps.
    values, gaps : ndarray of float
        The objective and the stationarity gap of the iterate after these steps.
    rate_bound : float
        What the theorem proves of the smallest gap over all iterates.
    smoothing : float
        The smoothing of the gaps.
    """

    steps: IntArray
    values: FloatArray
    gaps: FloatArray
    rate_bound: float
    smoothing: float


def convergence_history(
    model: RobustFairPCA, *, every: int = 10, smoothing: float | None = None
) -> ConvergenceHistory:
    """Repeat the descent of a fit and follow the start that it chose.

    Parameters
    ----------
    model : RobustFairPCA
        Fitted with ``solver="subgradient"`` and an integer ``random_state``.
    every : int, default=10
        Steps between two recorded iterates; the first and the last are always recorded.
    smoothing : float, optional
        As in :func:`proximal_point`.

    Returns
    -------
    ConvergenceHistory
        Values and gaps, which :func:`fairspan.plotting.plot_convergence` draws.
    """
    check_integer("every", every, 1)
    problem, objective = parts_of(model)
    if model.solver != "subgradient":
        raise ValueError(
            f"solver={model.solver!r} takes no descent steps; fit with solver='subgradient'."
        )
    if not is_integer(model.random_state):
        raise ValueError(
            f"random_state={model.random_state!r}: a descent can be repeated only from an integer "
            "seed; fit for instance with random_state=0."
        )
    used = checked_smoothing(problem, objective, smoothing)
    kept = _walk(model, every)
    found = [proximal.proximal_point(problem, objective, V, used) for V in kept.values()]
    values = np.array([objective.value(problem.errors(V)) for V in kept.values()])
    gaps = np.array([one.distance for one in found]) / used
    decrease = float(values[0]) - model.lower_bound_
    bound = bound_of_rate(problem, objective, decrease, model.n_iter_, used)
    return ConvergenceHistory(np.array(list(kept)), values, gaps, bound, used)


def _walk(model: RobustFairPCA, every: int) -> dict[int, FloatArray]:
    """Walk once to learn which of several starts the fit chose, and once to keep its iterates."""
    k, last = len(model.components_), model.n_iter_
    prepared = prepare(model.moments_, model.scale_ is not None, room=k, warn=False)
    problem = prepared.problem(k, model._counting())
    best, chosen, iterates = math.inf, 0, {}

    def choose(step: int, values: FloatArray, V: FloatArray) -> None:
        nonlocal best, chosen
        if values.min() < best if model.iterate == "best" else step == last:
            best, chosen = float(values.min()), int(values.argmin())

    def keep(step: int, values: FloatArray, V: FloatArray) -> None:
        if step % every == 0 or step == last:
            iterates[step] = prepared.in_features(V[chosen].T).T

    for watch in (choose, keep):
        options = model._options()
        result = solve_subgradient(
            problem,
            model._fitted_objective,
            max_iter=last,
            n_init=options.n_init,
            retraction=options.retraction,
            iterate=options.iterate,
            start_at_pca=options.start_at_pca,
            rng=options.rng,
            watch=watch,
        )
        if not math.isclose(result.objective, model.objective_, rel_tol=1e-9, abs_tol=1e-12):
            raise ValueError(
                f"The descent ends at {result.objective:.10g} when repeated, the fit at "
                f"{model.objective_:.10g}: parameters were changed after the fit; fit again."
            )
    return iterates
