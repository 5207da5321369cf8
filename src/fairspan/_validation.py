"""Checks of parameters and data: what was given, what is allowed, what to do."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils import check_array, check_random_state

from fairspan._types import FloatArray

_SHOWN = 10
LARGEST = 1e140
"""Solvers square variances, which beyond it, or below its inverse, might overflow."""
_HEAVIEST = 1e100
"""Sums of squares of larger weights, or of smaller ones than its inverse, are not numbers."""
_MOST_REPLICATES = 10**6
_COPIES = 3
"""Adding moments holds both sides and the sum."""


def is_number(value: Any) -> bool:
    """Whether a value is a real number; truth values and durations are none."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def is_integer(value: Any) -> bool:
    """Whether a value is an integer; truth values and durations are none."""
    return isinstance(value, Integral) and is_number(value)


def is_listing(values: Any) -> bool:
    """Whether a value lists others; texts, mappings and arrays without a dimension do not."""
    single = isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) == 0
    return isinstance(values, Iterable) and not single


def _float(value: Any) -> float:
    """The number in double precision; infinite if it is too large for that."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def check_components(n_components: Any, n_features: int) -> int:
    """Check that the number of components is an integer from 1 to the number of features."""
    given = f"n_components={n_components!r}"
    if not is_integer(n_components):
        raise TypeError(
            f"{given} is not an integer. A share of variance, 'mle', 'auto' and None are not "
            "supported, because the errors of the groups decide here and not the total variance; "
            "give the number of components."
        )
    number = int(n_components)
    if number < 1:
        raise ValueError(f"{given} must be at least 1 and at most n_features={n_features}.")
    if number > n_features:
        raise ValueError(
            f"{given} must be at most the number of features, n_features={n_features}."
        )
    return number


def check_number(name: str, value: Any, *, above: float | None = None) -> float:
    """Check that a number is finite and not negative, or above a bound."""
    low = "greater than 0" if above is not None else "0 or more"
    if not is_number(value):
        raise TypeError(f"{name}={value!r} is not a number; it must be {low}.")
    number = _float(value)
    if not np.isfinite(number) or number < 0 or (above is not None and number <= above):
        raise ValueError(f"{name}={value!r} must be finite and {low}.")
    return number


def check_integer(name: str, value: Any, least: int) -> int:
    """Check that an integer is not below a bound."""
    if not is_integer(value):
        raise TypeError(f"{name}={value!r} is not an integer; it must be {least} or more.")
    number = int(value)
    if number < least:
        raise ValueError(f"{name}={value!r} must be {least} or more.")
    return number


def check_replicates(n_bootstrap: Any) -> int:
    """Check a number of bootstrap replicates: enough for intervals, and not endless."""
    number = check_integer("n_bootstrap", n_bootstrap, 20)
    if number > _MOST_REPLICATES:
        raise ValueError(f"n_bootstrap={n_bootstrap!r} must be {_MOST_REPLICATES} or less.")
    return number


def check_level(name: str, value: Any) -> float:
    """Check that a probability lies strictly between 0 and 1."""
    if not is_number(value):
        raise TypeError(f"{name}={value!r} is not a number; it must lie between 0 and 1.")
    level = _float(value)
    if not 0 < level < 1:
        raise ValueError(f"{name}={value!r} must lie between 0 and 1, without them.")
    return level


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Check that a word is one of those allowed."""
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join(repr(choice) for choice in choices)
        near = get_close_matches(value, choices, n=1) if isinstance(value, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name}={value!r} is not known; use one of {allowed}.{hint}")
    return value


def check_options(options: Collection[str], allowed: type) -> None:
    """Check that keywords are among those that a class of options lists."""
    unknown = sorted(set(options) - set(allowed.__annotations__))
    if unknown:
        raise TypeError(
            f"Unknown options {unknown}; allowed are {sorted(allowed.__annotations__)}."
        )


def check_by_group(name: str, given: Collection[Any], labels: Collection[Any]) -> None:
    """Check that a mapping has one number for each group and none for others."""
    missing = [label for label in labels if label not in given]
    extra = [label for label in given if label not in labels]
    if missing or extra:
        raise ValueError(
            f"{name} must give one number for each group. Groups without one: {missing[:5]}; "
            f"labels that are not groups: {extra[:5]}."
        )


def check_flag(name: str, value: Any) -> bool:
    """Check that a value is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} is not a truth value; use True or False.")
    return bool(value)


def generator_from(random_state: Any) -> np.random.Generator:
    """Make a generator from any seed that scikit-learn or numpy takes.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        The seed.

    Returns
    -------
    numpy.random.Generator
        The generator; a Generator is used as it is.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_seed(random_state).randint(2**31))


def check_seed(random_state: Any) -> np.random.RandomState:
    """Give the RandomState that a seed of scikit-learn stands for."""
    try:
        state: np.random.RandomState = check_random_state(random_state)
    except (ValueError, TypeError):
        raise ValueError(
            f"random_state={random_state!r} is not a seed; use None, an int from 0 to 2**32 - 1, "
            "or numpy's RandomState (or, where rows are resampled, Generator)."
        ) from None
    return state


def check_real(X: Any, name: str = "X") -> None:
    """Refuse values that are no real numbers, where scikit-learn would not say which.

    It prints all of a complex array, names no column of a frame, takes dates for numbers and what
    a mask hides for data.
    """
    dtype = getattr(X, "dtype", None)
    kind = getattr(dtype, "kind", "")
    if kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} has {dtype} numbers. Give real ones, for instance "
            "the real and the imaginary parts as features of their own."
        )
    if kind and kind in "mM":
        raise ValueError(f"{name} holds {dtype}, dates or durations; turn them into numbers first.")
    if isinstance(X, np.ma.MaskedArray) and (masked := int(np.sum(X.mask))):
        raise ValueError(
            f"{name} is a masked array with {masked} masked values. Nothing is left "
            "out in silence: fill them, or leave out their rows."
        )
    frame = as_known(X, name)
    if not isinstance(frame, nw.DataFrame) or len(frame) == 0:
        return
    known = {getattr(dtype, "kind", "O") for dtype in set(getattr(X, "dtypes", "O"))}
    if known <= set("biuf"):
        return
    bad = {
        column: str(kind)
        for column, kind in frame.schema.items()
        if not _holds_numbers(frame[column], kind)
    }
    if bad:
        shown = ", ".join(f"{column!r} ({kind})" for column, kind in list(bad.items())[:_SHOWN])
        more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        raise ValueError(
            f"{name} has columns that are not numbers: {shown}{more}. Leave them out, or turn them "
            "into numbers first, for instance by one-hot encoding."
        )


def _holds_numbers(column: nw.Series[Any], kind: Any) -> bool:
    """Whether a column can be read as numbers; objects may be some, and nothing at all is none."""
    if kind in (nw.Categorical, nw.Enum):
        # Only pandas has categories of numbers.
        categories = getattr(getattr(column.to_native(), "cat", None), "categories", None)
        return getattr(getattr(categories, "dtype", None), "kind", "O") in "biuf"
    plain = kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown)
    return plain or (kind == nw.String and bool(column.is_null().all()))


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Check sample weights: finite, not negative, one for each row.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,)
        The weights.
    n_rows : int
        The number of rows.

    Returns
    -------
    ndarray of shape (n_rows,)
        The weights as float64.
    """
    check_real(sample_weight, "sample_weight")
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
            f"sample_weight has a negative value ({weight.min()}); weights count rows and "
            "must be 0 or more."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; some weight must be positive.")
    if not 1 / _HEAVIEST <= weight.max() <= _HEAVIEST:
        raise ValueError(
            f"sample_weight is {weight.max():g} at most; the largest weight must lie between "
            f"{1 / _HEAVIEST:g} and {_HEAVIEST:g}, to be squared."
        )
    return np.asarray(weight, dtype=np.float64)


def feature_names_of(X: Any) -> tuple[str, ...] | None:
    """Column names of a frame, if they are all strings."""
    frame = as_known(X, "X")
    if not isinstance(frame, nw.DataFrame):
        return None
    return tuple(frame.columns) if all(isinstance(name, str) for name in frame.columns) else None


def as_known(values: Any, name: str, *, allow_series: bool = False) -> Any:
    """Give a frame, or a series, as narwhals sees it; everything else as it is."""
    try:
        return nw.from_native(values, eager_only=True, allow_series=allow_series, pass_through=True)
    except ValueError as error:
        why = " ".join(str(error).split())
        raise ValueError(f"{name} is a frame that cannot be read: {why}.") from None


def check_finite(X: Any, names: Sequence[str] | None = None) -> None:
    """Refuse NaN and infinity with scikit-learn's usual message and the columns that hold them.

    Parameters
    ----------
    X : ndarray, csr or csc array of shape (n_rows, n_features)
        Floats.
    names : sequence of str, optional
        Names of the columns; without them, their positions are given.
    """
    try:
        check_array(X, accept_sparse=True, dtype=None, input_name="X")
    except ValueError as error:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
        places = np.flatnonzero(~np.isfinite(sums)).tolist()
        found = [place if names is None else names[place] for place in places]
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise ValueError(
            f"{str(error).rstrip('.')} (values that are not finite are in columns "
            f"{found[:_SHOWN]}{more})."
        ) from None


def is_dask(X: Any) -> bool:
    """Whether an object is a Dask collection; Dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def check_memory(n_groups: int, n_features: int) -> None:
    """Refuse moments that the memory of this machine cannot hold.

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
            f"while they are added, but this machine has {memory / 1e9:.1f} GB. Use fewer "
            "features, or fewer groups."
        )
