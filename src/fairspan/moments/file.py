"""Moments files: plain arrays and JSON, checked when read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from fairspan.ground import archive, defaults
from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_integer

if TYPE_CHECKING:
    from fairspan.moments.group_moments import GroupMoments

FORM = "fairspan.moments.group_moments"


def check_counts(moments: GroupMoments, min_count: int, advice: str = "") -> None:
    """Refuse moments of groups so small that they may reveal single rows.

    Parameters
    ----------
    moments : GroupMoments
        What is to be written.
    min_count : int
        The smallest number of rows.
    advice : str
        What else may be done.
    """
    check_integer("min_count", min_count, 1)
    counts = zip(moments.labels, moments.counts.tolist(), strict=True)
    small = [f"{label!r} ({count})" for label, count in counts if count < min_count]
    if small:
        raise ValueError(
            f"Groups of fewer than {min_count} rows: {listed(small, str)}. Their moments may "
            f"reveal single rows (those of one row are the row). {advice}use min_count=1 to write "
            "them all the same."
        )


def save(
    path: str | os.PathLike[str],
    moments: GroupMoments,
    columns: Any = None,
    min_count: int = defaults.MIN_COUNT,
) -> None:
    """Write moments and, if they come from a table, how its columns became features."""
    check_counts(moments, min_count, "Merge the groups with others, or ")
    archive.write(path, FORM, {"moments": moments, "columns": columns}, _classes())


def load(path: str | os.PathLike[str]) -> tuple[GroupMoments, Any]:
    """Read moments and columns, or say what is wrong with the file."""
    content = archive.read(path, FORM, _classes()).content
    with archive.refusing(path, FORM):
        check(content["moments"])
    return content["moments"], content["columns"]


def check(moments: Any) -> None:
    """Raise ValueError for moments that no data can have."""
    n_groups, n_features = len(moments.labels), len(moments.shift)
    size = n_features if moments.basis is None else len(moments.basis)
    shapes: dict[str, tuple[int, ...]] = {
        "counts": (n_groups,),
        "weights": (n_groups,),
        "squared_weights": (n_groups,),
        "shift": (n_features,),
        "offsets": (n_groups, n_features),
        "scatters": (n_groups, size, size),
    }
    if moments.basis is not None:
        shapes["basis"] = (size, n_features)
    for name, shape in shapes.items():
        check_array(name, getattr(moments, name), shape, "i" if name == "counts" else "f")
    labels = moments.labels
    if n_groups == 0 or (moments.weights <= 0).any() or len(set(labels)) < n_groups:
        raise ValueError("it has groups that are empty, have no weight or are listed twice")
    names = moments.feature_names
    if names is not None and len(names) != n_features:
        raise ValueError(f"it has {len(names)} feature names for {n_features} features")
    if not np.array_equal(moments.scatters, moments.scatters.transpose(0, 2, 1)):
        raise ValueError("its scatter matrices are not symmetric")


def check_array(name: str, array: Any, shape: tuple[int, ...], kind: str = "f") -> None:
    """Raise ValueError for an array of the wrong shape or type, or with non-finite values."""
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype.kind != kind:
        given = getattr(array, "shape", array), getattr(array, "dtype", type(array).__name__)
        raise ValueError(
            f"array {name!r} has shape {given[0]} and type {given[1]}, where shape "
            f"{shape} and a {'whole' if kind == 'i' else 'floating'} number type are needed"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"array {name!r} has values that are not finite")


def _classes() -> dict[str, type]:
    from fairspan.moments.group_moments import GroupMoments

    return {"GroupMoments": GroupMoments}
