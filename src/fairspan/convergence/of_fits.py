"""Constants, proximal points and gaps of a fitted estimator."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fairspan.convergence import proximal
from fairspan.estimators.robust import RobustFairPCA
from fairspan.fitting import prepare
from fairspan.ground.parameters import check_integer, check_number
from fairspan.ground.types import FloatArray
from fairspan.moments.projection import check_orthonormal
from fairspan.objectives.robust import RobustFairObjective
from fairspan.problem.subspace import SubspaceProblem


class ProximalPoint(NamedTuple):
    """A proximal point.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The subspace of the proximal point.
    envelope, envelope_bound : float
        The Moreau envelope at the given subspace, and a proved lower bound of it.
    gap : float
        The stationarity gap: distance to the proximal point over the smoothing.
    smoothing : float
        The smoothing that was used.
    """

    components: FloatArray
    envelope: float
    envelope_bound: float
    gap: float
    smoothing: float


def lipschitz_constant(model: RobustFairPCA) -> float:
    """Bound all difference quotients of the objective as a function of the lost directions.

    Parameters
    ----------
    model : RobustFairPCA
        A fitted estimator.

    Returns
    -------
    float
        The constant L of the convergence theorem, corrected: a sum where the paper takes the
        largest term.
    """
    return proximal.lipschitz_constant(*parts_of(model))


def weak_convexity(model: RobustFairPCA) -> float:
    """Give the modulus of weak convexity of the objective; 0 where it is convex.

    Parameters
    ----------
    model : RobustFairPCA
        A fitted estimator.

    Returns
    -------
    float
        The modulus.
    """
    return proximal.weak_convexity(*parts_of(model))


def proximal_point(
    model: RobustFairPCA, components: Any = None, *, smoothing: float | None = None
) -> ProximalPoint:
    """Find the proximal point of a subspace, with a proof of how exact it is.

    Parameters
    ----------
    model : RobustFairPCA
        A fitted estimator, whose objective is meant.
    components : array-like of shape (n_components, n_features), optional
        Orthonormal rows, such as an iterate; the model's own by default.
    smoothing : float, optional
        The smoothing of the Moreau envelope, below 1 / (weak convexity + L); by default half of it.

    Returns
    -------
    ProximalPoint
        The point, the envelope and the stationarity gap.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan import RobustFairPCA
    >>> from fairspan.convergence import stationarity_gap
    >>> data = load_breast_cancer()
    >>> pca = RobustFairPCA(3, standardize=True).fit(data.data, sensitive_features=data.target)
    >>> round(stationarity_gap(pca), 4)  # the optimum is stationary
    0.0
    >>> plain = RobustFairPCA(3, fairness_weight=0, standardize=True)
    >>> plain = plain.fit(data.data, sensitive_features=data.target)
    >>> round(stationarity_gap(pca, plain.components_), 1)
    6.6
    """
    problem, objective = parts_of(model)
    V = _components(model, components)
    used = checked_smoothing(problem, objective, smoothing)
    found = proximal.proximal_point(problem, objective, V.T, used)
    kept = np.linalg.qr(found.lost, mode="complete")[0][:, found.lost.shape[1] :].T
    return ProximalPoint(kept, found.value, found.bound, found.distance / used, used)


def moreau_envelope(
    model: RobustFairPCA, components: Any = None, *, smoothing: float | None = None
) -> float:
    """Give the Moreau envelope of the objective at a subspace.

    Parameters
    ----------
    model : RobustFairPCA
        A fitted estimator, whose objective is meant.
    components : array-like of shape (n_components, n_features), optional
        Orthonormal rows; the model's own by default.
    smoothing : float, optional
        As in :func:`proximal_point`.

    Returns
    -------
    float
        The envelope, at most the objective.
    """
    return proximal_point(model, components, smoothing=smoothing).envelope


def stationarity_gap(
    model: RobustFairPCA, components: Any = None, *, smoothing: float | None = None
) -> float:
    """Measure how far a subspace is from being stationary.

    The gap is the distance to the proximal point over the smoothing: 0 at stationary points only.
    It is the quantity that the convergence theorem bounds.

    Parameters
    ----------
    model : RobustFairPCA
        A fitted estimator, whose objective is meant.
    components : array-like of shape (n_components, n_features), optional
        Orthonormal rows; the model's own by default.
    smoothing : float, optional
        As in :func:`proximal_point`.

    Returns
    -------
    float
        The gap.
    """
    return proximal_point(model, components, smoothing=smoothing).gap


def rate_bound(
    model: RobustFairPCA,
    start: Any,
    n_steps: int | None = None,
    *,
    smoothing: float | None = None,
) -> float:
    """Bound the smallest stationarity gap over the iterates of a descent.

    Parameters
    ----------
    model : RobustFairPCA
        A fitted estimator, whose objective and lower bound are meant.
    start : array-like of shape (n_components, n_features)
        Where the descent starts.
    n_steps : int, optional
        Its steps, each of length 1 / sqrt(n_steps + 1); the model's ``max_iter`` by default.
    smoothing : float, optional
        As in :func:`proximal_point`.

    Returns
    -------
    float
        The bound of the theorem; it falls like n_steps ** -0.25.
    """
    steps = check_integer("n_steps", model.max_iter if n_steps is None else n_steps, 1)
    problem, objective = parts_of(model)
    value = objective.value(problem.errors(_components(model, start).T))
    used = checked_smoothing(problem, objective, smoothing)
    return bound_of_rate(problem, objective, value - model.lower_bound_, steps, used)


def parts_of(model: Any) -> tuple[SubspaceProblem, RobustFairObjective]:
    """Return the problem and the objective of a fit, in the whole space."""
    if not hasattr(model, "_fitted_objective"):
        raise TypeError(f"model is {model!r}; give a fitted RobustFairPCA.")
    prepared = prepare(model.moments_, model.scale_ is not None, warn=False)
    return prepared.problem(len(model.components_), model._counting()), model._fitted_objective


def _components(model: RobustFairPCA, components: Any) -> FloatArray:
    V = check_orthonormal(model.components_ if components is None else components)
    if V.shape != model.components_.shape:
        raise ValueError(
            f"components have shape {V.shape}; those of the model have {model.components_.shape}."
        )
    return V


def checked_smoothing(
    problem: SubspaceProblem, objective: RobustFairObjective, given: float | None
) -> float:
    """Check a smoothing, or choose half of the largest."""
    total = proximal.weak_convexity(problem, objective)
    total += proximal.lipschitz_constant(problem, objective)
    limit = 1 / total if total > 0 else 1.0
    if given is None:
        return limit / 2
    if not check_number("smoothing", given, positive=True) < limit:
        raise ValueError(
            f"smoothing={given} must be below 1 / (weak convexity + L) = {limit:.6g}, where the "
            "proximal point is unique; leave it out for half of that."
        )
    return float(given)


def bound_of_rate(
    problem: SubspaceProblem,
    objective: RobustFairObjective,
    decrease: float,
    steps: int,
    smoothing: float,
) -> float:
    """Bound the smallest gap of a descent that can lower the objective by ``decrease``."""
    L = proximal.lipschitz_constant(problem, objective)
    left = 1 - smoothing * (L + proximal.weak_convexity(problem, objective))
    return math.sqrt((2 * decrease + L**2 / smoothing) / (left * math.sqrt(steps + 1)))
