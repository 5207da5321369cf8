"""Bootstrap intervals for group errors and gaps: Poisson weights, in one pass over the rows.

Each replicate gives every row a Poisson(1) weight. For a fixed projection all that is needed of a
group is its weight and its weighted sum of errors, which are added block by block.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground import defaults
from fairspan.ground.parameters import check_level, check_replicates, generator_from
from fairspan.ground.renamed import renamed
from fairspan.ground.rows import check_rows, check_weights
from fairspan.ground.types import FloatArray, Label
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups, encode_groups
from fairspan.moments.projection import Projection

_BLOCK = 2**22
"""Weights drawn at once."""
_NUMBERS = 2**21
"""Errors of rows, or values of rows, that are held at once for many projections."""


@dataclass(frozen=True)
class Rows:
    """The rows behind the moments, for what moments cannot tell.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The data.
    groups : Groups
        The group of each row.
    weight : ndarray of shape (n_rows,)
        How often each row counts.
    """

    X: npt.NDArray[Any]
    groups: Groups
    weight: FloatArray


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
    """Confidence intervals for the errors of a given projection on a population.

    The projection and its centres are held fixed. Errors get percentile intervals. The gap is never
    negative, so percentiles of its replicates would be too high where groups are alike; its
    interval comes from a band that holds for the differences of all pairs of groups at once.

    Parameters
    ----------
    model : fitted estimator or ndarray of shape (n_components, n_features)
        The projection.
    X : array-like of shape (n_rows, n_features)
        Rows, best those that the projection was not fitted on.
    sensitive_features : array-like, frame or dict
        The group of each row.
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
        The intervals.
    """
    check_replicates(n_bootstrap)
    level = check_level("level", level)
    X = check_rows(X)
    groups = encode_groups(sensitive_features, len(X))
    weight = np.ones(len(X)) if sample_weight is None else check_weights(sample_weight, len(X))
    projection = Projection.of(model, mean, scale, training)
    projection.check_features(X)
    moments = GroupMoments.from_groups(X, groups, sample_weight=weight)
    errors = projection.row_errors(X, groups, projection.centers(moments, centering))
    rng = generator_from(random_state)
    sizes, sums = replicates(errors, groups, weight, n_bootstrap, rng)
    filled = (sizes > 0).all(axis=1)
    if filled.mean() < 0.5:
        smallest = groups.labels[int(np.argmin(moments.counts))]
        raise ValueError(
            f"Group {smallest!r} has only {int(moments.counts.min())} rows, too few to resample."
        )
    by_group, gap = _intervals(Rows(X, groups, weight), errors, sums[filled] / sizes[filled], level)
    total = np.quantile(sums.sum(axis=1) / sizes.sum(axis=1), _edges(level))
    return ErrorIntervals(groups.labels, by_group, total, gap, level)


def check_resampling(moments: GroupMoments) -> None:
    """Raise if groups are so small that most replicates would miss one."""
    if float(np.prod(1 - np.exp(-moments.counts.astype(float)))) < 0.5:
        smallest = moments.labels[int(np.argmin(moments.counts))]
        raise ValueError(
            f"Group {smallest!r} has only {int(moments.counts.min())} rows, and others are small "
            "too: too few to resample. Set n_bootstrap=0 for a report without intervals."
        )


def bootstrap_all(
    rows: Rows,
    moments: GroupMoments,
    scale: FloatArray | None,
    components: list[FloatArray],
    n_bootstrap: int,
    seed: int,
) -> list[dict[str, FloatArray]]:
    """Resample rows and give intervals for each of many projections, held fixed.

    Parameters
    ----------
    rows : Rows
        The data.
    moments : GroupMoments
        Its moments, which give the centre.
    scale : ndarray of shape (n_features,) or None
        Divisors of the features.
    components : list of ndarray of shape (k, n_features)
        The projections.
    n_bootstrap : int
        Number of replicates.
    seed : int
        Seed; every batch of projections meets the same replicates.

    Returns
    -------
    list of dict
        For each projection the intervals of the "errors", (n_groups, 2), and of the "gap", (2,).
    """
    size = max(_NUMBERS // len(rows.X), 1)
    found: list[dict[str, FloatArray]] = []
    for start in range(0, len(components), size):
        batch = components[start : start + size]
        rng = np.random.default_rng(seed)
        errors = _row_errors(rows, moments, scale, batch)
        sizes, sums = replicates(errors, rows.groups, rows.weight, n_bootstrap, rng)
        filled = (sizes > 0).all(axis=1)
        means = sums[filled] / sizes[filled][..., None]
        found += [
            dict(zip(("errors", "gap"), _intervals(rows, errors[:, j], means[..., j]), strict=True))
            for j in range(len(batch))
        ]
    return found


def _row_errors(
    rows: Rows, moments: GroupMoments, scale: FloatArray | None, batch: list[FloatArray]
) -> FloatArray:
    errors = np.empty((len(rows.X), len(batch)))
    step = max(_NUMBERS // rows.X.shape[1], 1)
    for start in range(0, len(rows.X), step):
        some = slice(start, start + step)
        X, groups = rows.X[some], Groups(rows.groups.codes[some], rows.groups.labels)
        for j, components in enumerate(batch):
            projection = Projection(components, moments.mean, scale, None)
            centers = projection.centers(moments, "global")
            errors[some, j] = projection.row_errors(X, groups, centers)
    return errors


def _intervals(
    rows: Rows, errors: FloatArray, means: FloatArray, level: float = defaults.LEVEL
) -> tuple[FloatArray, FloatArray]:
    """Intervals of the group errors and of the gap, from the errors of rows and of replicates."""
    codes, weight = rows.groups.codes, rows.weight
    found = np.bincount(codes, weight * errors) / np.bincount(codes, weight)
    return np.quantile(means, _edges(level), axis=0).T, gap_interval(found, means, level)


def _edges(level: float) -> list[float]:
    return [(1 - level) / 2, (1 + level) / 2]


def replicates(
    errors: FloatArray,
    groups: Groups,
    weight: FloatArray,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return sizes and summed errors of the groups in each replicate, (n_bootstrap, n_groups).

    Errors may have a second axis, for several projections of the same rows; so have the sums.
    """
    shape = (n_bootstrap, len(groups.labels))
    sizes, sums = np.zeros(shape), np.zeros((*shape, *errors.shape[1:]))
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
    if len(found) == 1:
        return np.zeros(2)
    first, second = (list(side) for side in zip(*combinations(range(len(found)), 2), strict=True))
    differences = found[first] - found[second]
    noise = means[:, first] - means[:, second] - differences
    spread = noise.std(axis=0)
    spread[spread == 0] = np.finfo(float).tiny
    reach = spread * np.quantile(np.abs(noise / spread).max(axis=1), level)
    apart = np.abs(differences)
    return np.array([max(float((apart - reach).max()), 0.0), float((apart + reach).max())])
