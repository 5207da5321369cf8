"""Adding moments: groups of both sides are merged without loss of precision.

Offsets are small numbers even where the data sits far from the origin: merging through differences
of offsets instead of differences of means keeps all digits (at a feature offset of 1e8, plain means
lose nine of them over a thousand merges).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairspan.ground.listed import listed
from fairspan.moments.groups import sort_labels

if TYPE_CHECKING:
    from fairspan.moments.group_moments import GroupMoments


def merged(left: GroupMoments, right: GroupMoments) -> GroupMoments:
    """Return the moments of the rows of both sides together.

    Parameters
    ----------
    left, right : GroupMoments
        Moments of the same features.

    Returns
    -------
    GroupMoments
        Moments without a basis, measured from the left side's shift.
    """
    _check_same_features(left, right)
    left, right = left.dense(), right.dense()
    labels = sort_labels(dict.fromkeys(left.labels + right.labels))
    n, d = len(labels), left.n_features
    counts, weights, squares = np.zeros(n, np.int64), np.zeros(n), np.zeros(n)
    offsets, scatters = np.zeros((n, d)), np.zeros((n, d, d))
    for side in (left, right):
        apart = side.shift - left.shift
        for b, label in enumerate(side.labels):
            # Chan's formula, by which a group that has no weight so far takes what is added.
            a = labels.index(label)
            share = side.weights[b] / (weights[a] + side.weights[b])
            between = apart + (side.offsets[b] - offsets[a])
            scatters[a] += side.scatters[b]
            if weights[a]:
                scatters[a] += weights[a] * share * np.outer(between, between)
            offsets[a] += share * between
            counts[a] += side.counts[b]
            weights[a] += side.weights[b]
            squares[a] += side.squared_weights[b]
    return replace(
        left,
        labels=labels,
        counts=counts,
        weights=weights,
        squared_weights=squares,
        offsets=offsets,
        scatters=scatters,
        dropped_rows=left.dropped_rows + right.dropped_rows,
    )


def _check_same_features(left: GroupMoments, right: GroupMoments) -> None:
    mine, theirs = left.feature_names or (), right.feature_names or ()
    if left.n_features == right.n_features and mine == theirs:
        return
    only = ""
    if mine and theirs:
        ours = listed(name for name in mine if name not in theirs)
        others = listed(name for name in theirs if name not in mine)
        only = f" Only on the left: {ours}; only on the right: {others}."
    if left.n_features != right.n_features:
        raise ValueError(
            f"Moments of {left.n_features} and of {right.n_features} features cannot be "
            f"added; both sides must have the same features in the same order.{only}"
        )
    if not mine or not theirs:
        raise ValueError(
            f"Moments with feature names ({listed(mine or theirs)}) and moments without cannot be "
            "added: the order of the features is not known."
        )
    at = next(i for i, name in enumerate(mine) if name != theirs[i])
    if set(mine) == set(theirs):
        only = " The names are the same, in a different order."
    raise ValueError(
        f"Moments of different features cannot be added: feature {at} is {mine[at]!r} on the left "
        f"and {theirs[at]!r} on the right.{only}"
    )
