"""Checks of rows: tables, weights, and whether their moments fit in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils import check_array

from fairspan.ground.listed import listed
from fairspan.ground.parameters import is_number
from fairspan.ground.types import FloatArray

_HEAVIEST = 1e100
"""Sums of squares of larger weights, or of smaller ones than its inverse, are not numbers."""
_COPIES = 3
"""Adding moments holds both sides and the sum; a fit holds them, their second moments and some."""


def check_real(X: Any, name: str = "X") -> None:
    """Refuse values that are not real numbers, and name them.

    scikit-learn prints a whole complex array, names no column of a frame, and takes dates for
    numbers and masked values for data.
    """
    dtype = getattr(X, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} has dtype {dtype}. Use real numbers, for instance "
            "the real and imaginary parts as separate features."
        )
    if kind and kind in "mM":
        raise ValueError(f"{name} has dtype {dtype}; convert dates and durations to numbers first.")
    if isinstance(X, np.ma.MaskedArray) and (masked := int(np.sum(X.mask))):
        raise ValueError(
            f"{name} is a masked array with {masked} masked values; fill them or drop their rows."
        )
    if kind == "O" and isinstance(X, np.ndarray):
        # NumPy counts them as numbers, of days or of nanoseconds.
        dates = next((v for v in X.flat if isinstance(v, np.datetime64 | np.timedelta64)), None)
        if dates is not None:
            raise ValueError(
                f"{name} holds {dates!r}; convert dates and durations to numbers first."
            )
    frame = as_known(X, name, allow_series=True)
    if isinstance(frame, nw.Series) and not _holds_numbers(frame, frame.dtype):
        raise ValueError(f"{name} has dtype {frame.dtype}, which is not numeric.")
    if not isinstance(frame, nw.DataFrame) or len(frame) == 0:
        return
    known = {getattr(dtype, "kind", "O") for dtype in set(getattr(X, "dtypes", "O"))}
    if known <= set("biuf"):
        return
    kinds = frame.schema.items()
    bad = [(column, kind) for column, kind in kinds if not _holds_numbers(frame[column], kind)]
    if bad:
        columns = listed(bad, lambda one: f"{one[0]!r} ({one[1]})")
        raise ValueError(
            f"{name} has columns that are not numeric: {columns}. Drop them or encode them as "
            "numbers, for instance by one-hot encoding."
        )


def check_rows(X: Any, dtype: Any = np.float64, name: str = "X") -> Any:
    """Refuse what is not a table of finite real numbers in memory, and give it as an array."""
    check_real(X, name)
    return check_array(X, dtype=dtype, input_name=name)


def _holds_numbers(column: nw.Series[Any], kind: Any) -> bool:
    """Whether a column can be read as numbers; objects may be, and so may a column of nulls."""
    if kind in (nw.Categorical, nw.Enum):
        # Only pandas has categories of numbers.
        categories = getattr(getattr(column.to_native(), "cat", None), "categories", None)
        return getattr(getattr(categories, "dtype", None), "kind", "O") in "biuf"
    if kind == nw.Unknown:
        return getattr(getattr(column.to_native(), "dtype", None), "kind", "O") != "c"
    plain = kind.is_numeric() or kind in (nw.Boolean, nw.Object)
    return plain or (kind == nw.String and bool(column.is_null().all()))


def check_weights(sample_weight: Any, n_rows: int, *, part: bool = False) -> FloatArray:
    """Check sample weights: finite, not negative, one for each row.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,)
        The weights.
    n_rows : int
        The number of rows.
    part : bool
        Whether these are a part of the rows, whose weights may all be zero.

    Returns
    -------
    ndarray of shape (n_rows,)
        The weights as float64.
    """
    check_real(sample_weight, "sample_weight")
    if is_number(sample_weight):
        raise ValueError(
            f"sample_weight={sample_weight!r} is a single number; give one weight for each row."
        )
    weight = check_array(
        sample_weight, dtype=np.float64, ensure_2d=False, input_name="sample_weight"
    )
    if weight.ndim != 1 or len(weight) != n_rows:
        raise ValueError(
            f"sample_weight has shape {weight.shape} but X has {n_rows} rows; "
            "give one weight for each row."
        )
    if weight.size and weight.min() < 0:
        raise ValueError(
            f"sample_weight has a negative value ({weight.min()}); weights must be 0 or more."
        )
    if not weight.any() and not part:
        raise ValueError(
            "sample_weight is zero for every row; at least one weight must be positive."
        )
    if weight.any() and not 1 / _HEAVIEST <= weight.max() <= _HEAVIEST:
        raise ValueError(
            f"The largest sample_weight is {weight.max():g}; it must be between {1 / _HEAVIEST:g} "
            f"and {_HEAVIEST:g}, so that weights can be squared."
        )
    return np.asarray(weight, dtype=np.float64)


def feature_names_of(X: Any) -> tuple[str, ...] | None:
    """Return the column names of a frame if all of them are strings."""
    frame = as_known(X, "X")
    if not isinstance(frame, nw.DataFrame):
        return None
    return tuple(frame.columns) if all(isinstance(name, str) for name in frame.columns) else None


def as_known(values: Any, name: str, *, allow_series: bool = False) -> Any:
    """Wrap a frame or series in narwhals; return anything else, also Dask, as it is."""
    try:
        known = nw.from_native(values, allow_series=allow_series, pass_through=True)
    except ValueError as error:
        why = " ".join(str(error).split())
        raise ValueError(f"{name} is a frame that cannot be read: {why}.") from None
    if not isinstance(known, nw.LazyFrame):
        return known
    if is_dask(values):
        return values
    raise TypeError(
        f"{name} is a lazy frame of {known.implementation.value}; collect it first, or read "
        "tables larger than memory with fairspan.sources."
    )


def check_finite(X: Any, names: Sequence[str] | None = None) -> None:
    """Refuse NaN and infinity with scikit-learn's message and the columns that have them.

    Parameters
    ----------
    X : ndarray, csr or csc array of shape (n_rows, n_features)
        Floats.
    names : sequence of str, optional
        Names of the columns; their positions if not given.
    """
    try:
        check_array(X, accept_sparse=True, dtype=None, input_name="X")
    except ValueError as error:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
        places = np.flatnonzero(~np.isfinite(sums)).tolist()
        found = [place if names is None else names[place] for place in places]
        message = f"{str(error).rstrip('.')} (columns with such values: {listed(found)})."
        raise ValueError(message) from None


def check_two_dimensions(X: Any) -> None:
    """Refuse a Dask collection that is not a table."""
    if len(X.shape) != 2:
        raise ValueError(f"X has {len(X.shape)} dimensions; it must have 2.")


def is_dask(X: Any) -> bool:
    """Whether an object is a Dask collection; Dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def check_memory(n_groups: int, n_features: int) -> None:
    """Refuse moments that do not fit into the memory of this machine.

    Parameters
    ----------
    n_groups : int
        Number of groups, or of those known so far.
    n_features : int
        Number of features.
    """
    needed = _COPIES * n_groups * n_features**2 * 8
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a Unix
        return
    if needed > memory:
        raise MemoryError(
            f"Moments of n_features={n_features} and {n_groups} groups need {needed / 1e9:.1f} GB "
            f"while they are added or fitted, but this machine has {memory / 1e9:.1f} GB. Use "
            "fewer features or fewer groups."
        )
