"""Two Gaussian groups in the plane: directions by fairness weight, and scores by radius."""

from __future__ import annotations

import math

import numpy as np

from fairspan.datasets import FIGURE1_COVARIANCES
from fairspan.estimators.samadi import FairPCA
from fairspan.experiments.methods import FAIRPCA_TOL
from fairspan.experiments.protocol import GROUPS, Part, judge, standardized
from fairspan.experiments.settings import Settings
from fairspan.experiments.store import Row
from fairspan.fitting import prepare
from fairspan.ground.types import FloatArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.objectives.robust import RobustFairObjective
from fairspan.solvers import Boundary, SolverOptions, solve

SIZES = (500, 200)
WEIGHTS = (0.0, 0.1, 0.15, 0.17, 0.2, 0.22, 0.23, 0.24, 0.25, 1.0)
"""Fairness weights of the arrows."""

WALK = SolverOptions("boundary")
TRAIN, TEST = (200, 100), (8000, 4000)
SIMULATIONS = 100
ALPHAS = np.linspace(0.0, 10.0, 100)
BASES = (0.1, 0.0, 1.0, 5.0)
"""The majority's radius is one of these over sqrt(n_0); the paper does not state it."""
RADIUS_WEIGHT = 0.1


def sample(rng: np.random.Generator, sizes: tuple[int, ...]) -> Part:
    """Draw points of both groups.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness.
    sizes : tuple of int
        Points of each group.

    Returns
    -------
    Part
        The points.
    """
    pairs = zip(FIGURE1_COVARIANCES, sizes, strict=True)
    points = [rng.multivariate_normal(np.zeros(2), covariance, size=n) for covariance, n in pairs]
    return Part(np.concatenate(points), np.repeat(GROUPS, sizes))


def points(seed: int) -> list[Row]:
    """Return the points of Figure 1.

    Parameters
    ----------
    seed : int
        Seed of the sample.

    Returns
    -------
    list of dict
        A row for each point.
    """
    X, groups = sample(np.random.default_rng(seed), SIZES)
    return [
        {"group": int(group), "x": float(x), "y": float(y)}
        for (x, y), group in zip(X, groups, strict=True)
    ]


def arrows(source: str, seed: int) -> list[Row]:
    """Return the directions of Figure 1.

    Parameters
    ----------
    source : {"population", "sample"}
        Whether the true covariances or those of the points are used.
    seed : int
        Seed of the sample.

    Returns
    -------
    list of dict
        A row for each direction: its angle in degrees, and both groups' errors.
    """
    drawn = sample(np.random.default_rng(seed), SIZES)
    moments = drawn.moments if source == "sample" else _population()
    problem = prepare(moments).problem(1)
    boundary = Boundary(problem)
    found = [("pca", 0.0, problem.best_subspace(problem.shares).subspace)]
    for weight in WEIGHTS:
        objective = RobustFairObjective(problem.shares, weight, np.zeros(2))
        result = solve(problem, objective, WALK, boundary=boundary)
        found.append(("rfpca", weight, result.components.T))
    found.append(("fairpca", 0.0, FairPCA(1, tol=FAIRPCA_TOL).fit_moments(moments).components_.T))
    return [
        {
            "source": source,
            "method": name,
            "fairness_weight": weight,
            "angle": math.degrees(math.atan2(V[1, 0], V[0, 0])) % 180,
            "error_majority": float(problem.errors(V)[0]),
            "error_minority": float(problem.errors(V)[1]),
        }
        for name, weight, V in found
    ]


def radius(simulation: int, settings: Settings) -> list[Row]:
    """Fit with growing radius of the minority, and judge on a large test sample.

    Parameters
    ----------
    simulation : int
        Its number, the seed of both samples.
    settings : Settings
        How ABDiff is centred.

    Returns
    -------
    list of dict
        ARE + ABDiff for each radius of the majority and the minority.
    """
    rng = np.random.default_rng(simulation)
    train, test = standardized(sample(rng, TRAIN), sample(rng, TEST), scale=False)
    moments, judges = train.moments, judge(test.X, train, test, settings.gap_centering)
    problem = prepare(moments).problem(1)
    rows = []
    for base in BASES:
        for alpha in ALPHAS:
            radii = np.array([base, float(alpha)]) / np.sqrt(moments.weights)
            objective = RobustFairObjective(problem.shares, RADIUS_WEIGHT, radii)
            # In the plane eigen-solves cost less than a long list of shared ones.
            V = solve(problem, objective, WALK).components.T
            found = judges.scores(V @ V.T)
            rows.append({"base": base, "alpha": float(alpha), "score": found.are + found.abdiff})
    return rows


def _population() -> GroupMoments:
    sizes: FloatArray = np.array(SIZES, dtype=float)
    return GroupMoments(
        labels=GROUPS,
        counts=np.array(SIZES, dtype=np.int64),
        weights=sizes,
        squared_weights=sizes,
        shift=np.zeros(2),
        offsets=np.zeros((2, 2)),
        scatters=FIGURE1_COVARIANCES * sizes[:, None, None],
    )
