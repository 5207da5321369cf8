"""Rows as independent units, means of groups over them, and what is known about the means.

A unit counts with a weight and a weighted sum of errors; a mean is a ratio of sums over units,
whose variance is that of its linearisation. With rows of weight 1 it is the usual one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils import check_array

from fairspan.estimators.clipping import learned_limits
from fairspan.ground import defaults
from fairspan.ground.parameters import check_integer
from fairspan.ground.rows import check_finite, check_real, check_weights, feature_names_of, is_dask
from fairspan.ground.types import FLOATS, BoolArray, FloatArray, IntArray, Label
from fairspan.judging.support import deviations_and_support, units_of
from fairspan.moments.blocks import order_of_codes
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups, groups_in_gap

_DRAWS, _TIMES = 1000, 10
"""Draws at once, and how often: with thousands of groups they need memory."""


@dataclass(frozen=True)
class Sample:
    """Rows, their groups, and the units (rows, or clusters of rows) that are independent.

    Attributes
    ----------
    X : ndarray or csr array of shape (n_rows, n_features)
        Rows of positive weight.
    kept : ndarray of shape (n_rows,)
        Where these rows were in what was given.
    n_given : int
        How many rows were given.
    groups : Groups
        Their groups.
    compared : ndarray of shape (n_groups,)
        Groups that are compared; that of rows without a label may be left out.
    weight : ndarray of shape (n_rows,)
        How much each row counts.
    units : ndarray of shape (n_rows,)
        The unit of each row.
    names : tuple of str or None
        Names of the features.
    is_weighted, is_clustered : bool
        Whether weights, or clusters, were given.
    clip : float or None
        At how many standard deviations the recipe clips features.
    """

    X: Any
    kept: IntArray
    n_given: int
    groups: Groups
    compared: BoolArray
    weight: FloatArray
    units: IntArray
    names: tuple[str, ...] | None
    is_weighted: bool
    is_clustered: bool
    clip: float | None

    @classmethod
    def of(
        cls,
        X: Any,
        sensitive_features: Any,
        sample_weight: Any,
        clusters: Any,
        missing_groups: str = "raise",
        clip: float | None = None,
    ) -> Sample:
        """Check rows and what is known about each."""
        if is_dask(X) or isinstance(X, GroupMoments):
            kind = "GroupMoments" if isinstance(X, GroupMoments) else "a Dask collection"
            raise TypeError(
                f"X is {kind}, but statements about new rows need rows in memory: each row's error "
                "under a projection that was fitted without it. For moments, files, Dask and Spark "
                "only the errors on the fitted rows are available; a random part of the rows that "
                "fits into memory can be cross-fitted."
            )
        check_real(X)
        names = feature_names_of(X)
        options = {"accept_sparse": "csr", "ensure_min_samples": 2, "ensure_all_finite": False}
        X = check_array(X, dtype=FLOATS, input_name="X", **options)
        check_finite(X, names)
        n = X.shape[0]
        groups = Groups.of(sensitive_features, n, missing_groups)
        weight = np.ones(n) if sample_weight is None else check_weights(sample_weight, n)
        units = np.arange(n) if clusters is None else units_of(clusters, n)
        kept = np.flatnonzero(weight > 0)
        if len(kept) < n:
            X, weight = X[kept], weight[kept]
            units = np.unique(units[kept], return_inverse=True)[1]
            present, codes = np.unique(groups.codes[kept], return_inverse=True)
            groups = Groups(codes, tuple(groups.labels[a] for a in present))
        sample = cls(
            X=X,
            kept=kept,
            n_given=n,
            groups=groups,
            compared=groups_in_gap(groups.labels, missing_groups),
            weight=weight,
            units=units,
            names=names,
            is_weighted=sample_weight is not None,
            is_clustered=clusters is not None,
            clip=clip,
        )
        sample._check_clusters(clusters)
        return sample

    def _check_clusters(self, clusters: Any) -> None:
        differs = np.flatnonzero(self.codes[self.units] != self.groups.codes)
        if len(differs):
            cluster = np.asarray(clusters)[self.kept[differs[:1]]].tolist()[0]
            raise ValueError(
                f"Cluster {cluster!r} has rows of several groups. Clusters are the units that are "
                "drawn together, so each must belong to one group; use larger groups, or clusters "
                "within groups."
            )

    @property
    def labels(self) -> tuple[Label, ...]:
        """The groups."""
        return self.groups.labels

    @cached_property
    def codes(self) -> IntArray:
        """The group of each unit."""
        codes = np.zeros(int(self.units.max()) + 1, dtype=np.intp)
        codes[self.units] = self.groups.codes
        return codes

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of each unit."""
        return self.sums(np.ones(len(self.units)))

    def sums(self, values: FloatArray) -> FloatArray:
        """Add values of rows, by their weights, over each unit."""
        return np.bincount(self.units, self.weight * values).astype(np.float64)

    @cached_property
    def columns(self) -> tuple[FloatArray, FloatArray]:
        """Standard deviation and support of each column, as the recipe sees it."""
        units = self.units if self.is_clustered else None
        weight = self.weight if self.is_weighted else None
        X = self.X
        if self.clip is not None:
            X = np.clip(X, *learned_limits(X, self.clip, weight))
        return deviations_and_support(X, weight, units)

    @cached_property
    def order(self) -> IntArray:
        """An order of the units that depends on their data alone, not on how rows are sorted."""
        spread = self.columns[0]
        direction = np.random.default_rng(0).standard_normal(len(spread))
        # Columns in other units do not change the order.
        direction = np.divide(direction, spread, out=np.zeros_like(spread), where=spread > 0)
        values = self.sums(self.X @ direction)
        found = np.argsort(values)
        # Equal values keep the order of their rows, for which sorting takes longer.
        is_tied = (np.diff(values[found]) == 0).any()
        return np.argsort(values, kind="stable") if is_tied else found

    def folds(self, number: Any, rng: np.random.Generator, *, blind: bool = False) -> IntArray:
        """Draw the fold of each row: units stay whole, and groups are spread evenly.

        Parameters
        ----------
        number : int
            How many folds.
        rng : numpy.random.Generator
            Draws them.
        blind : bool
            Whether folds are drawn without a look at the groups.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers of folds.
        """
        number = check_integer("folds", number, 2)
        if number > len(self.codes):
            raise ValueError(
                f"folds={number} must not exceed the number of independent rows or clusters, "
                f"{len(self.codes)}."
            )
        codes = np.zeros_like(self.codes) if blind else self.codes
        # Groups take their turn by their data too, so that their names do not matter.
        ordered = codes[self.order]
        first = np.zeros(len(self.labels), dtype=np.intp)
        first[ordered[::-1]] = np.arange(len(codes))[::-1]
        rank = np.argsort(np.argsort(first))[ordered]
        in_groups = self.order[order_of_codes(rank, len(self.labels))]
        fold = np.empty(len(codes), dtype=np.intp)
        for members in np.split(in_groups, np.cumsum(np.bincount(rank))[:-1]):
            turn = np.arange(len(members)) + rng.integers(number)
            fold[rng.permutation(members)] = turn % number
        return fold[self.units]


@dataclass(frozen=True)
class Means:
    """Means of groups, and how well they are known.

    Attributes
    ----------
    means : ndarray of shape (n_groups,)
        The means.
    variances : ndarray of shape (n_groups,)
        Variances of the means; NaN for a single unit.
    sizes : ndarray of shape (n_groups,)
        Kish's effective numbers of units: (sum of weights)^2 / sum of squared weights.
    """

    means: FloatArray
    variances: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, sums: FloatArray, weights: FloatArray, codes: IntArray, n_groups: int) -> Means:
        """Find the means of groups from the sums of errors and the weights of units."""
        total = np.bincount(codes, weights, n_groups)
        means = np.bincount(codes, sums, n_groups) / total
        apart = sums - means[codes] * weights
        counts = np.bincount(codes, minlength=n_groups).astype(np.float64)
        squares = np.bincount(codes, apart**2, n_groups) / total**2
        few = np.divide(counts, counts - 1, out=np.full(n_groups, np.nan), where=counts > 1)
        sizes = total**2 / np.bincount(codes, weights**2, n_groups)
        return cls(means, squares * few, sizes)

    @property
    def intervals(self) -> FloatArray:
        """Student's interval of each mean, (n_groups, 2); errors are not negative."""
        reach = np.sqrt(self.variances) * _quantile(self.sizes - 1)
        return np.stack([np.maximum(self.means - reach, 0), self.means + reach], axis=-1)

    def welch(self, a: int, b: int) -> tuple[float, float, float]:
        """Give the mean of one group minus that of another, its error and degrees of freedom."""
        parts, freedom = self.variances[[a, b]], self.sizes[[a, b]] - 1
        variance = float(parts.sum())
        shares = float((parts**2 / np.maximum(freedom, 1e-300)).sum())
        degrees = variance**2 / shares if shares > 0 else float(freedom.sum())
        return float(self.means[a] - self.means[b]), float(np.sqrt(variance)), degrees

    def reach(self, rng: np.random.Generator) -> float:
        """Give a number within which all differences of means are off at once.

        Estimates are off by independent Student variables; of these the largest difference is
        drawn.
        """
        errors, shape = np.sqrt(self.variances), (_DRAWS, len(self.means))
        widest = [
            np.ptp(errors * rng.standard_t(self.sizes - 1, shape), axis=1) for _ in range(_TIMES)
        ]
        return float(np.quantile(widest, defaults.LEVEL))


def welch_interval(found: tuple[float, float, float]) -> FloatArray:
    """Give the interval of a difference."""
    difference, error, degrees = found
    reach = error * float(_quantile(np.array(degrees)))
    return np.array([difference - reach, difference + reach])


def absolute(interval: FloatArray) -> FloatArray:
    """Give what an interval of a signed difference says about its size."""
    low, high = np.abs(interval).min(), np.abs(interval).max()
    return np.array([0.0 if interval[0] <= 0 <= interval[1] else low, high])


def _quantile(degrees: FloatArray) -> FloatArray:
    # Below one degree of freedom, which unequal weights may leave, there is no interval.
    known = np.where(degrees >= 1, degrees, np.nan)
    # What stats.t.ppf calls after checks that cost more than the quantile.
    return np.asarray(special.stdtrit(known, (1 + defaults.LEVEL) / 2))
