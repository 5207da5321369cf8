"""Keywords that have another name by now, or no meaning any more: they are accepted and warn."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from fairspan.ground.warn import warn

C = TypeVar("C", bound=Callable[..., Any])


def renamed(old: str, new: str) -> Callable[[C], C]:
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

    def decorate(function: C) -> C:
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

        return cast(C, call)

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
