"""Rows as they are given: tables, weights, named columns, and whether moments fit in memory."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import wraps
from inspect import signature
from typing import Any, cast

import narwhals as nw
import numpy as np
from sklearn.utils import check_array

from fairspan.ground.listed import listed
from fairspan.ground.parameters import is_number
from fairspan.ground.types import FloatArray, Function

_HEAVIEST = 1e100
"""Sums of squares of larger weights, or of smaller ones than its inverse, are not numbers."""
MANY_FEATURES = 4096
"""With fewer features moments fit anywhere, and can be added, saved and certified."""
ADDED = 3.0
"""Copies of the moments in memory while some are added: both sides and the sum."""
FITTED = 1.3
"""Copies while they are fitted: large second moments are made of the scatters when needed."""
_ROWS = ("X", "data", "X_or_moments", "moments", "X_test")
"""What functions call the rows whose groups they are given."""
_REMEMBERED = "_group_columns"
"""Where a model remembers which columns of a frame held its groups."""


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
            "numbers, for instance with fairspan.preprocessing.MixedScaler."
        )


def check_rows(X: Any, dtype: Any = np.float64, name: str = "X") -> Any:
    """Refuse what is not a table of finite real numbers in memory, and give it as an array."""
    check_real(X, name)
    names = feature_names_of(X)
    X = check_array(X, dtype=dtype, input_name=name, ensure_all_finite=False)
    check_finite(X, names, name)
    return X


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
    if isinstance(values, np.ndarray):
        return values
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


def check_finite(X: Any, names: Sequence[str] | None = None, name: str = "X") -> None:
    """Refuse NaN and infinity with scikit-learn's message and the columns that have them.

    Parameters
    ----------
    X : ndarray, csr or csc array of shape (n_rows, n_features)
        Floats.
    names : sequence of str, optional
        Names of the columns; their positions if not given.
    name : str
        What the rows are called.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.size:
        with np.errstate(invalid="ignore", over="ignore"):
            # Whatever is not finite shows in the sum, which spares all other checks.
            if np.isfinite(X.sum(dtype=np.float64)):
                return
    try:
        check_array(X, accept_sparse=True, dtype=None, input_name=name)
    except ValueError as error:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
        places = np.flatnonzero(~np.isfinite(sums)).tolist()
        found = [place if names is None else names[place] for place in places]
        message = f"{str(error).rstrip('.')} (columns with such values: {listed(found)})."
        if "NaN" in message:
            message += " Drop these rows, or fill the values with sklearn.impute.SimpleImputer."
        raise ValueError(message) from None


def check_two_dimensions(X: Any) -> None:
    """Refuse a Dask collection that is not a table."""
    if len(X.shape) != 2:
        raise ValueError(f"X has {len(X.shape)} dimensions; it must have 2.")


def is_dask(X: Any) -> bool:
    """Whether an object is a Dask collection; Dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def available_memory() -> float:
    """Return the memory of this machine in bytes; infinite where that is not known."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not a Unix
        return math.inf


def is_wide(X: Any) -> bool:
    """Whether rows have so many features that products may be worth it."""
    shape: Any = getattr(X, "shape", ())
    return len(shape) == 2 and shape[1] >= MANY_FEATURES


def check_memory(n_groups: int, n_features: int, copies: float = ADDED) -> None:
    """Refuse moments that do not fit into the memory of this machine.

    Parameters
    ----------
    n_groups : int
        Number of groups, or of those known so far.
    n_features : int
        Number of features.
    copies : float
        How many copies of the moments are held at once.
    """
    # However few the groups are, their combination and its eigenvectors come on top.
    needed = 8e-9 * max(copies * n_groups, n_groups + 2) * n_features**2
    _check_fits(
        f"Moments of n_features={n_features} and {n_groups} groups need {needed:.1f} GB while they "
        "are added or fitted",
        needed,
        "groups",
    )


def check_memory_of_basis(n_rows: int, n_features: int) -> None:
    """Refuse rows whose basis does not fit into the memory of this machine.

    Parameters
    ----------
    n_rows : int
        Number of rows, far fewer than features.
    n_features : int
        Number of features.
    """
    # The rows, the same without their mean, the basis, and what its factorisation holds.
    needed = 8e-9 * 4 * n_rows * n_features
    _check_fits(
        f"Moments of n_features={n_features} and {n_rows} rows need {needed:.1f} GB for a basis of "
        "the rows",
        needed,
        "rows",
    )


def _check_fits(what: str, needed: float, fewer: str) -> None:
    memory = available_memory() / 1e9
    if needed > memory:
        raise MemoryError(
            f"{what}, but this machine has {memory:.1f} GB. Use fewer features or fewer {fewer}, "
            "or RobustFairPCA(route='products'), which needs no moments."
        )


def named_column(function: Function) -> Function:
    """Let the sensitive features of a function be names of columns of its frame of rows.

    Parameters
    ----------
    function : callable
        It has rows and ``sensitive_features`` (perhaps as a keyword without a name of its own), and
        perhaps both of a test sample.

    Returns
    -------
    callable
        The function, which gets the columns instead of their names, and the frame without them. A
        model that is fitted so remembers the names, for ``without_groups``.
    """
    names = list(signature(function).parameters)
    rows = [name for name in _ROWS if name in names]
    groups = ["sensitive_features", "sensitive_features_test"][: len(rows)]
    is_fit = function.__name__ in ("fit", "partial_fit")

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        given = dict(zip(names, args, strict=False)) | keywords
        found = {
            group: _names(given.get(X), given.get(group), group)
            for X, group in zip(rows, groups, strict=True)
        }
        if is_fit:
            vars(args[0]).pop(_REMEMBERED, None)
        if not any(found.values()):
            return function(*args, **keywords)
        for X, group in zip(rows, groups, strict=True):
            if found[group]:
                given[X], given[group] = _taken_out(given[X], found[group])
        if is_fit:
            setattr(args[0], _REMEMBERED, found["sensitive_features"])
        first = [given.pop(name) for name in names[: len(args)]]
        return function(*first, **given)

    return cast(Function, call)


def without_groups(model: Any, X: Any) -> Any:
    """Give a frame without the columns that the fit of a model took for its groups, by name."""
    columns = getattr(model, _REMEMBERED, None)
    if columns is None or not (is_dask(X) or isinstance(as_known(X, "X"), nw.DataFrame)):
        return X
    features = getattr(model, "feature_names_in_", ())
    given = getattr(X, "columns", ())
    present = [column for column in columns if column in given and column not in features]
    return _taken_out(X, present)[0] if present else X


def remember_groups(model: Any, other: Any) -> None:
    """Let a model take the same columns for its groups as another."""
    if hasattr(other, _REMEMBERED):
        setattr(model, _REMEMBERED, getattr(other, _REMEMBERED))


def _names(X: Any, given: Any, parameter: str) -> list[str]:
    """Give the columns of a frame that are named as its groups; none if labels are given."""
    if not isinstance(given, str | list | tuple):
        return []
    frame = as_known(X, "X")
    is_frame = isinstance(frame, nw.DataFrame)
    if not is_frame and not (is_dask(X) and hasattr(X, "columns")):
        return []
    columns = list(X.columns)
    asked = [given] if isinstance(given, str) else list(given)
    if not 0 < len(asked) <= len(columns) or not all(isinstance(name, str) for name in asked):
        return []
    unknown = [name for name in asked if name not in columns]
    if is_frame and not isinstance(given, str) and len(asked) == len(frame):
        if unknown:
            return []
        raise ValueError(
            f"{parameter}={given!r} could be names of columns of X or a label for each of its "
            f"{len(frame)} rows; pass X[{given!r}] or an array of labels."
        )
    if unknown:
        is_one = isinstance(given, str)
        which = f"{parameter}={given!r} is" if is_one else f"{listed(unknown)} in {parameter} is"
        raise ValueError(f"{which} not a column of X, whose columns are {listed(columns)}.")
    twice = next((name for name in asked if asked.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{parameter} names the column {twice!r} twice.")
    return asked


def _taken_out(X: Any, columns: list[str]) -> tuple[Any, Any]:
    """Give a frame without some columns, and them: one as a series, several as a frame."""
    frame = as_known(X, "X")
    wanted: Any = columns[0] if len(columns) == 1 else columns
    if isinstance(frame, nw.DataFrame):
        return frame.drop(columns).to_native(), frame[wanted].to_native()
    return X.drop(columns=columns), X[wanted]
