"""The request of a trade-off: groups, fairness weights and radii."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from numbers import Real
from typing import Any

from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_listing, check_number, is_listing
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import ask_for_more
from fairspan.moments.small_groups import treated
from fairspan.moments.summary import GroupSummary
from fairspan.objectives.counting import Counting, Radius

Grid = Sequence[tuple[float, Radius]]
"""Fairness weights and radii."""


def moments_to_compare(
    X_or_moments: Any, sensitive_features: Any, counting: Counting, min_rows: int
) -> GroupMoments:
    """Return moments, or compute them from rows; there must be two groups to compare.

    Parameters
    ----------
    X_or_moments : array-like or GroupMoments
        The data.
    sensitive_features : array-like, frame, dict or None
        The group of each row.
    counting : Counting
        What to do about rows without a group, and about small groups.
    min_rows : int
        The fewest rows of a group that is not small.

    Returns
    -------
    GroupMoments
        The moments.
    """
    if isinstance(X_or_moments, GroupMoments):
        if sensitive_features is not None:
            raise ValueError(
                "sensitive_features is given together with moments, which have their own groups "
                f"({listed(X_or_moments.labels)}); leave it out."
            )
        moments = X_or_moments
    else:
        moments = GroupMoments.from_arrays(
            X_or_moments, sensitive_features, missing_groups=counting.missing_groups
        )
    moments = treated(moments, counting.small_groups, min_rows)
    check_compared(moments, counting)
    return moments


def check_compared(moments: GroupSummary, counting: Counting) -> None:
    """Refuse data without two groups to compare."""
    compared = list(compress(moments.labels, counting.in_gap(moments)))
    if len(compared) < 2:
        raise ValueError(
            f"A trade-off needs at least 2 groups to compare, but there are {len(compared)}. "
            f"{ask_for_more(compared)}"
        )


def check_radii(radius: Any) -> list[Radius]:
    """Take one radius or several, each a number or a mapping by group.

    Parameters
    ----------
    radius : float, mapping or iterable of them
        What was given.

    Returns
    -------
    list of float or mapping
        At least one.
    """
    if isinstance(radius, Mapping):
        return [radius]
    if is_listing(radius) and (listed := list(radius)):
        return [r if isinstance(r, Mapping) else check_number("radius", r) for r in listed]
    return list(check_numbers("radius", radius))


def check_numbers(name: str, values: Any) -> list[float]:
    """Take one number or several, 0 or more.

    Parameters
    ----------
    name : str
        What they are, for errors.
    values : float or iterable of float
        What was given.

    Returns
    -------
    list of float
        At least one.
    """
    kind = "a number or a sequence of numbers, 0 or more"
    given = [values] if isinstance(values, Real) else check_listing(name, values, kind, "number")
    return [check_number(name, value) for value in given]
