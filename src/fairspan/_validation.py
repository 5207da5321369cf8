"""Checks of parameters and data: what was given, what is allowed, what to do."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils import check_array, check_random_state

from fairspan._types import FloatArray

_SHOWN = 10
_COPIES = 3
"""Adding moments holds both sides and the sum."""


def check_components(n_components: Any, n_features: int) -> int:
    """Check that the number of components is an integer from 1 to the number of features."""
    given = f"n_components={n_components!r}"
    if isinstance(n_components, bool | np.bool_) or not isinstance(n_components, Integral):
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
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} is not a number; it must be {low}.")
    number = float(value)
    if not np.isfinite(number) or number < 0 or (above is not None and number <= above):
        raise ValueError(f"{name}={value!r} must be finite and {low}.")
    return number


def check_integer(name: str, value: Any, least: int) -> int:
    """Check that an integer is not below a bound."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r} is not an integer; it must be {least} or more.")
    number = int(value)
    if number < least:
        raise ValueError(f"{name}={value!r} must be {least} or more.")
    return number


def check_level(name: str, value: Any) -> float:
    """Check that a probability lies strictly between 0 and 1."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name}={value!r} is not a number; it must lie between 0 and 1.")
    if not 0 < float(value) < 1:
        raise ValueError(f"{name}={value!r} must lie between 0 and 1, without them.")
    return float(value)


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
    try:
        state = check_random_state(random_state)
    except (ValueError, TypeError):
        raise ValueError(
            f"random_state={random_state!r} is not a seed; use None, an int from 0 to 2**32 - 1, "
            "or numpy's RandomState or Generator."
        ) from None
    return np.random.default_rng(state.randint(2**31))


def check_real(X: Any) -> None:
    """Refuse complex numbers; scikit-learn does too, but prints all of them."""
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(
            f"Complex data not supported: X has {X.dtype} numbers. Give real ones, for instance "
            "the real and the imaginary parts as features of their own."
        )


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
    return np.asarray(weight, dtype=np.float64)


def feature_names_of(X: Any) -> tuple[str, ...] | None:
    """Column names of a frame, if they are all strings."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    return tuple(frame.columns) if all(isinstance(name, str) for name in frame.columns) else None


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
