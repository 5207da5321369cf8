"""Groups with very few rows: which they are, moments in which they are one, and a fit's rule."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from fairspan.exceptions import SmallGroupWarning
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_choice, check_integer
from fairspan.ground.types import BoolArray, Label
from fairspan.ground.warn import warn
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import (
    MISSING,
    ONE_GROUP,
    SMALL,
    SMALL_GROUPS,
    Groups,
    encode_groups,
    groups_in_gap,
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
    return pooled(moments, small)


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
        How the fit treated small groups.

    Returns
    -------
    Groups
        The same, unless the fit has merged small groups.
    """
    if small_groups == "keep" or SMALL not in labels:
        return groups
    return encode_groups(relabelled(groups, set(groups.labels) - {*labels, MISSING}))


@dataclass(frozen=True)
class GroupRule:
    """How a fit treated rows without a label and small groups.

    Attributes
    ----------
    labels : tuple
        The groups of the fit.
    missing_groups : {"raise", "own_group", "total_only"}
        What to do with rows without a label.
    small_groups : {"keep", "pool", "total_only"}
        How the fit treated groups with very few rows.
    """

    labels: tuple[Label, ...] = ()
    missing_groups: str = "raise"
    small_groups: str = "keep"

    @classmethod
    def of(cls, model: Any) -> Self:
        """Take the rule of a fitted model; what has none, such as components, keeps all groups."""
        return cls(
            tuple(getattr(model, "group_labels_", ())),
            getattr(model, "missing_groups", "raise"),
            getattr(model, "small_groups", "keep"),
        )

    def groups(self, sensitive_features: Any, n_rows: int) -> Groups:
        """Encode the groups of rows as the fit did.

        Parameters
        ----------
        sensitive_features : array-like, frame, dict, Groups or None
            The group of each row.
        n_rows : int
            Number of rows.

        Returns
        -------
        Groups
            The groups; those that the fit does not know are among its small ones, if it has any.
        """
        groups = Groups.of(sensitive_features, n_rows, self.missing_groups)
        if groups.labels == (ONE_GROUP,):
            return groups
        return groups_as_fitted(groups, self.labels, self.small_groups)

    def moments(
        self, X: Any, sensitive_features: Any = None, sample_weight: Any = None
    ) -> GroupMoments:
        """Give the moments of rows, or moments, in the groups of the fit.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), or GroupMoments
            The data.
        sensitive_features : array-like, frame, dict or None
            The group of each row.
        sample_weight : array-like of shape (n_rows,) or None
            How often each row counts.

        Returns
        -------
        GroupMoments
            The moments.
        """
        if not isinstance(X, GroupMoments):
            X = GroupMoments.from_arrays(
                X,
                sensitive_features,
                sample_weight=sample_weight,
                missing_groups=self.missing_groups,
            )
        elif sensitive_features is not None or sample_weight is not None:
            raise ValueError(
                "GroupMoments already contain groups and weights; pass sensitive_features and "
                "sample_weight only with rows."
            )
        small = set(X.labels) - {*self.labels, MISSING, ONE_GROUP, SMALL}
        merged = self.small_groups != "keep" and SMALL in self.labels
        return pooled(X, small) if merged and small else X

    def compared(self, labels: tuple[Label, ...]) -> BoolArray:
        """Return which of these groups count in the gap."""
        return groups_in_gap(labels, self.missing_groups, self.small_groups)


def _tell(small: dict[Label, int], small_groups: str, min_rows: int) -> None:
    done = {
        "pool": f"are pooled into one group, {SMALL!r}",
        "total_only": "count in the total error, and not in the gap",
    }
    shown = listed(small, lambda label: f"{label!r}: {small[label]}")
    rows = sum(small.values())
    helps = small_groups != "pool" or rows >= min_rows
    warn(
        f"Groups with fewer than {min_rows} rows ({shown}) {done[small_groups]}."
        + f" It has {rows} rows, which are still too few; increase min_rows." * (not helps),
        SmallGroupWarning,
    )


def _small(labels: Collection[Label], counts: Any, min_rows: int) -> dict[Label, int]:
    """Give the small groups with their counts; rows without a label have a rule of their own."""
    pairs = zip(labels, map(int, counts), strict=True)
    return {label: n for label, n in pairs if n < min_rows and label != MISSING}


def pooled(moments: GroupMoments, small: Collection[Label]) -> GroupMoments:
    """Merge groups into one; rows are neither added nor lost, so that totals stay.

    Parameters
    ----------
    moments : GroupMoments
        Moments of all rows.
    small : collection of labels
        The groups to merge, with "small groups" if there is such a group.

    Returns
    -------
    GroupMoments
        Moments with a group "small groups".
    """
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
