"""Leakage: how well a linear rule separates the groups after a projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairspan.ground import defaults
from fairspan.ground.parameters import (
    check_flag,
    check_integer,
    check_listing,
    check_number,
    check_seed,
)
from fairspan.ground.rows import check_rows
from fairspan.ground.types import FloatArray, IntArray
from fairspan.judging.linear_svm import linear_svm
from fairspan.moments.groups import encode_groups
from fairspan.moments.projection import Projection

COSTS = (1e-4, 1e-2, 1.0, 1e2, 1e4)

_ONE_GROUP = (
    "A training or test part has rows of only one group; use fewer folds (n_folds) or more rows "
    "of each group."
)


def linear_leakage(
    model: Any,
    X: Any,
    sensitive_features: Any,
    *,
    held_out: bool = False,
    costs: Sequence[float] = COSTS,
    n_folds: int = 5,
    random_state: int = defaults.SEED,
) -> float:
    """How well a linear rule separates the groups after projection, from 0 to 1 (Delta F_Lin).

    A linear support vector machine is fitted to the projected and standardised rows; the result is
    the Kolmogorov-Smirnov distance between the scores of a group and those of the others (the
    largest difference between true and false positive rates over all thresholds). Its cost is
    the one with the largest sum of held-out distances over the folds. For more than two groups it
    is the largest distance of one group from all others.

    As published, the rule is fitted to the very rows it is judged on, which flatters it. With
    ``held_out=True`` every fold is scored by a rule, its cost included, found on the other folds
    only, and the mean distance over the folds is returned.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features)
        Rows, the test set in the published tables.
    sensitive_features : array-like, frame or dict
        The group of each row.
    held_out : bool, default=False
        Whether rows are scored by rules that have not seen them.
    costs : sequence of float
        Costs to choose from.
    n_folds : int, default=5
        Number of folds.
    random_state : int, default=0
        Seed of the shuffle that makes the folds.

    Returns
    -------
    float
        The distance.
    """
    check_integer("n_folds", n_folds, 2)
    check_flag("held_out", held_out)
    check_seed(check_integer("random_state", random_state, 0))
    given = check_listing("costs", costs, "a sequence of positive numbers", "number")
    costs = [check_number("costs", cost, positive=True) for cost in given]
    X = check_rows(X)
    if n_folds > len(X):
        raise ValueError(f"n_folds={n_folds} must be at most the number of rows, {len(X)}.")
    groups = encode_groups(sensitive_features, len(X))
    if len(groups.labels) < 2:
        raise ValueError(f"There is only one group ({groups.labels[0]!r}); nothing can leak.")
    projection = Projection.of(model)
    projection.check_features(X)
    scaled = X if projection.scale is None else X / projection.scale
    Z = scaled @ projection.components.T
    found = []
    # For two groups one against the other is all there is; the second is counted up.
    for code in range(1 if len(groups.labels) == 2 else 0, len(groups.labels)):
        y = np.where(groups.codes == code, 1.0, -1.0)
        found.append(_separation(Z, y, costs, n_folds, random_state, held_out))
    return max(found)


def ks_distance(scores: FloatArray, y: FloatArray) -> float:
    """Return the Kolmogorov-Smirnov distance between the scores of two classes.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Scores.
    y : ndarray of shape (n_rows,)
        Classes, -1 or 1.

    Returns
    -------
    float
        The distance.
    """
    order = np.argsort(scores)
    positive = y[order] > 0
    n_positive = int(positive.sum())
    n_negative = len(y) - n_positive
    if not n_positive or not n_negative:
        raise ValueError(_ONE_GROUP)
    steps = np.cumsum(np.where(positive, 1 / n_positive, -1 / n_negative))
    ends = np.append(np.diff(scores[order]) > 0, True)
    return float(np.abs(steps[ends]).max())


def _separation(
    Z: FloatArray, y: FloatArray, costs: list[float], n_folds: int, seed: int, held_out: bool
) -> float:
    if not held_out:
        Z = _standardized(Z, Z)
        cost = _best_cost(Z, y, costs, n_folds, seed)
        return ks_distance(Z @ _rule(Z, y, cost), y)
    distances = []
    for inside, outside in _folds(len(y), n_folds, seed):
        seen = _standardized(Z[inside], Z[inside])
        cost = _best_cost(seen, y[inside], costs, n_folds, seed)
        weights = _rule(seen, y[inside], cost)
        distances.append(ks_distance(_standardized(Z[outside], Z[inside]) @ weights, y[outside]))
    return float(np.mean(distances))


def _best_cost(Z: FloatArray, y: FloatArray, costs: list[float], n_folds: int, seed: int) -> float:
    folds = _folds(len(y), n_folds, seed)
    sums = [
        sum(ks_distance(Z[out] @ _rule(Z[into], y[into], c), y[out]) for into, out in folds)
        for c in costs
    ]
    return costs[int(np.argmax(sums))]


def _rule(Z: FloatArray, y: FloatArray, cost: float) -> FloatArray:
    if np.ptp(y) == 0:
        raise ValueError(_ONE_GROUP)
    return linear_svm(Z, y, cost).weights


def _folds(n_rows: int, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Cut one shuffle into consecutive folds."""
    order = np.arange(n_rows)
    np.random.RandomState(seed).shuffle(order)
    chunks = np.array_split(order, n_folds)
    return [(np.concatenate(chunks[:i] + chunks[i + 1 :]), chunk) for i, chunk in enumerate(chunks)]


def _standardized(Z: FloatArray, seen: FloatArray) -> FloatArray:
    spread = seen.std(axis=0)
    return np.asarray((Z - seen.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
