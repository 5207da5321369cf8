"""The compared methods by name, with their grids, fitted to moments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fairspan.estimators.base import BaseFairPCA
from fairspan.estimators.convex import ConvexFairPCA
from fairspan.estimators.samadi import FairPCA
from fairspan.experiments.descents import STARTS, published_subspaces
from fairspan.experiments.settings import Settings
from fairspan.experiments.weights import published_mixtures
from fairspan.fitting import Prepared, prepare
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.objectives.counting import Counting
from fairspan.problem.spectrum import top_space
from fairspan.solvers import Boundary, SolverOptions, solve

TITLES = {
    "pca": "PCA",
    "rfpca": "RFPCA",
    "fairpca": "FairPCA",
    "cfpca-mean": "CFPCA (mean)",
    "cfpca-both": "CFPCA (both)",
}
"""Methods by name, as they are called in tables."""

RADII = (0.05, 0.1, 0.15)
FAIRNESS_WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
LEARNING_RATES = (0.1, *np.linspace(0.25, 4.25, 17).tolist())
DELTAS = (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
MUS = (1e-4, 1e-3, 1e-2, 0.05, 0.5)
FAIRPCA_TOL = 1e-9
"""The relative gap at which FairPCA's search ends."""
NEGLIGIBLE = 1e-3
"""A delta that provably cannot lower the error by a larger share is solved as delta = 0."""
_LARGE = 200
_LARGE_STEPS = 60
"""With this many features, the splitting method of CFPCA (both) stops after these steps."""

_UNPROVED = 1.0
"""The relative gap of programs that prove nothing: errors are at least 0."""

Parameters = dict[str, float]


class Fit(NamedTuple):
    """The matrix that is applied to rows, its components, and the proved gap of its program."""

    matrix: FloatArray
    components: FloatArray
    gap: float


Fitting = Callable[[GroupMoments, Sequence[Parameters]], list[Fit]]


class Method(NamedTuple):
    """The candidates of a method, and how some of them are fitted to moments.

    Attributes
    ----------
    grid : tuple of dict
        The candidates.
    fit : callable
        From moments and candidates to fits. It may draw random numbers, one after another over the
        folds and the final fit, so that every split has a method of its own.
    rows : {"standardized", "raw", "recentred"}
        Which rows of a fold it is fitted to.
    """

    grid: tuple[Parameters, ...]
    fit: Fitting
    rows: str = "standardized"

    def fits(self, moments: GroupMoments, chosen: Sequence[int]) -> list[Fit]:
        """Fit the chosen candidates."""
        return self.fit(moments, [self.grid[i] for i in chosen])

    def label(self, chosen: int) -> str:
        """Return the parameters of a candidate as text."""
        return " ".join(f"{name}={value:g}" for name, value in self.grid[chosen].items())


def method(name: str, settings: Settings, seed: int = 0, noise: int = 0) -> Method:
    """Return a method by name.

    Parameters
    ----------
    name : str
        One of TITLES.
    settings : Settings
        The protocol.
    seed : int
        Number of the split, which seeds what the method draws.
    noise : int
        Seed of a perturbation of the size of rounding, of the published FairPCA only; 0 for none.

    Returns
    -------
    Method
        Its grid and how to fit it.
    """
    if name not in TITLES:
        raise ValueError(f"method={name!r} is not known; use one of {', '.join(TITLES)}.")
    k = settings.n_components
    is_exact = settings.fairpca == "exact"
    grids: dict[str, list[Parameters]] = {
        "pca": [{}],
        "rfpca": [{"radius": r, "fairness_weight": w} for r in RADII for w in FAIRNESS_WEIGHTS],
        "fairpca": [{}] if is_exact else [{"learning_rate": rate} for rate in LEARNING_RATES],
        "cfpca-mean": [{"delta": delta} for delta in DELTAS],
        "cfpca-both": [{"mu": mu} for mu in ((1.0,) if settings.mu == "published" else MUS)],
    }
    fits: dict[str, Fitting] = {
        "pca": partial(_pca, k),
        "rfpca": _rfpca(settings, seed),
        "fairpca": _fairpca(settings, noise),
        "cfpca-mean": partial(_cfpca_mean, k),
        "cfpca-both": partial(_cfpca_both, k),
    }
    rows = "standardized"
    if name == "fairpca" and settings.fairpca == "published":
        rows = "raw"
    elif name.startswith("cfpca") and settings.cfpca_centering == "published":
        rows = "recentred"
    return Method(tuple(grids[name]), fits[name], rows)


def _pca(k: int, moments: GroupMoments, grid: Sequence[Parameters]) -> list[Fit]:
    prepared = prepare(moments)
    problem = prepared.problem(k)
    found = top_space(problem.combination(problem.shares), k)
    return [_projection(prepared, found.vectors, 0.0)] * len(grid)


def _rfpca(settings: Settings, seed: int) -> Fitting:
    if settings.solver == "published":
        return partial(_published, settings, np.random.RandomState(seed))
    return partial(_solved, settings, seed)


def _solved(
    settings: Settings, seed: int, moments: GroupMoments, grid: Sequence[Parameters]
) -> list[Fit]:
    prepared = prepare(moments)
    problem = prepared.problem(settings.n_components)
    is_exact = settings.solver == "exact"
    boundary = Boundary(problem) if is_exact else None
    options = SolverOptions("boundary") if is_exact else _descent(settings, seed)
    fits = []
    for candidate in grid:
        objective = Counting().objective(moments, candidate["fairness_weight"], candidate["radius"])
        result = solve(problem, objective, options, boundary=boundary)
        fits.append(_projection(prepared, result.components.T, result.optimality_gap))
    return fits


def _descent(settings: Settings, seed: int) -> SolverOptions:
    """Return the algorithm of the paper's text: random starts only, best of the last iterates."""
    return SolverOptions(
        "subgradient",
        max_iter=settings.descent_steps,
        n_init=STARTS,
        iterate="last",
        start_at_pca=False,
        rng=np.random.default_rng(seed),
    )


def _published(
    settings: Settings,
    draws: np.random.RandomState,
    moments: GroupMoments,
    grid: Sequence[Parameters],
) -> list[Fit]:
    prepared = prepare(moments)
    k, steps = settings.n_components, settings.descent_steps
    found = published_subspaces(moments, k, grid, steps, draws)
    return [_projection(prepared, V, _UNPROVED) for V in found]


def _fairpca(settings: Settings, noise: int) -> Fitting:
    k = settings.n_components
    if settings.fairpca == "published":
        return partial(_published_fairpca, k, noise)
    solver = "exact" if settings.fairpca == "exact" else "multiplicative_weights"
    return partial(_estimated, FairPCA(k, solver=solver, tol=FAIRPCA_TOL))


def _published_fairpca(
    k: int, noise: int, moments: GroupMoments, grid: Sequence[Parameters]
) -> list[Fit]:
    rates = [candidate["learning_rate"] for candidate in grid]
    found = published_mixtures(moments, k, rates, noise)
    return [Fit(P, np.linalg.eigh(P)[1][:, ::-1][:, :k].T, _UNPROVED) for P in found]


def _cfpca_mean(k: int, moments: GroupMoments, grid: Sequence[Parameters]) -> list[Fit]:
    gain = largest_gain(moments, k)
    fits: dict[float, Fit] = {}
    for candidate in grid:
        delta = candidate["delta"]
        # One closed form serves every delta that cannot matter.
        solved = delta if delta**2 * gain > NEGLIGIBLE else 0.0
        if solved not in fits:
            estimator = ConvexFairPCA(k, delta=solved)
            fits[solved] = _estimated(estimator, moments, [{}])[0]
        fits[delta] = fits[solved]
    return [fits[candidate["delta"]] for candidate in grid]


def largest_gain(moments: GroupMoments, k: int) -> float:
    """Bound how much the total error of CFPCA (mean) can fall, per unit of delta squared.

    With u the direction f / |f| of the mean difference, the dual variable that decouples u from
    its complement Q and lowers its variance s to at most the k-th of Q' S Q proves, by weak
    duality, that |X f| <= r gains no more than r / |f| times its length over X f = 0.

    Parameters
    ----------
    moments : GroupMoments
        Moments of two groups.
    k : int
        Number of components.

    Returns
    -------
    float
        The bound as a share of the total error at delta = 0.
    """
    problem = prepare(moments).problem(k)
    pooled = problem.combination(problem.shares)
    direction = moments.offsets[1] - moments.offsets[0]
    length = float(np.linalg.norm(direction))
    if length == 0:
        return 0.0
    unit = direction / length
    image = pooled @ unit
    variance = float(unit @ image)
    cross = image - variance * unit
    # PCA of S without u has the spectrum of Q' S Q, and one 0 more.
    inner = pooled - np.outer(unit, image) - np.outer(image, unit) + variance * np.outer(unit, unit)
    spectrum = np.linalg.eigvalsh(inner)[::-1]
    excess = max(variance - float(spectrum[k - 1]), 0.0)
    dual = np.hypot(2 * float(np.linalg.norm(cross)), excess) / length
    radius = 1.0 / (moments.total_weight * problem.d * length)
    error = problem.scale - float(spectrum[:k].sum())
    return float(radius * dual / error) if error > 0 else 0.0


def _cfpca_both(k: int, moments: GroupMoments, grid: Sequence[Parameters]) -> list[Fit]:
    estimator = ConvexFairPCA(k, constraint="mean+covariance")
    if moments.n_features >= _LARGE:
        estimator.set_params(max_iter=_LARGE_STEPS)
    return _estimated(estimator, moments, grid)


def _estimated(
    estimator: BaseFairPCA, moments: GroupMoments, grid: Sequence[Parameters]
) -> list[Fit]:
    fits = []
    for candidate in grid:
        with warnings.catch_warnings():
            # Rows hold the proved gap, so that a warning of it says nothing new.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = estimator.set_params(**candidate).fit_moments(moments)
        # Averages of projections are applied as they are; other relaxations are rounded first.
        V = fitted.components_
        averaged = getattr(fitted, "solver", None) == "multiplicative_weights"
        matrix = fitted.relaxation_ if averaged else V.T @ V
        fits.append(Fit(np.asarray(matrix), V, float(fitted.optimality_gap_)))
    return fits


def _projection(prepared: Prepared, V: FloatArray, gap: float) -> Fit:
    """Return a fit in PCA's basis, on which leakage after scaling depends."""
    components, _ = prepared.canonical(V.T)
    return Fit(V @ V.T, components, gap)
