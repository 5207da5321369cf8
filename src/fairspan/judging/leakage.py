"""Leakage: how well a linear rule separates the groups after a projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairspan.exceptions import CollapsedRuleWarning
from fairspan.ground import defaults
from fairspan.ground.parameters import (
    check_choice,
    check_flag,
    check_integer,
    check_listing,
    check_number,
    check_seed,
)
from fairspan.ground.rows import check_rows, named_column
from fairspan.ground.types import FloatArray, IntArray
from fairspan.ground.warn import warn
from fairspan.judging.linear_svm import Margin, linear_svm
from fairspan.moments.groups import Groups, encode_groups, relabelled
from fairspan.moments.projection import Projection
from fairspan.moments.small_groups import GroupRule

COSTS = (1e-4, 1e-2, 1.0, 1e2, 1e4)
RULES = ("balanced", "published")

_COLLAPSED = (
    "The linear rule has collapsed: its best weights are 0, and the distance is read off rounding. "
    "Use rule='balanced', which counts both classes alike."
)
_ONE_GROUP = (
    "A training or test part has rows of only one group; use fewer folds (n_folds) or more rows "
    "of each group."
)


@named_column
def linear_leakage(
    model: Any,
    X: Any,
    sensitive_features: Any,
    *,
    rule: str = "balanced",
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

    By default both classes count alike in the machine. As published (``rule="published"``) every
    row does; where groups are unequal and overlap, the best such machine often calls every row a
    member of the larger group: its weights are 0, and the distance of what rounding leaves of them
    says nothing about the data. This is detected and warned of (``CollapsedRuleWarning``). Balanced
    weights vanish only if the classes have equal means, and the result is then 0.

    As published, the rule is fitted to the very rows it is judged on, which flatters it. With
    ``held_out=True`` every fold is scored by a rule, its cost included, found on the other folds
    only, and the mean distance over the folds is returned.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features)
        Rows, the test set in the published tables.
    sensitive_features : array-like, frame, dict or str
        The group of each row. A str names a column of X, which is then not a feature.
    rule : {"balanced", "published"}, default="balanced"
        Whether classes count alike in the machine, or rows do.
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
    check_choice("rule", rule, RULES)
    check_integer("n_folds", n_folds, 2)
    check_flag("held_out", held_out)
    check_seed(check_integer("random_state", random_state, 0))
    given = check_listing("costs", costs, "a sequence of positive numbers", "number")
    prices = [check_number("costs", cost, positive=True) for cost in given]
    X, groups = _compared(GroupRule.of(model), check_rows(X), sensitive_features)
    if n_folds > len(X):
        raise ValueError(f"n_folds={n_folds} must be at most the number of rows, {len(X)}.")
    if len(groups.labels) < 2:
        raise ValueError(f"There is only one group ({groups.labels[0]!r}); nothing can leak.")
    projection = Projection.of(model)
    projection.check_features(X)
    scaled = X if projection.scale is None else X / projection.scale
    Z = scaled @ projection.components.T
    search = Search(rule == "balanced", prices, n_folds, random_state)
    found = []
    # For two groups one against the other is all there is; the second is counted up.
    for code in range(1 if len(groups.labels) == 2 else 0, len(groups.labels)):
        y = np.where(groups.codes == code, 1.0, -1.0)
        found.append(search.held_out(Z, y) if held_out else search.separation(Z, y))
    if rule == "published" and any(one.is_collapsed for one in found):
        warn(_COLLAPSED, CollapsedRuleWarning)
    return max(one.distance for one in found)


def _compared(rule: GroupRule, X: FloatArray, given: Any) -> tuple[FloatArray, Groups]:
    """Give the rows of groups that the model compares, and their groups."""
    groups = rule.groups(given, len(X))
    compared = rule.compared(groups.labels)
    if compared.all():
        return X, groups
    rows = compared[groups.codes]
    if not rows.any():
        raise ValueError("The model compares none of these groups; nothing can leak.")
    return X[rows], encode_groups(relabelled(groups, ())[rows])


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


class Separation(NamedTuple):
    """A distance, and whether a rule behind it has collapsed to no rule at all."""

    distance: float
    is_collapsed: bool


@dataclass(frozen=True)
class Search:
    """How a rule is found: whether classes count alike, costs, folds and their seed."""

    is_balanced: bool
    costs: Sequence[float] = COSTS
    n_folds: int = 5
    seed: int = defaults.SEED

    def separation(self, Z: FloatArray, y: FloatArray) -> Separation:
        """Judge a rule on the rows it was found on."""
        Z = _standardized(Z, Z)
        found = self._rule(Z, y, self._best_cost(Z, y))
        return Separation(self._distance(Z, y, found), found.is_collapsed)

    def held_out(self, Z: FloatArray, y: FloatArray) -> Separation:
        """Judge rules on folds that they have not seen."""
        parts = []
        for inside, outside in _folds(len(y), self.n_folds, self.seed):
            seen, new = (_standardized(Z[rows], Z[inside]) for rows in (inside, outside))
            found = self._rule(seen, y[inside], self._best_cost(seen, y[inside]))
            parts.append((self._distance(new, y[outside], found), found.is_collapsed))
        distances, collapsed = zip(*parts, strict=True)
        return Separation(float(np.mean(distances)), any(collapsed))

    def _best_cost(self, Z: FloatArray, y: FloatArray) -> float:
        folds = _folds(len(y), self.n_folds, self.seed)
        sums = [
            sum(
                self._distance(Z[out], y[out], self._rule(Z[into], y[into], c))
                for into, out in folds
            )
            for c in self.costs
        ]
        return self.costs[int(np.argmax(sums))]

    def _rule(self, Z: FloatArray, y: FloatArray, cost: float) -> Margin:
        if np.ptp(y) == 0:
            raise ValueError(_ONE_GROUP)
        share = np.where(y > 0, np.mean(y > 0), np.mean(y < 0))
        return linear_svm(Z, y, cost, 0.5 / share if self.is_balanced else None)

    def _distance(self, Z: FloatArray, y: FloatArray, found: Margin) -> float:
        distance = ks_distance(Z @ found.weights, y)
        # The published program reads a distance off whatever its solver leaves.
        return 0.0 if self.is_balanced and found.is_collapsed else distance


def _folds(n_rows: int, n_folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Cut one shuffle into consecutive folds."""
    order = np.arange(n_rows)
    np.random.RandomState(seed).shuffle(order)
    chunks = np.array_split(order, n_folds)
    return [(np.concatenate(chunks[:i] + chunks[i + 1 :]), chunk) for i, chunk in enumerate(chunks)]


def _standardized(Z: FloatArray, seen: FloatArray) -> FloatArray:
    spread = seen.std(axis=0)
    return np.asarray((Z - seen.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
