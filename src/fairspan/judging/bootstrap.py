"""Intervals for a given projection on rows it was not fitted on: Poisson weights, in one pass.

Each replicate gives every row a Poisson(1) weight. For a fixed projection all that is needed of a
group is its weight and its weighted sum of errors, which are added block by block.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fairspan.ground import defaults
from fairspan.ground.parameters import check_level, check_replicates, generator_from, renamed
from fairspan.ground.rows import check_rows, check_weights, named_column
from fairspan.ground.types import FloatArray, Label
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.moments.projection import Projection
from fairspan.moments.small_groups import GroupRule
from fairspan.words import LEAST_ROWS

_BLOCK = 2**22
"""Weights drawn at once."""


@dataclass(frozen=True)
class ErrorIntervals:
    """Confidence intervals of group errors, total error and gap; rows are (low, high).

    Attributes
    ----------
    labels : tuple
        The groups.
    errors : ndarray of shape (n_groups, 2)
        Interval of each group's error.
    total : ndarray of shape (2,)
        Interval of the total error.
    gap : ndarray of shape (2,)
        Interval of the largest difference between two groups.
    level : float
        The confidence level of each.
    """

    labels: tuple[Label, ...]
    errors: FloatArray
    total: FloatArray
    gap: FloatArray
    level: float

    @property
    def by_group(self) -> dict[Label, tuple[float, float]]:
        """Intervals of the group errors by label."""
        return {a: (float(x), float(y)) for a, (x, y) in zip(self.labels, self.errors, strict=True)}


@renamed("centring", "centering")
@named_column
def bootstrap_intervals(
    model: Any,
    X: Any,
    sensitive_features: Any,
    *,
    n_bootstrap: int = defaults.N_BOOTSTRAP,
    level: float = defaults.LEVEL,
    centering: str = "global",
    mean: Any = None,
    scale: Any = None,
    training: GroupMoments | None = None,
    sample_weight: Any = None,
    random_state: Any = None,
) -> ErrorIntervals:
    """Confidence intervals for the errors of a given projection, from held-out rows.

    On the rows that the projection was fitted on these intervals are too low and too short: they
    held the error on new rows in 18 to 91 % of samples. Use :func:`fairspan.inference.crossfit`
    where no rows were held out.

    The projection and its centres are held fixed. Errors get percentile intervals. The gap is never
    negative, so percentiles of its replicates would be too high where groups are alike; its
    interval comes from a band that holds for the differences of all pairs of groups at once.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features)
        Rows that the projection was not fitted on.
    sensitive_features : array-like, frame, dict or str
        The group of each row. A str names a column of X, which is then not a feature.
    n_bootstrap : int, default=1000
        Number of replicates.
    level : float, default=0.95
        Confidence level, between 0 and 1.
    centering : {"global", "group"}, default="global"
        From where errors are measured.
    mean, scale, training, sample_weight
        See :class:`fairspan.metrics.Options`.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    ErrorIntervals
        The intervals; NaN for groups of fewer than 5 rows, which the gap leaves out.
    """
    check_replicates(n_bootstrap)
    level = check_level("level", level)
    X = check_rows(X)
    rule = GroupRule.of(model)
    groups = rule.groups(sensitive_features, len(X))
    weight = np.ones(len(X)) if sample_weight is None else check_weights(sample_weight, len(X))
    projection = Projection.of(model, mean, scale, training)
    projection.check_features(X)
    moments = GroupMoments.from_groups(X, groups, sample_weight=weight)
    errors = projection.row_errors(X, groups, projection.centers(moments, centering))
    large = moments.counts >= LEAST_ROWS
    if not large.any():
        raise ValueError(f"All groups have fewer than {LEAST_ROWS} rows, too few to resample.")
    rng = generator_from(random_state)
    sizes, sums = replicates(errors, groups, weight, n_bootstrap, rng)
    edges = [(1 - level) / 2, (1 + level) / 2]
    drawn = sizes.sum(axis=1) > 0
    total = np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), edges)
    filled = (sizes[:, large] > 0).all(axis=1)
    means = np.full((int(filled.sum()), len(large)), np.nan)
    means[:, large] = sums[filled][:, large] / sizes[filled][:, large]
    by_group, gap = np.full((len(large), 2), np.nan), np.full(2, np.nan)
    by_group[large] = np.quantile(means[:, large], edges, axis=0).T
    in_gap = rule.compared(groups.labels)
    compared = in_gap & large
    if compared.sum() >= min(in_gap.sum(), 2):
        found = np.bincount(groups.codes, weight * errors) / np.bincount(groups.codes, weight)
        gap = gap_interval(found[compared], means[:, compared], level)
    return ErrorIntervals(groups.labels, by_group, total, gap, level)


def replicates(
    errors: FloatArray,
    groups: Groups,
    weight: FloatArray,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return sizes and summed errors of the groups in each replicate, (n_bootstrap, n_groups)."""
    shape = (n_bootstrap, len(groups.labels))
    sizes, sums = np.zeros(shape), np.zeros(shape)
    size = max(_BLOCK // n_bootstrap, 1)
    for a in range(len(groups.labels)):
        rows = np.flatnonzero(groups.codes == a)
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            drawn = rng.poisson(1.0, (n_bootstrap, len(block))) * weight[block]
            sizes[:, a] += drawn.sum(axis=1)
            sums[:, a] += drawn @ errors[block]
    return sizes, sums


def gap_interval(found: FloatArray, means: FloatArray, level: float) -> FloatArray:
    """Return an interval of the largest difference, from a simultaneous band over all pairs."""
    if len(found) < 2:
        return np.zeros(2)
    first, second = (list(side) for side in zip(*combinations(range(len(found)), 2), strict=True))
    differences = found[first] - found[second]
    noise = means[:, first] - means[:, second] - differences
    spread = noise.std(axis=0)
    spread[spread == 0] = np.finfo(float).tiny
    reach = spread * np.quantile(np.abs(noise / spread).max(axis=1), level)
    apart = np.abs(differences)
    return np.array([max(float((apart - reach).max()), 0.0), float((apart + reach).max())])
