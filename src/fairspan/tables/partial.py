"""Moments of a part of the data, as all routes make them and add them up.

A part may hold no rows, rows that are left out, and groups whose rows weigh nothing so far; whether
that is an error shows only when all parts are added.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground.rows import check_memory
from fairspan.ground.types import FloatArray, Label
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups

logger = logging.getLogger("fairspan")


@dataclass(frozen=True)
class Partial:
    """What is known of some rows; partials add up in any order.

    Attributes
    ----------
    moments : GroupMoments or None
        Moments of the groups that have weight.
    weightless : Counter
        Rows of groups whose weights are all zero so far.
    dropped : int
        Rows left out.
    """

    moments: GroupMoments | None = None
    weightless: Counter[Label] = field(default_factory=Counter)
    dropped: int = 0

    def __add__(self, other: Partial) -> Partial:
        if self.moments is None or other.moments is None:
            moments = self.moments or other.moments
        else:
            moments = self.moments + other.moments
        return Partial(moments, self.weightless + other.weightless, self.dropped + other.dropped)

    def result(self) -> GroupMoments:
        """Give the moments of all parts.

        Returns
        -------
        GroupMoments
            The moments; with the number of rows that were left out.
        """
        weighted = () if self.moments is None else self.moments.labels
        for label in self.weightless:
            if label not in weighted:
                raise ValueError(
                    f"The weight is zero for every row of group {label!r}; "
                    "each group needs a positive total weight. Drop its rows to leave it out."
                )
        if self.moments is None:
            left_out = f"; {self.dropped} rows were left out" if self.dropped else ""
            raise ValueError(f"There are no rows to compute moments of{left_out}.")
        if self.dropped:
            logger.info("%d rows with missing values were left out.", self.dropped)
        extra = np.array([self.weightless[label] for label in weighted], dtype=np.int64)
        counts = self.moments.counts + extra
        return replace(self.moments, counts=counts, dropped_rows=self.dropped)


def partial_moments(
    X: npt.NDArray[Any],
    groups: Groups,
    weight: FloatArray | None = None,
    feature_names: Sequence[str] | None = None,
) -> Partial:
    """Compute the moments of some rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        A float array, perhaps without rows.
    groups : Groups
        The group of each row.
    weight : ndarray of shape (n_rows,), optional
        How often each row counts; finite and not negative.
    feature_names : sequence of str, optional
        Names of the features.

    Returns
    -------
    Partial
        The moments.
    """
    if X.shape[0] == 0:
        return Partial()
    check_memory(len(groups.labels), X.shape[1])
    weightless: Counter[Label] = Counter()
    if weight is not None:
        heavy = np.bincount(groups.codes, weight, len(groups.labels)) > 0
        counts = np.bincount(groups.codes, minlength=len(groups.labels))
        idle = np.flatnonzero(~heavy)
        if len(idle):
            weightless.update({groups.labels[a]: int(counts[a]) for a in idle})
            rows = heavy[groups.codes]
            X, weight = X[rows], weight[rows]
            groups = _without(groups, rows, heavy)
            if not groups.labels:
                return Partial(None, weightless)
    moments = GroupMoments.from_groups(X, groups, sample_weight=weight, feature_names=feature_names)
    return Partial(moments, weightless)


def _without(groups: Groups, rows: npt.NDArray[np.bool_], heavy: npt.NDArray[np.bool_]) -> Groups:
    places = np.cumsum(heavy) - 1
    labels = tuple(label for label, kept in zip(groups.labels, heavy, strict=True) if kept)
    return Groups(places[groups.codes[rows]], labels)


def check_weights(name: Any, weight: FloatArray) -> FloatArray:
    """Check the weights of some rows, which may all be zero there."""
    if len(weight) and not (np.isfinite(weight).all() and weight.min() >= 0):
        raise ValueError(
            f"weight={name!r} has negative or infinite values; weights count rows and must be "
            "0 or more."
        )
    return weight
