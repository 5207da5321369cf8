"""Bootstrap intervals of many projections at once: the same resampled rows serve them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground import defaults
from fairspan.ground.types import FloatArray
from fairspan.judging.bootstrap import gap_interval, replicates
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups
from fairspan.moments.projection import Projection

_BLOCK = 2**21
"""Numbers held at once: errors of rows, or rows."""


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


def check_resampling(moments: GroupMoments) -> None:
    """Raise where so many groups are so small that most replicates would miss one."""
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
    size = max(_BLOCK // len(rows.X), 1)
    found: list[dict[str, FloatArray]] = []
    for start in range(0, len(components), size):
        batch = components[start : start + size]
        rng = np.random.default_rng(seed)
        errors = _row_errors(rows, moments, scale, batch)
        sizes, sums = replicates(errors, rows.groups, rows.weight, n_bootstrap, rng)
        filled = (sizes > 0).all(axis=1)
        means = sums[filled] / sizes[filled][..., None]
        found += [_intervals(rows, errors[:, j], means[..., j]) for j in range(len(batch))]
    return found


def _row_errors(
    rows: Rows, moments: GroupMoments, scale: FloatArray | None, batch: list[FloatArray]
) -> FloatArray:
    errors = np.empty((len(rows.X), len(batch)))
    step = max(_BLOCK // rows.X.shape[1], 1)
    for start in range(0, len(rows.X), step):
        some = slice(start, start + step)
        X, groups = rows.X[some], Groups(rows.groups.codes[some], rows.groups.labels)
        for j, components in enumerate(batch):
            projection = Projection(components, moments.mean, scale, None)
            centers = projection.centers(moments, "global")
            errors[some, j] = projection.row_errors(X, groups, centers)
    return errors


def _intervals(rows: Rows, errors: FloatArray, means: FloatArray) -> dict[str, FloatArray]:
    codes, weight = rows.groups.codes, rows.weight
    centre = np.bincount(codes, weight * errors) / np.bincount(codes, weight)
    return {
        "errors": np.quantile(means, defaults.INTERVAL, axis=0).T,
        "gap": gap_interval(centre, means, defaults.LEVEL),
    }
