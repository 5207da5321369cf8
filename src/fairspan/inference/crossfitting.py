"""Cross-fitting: what a recipe does to rows that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairspan.ground import defaults
from fairspan.ground.parameters import generator_from
from fairspan.ground.rows import named_column
from fairspan.ground.types import BoolArray, FloatArray, IntArray, Label
from fairspan.inference.held_out import HeldOut, held_out
from fairspan.inference.sample import Means, Sample, absolute, welch_interval
from fairspan.judging.support import scarce_columns
from fairspan.words import FEW_ROWS, LEAST_ROWS


@dataclass(frozen=True)
class CrossFit:
    """Errors on new rows, estimated by cross-fitting.

    Numbers that the data cannot give are NaN: intervals of groups with fewer than 5 rows, or
    clusters, and of groups with fewer than 20 where the support of a column is low.

    Attributes
    ----------
    labels : tuple
        The groups; what follows is in this order.
    counts : ndarray of shape (n_groups,)
        Rows.
    sizes : ndarray of shape (n_groups,)
        Effective numbers of independent rows or clusters, by which statements are made.
    total : float
        Mean error of all rows.
    total_interval : ndarray of shape (2,)
        Its interval.
    group_errors : ndarray of shape (n_groups,)
        Mean error of each group.
    group_intervals : ndarray of shape (n_groups, 2)
        Their intervals, each on its own.
    difference : float or ndarray of shape (n_groups, n_groups)
        Of two groups that are compared, the error of the later label minus that of the earlier
        one. Of more, the error of the row's group minus that of the column's.
    difference_interval : ndarray of shape (2,) or (n_groups, n_groups, 2)
        Its interval; for more than two groups all hold at once.
    gap_interval : ndarray of shape (2,)
        Interval of the largest difference between groups that get a statement.
    level : float or None
        How often the intervals hold, 0.95; None where the support of a column is low, for which no
        level may be claimed.
    row_errors : ndarray of shape (n_rows,)
        The error of each row; NaN for rows without weight.
    folds : ndarray of shape (n_rows,)
        The fold that each row was held out with; -1 for rows without weight.
    low_support : dict
        Columns whose support is below 20, by name or position, and their support.
    constant_columns : list
        Columns that hardly vary without some fold. There, estimators that standardise take the
        deviation over all rows; a scaler in a pipeline does what it does.
    folds_without : dict
        Groups that were absent from the fit of some folds, and of how many.
    """

    labels: tuple[Label, ...]
    counts: IntArray
    sizes: FloatArray
    total: float
    total_interval: FloatArray
    group_errors: FloatArray
    group_intervals: FloatArray
    difference: float | FloatArray
    difference_interval: FloatArray
    gap_interval: FloatArray
    level: float | None
    row_errors: FloatArray = field(repr=False)
    folds: IntArray = field(repr=False)
    low_support: dict[Any, float]
    constant_columns: list[Any]
    folds_without: dict[Label, int]

    @property
    def has_statement(self) -> BoolArray:
        """Whether a group has enough rows for a statement."""
        return self.sizes >= LEAST_ROWS

    @property
    def has_few_rows(self) -> BoolArray:
        """Whether a statement about a group is to be marked, because it rests on few rows."""
        return self.has_statement & (self.sizes < FEW_ROWS)


@named_column
def crossfit(
    estimator: Any,
    X: Any,
    *,
    sensitive_features: Any,
    sample_weight: Any = None,
    folds: int = 10,
    clusters: Any = None,
    random_state: Any = None,
) -> CrossFit:
    """Estimate what a recipe does to new rows: total error, group errors, their differences.

    The recipe is fitted without each fold in turn, its scaler and any selection included, and the
    rows of the fold are measured. Errors on the rows of the fit itself are too small, and the gap
    of a fair fit most of all.

    Parameters
    ----------
    estimator : estimator
        The recipe: a fair PCA or search of this package, a pipeline that ends with one of these, or
        an estimator with ``components_`` and ``mean_``. It is cloned, not fitted.
    X : array-like or sparse array of shape (n_rows, n_features)
        Rows as they are, not standardised: a scaler belongs into the recipe.
    sensitive_features : array-like, frame, dict, str or None
        The group of each row. A str names a column of X, which is then not a feature.
    sample_weight : array-like of shape (n_rows,), optional
        How much each row counts. Intervals take a row for one independent unit, whatever its
        weight.
    folds : int, default=10
        Number of folds.
    clusters : array-like of shape (n_rows,), optional
        Rows that belong together, such as those of one person, have the same entry. Folds keep them
        together and intervals count clusters; each must belong to one group.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the folds; None is a fixed one. The order of the rows does not matter.

    Returns
    -------
    CrossFit
        Estimates and intervals.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fairspan import RobustFairPCA
    >>> from fairspan.inference import crossfit
    >>> X = load_diabetes().data[:, [0, 2, 3, 4, 5, 6, 7, 8, 9]]
    >>> sex = load_diabetes().data[:, 1] > 0
    >>> pca = RobustFairPCA(3, radius=0, standardize=True)
    >>> found = crossfit(pca, X, sensitive_features=sex)
    >>> round(pca.fit(X, sensitive_features=sex).error_gap_, 1), round(found.difference, 1)
    (0.0, 0.1)
    """
    rng = seeded(random_state)
    sample = sample_for(estimator, X, sensitive_features, sample_weight, clusters)
    check_two_groups(sample)
    drawn = sample.folds(folds, rng)
    found = held_out(estimator, sample, drawn)
    return summary(sample, drawn, found, found.errors, rng)


def seeded(random_state: Any) -> np.random.Generator:
    """Make a generator; statements about the same data are the same, so None is a fixed seed."""
    return generator_from(0 if random_state is None else random_state)


def sample_for(
    estimator: Any, X: Any, sensitive_features: Any, sample_weight: Any, clusters: Any
) -> Sample:
    """Check rows for a recipe, which knows what becomes of rows without a label."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    rule = getattr(last, "missing_groups", "raise")
    clip = getattr(last, "clip", None)
    return Sample.of(X, sensitive_features, sample_weight, clusters, rule, clip)


def check_two_groups(sample: Sample) -> None:
    """Refuse to leave out one of only two groups."""
    units = np.bincount(sample.codes, minlength=len(sample.labels))
    single = np.flatnonzero(sample.compared & (units < 2))
    if sample.compared.sum() == 2 and len(single):
        what = "cluster" if sample.is_clustered else "row"
        raise ValueError(
            f"Group {sample.labels[single[0]]!r} has only one {what}, so a fold would be fitted "
            "without it and there would be nothing to compare. Add rows of this group, or pool it "
            "with another."
        )


def summary(
    sample: Sample,
    folds: IntArray,
    found: HeldOut,
    errors: FloatArray,
    rng: np.random.Generator,
) -> CrossFit:
    """Turn errors of rows into estimates and intervals."""
    n_groups = len(sample.labels)
    sums, weights = sample.sums(errors), sample.weights
    groups = Means.of(sums, weights, sample.codes, n_groups)
    whole = Means.of(sums, weights, np.zeros_like(sample.codes), 1)
    low = scarce_columns(sample.columns[1], len(sample.codes), sample.names)
    intervals = groups.intervals
    intervals[groups.sizes < (FEW_ROWS if low else LEAST_ROWS)] = np.nan
    known = sample.compared & ~np.isnan(intervals[:, 0])
    difference, difference_interval, gap_interval = _differences(
        groups, sample.compared, known, rng
    )
    names: Sequence[Any] = sample.names or range(len(found.constant))
    return CrossFit(
        labels=sample.labels,
        counts=np.bincount(sample.groups.codes, minlength=n_groups),
        sizes=groups.sizes,
        total=float(whole.means[0]),
        total_interval=whole.intervals[0],
        group_errors=groups.means,
        group_intervals=intervals,
        difference=difference,
        difference_interval=difference_interval,
        gap_interval=gap_interval,
        level=None if low else defaults.LEVEL,
        row_errors=_spread(sample, errors, np.nan),
        folds=_spread(sample, folds, -1),
        low_support=low,
        constant_columns=[names[j] for j in np.flatnonzero(found.constant).tolist()],
        folds_without={
            label: int(n) for label, n in zip(sample.labels, found.missing, strict=True) if n
        },
    )


def _differences(
    groups: Means, compared: BoolArray, known: BoolArray, rng: np.random.Generator
) -> tuple[float | FloatArray, FloatArray, FloatArray]:
    """Differences of errors, their intervals, and the interval of the largest."""
    none = np.full(2, np.nan)
    if compared.sum() < 2:
        return np.nan, none, none
    if compared.sum() == 2:
        earlier, later = np.flatnonzero(compared).tolist()
        welch = groups.welch(later, earlier)
        interval = welch_interval(welch) if known[compared].all() else none
        return welch[0], interval, absolute(interval)
    apart = groups.means[:, None] - groups.means
    intervals = np.full((*apart.shape, 2), np.nan)
    if known.sum() < 2:
        return apart, intervals, none
    chosen = Means(groups.means[known], groups.variances[known], groups.sizes[known])
    reach = chosen.reach(rng)
    both = np.ix_(known, known)
    intervals[both] = apart[both][..., None] + reach * np.array([-1.0, 1.0])
    np.einsum("aai->ai", intervals)[:] = np.nan
    widest = float(np.ptp(chosen.means))
    return apart, intervals, np.array([max(widest - reach, 0.0), widest + reach])


def _spread(sample: Sample, values: Any, absent: Any) -> Any:
    """Give values of the rows kept to all rows that were given."""
    full = np.full(sample.n_given, absent, dtype=values.dtype)
    full[sample.kept] = values
    return full
