"""Moments as a file: an .npz of plain arrays and one JSON text, so that loading runs no code."""

from __future__ import annotations

import json
import os
import secrets
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairspan._types import Label

if TYPE_CHECKING:
    from fairspan.moments import GroupMoments

_FORMAT = "fairspan.GroupMoments"
_VERSION = 1
_ARRAYS = ("counts", "weights", "squared_weights", "shift", "offsets", "scatters")


def save(path: str | os.PathLike[str], moments: GroupMoments) -> None:
    """Write the file beside its place and move it there, so that no half file is ever seen."""
    target = Path(path)
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "labels": [_label_to_json(label) for label in moments.labels],
        "feature_names": moments.feature_names,
        "dropped_rows": moments.dropped_rows,
    }
    arrays = {name: getattr(moments, name) for name in _ARRAYS}
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            np.savez(file, header=np.array(json.dumps(header)), **arrays)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the fields of a GroupMoments, or say what is wrong with the file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["header"][()]))
            if not isinstance(header, dict) or header.get("format") != _FORMAT:
                raise ValueError("it is not a file of group moments")
            if header.get("version") != _VERSION:
                raise ValueError(
                    f"it has format version {header.get('version')!r}, this fairspan reads "
                    f"version {_VERSION}"
                )
            fields: dict[str, Any] = {name: file[name] for name in _ARRAYS}
        fields["labels"] = tuple(_label_from_json(label) for label in header["labels"])
        names = header["feature_names"]
        fields["feature_names"] = None if names is None else tuple(str(name) for name in names)
        # Files written before rows could be dropped do not say how many were.
        fields["dropped_rows"] = int(header.get("dropped_rows", 0))
        _check(fields)
    except FileNotFoundError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{os.fspath(path)!r} cannot be read as group moments: {error}.") from None
    return fields


def _check(fields: dict[str, Any]) -> None:
    n_groups, n_features = len(fields["labels"]), len(fields["shift"])
    shapes = {
        "counts": (n_groups,),
        "weights": (n_groups,),
        "squared_weights": (n_groups,),
        "shift": (n_features,),
        "offsets": (n_groups, n_features),
        "scatters": (n_groups, n_features, n_features),
    }
    for name, shape in shapes.items():
        array = fields[name]
        kind = "i" if name == "counts" else "f"
        if array.shape != shape or array.dtype.kind != kind:
            raise ValueError(
                f"array {name!r} has shape {array.shape} and type {array.dtype}, where shape "
                f"{shape} and a {'whole' if kind == 'i' else 'floating'} number type are needed"
            )
        if not np.isfinite(array).all():
            raise ValueError(f"array {name!r} has values that are not finite")
    if n_groups == 0 or (fields["weights"] <= 0).any() or len(set(fields["labels"])) < n_groups:
        raise ValueError("its groups are empty, without weight or listed twice")
    names = fields["feature_names"]
    if names is not None and len(names) != n_features:
        raise ValueError(f"it names {len(names)} of {n_features} features")
    if not np.array_equal(fields["scatters"], fields["scatters"].transpose(0, 2, 1)):
        raise ValueError("its scatter matrices are not symmetric")


def _label_to_json(label: Label) -> Any:
    if isinstance(label, tuple):
        return {"tuple": [_label_to_json(part) for part in label]}
    if isinstance(label, np.datetime64):
        return {"datetime64": [str(label), np.datetime_data(label.dtype)[0]]}
    if isinstance(label, bool | int | float | str):
        return label
    raise TypeError(
        f"The group label {label!r} is a {type(label).__name__}, which cannot be saved; use "
        "strings, numbers, numpy dates or tuples of them."
    )


def _label_from_json(value: Any) -> Label:
    if isinstance(value, dict):
        if "tuple" in value:
            return tuple(_label_from_json(part) for part in value["tuple"])
        text, unit = value["datetime64"]
        return np.datetime64(text, unit)
    if not isinstance(value, bool | int | float | str):
        raise ValueError(f"{value!r} is not a group label")
    return value
