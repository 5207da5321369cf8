"""Values as JSON and plain arrays: what a file may hold, and nothing else.

Texts, finite numbers, truth values, None and lists stand for themselves. Everything else is an
object with one key that names its type. Arrays are kept apart, under the path that leads to them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]
"""Arrays by the path that leads to them."""

_KINDS = "biufUSmM"
"""Kinds of array that hold no Python objects."""


def encode(value: Any, arrays: Arrays, path: str, classes: Mapping[str, type]) -> Any:
    """Describe a value in JSON.

    Parameters
    ----------
    value : object
        What is to be described.
    arrays : dict
        Takes the arrays that are met.
    path : str
        Path of the value, for messages and as the name of an array.
    classes : mapping of str to type
        Dataclasses that may occur.

    Returns
    -------
    object
        What ``json.dumps`` takes.
    """
    if isinstance(value, np.ndarray):
        return _encode_array(value, arrays, path, classes)
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list | tuple):
        parts = [encode(part, arrays, f"{path}.{i}", classes) for i, part in enumerate(value)]
        return {"tuple": parts} if isinstance(value, tuple) else parts
    if isinstance(value, Mapping):
        return {"dict": [_encode_pair(pair, arrays, path, classes) for pair in value.items()]}
    for name, kind in classes.items():
        if type(value) is kind:
            parts = [(field.name, getattr(value, field.name)) for field in fields(kind)]
            return {name: {k: encode(v, arrays, f"{path}.{k}", classes) for k, v in parts}}
    return _encode_label(value, path)


def decode(value: Any, arrays: Mapping[str, Any], classes: Mapping[str, type]) -> Any:
    """Make a value from its description; raise ValueError for what :func:`encode` never writes.

    Parameters
    ----------
    value : object
        What ``json.loads`` gave.
    arrays : mapping of str to ndarray
        The arrays of the file.
    classes : mapping of str to type
        Dataclasses that may occur.

    Returns
    -------
    object
        The value.
    """
    if isinstance(value, list):
        return [decode(part, arrays, classes) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"an object has {len(value)} keys, where one key must name a type")
    ((kind, content),) = value.items()
    if kind in classes:
        known = {field.name for field in fields(classes[kind])}
        # A field that was added later has a default, and earlier files lack it.
        needed = {field.name for field in fields(classes[kind]) if not _has_default(field)}
        if not needed <= set(content) <= known:
            raise ValueError(f"its {kind} must have the fields {sorted(known)}")
        return classes[kind](**{k: decode(v, arrays, classes) for k, v in content.items()})
    if kind == "dict":
        return dict(decode(pair, arrays, classes) for pair in content)
    if kind == "array":
        return arrays[content]
    if kind == "objects":
        parts = decode(content, arrays, classes)
        return np.fromiter(parts, dtype=object, count=len(parts))
    if kind == "tuple":
        return tuple(decode(content, arrays, classes))
    return _decode_label(kind, content)


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _encode_pair(pair: Any, arrays: Arrays, path: str, classes: Mapping[str, type]) -> Any:
    key, value = pair
    where = f"{path}.{key}"
    return [encode(key, arrays, where, classes), encode(value, arrays, where, classes)]


def _encode_array(
    array: npt.NDArray[Any], arrays: Arrays, path: str, classes: Mapping[str, type]
) -> Any:
    if array.dtype.kind == "O" and array.ndim == 1:
        return {"objects": encode(array.tolist(), arrays, path, classes)}
    if array.dtype.kind not in _KINDS:
        raise TypeError(f"{path} is an array of type {array.dtype}, which cannot be saved.")
    arrays[path] = array
    return {"array": path}


def _encode_label(value: Any, path: str) -> Any:
    if isinstance(value, np.datetime64 | np.timedelta64):
        unit, step = np.datetime_data(value.dtype)
        return {type(value).__name__: [int(value.astype(np.int64)), unit, step]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    # A pandas Timestamp is a datetime too, but knows more than isoformat tells.
    if type(value) in (date, datetime):
        return {type(value).__name__: value.isoformat()}
    raise TypeError(
        f"{path}={value!r} is a {type(value).__name__}, which cannot be saved; use strings, "
        "numbers, bytes, Python or numpy dates, or tuples of these."
    )


def _decode_label(kind: str, content: Any) -> Any:
    if kind == "float":
        number = float(content)
        if math.isfinite(number):
            raise ValueError(f"{content!r} is not an infinite number or NaN")
        return number
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind in ("datetime64", "timedelta64"):
        number, unit, step = content
        return getattr(np, kind)(int(number), (str(unit), int(step)))
    if kind in ("date", "datetime"):
        return (date if kind == "date" else datetime).fromisoformat(content)
    raise ValueError(f"{kind!r} is not a type that a file may hold")
