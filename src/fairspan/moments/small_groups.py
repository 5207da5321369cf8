"""Groups with very few rows: which they are, and moments in which they are one group."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from fairspan.exceptions import SmallGroupWarning
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_choice, check_integer
from fairspan.ground.types import Label
from fairspan.ground.warn import warn
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import (
    MISSING,
    SMALL,
    SMALL_GROUPS,
    Groups,
    encode_groups,
    relabelled,
    sort_labels,
)


def check_small_groups(small_groups: Any, min_rows: Any) -> None:
    """Refuse settings that are not allowed."""
    check_choice("small_groups", small_groups, SMALL_GROUPS)
    check_integer("min_rows", min_rows, 1)


def treated(moments: GroupMoments, small_groups: str, min_rows: int) -> GroupMoments:
    """Merge small groups into one unless they are kept, and say so.

    Parameters
    ----------
    moments : GroupMoments
        Moments of all rows.
    small_groups : {"keep", "pool", "total_only"}
        What to do with groups with fewer rows.
    min_rows : int
        The fewest rows of a group that is not small.

    Returns
    -------
    GroupMoments
        The same moments, or those with one group "small groups".
    """
    check_small_groups(small_groups, min_rows)
    small = _small(moments.labels, moments.counts, min_rows)
    if small_groups == "keep" or not set(small) - {SMALL}:
        return moments
    _tell(small, small_groups, min_rows)
    return _pooled(moments, small)


def treated_groups(groups: Groups, small_groups: str, min_rows: int) -> Groups:
    """Merge small groups of rows as :func:`treated` does, and say so.

    Parameters
    ----------
    groups : Groups
        The group of each row.
    small_groups : {"keep", "pool", "total_only"}
        What to do with groups with fewer rows.
    min_rows : int
        The fewest rows of a group that is not small.

    Returns
    -------
    Groups
        The same groups, or those with one group "small groups".
    """
    check_small_groups(small_groups, min_rows)
    small = _small(groups.labels, np.bincount(groups.codes), min_rows)
    if small_groups == "keep" or not small:
        return groups
    _tell(small, small_groups, min_rows)
    return encode_groups(relabelled(groups, small))


def treated_rows(groups: Groups, small_groups: str, min_rows: int) -> tuple[Any, str | None]:
    """Relabel rows as moments are treated.

    Parameters
    ----------
    groups : Groups
        The group of each row.
    small_groups : {"keep", "pool", "total_only"}
        What to do with groups with fewer rows.
    min_rows : int
        The fewest rows of a group that is not small.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
        One for each row; None for small groups that are not compared.
    missing_groups : str or None
        What rows without a label are, if there may be any now.
    """
    counts = np.bincount(groups.codes, minlength=len(groups.labels))
    small = _small(groups.labels, counts, min_rows)
    if small_groups == "total_only":
        return relabelled(groups, {*small, MISSING}, None), "total_only"
    return relabelled(groups, small), None


def groups_as_fitted(groups: Groups, labels: Collection[Label], small_groups: str) -> Groups:
    """Encode rows as a fit did: groups that it does not know are among its small ones.

    Parameters
    ----------
    groups : Groups
        The group of each row.
    labels : collection of labels
        The groups of the fit.
    small_groups : {"keep", "pool", "total_only"}
        What became of small groups.

    Returns
    -------
    Groups
        The same, unless the fit has merged small groups.
    """
    if small_groups == "keep" or SMALL not in labels:
        return groups
    return encode_groups(relabelled(groups, set(groups.labels) - set(labels)))


def _tell(small: dict[Label, int], small_groups: str, min_rows: int) -> None:
    done = {
        "pool": f"are pooled into one group, {SMALL!r}",
        "total_only": "count in the total error, and not in the gap",
    }
    shown = listed(small, lambda label: f"{label!r}: {small[label]}")
    warn(
        f"Groups with fewer than {min_rows} rows ({shown}) {done[small_groups]}.",
        SmallGroupWarning,
    )


def _small(labels: Collection[Label], counts: Any, min_rows: int) -> dict[Label, int]:
    """Give the small groups with their counts; rows without a label have a rule of their own."""
    pairs = zip(labels, map(int, counts), strict=True)
    return {label: n for label, n in pairs if n < min_rows and label != MISSING}


def _pooled(moments: GroupMoments, small: Collection[Label]) -> GroupMoments:
    """Merge groups into one; rows are neither added nor lost, so that totals stay."""
    chosen = np.array([label in small or label == SMALL for label in moments.labels])
    weights = moments.weights[chosen]
    offset = weights @ moments.offsets[chosen] / weights.sum()
    apart = np.sqrt(weights)[:, None] * (moments.offsets[chosen] - offset)
    scatter = moments.scatters[chosen].sum(axis=0) + apart.T @ apart
    kept = [label for label, one in zip(moments.labels, chosen, strict=True) if not one]
    labels = sort_labels([*kept, SMALL])
    place = labels.index(SMALL)

    def inserted(values: Any, merged: Any) -> Any:
        return np.insert(values[~chosen], place, merged, axis=0)

    return replace(
        moments,
        labels=labels,
        counts=inserted(moments.counts, moments.counts[chosen].sum()),
        weights=inserted(moments.weights, weights.sum()),
        squared_weights=inserted(moments.squared_weights, moments.squared_weights[chosen].sum()),
        offsets=inserted(moments.offsets, offset),
        scatters=inserted(moments.scatters, scatter),
    )
