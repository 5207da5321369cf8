"""Poisson bootstrap of moments: many replicates from one pass over the rows.

Every replicate gives each row a Poisson(1) weight, independently. The weighted sums of rows and of
their outer products are all that the moments of a replicate need, so blocks of rows serve all
replicates at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairspan.ground.types import FloatArray, IntArray
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups

_DRAWS = 100
"""How often weights are drawn again because a group got none."""
_BLOCK_BYTES = 2**24
_MEMORY_BYTES = 2**28
"""Where replicates need more than this, some of them are left to a further pass."""


def resampled_moments(
    X: FloatArray,
    groups: Groups,
    n_bootstrap: int,
    rng: np.random.Generator,
    sample_weight: FloatArray | None = None,
) -> Iterator[GroupMoments]:
    """Return the moments of Poisson bootstrap replicates.

    Parameters
    ----------
    X : ndarray of shape (n_rows, d)
        The rows.
    groups : Groups
        Their groups.
    n_bootstrap : int
        Number of replicates.
    rng : numpy.random.Generator
        Draws the weights.
    sample_weight : ndarray of shape (n_rows,), optional
        How often each row counts in the data.

    Yields
    ------
    GroupMoments
        The moments of a replicate, all of them measured from the same shift.
    """
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    d, n_groups = X.shape[1], len(groups.labels)
    together = max(_MEMORY_BYTES // (8 * n_groups * d * (d + 1)), 1)
    shift = X.mean(axis=0, dtype=np.float64)
    for first in range(0, n_bootstrap, together):
        count = min(together, n_bootstrap - first)
        drawn = [
            _resample_group(X, np.flatnonzero(groups.codes == a), weight, shift, count, rng)
            for a in range(n_groups)
        ]
        for replicate in range(count):
            parts = zip(*(group[replicate] for group in drawn), strict=True)
            counts, weights, squares, offsets, scatters = map(np.array, parts)
            yield GroupMoments(
                groups.labels, counts.astype(np.int64), weights, squares, shift, offsets, scatters
            )


def _resample_group(
    X: FloatArray,
    rows: IntArray,
    weight: FloatArray,
    shift: FloatArray,
    count: int,
    rng: np.random.Generator,
) -> list[tuple[float, float, float, FloatArray, FloatArray]]:
    """Compute count, weights, offset and scatter of one group in each replicate."""
    # Around the group's own mean little is lost when the sums become a scatter.
    center = np.asarray(X[rows].mean(axis=0, dtype=np.float64))
    sums = _sums(X, rows, weight, center, count, rng)
    for _ in range(_DRAWS):
        empty = np.flatnonzero(sums[1] == 0)
        if not len(empty):
            break
        for part, again in zip(sums, _sums(X, rows, weight, center, len(empty), rng), strict=True):
            part[empty] = again
    else:
        raise ValueError(
            f"A group has too few rows to resample: with {len(rows)} rows it was empty in a "
            f"replicate {_DRAWS} times. Merge it with another group, or skip the bootstrap."
        )
    counts, weights, squares, firsts, seconds = sums
    offsets = firsts / weights[:, None]
    scatters = seconds - weights[:, None, None] * offsets[:, :, None] * offsets[:, None, :]
    places = center - shift + offsets
    return list(zip(counts, weights, squares, places, scatters, strict=True))


def _sums(
    X: FloatArray,
    rows: IntArray,
    weight: FloatArray,
    center: FloatArray,
    count: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, ...]:
    """Sum counts, weights, squared weights, and moments around a centre."""
    d = X.shape[1]
    counts, weights, squares = np.zeros(count), np.zeros(count), np.zeros(count)
    firsts, seconds = np.zeros((count, d)), np.zeros((count, d * d))
    size = max(_BLOCK_BYTES // (8 * max(d * d, count)), 1)
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        times = rng.poisson(1.0, (count, len(block))).astype(np.float64)
        drawn = times * weight[block]
        centered = X[block] - center
        counts += times.sum(axis=1)
        weights += drawn.sum(axis=1)
        squares += (drawn**2).sum(axis=1)
        firsts += drawn @ centered
        seconds += drawn @ (centered[:, :, None] * centered[:, None, :]).reshape(len(block), -1)
    return counts, weights, squares, firsts, seconds.reshape(count, d, d)
