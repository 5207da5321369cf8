"""Adding moments: groups of both sides are merged without loss of precision.

Offsets are small numbers even where the data sits far from the origin: merging through differences
of offsets instead of differences of means keeps all digits (at a feature offset of 1e8, plain means
lose nine of them over a thousand merges).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairspan.ground.listed import listed
from fairspan.ground.types import FloatArray, Label
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
    apart = right.shift - left.shift
    rows = [_merge_group(left, right, apart, label) for label in labels]
    counts, weights, squares, offsets, scatters = zip(*rows, strict=True)
    return replace(
        left,
        labels=labels,
        counts=np.array(counts, dtype=np.int64),
        weights=np.array(weights),
        squared_weights=np.array(squares),
        offsets=np.array(offsets),
        scatters=np.array(scatters),
        dropped_rows=left.dropped_rows + right.dropped_rows,
    )


def _merge_group(
    left: GroupMoments, right: GroupMoments, apart: FloatArray, label: Label
) -> tuple[Any, ...]:
    """Merge one group by Chan's formula; offsets are measured from the left side's shift."""
    if label not in right.labels:
        a = left.labels.index(label)
        return _group(left, a, left.offsets[a])
    b = right.labels.index(label)
    if label not in left.labels:
        return _group(right, b, right.offsets[b] + apart)
    a = left.labels.index(label)
    total = left.weights[a] + right.weights[b]
    between = apart + (right.offsets[b] - left.offsets[a])
    mix = left.weights[a] * (right.weights[b] / total)
    return (
        left.counts[a] + right.counts[b],
        total,
        left.squared_weights[a] + right.squared_weights[b],
        left.offsets[a] + (right.weights[b] / total) * between,
        left.scatters[a] + right.scatters[b] + mix * np.outer(between, between),
    )


def _group(moments: GroupMoments, a: int, offset: FloatArray) -> tuple[Any, ...]:
    m = moments
    return m.counts[a], m.weights[a], m.squared_weights[a], offset, m.scatters[a]


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
