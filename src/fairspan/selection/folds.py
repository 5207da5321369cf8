"""Folds as moments: one pass over the rows gives the parts of all splits.

Rows with the same part in every split are summed once; a training part is the sum of what belongs
to it. Nothing is ever subtracted, which would lose digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, check_cv

from fairspan.ground.parameters import check_integer, check_seed, is_listing
from fairspan.ground.types import FloatArray, IntArray, Label
from fairspan.moments.blocks import compact
from fairspan.moments.group_moments import GroupMoments
from fairspan.moments.groups import Groups

Split = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Fold:
    """The moments of the training and validation parts of one split.

    Attributes
    ----------
    train, validation : GroupMoments
        Both with the same groups.
    """

    train: GroupMoments
    validation: GroupMoments

    def second_moments(self, centering: str, scale: FloatArray | None) -> FloatArray:
        """Return the second moments of the validation groups around training means.

        Parameters
        ----------
        centering : {"global", "group"}
            Around the mean of the training part, or of the group in it.
        scale : ndarray of shape (d,) or None
            Divisors of the features.

        Returns
        -------
        ndarray of shape (n_groups, d, d)
            The second moments.
        """
        train, seen = self.train.dense(), self.validation.dense()
        center = train.offsets if centering == "group" else train.shares @ train.offsets
        apart = (seen.shift - train.shift) + (seen.offsets - center)
        second = seen.scatters / seen.weights[:, None, None]
        second += apart[:, :, None] * apart[:, None, :]
        return second if scale is None else second / np.outer(scale, scale)


def make_splits(cv: Any, codes: npt.NDArray[Any], random_state: Any) -> list[Split]:
    """Return the splits that a ``cv`` parameter describes.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
        A number of folds is scikit-learn's KFold, shuffled if there is a seed.
    codes : ndarray of shape (n_rows,)
        The groups, which stratifying splitters get as their classes.
    random_state : int, RandomState or None
        The seed.

    Returns
    -------
    list of tuple
        Row numbers of the training and the validation parts.
    """
    if isinstance(cv, int | np.integer):
        number = check_integer("cv", cv, 2)
        seed = None if random_state is None else check_seed(random_state)
        cv = KFold(number, shuffle=seed is not None, random_state=seed)
    if hasattr(cv, "get_metadata_routing") and "groups" in cv.get_metadata_routing().split.requests:
        name = type(cv).__name__
        raise ValueError(
            f"cv={name}(...) needs to know which rows belong together, and sensitive_features are "
            f"not that. Give the splits: cv=list({name}(...).split(X, groups=ids)), where ids has "
            "one entry for each row."
        )
    rows = np.zeros(len(codes))
    try:
        found = list(check_cv(cv).split(rows, codes))
    except (TypeError, AttributeError) as error:
        raise TypeError(
            f"cv={cv!r} gives no splits ({error}); use a number of folds, a splitter of "
            "scikit-learn or pairs of training and validation rows."
        ) from None
    splits = [_as_rows(split, len(codes)) for split in found]
    if not splits:
        raise ValueError("cv gives no splits; it must give at least one.")
    return splits


def _as_rows(split: Any, n_rows: int) -> Split:
    try:
        train, validation = (np.arange(n_rows)[part] for part in split)
        if train.ndim != 1 or validation.ndim != 1:
            raise ValueError
    except (TypeError, ValueError, IndexError):
        raise ValueError(
            f"cv gives {split!r} as a split; a split is a pair of arrays with the numbers of the "
            f"training and of the validation rows, from 0 to {n_rows - 1}."
        ) from None
    for name, part in (("training", train), ("validation", validation)):
        if len(part) == 0 or np.bincount(part).max() > 1:
            raise ValueError(
                f"The {name} part of a split in cv is empty or holds rows more than once; use "
                "sample_weight for repeated rows."
            )
    return train, validation


def split_moments(
    X: npt.NDArray[Any],
    groups: Groups,
    splits: Sequence[Split],
    *,
    sample_weight: FloatArray | None = None,
    feature_names: Sequence[str] | None = None,
) -> tuple[GroupMoments, list[Fold]]:
    """Compute the moments of all rows and of all parts of splits in one pass.

    Parameters
    ----------
    X : ndarray of shape (n_rows, d)
        The rows.
    groups : Groups
        Their groups.
    splits : sequence of tuple
        Row numbers of training and validation parts.
    sample_weight : ndarray of shape (n_rows,), optional
        How often each row counts.
    feature_names : sequence of str, optional
        Names of the features.

    Returns
    -------
    tuple
        The moments of all rows, and the folds.
    """
    cells, states = _cells(len(X), splits)
    mixed = cells.astype(np.int64) * len(groups.labels) + groups.codes
    weight = sample_weight
    if weight is not None and not weight.all():
        # A part may hold only rows without weight; then it holds no such group at all.
        kept = weight > 0
        X, weight, mixed = X[kept], weight[kept], mixed[kept]
    present, codes = compact(mixed)
    labels = tuple(divmod(int(code), len(groups.labels)) for code in present)
    whole = GroupMoments.from_groups(
        X, Groups(codes, labels), sample_weight=weight, feature_names=feature_names
    )
    parts = [_part(whole, cell, groups.labels) for cell in range(len(states))]
    folds = []
    for number in range(len(splits)):
        train = _sum(part for part, state in zip(parts, states, strict=True) if state[number] & 1)
        seen = _sum(part for part, state in zip(parts, states, strict=True) if state[number] & 2)
        folds.append(_checked_fold(number, train, seen, groups.labels))
    return _sum(parts), folds


def given_folds(folds: Iterable[GroupMoments]) -> tuple[GroupMoments, list[Fold]]:
    """Make folds: each moments are held out once, and the sum of the others trains.

    Parameters
    ----------
    folds : iterable of GroupMoments
        Moments of disjoint parts of the data.

    Returns
    -------
    tuple
        The moments of all rows, and the folds.
    """
    parts: list[Any] = list(folds) if is_listing(folds) else [folds]
    if len(parts) < 2 or not all(isinstance(part, GroupMoments) for part in parts):
        raise ValueError(
            f"folds must hold at least 2 GroupMoments, one for each fold; {len(parts)} given."
        )
    moments = _sum(parts)
    found = []
    for number, part in enumerate(parts):
        train = _sum(other for place, other in enumerate(parts) if place != number)
        found.append(_checked_fold(number, train, part, moments.labels))
    return moments, found


def _cells(n_rows: int, splits: Sequence[Split]) -> tuple[IntArray, list[tuple[int, ...]]]:
    """Number the roles of rows in the splits: 1 trains, 2 validates, 3 does both."""
    cells: IntArray = np.zeros(n_rows, dtype=np.intp)
    states: list[tuple[int, ...]] = [()]
    for train, validation in splits:
        state = np.zeros(n_rows, dtype=np.intp)
        state[train] += 1
        state[validation] += 2
        present, cells = compact(4 * cells + state)
        states = [(*states[code // 4], code % 4) for code in present.tolist()]
    return cells, states


def _part(whole: GroupMoments, cell: int, labels: tuple[Label, ...]) -> GroupMoments | None:
    rows = [i for i, (which, _) in enumerate(whole.labels) if which == cell]
    if not rows:
        return None
    return replace(
        whole,
        labels=tuple(labels[whole.labels[i][1]] for i in rows),
        counts=whole.counts[rows],
        weights=whole.weights[rows],
        squared_weights=whole.squared_weights[rows],
        offsets=whole.offsets[rows],
        scatters=whole.scatters[rows],
    )


def _sum(parts: Iterable[GroupMoments | None]) -> GroupMoments:
    """Add moments, of which some (not all) may be None."""
    total: Any = sum(part for part in parts if part is not None)
    if not isinstance(total, GroupMoments):
        raise ValueError("A part of a split in cv has no rows with positive sample_weight.")
    return total


def _checked_fold(
    number: int, train: GroupMoments, validation: GroupMoments, labels: tuple[Label, ...]
) -> Fold:
    """Check that both parts of a fold have every group."""
    for name, part in (("training", train), ("validation", validation)):
        missing = [label for label in labels if label not in part.labels]
        if missing:
            refuse_part(number, name, missing[0])
    return Fold(train, validation)


def refuse_part(number: int, name: str, label: Label) -> NoReturn:
    """Refuse a split whose training or validation part has no rows of a group."""
    raise ValueError(
        f"Split {number} of cv has no rows of group {label!r} in its {name} part, so "
        "its error is unknown there. If rows are sorted by group, shuffle them with "
        "random_state=0; otherwise use fewer folds, or a splitter that keeps groups in "
        "proportion: cv=StratifiedKFold(...), which gets the groups as classes."
    )
