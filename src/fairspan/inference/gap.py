"""Is there a gap to close? A permutation test on the errors that plain PCA leaves.

The test costs a few Fourier transforms. Units are put in a random order, and labels are moved along
it by every number of places. These moves are a group, so the test is exact, and sums over a label's
units for all moves at once are one convolution. Where there are few units, the moves are applied to
further random orders, too: cosets of the group by independent random permutations, for which the
rank of the order that was seen is uniform just the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground.parameters import check_integer
from fairspan.ground.rows import named_column
from fairspan.ground.types import BoolArray, FloatArray, IntArray, Label
from fairspan.inference.crossfitting import seeded
from fairspan.inference.held_out import held_out, plain_pca
from fairspan.inference.sample import Means, Sample
from fairspan.judging.support import scarce_columns
from fairspan.moments.groups import Groups
from fairspan.words import LEAST_ROWS

_ROUNDING = 1e-12
"""Errors below this share of the variance are rounding."""
_LEAST = 10_000
"""Least number of permutations."""
_TIE = 1e-9
"""Statistics this close, relatively, are equal."""
_TINY = 1e-14


@dataclass(frozen=True)
class GapTest:
    """Whether PCA serves groups differently, beyond what sampling explains.

    Attributes
    ----------
    labels : tuple
        The groups that are compared; what follows is in this order.
    counts : ndarray of shape (n_groups,)
        Rows.
    sizes : ndarray of shape (n_groups,)
        Effective numbers of independent rows or clusters.
    group_errors : ndarray of shape (n_groups,)
        Mean error of each group on the rows of the test.
    excess : ndarray of shape (n_groups,)
        The same minus the mean error of all rows that are compared.
    pvalue : float
        Of the hypothesis that groups do not matter; NaN where one of two groups, or all but one of
        several, has fewer than 5 rows.
    adjusted : ndarray of shape (n_groups,)
        For more than two groups, the p-value of each against the mean of all, adjusted for looking
        at all of them; NaN for groups with fewer than 5 rows. For two groups, ``pvalue``.
    is_crossfitted : bool
        Whether rows were measured by projections fitted without them, as where support is low.
    is_rounding : bool
        Whether the errors, or their differences between rows, are rounding; then ``pvalue`` is 1.
    n_permutations : int
        Number of permutations.
    low_support : dict
        Columns whose support is below 20, and their support.
    """

    labels: tuple[Label, ...]
    counts: IntArray
    sizes: FloatArray
    group_errors: FloatArray
    excess: FloatArray
    pvalue: float
    adjusted: FloatArray
    is_crossfitted: bool
    is_rounding: bool
    n_permutations: int
    low_support: dict[Any, float]

    @property
    def has_statement(self) -> BoolArray:
        """Whether a group has enough rows for a statement."""
        return self.sizes >= LEAST_ROWS


@named_column
def gap_test(
    X: Any,
    *,
    sensitive_features: Any,
    n_components: int,
    standardize: bool = False,
    clip: float | None = None,
    missing_groups: str = "raise",
    sample_weight: Any = None,
    folds: int = 50,
    clusters: Any = None,
    random_state: Any = None,
) -> GapTest:
    """Test whether plain PCA serves groups differently.

    PCA does not see the groups, so its errors on the rows of its own fit may be permuted between
    them: the test is exact where groups do not matter. Two groups are compared by the studentised
    logarithm of the ratio of their errors, more by the largest studentised deviation of a group
    from the mean of all.

    Parameters
    ----------
    X : array-like or sparse array of shape (n_rows, n_features)
        Rows as they are, not standardised.
    sensitive_features : array-like, frame, dict or str
        The group of each row. A str names a column of X, which is then not a feature.
    n_components : int
        Number of components.
    standardize : bool, default=False
        Whether features are divided by their standard deviation.
    clip : float, optional
        Clip features at this number of standard deviations from their mean, as in RobustFairPCA.
    missing_groups : {"raise", "own_group", "total_only"}, default="raise"
        What becomes of rows without a label; with "total_only" they are not compared.
    sample_weight : array-like of shape (n_rows,), optional
        How much each row counts.
    folds : int, default=50
        Most folds, where rows are cross-fitted because the support of a column is low. With few of
        them the p-value depends on how they are drawn.
    clusters : array-like of shape (n_rows,), optional
        Rows that belong together have the same entry; labels of whole clusters are permuted.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed of the permutations; None is a fixed one. The order of the rows does not matter.

    Returns
    -------
    GapTest
        The result.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fairspan.inference import gap_test
    >>> data = load_breast_cancer()
    >>> test = gap_test(
    ...     data.data, sensitive_features=data.target, n_components=3, standardize=True
    ... )
    >>> bool(test.pvalue > 0.05)  # the gap of 1.6 on the fitted rows may be chance
    True
    """
    rng = seeded(random_state)
    sample = Sample.of(X, sensitive_features, sample_weight, clusters, missing_groups, clip)
    low = scarce_columns(sample.columns[1], len(sample.codes), sample.names)
    errors = _plain_errors(sample, plain_pca(n_components, standardize, clip), folds, rng, low)
    chosen = sample.compared[sample.codes[sample.order]]
    units = sample.order[chosen]
    place = np.cumsum(sample.compared) - 1
    sums, weights = sample.sums(errors)[units], sample.weights[units]
    codes, n_groups = place[sample.codes[units]], int(sample.compared.sum())
    means = Means.of(sums, weights, codes, n_groups)
    with np.errstate(invalid="ignore"):  # without rows to compare there is no mean
        overall = Means.of(sums, weights, np.zeros_like(codes), 1)
    stated = means.sizes >= LEAST_ROWS
    spread = overall.variances[0] * overall.sizes[0]
    is_rounding = n_groups > 1 and bool(
        means.means.min() <= _ROUNDING * _total_variance(sample, standardize)
        or spread <= (_ROUNDING * overall.means[0]) ** 2
    )
    pvalue, adjusted, number = 1.0, np.where(stated, 1.0, np.nan), 0
    if n_groups < 2 or stated.sum() < 2:
        pvalue, adjusted = np.nan, np.full(n_groups, np.nan)
    elif not is_rounding and n_groups == 2:
        pvalue, number = log_ratio_pvalue(sums, weights, codes == 1, rng)
        adjusted = np.full(2, pvalue)
    elif not is_rounding:
        pvalue, adjusted, number = max_pvalues(sums, weights, codes, stated, rng)
    rows = np.bincount(sample.groups.codes, minlength=len(sample.labels))
    return GapTest(
        labels=tuple(a for a, one in zip(sample.labels, sample.compared, strict=True) if one),
        counts=rows[sample.compared],
        sizes=means.sizes,
        group_errors=means.means,
        excess=means.means - overall.means[0],
        pvalue=pvalue,
        adjusted=adjusted,
        is_crossfitted=bool(low),
        is_rounding=is_rounding,
        n_permutations=number,
        low_support=low,
    )


def _plain_errors(
    sample: Sample, pca: Any, folds: int, rng: np.random.Generator, crossfitted: Any
) -> FloatArray:
    """Errors of rows under PCA; labels stay out of it, or permuting them would not be exact."""
    blind = replace(sample, groups=Groups.single(sample.X.shape[0]), compared=np.array([False]))
    if crossfitted:
        number = min(check_integer("folds", folds, 2), len(sample.codes))
        return held_out(pca, blind, sample.folds(number, rng, blind=True)).errors
    weight = sample.weight if sample.is_weighted else None
    return np.asarray(pca.fit(sample.X, sample_weight=weight).reconstruction_errors(sample.X))


def _total_variance(sample: Sample, standardize: bool) -> float:
    deviations = sample.columns[0]
    return float((deviations > 0).sum() if standardize else deviations @ deviations)


def log_ratio_pvalue(
    sums: FloatArray, weights: FloatArray, second: BoolArray, rng: np.random.Generator
) -> tuple[float, int]:
    """Permute the studentised log-ratio of the means of two groups.

    Parameters
    ----------
    sums, weights : ndarray of shape (n_units,)
        Sum of errors and weight of each unit, in an order that carries no information.
    second : ndarray of shape (n_units,)
        Units of the second group.
    rng : numpy.random.Generator
        Draws the orders.

    Returns
    -------
    tuple
        The p-value, and the number of permutations.
    """
    mean = sums.sum() / weights.sum()
    # Deviations from the common mean lose few digits when they are squared.
    apart = sums / mean - weights
    columns = np.stack([apart, weights, apart**2, apart * weights, weights**2])
    start, data = _arranged(columns, rng)
    moved = _moved(data, second[start])
    statistic = _log_ratio(columns.sum(axis=1), moved, int(second.sum()), len(second))
    return _share(statistic, statistic[0]), len(statistic)


def _log_ratio(whole: FloatArray, moved: FloatArray, n_second: int, n: int) -> FloatArray:
    variance, log = 0.0, 0.0
    sides = ((moved, n_second, 1.0), (whole[:, None] - moved, n - n_second, -1.0))
    for (apart, weight, squares, mixed, square_weights), count, sign in sides:
        shift = apart / weight
        mean = np.maximum(1.0 + shift, _TINY)
        left = squares - 2 * shift * mixed + shift**2 * square_weights
        spread = np.maximum(left, _TINY * whole[2]) / weight**2 * (count / (count - 1))
        variance = variance + spread / mean**2
        log = log + sign * np.log(mean)
    return np.asarray(np.abs(log) / np.sqrt(variance))


def max_pvalues(
    sums: FloatArray,
    weights: FloatArray,
    codes: IntArray,
    stated: BoolArray,
    rng: np.random.Generator,
) -> tuple[float, FloatArray, int]:
    """Permute the largest studentised deviation of a group from the mean of all.

    Parameters
    ----------
    sums, weights : ndarray of shape (n_units,)
        Sum of errors and weight of each unit.
    codes : ndarray of shape (n_units,)
        Their groups.
    stated : ndarray of shape (n_groups,)
        Groups that the largest deviation is looked for among.
    rng : numpy.random.Generator
        Draws the orders.

    Returns
    -------
    tuple
        The p-value, that of each group adjusted for the number of groups, and the number of
        permutations.
    """
    n = len(codes)
    apart = sums - sums.sum() / weights.sum() * weights
    groups = np.flatnonzero(stated)
    counts = np.bincount(codes, minlength=len(stated))[groups]
    # The deviation of a sum of some units drawn from all, without putting any back.
    errors = np.sqrt((apart @ apart) / (n - 1) * counts * (1 - counts / n))
    start, data = _arranged(apart[None], rng)
    largest, own = np.zeros(data.shape[1] * n), np.empty(len(groups))
    for place, (group, error) in enumerate(zip(groups, errors, strict=True)):
        found = np.abs(_moved(data, codes[start] == group)[0]) / error
        own[place] = found[0]
        np.maximum(largest, found, out=largest)
    adjusted = np.full(len(stated), np.nan)
    adjusted[groups] = [_share(largest, one) for one in own]
    return _share(largest, float(own.max())), adjusted, len(largest)


def _arranged(
    columns: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, npt.NDArray[np.complex128]]:
    """Draw the order of the labels, and transform columns in that order and in random ones."""
    n = columns.shape[1]
    orders = np.array([rng.permutation(n) for _ in range(-(-_LEAST // n))])
    return orders[0], np.fft.rfft(columns[:, orders])


def _moved(data: npt.NDArray[np.complex128], members: BoolArray) -> FloatArray:
    """Sum columns over units with a label, for every permutation; the first is the given order."""
    sums = np.fft.irfft(data * np.fft.rfft(members).conj(), len(members))
    return sums.reshape(len(data), -1)


def _share(values: FloatArray, seen: float) -> float:
    return float(np.mean(values >= seen * (1 - _TIE)))
