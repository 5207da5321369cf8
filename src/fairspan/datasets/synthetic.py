"""Synthetic data: the toy of Figure 1, and data with a known optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairspan.datasets.registry import Dataset
from fairspan.ground.parameters import check_integer, check_number, is_integer
from fairspan.ground.types import FloatArray, IntArray

FIGURE1_COVARIANCES = np.array([[[4.0, 0.0], [0.0, 0.2]], [[0.2, 0.4], [0.4, 3.0]]])
"""Covariances of the majority and the minority in Figure 1."""

_SHARED, _STRONG, _WEAK, _NOISE = 4.0, 2.0, 0.5, 0.25
"""Variances of :func:`make_known_optimum`; its proof needs them to fall in this order."""


def make_figure1_toy(
    n_majority: int = 500, n_minority: int = 200, random_state: Any = None
) -> Dataset:
    """Draw the two Gaussian groups of the paper's Figure 1 in the plane.

    Parameters
    ----------
    n_majority, n_minority : int
        Rows of the two groups, labelled 0 and 1.
    random_state : int, Generator or None, default=None
        Seed of the draw.

    Returns
    -------
    Dataset
        The majority's rows, then the minority's.
    """
    given = {"n_majority": n_majority, "n_minority": n_minority}
    sizes = [check_integer(name, value, 1) for name, value in given.items()]
    rng = _generator(random_state)
    rows = [
        rng.standard_normal((size, 2)) @ np.linalg.cholesky(covariance).T
        for size, covariance in zip(sizes, FIGURE1_COVARIANCES, strict=True)
    ]
    return Dataset(
        name="figure1_toy",
        X=np.concatenate(rows),
        sensitive_features=np.repeat([0, 1], sizes),
        feature_names=("x", "y"),
        sensitive_name="group (0 majority, 1 minority)",
        description=f"Toy of Figure 1: {sizes[0]} rows of N(0, [[4, 0], [0, 0.2]]) and "
        f"{sizes[1]} rows of N(0, [[0.2, 0.4], [0.4, 3]]).",
    )


@dataclass(frozen=True, eq=False)
class KnownOptimum:
    """Data with the solution of its fair projection problem.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows.
    sensitive_features : ndarray of shape (n_rows,)
        Group of each row, the place of its size in ``group_sizes``.
    n_components : int
        Components of the problem.
    fairness_weight : float
        Fairness weight of the problem; the radius is 0.
    components : ndarray of shape (n_components, n_features)
        An optimal projection. Flipping the sign of one group's own direction in it gives others.
    group_errors : ndarray of shape (n_groups,)
        The errors of the groups at every optimum.
    objective : float
        The least objective any projection attains.
    """

    X: FloatArray
    sensitive_features: IntArray
    n_components: int
    fairness_weight: float
    components: FloatArray
    group_errors: FloatArray
    objective: float


def make_known_optimum(
    group_sizes: Sequence[int] = (60, 30),
    *,
    n_components: int = 1,
    n_noise: int = 2,
    fairness_weight: float = 0.2,
    random_state: Any = None,
) -> KnownOptimum:
    """Make data whose group moments are exactly as designed, with its optimum in closed form.

    Parameters
    ----------
    group_sizes : sequence of int
        Rows of each group, more than there are features.
    n_components : int, default=1
        Components of the problem; all but one are spent on directions that serve all groups.
    n_noise : int, default=2
        Directions that no optimum keeps.
    fairness_weight : float, default=0.2
        Fairness weight of the problem.
    random_state : int, Generator or None, default=None
        Seed of the rows and of the rotation; the optimal value does not depend on it.

    Returns
    -------
    KnownOptimum
        The rows and the optimum, for radius 0.

    Notes
    -----
    In a random basis all moments are diagonal: ``n_components - 1`` directions of large variance in
    all groups, one direction for each group in which its own variance is large and that of the
    others small, and noise. The diagonal of a projection can be any numbers in [0, 1] with the
    right sum (Schur-Horn), and keeping the share x_a of the direction of group a lowers the error
    of a by a multiple of x_a, up to what all groups have in common. The large directions are kept,
    and with shares p_a of the rows what remains is to maximise
    sum_a p_a x_a - fairness_weight (max x - min x) over x >= 0 with sum 1. With groups in order of
    size, x falls too and the problem is linear: its vertices serve the j largest groups alike, so
    the best j is the best of n_groups numbers.

    Examples
    --------
    >>> from fairspan import RobustFairPCA
    >>> from fairspan.datasets import make_known_optimum
    >>> known = make_known_optimum((60, 40, 20), n_components=2, random_state=0)
    >>> model = RobustFairPCA(2, fairness_weight=known.fairness_weight, radius=0.0)
    >>> _ = model.fit(known.X, sensitive_features=known.sensitive_features)
    >>> bool(abs(model.objective_ - known.objective) < 1e-8)
    True
    """
    sizes = [check_integer("group_sizes", size, 1) for size in group_sizes]
    k = check_integer("n_components", n_components, 1)
    noise = check_integer("n_noise", n_noise, 0)
    weight = check_number("fairness_weight", fairness_weight)
    variances = _variances(len(sizes), k - 1, noise)
    n_features = variances.shape[1]
    if not sizes or min(sizes) <= n_features:
        raise ValueError(
            f"group_sizes={tuple(group_sizes)} must be one or more numbers above the number of "
            f"features, which is n_components - 1 + groups + n_noise = {n_features}."
        )
    rng = _generator(random_state)
    basis = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    shares = np.array(sizes) / sum(sizes)
    kept = _best_shares(shares, weight)
    own = np.zeros(n_features)
    own[k - 1 : k - 1 + len(sizes)] = np.sqrt(kept)
    errors = variances @ (1.0 - own**2) - variances[:, : k - 1].sum(axis=1)
    rows = [_rows(size, spread, rng) @ basis for size, spread in zip(sizes, variances, strict=True)]
    order = rng.permutation(sum(sizes))
    return KnownOptimum(
        X=np.concatenate(rows)[order],
        sensitive_features=np.repeat(np.arange(len(sizes)), sizes)[order],
        n_components=k,
        fairness_weight=weight,
        components=np.vstack([basis[: k - 1], own @ basis]),
        group_errors=errors,
        objective=float(shares @ errors + weight * np.ptp(errors)),
    )


def _variances(n_groups: int, n_shared: int, n_noise: int) -> FloatArray:
    """Return the variance of each group (rows) in each direction of the basis."""
    shared = np.full((n_groups, n_shared), _SHARED)
    own = np.where(np.eye(n_groups, dtype=bool), _STRONG, _WEAK)
    return np.hstack([shared, own, np.full((n_groups, n_noise), _NOISE)])


def _best_shares(shares: FloatArray, weight: float) -> FloatArray:
    """Return how much of each group's own direction to keep: alike for the j largest groups."""
    n_groups = len(shares)
    largest = np.argsort(-shares, kind="stable")
    served = np.arange(1, n_groups + 1)
    gain = (np.cumsum(shares[largest]) - np.where(served < n_groups, weight, 0.0)) / served
    j = int(served[np.argmax(gain)])
    kept = np.zeros(n_groups)
    kept[largest[:j]] = 1.0 / j
    return kept


def _rows(size: int, variances: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Make rows of mean 0 whose second moment is diagonal, with these variances."""
    drawn = np.column_stack([np.ones(size), rng.standard_normal((size, len(variances)))])
    orthonormal = np.linalg.qr(drawn)[0][:, 1:]
    return np.asarray(orthonormal * np.sqrt(size * variances))


def _generator(random_state: Any) -> np.random.Generator:
    known = random_state is None or isinstance(random_state, np.random.Generator)
    if known or (is_integer(random_state) and random_state >= 0):
        return np.random.default_rng(random_state)
    raise ValueError(
        f"random_state={random_state!r} is not a seed; use None, a non-negative int or numpy's "
        "Generator."
    )
