"""What holds for every projection at once on the population that rows were drawn from.

How far the moments of the sample may be from those of the population is learned from how far the
moments of resampled rows are from the sample's. The sum of the largest eigenvalues of a difference
of second moments (a Ky Fan norm) bounds what it does to the error of any subspace, so the result
holds for a projection however it was chosen: by a fit, or by looking at many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from fairspan.fitting import Prepared
from fairspan.ground.types import FloatArray
from fairspan.judging.support import CONSTANT, deviations_and_support, scarce_columns
from fairspan.moments.from_rows import pooled_scale
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.moments.resampling import resampled_moments
from fairspan.objectives.counting import Counting
from fairspan.words import LEAST_ROWS


@dataclass(frozen=True)
class PopulationBounds:
    """Upper bounds on the population, for the projection given and every other at once.

    Attributes
    ----------
    level : float
        How often the bounds hold. It comes from a bootstrap, so it is approximate.
    total : float
        Bound on the mean error of all rows.
    gap : float
        Bound on the largest difference between the errors of groups.
    objective : float
        Bound on the total error, as the objective counts groups, plus the fairness weight times
        the gap.
    n_bootstrap : int
        Number of replicates.
    low_support : dict
        Columns whose support is below 20, by name or position: with these, bounds were found to
        hold less often than they say, down to three times in four.
    """

    level: float
    total: float
    gap: float
    objective: float
    n_bootstrap: int
    low_support: dict[Any, float]


@dataclass(frozen=True)
class Population:
    """Rows that were drawn, and how their errors count."""

    X: FloatArray
    groups: Groups
    prepared: Prepared
    counting: Counting
    fairness_weight: float

    def bounds(
        self, errors: FloatArray, k: int, level: float, number: int, rng: np.random.Generator
    ) -> PopulationBounds:
        """Bound the errors of a projection with k components whose errors here are given."""
        moments = self.prepared.moments
        self._check_counts(moments)
        slack = np.array([_slack(changes, k) for changes in self._changes(number, rng)])
        over = np.quantile(slack, level, axis=0)
        gap = float(self.counting.gap(errors, moments))
        counted = float(self.counting.weights(moments) @ errors)
        return PopulationBounds(
            level=level,
            total=float(moments.shares @ errors + over[0]),
            gap=gap + float(over[1]),
            objective=counted + self.fairness_weight * gap + float(over[2]),
            n_bootstrap=number,
            low_support=scarce_columns(
                deviations_and_support(self.X, None, None)[1], len(self.X), moments.feature_names
            ),
        )

    def _check_counts(self, moments: GroupMoments) -> None:
        for label, count in zip(moments.labels, moments.counts, strict=True):
            if count < LEAST_ROWS:
                raise ValueError(
                    f"population=... says nothing about group {label!r}, which has {count} rows: "
                    f"below {LEAST_ROWS}, nothing is known about others like them. Pool it "
                    "with another group, or leave its rows out."
                )

    def _changes(self, number: int, rng: np.random.Generator) -> Iterator[list[FloatArray]]:
        """How much larger second moments are in the sample than in a replicate of it.

        Yields matrices of all rows, of pairs of groups, and of both together as they count.
        """
        moments, scaled = self.prepared.moments.dense(), self.prepared.scale is not None
        shares, weights = moments.shares, self.counting.weights(moments)
        compared = np.flatnonzero(self.counting.in_gap(moments))
        own = moments.scatters / moments.weights[:, None, None]
        for replicate in resampled_moments(self.X, self.groups, number, rng):
            apart = moments.means - replicate.mean
            second = own + apart[:, :, None] * apart[:, None, :]
            change = second - replicate.second_moments
            total = np.einsum("a,aij->ij", shares - replicate.shares, second)
            total += np.einsum("a,aij->ij", replicate.shares, change)
            if scaled:
                # The sample was standardised by itself, and so is the replicate.
                few = replicate.variances < CONSTANT * moments.variances
                scale = np.where(few, pooled_scale(moments), pooled_scale(replicate))
                units = np.outer(scale, scale)
                change, total = change / units, total / units
            counted = total
            if not np.array_equal(weights, shares):
                counted = np.einsum("a,aij->ij", weights, change)
            pairs = [change[a] - change[b] for a, b in combinations(compared, 2)]
            both = [counted + side * pair for pair in pairs for side in self._sides]
            yield [total[None], np.array(pairs), np.array(both or [counted])]

    @property
    def _sides(self) -> tuple[float, float]:
        return self.fairness_weight, -self.fairness_weight


def _slack(changes: list[FloatArray], k: int) -> tuple[float, float, float]:
    """Give the most that total error, gap and objective of any k components can change."""
    total, pairs, both = changes
    lost = np.linalg.eigvalsh(total)[:, k:].sum()
    gap = 0.0
    if len(pairs):
        values = np.linalg.eigvalsh(pairs)
        gap = max(
            values[:, k:].sum(axis=1).max(), -values[:, : values.shape[1] - k].sum(axis=1).min()
        )
    return float(lost), float(gap), float(np.linalg.eigvalsh(both)[:, k:].sum(axis=1).max())
