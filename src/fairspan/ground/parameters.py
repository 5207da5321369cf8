"""Checks of parameters: what was given, what is allowed, what to do; old keywords."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from sklearn.utils import check_random_state

from fairspan.ground.listed import listed
from fairspan.ground.types import Function
from fairspan.ground.warn import warn

LARGEST = 1e140
"""Solvers square variances, which beyond it, or below its inverse, might overflow."""
_MOST_REPLICATES = 10**6


def is_number(value: Any) -> bool:
    """Whether a value is a real number; booleans and durations are not."""
    # Python's own numbers first: questions to abstract classes are slow.
    if type(value) in (float, int):
        return True
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def is_integer(value: Any) -> bool:
    """Whether a value is an integer; booleans and durations are not."""
    return type(value) is int or (isinstance(value, Integral) and is_number(value))


def is_listing(values: Any) -> bool:
    """Whether a value is a sequence; strings, mappings and arrays that are not 1-d are not."""
    other = isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) != 1
    return isinstance(values, Iterable) and not other


def _float(value: Any) -> float:
    """Convert a number to double precision; infinite if it is too large."""
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
            "supported, because group errors, not the total variance, choose the components; give "
            "their number."
        )
    number = int(n_components)
    if number < 1:
        raise ValueError(f"{given} must be between 1 and n_features={n_features}.")
    if number > n_features:
        raise ValueError(
            f"{given} must be at most the number of features, n_features={n_features}."
        )
    return number


def check_number(name: str, value: Any, *, positive: bool = False) -> float:
    """Check that a number is finite and not negative, or that it is positive."""
    low = "greater than 0" if positive else "0 or more"
    if not is_number(value):
        raise TypeError(f"{name}={value!r} is not a number; it must be {low}.")
    number = _float(value)
    if not math.isfinite(number) or number < 0 or (positive and number == 0):
        raise ValueError(f"{name}={value!r} must be finite and {low}.")
    return number


def check_max_time(max_time: Any) -> float | None:
    """Check seconds that may be given; None is no limit."""
    return None if max_time is None else check_number("max_time", max_time, positive=True)


def check_integer(name: str, value: Any, least: int) -> int:
    """Check that an integer is not below a bound."""
    if not is_integer(value):
        raise TypeError(f"{name}={value!r} is not an integer; it must be {least} or more.")
    number = int(value)
    if number < least:
        raise ValueError(f"{name}={value!r} must be {least} or more.")
    return number


def check_replicates(n_bootstrap: Any) -> int:
    """Check the number of bootstrap replicates: enough for intervals, and not too many."""
    number = check_integer("n_bootstrap", n_bootstrap, 20)
    if number > _MOST_REPLICATES:
        raise ValueError(f"n_bootstrap={n_bootstrap!r} must be {_MOST_REPLICATES} or less.")
    return number


def check_level(name: str, value: Any) -> float:
    """Check that a probability is strictly between 0 and 1."""
    if not is_number(value):
        raise TypeError(f"{name}={value!r} is not a number; it must be strictly between 0 and 1.")
    level = _float(value)
    if not 0 < level < 1:
        raise ValueError(f"{name}={value!r} must be strictly between 0 and 1.")
    return level


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Check that a value is one of the allowed choices."""
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join(repr(choice) for choice in choices)
        near = get_close_matches(value, choices, n=1) if isinstance(value, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name}={value!r} is not known; use one of {allowed}.{hint}")
    return value


def check_listing(name: str, values: Any, kind: str, one: str) -> list[Any]:
    """Check that a value is a sequence, of the kind that a message names, with at least one."""
    if not is_listing(values):
        raise TypeError(f"{name}={values!r} must be {kind}.")
    listing = list(values)
    if not listing:
        raise ValueError(f"{name} is empty; give at least one {one}.")
    return listing


def check_options(options: Collection[str], allowed: type) -> None:
    """Check that keywords are among the options of a class."""
    unknown = sorted(set(options) - set(allowed.__annotations__))
    if unknown:
        raise TypeError(
            f"Unknown options: {unknown}; the options are {sorted(allowed.__annotations__)}."
        )


def check_by_group(name: str, given: Collection[Any], labels: Collection[Any]) -> None:
    """Check that a mapping has one number for each group and no others."""
    missing = [label for label in labels if label not in given]
    extra = [label for label in given if label not in labels]
    if missing or extra:
        raise ValueError(
            f"{name} must give one number for each group; missing groups: {listed(missing)}; "
            f"unknown groups: {listed(extra)}."
        )


def check_flag(name: str, value: Any) -> bool:
    """Check that a value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} must be True or False.")
    return bool(value)


def generator_from(random_state: Any) -> np.random.Generator:
    """Make a generator from any seed that scikit-learn or numpy accepts.

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
    """Return the RandomState for a seed, as scikit-learn does."""
    try:
        state: np.random.RandomState = check_random_state(random_state)
    except (ValueError, TypeError):
        raise ValueError(
            f"random_state={random_state!r} is not a seed; use None, an int from 0 to 2**32 - 1, "
            "or numpy's RandomState (or, where rows are resampled, Generator)."
        ) from None
    return state


def renamed(old: str, new: str) -> Callable[[Function], Function]:
    """Let a function, or the constructor of a class, accept a keyword under its old name too.

    Parameters
    ----------
    old, new : str
        The names.

    Returns
    -------
    callable
        Decorates the function.
    """

    def decorate(function: Function) -> Function:
        if isinstance(function, type):
            made: Any = function
            made.__init__ = decorate(made.__init__)
            return function

        @wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            if old in keywords:
                if new in keywords:
                    raise TypeError(f"{old} is the old name of {new}; give {new} only.")
                warn(f"The keyword {old} is deprecated; use {new}.", FutureWarning)
                keywords[new] = keywords.pop(old)
            return function(*args, **keywords)

        return cast(Function, call)

    return decorate


def not_used(name: str, given: Any) -> None:
    """Warn of a keyword that asked for intervals from the rows of a fit, if it is given.

    Parameters
    ----------
    name : str
        The keyword.
    given : object
        Its value; None if it was not given.
    """
    if given is not None:
        warn(
            f"The keyword {name} is deprecated and not used: intervals from the rows of a fit are "
            "too short. Use fairspan.inference, or metrics.bootstrap_intervals with held-out rows.",
            FutureWarning,
        )
