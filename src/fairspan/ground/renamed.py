"""Keywords under their old names, with a warning that gives the new one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from fairspan.ground.warn import warn

P = ParamSpec("P")
R = TypeVar("R")


def renamed(old: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take a keyword under its old name too.

    Parameters
    ----------
    old, new : str
        The names.

    Returns
    -------
    callable
        Decorates the function.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: Any, **keywords: Any) -> R:
            if old in keywords:
                if new in keywords:
                    raise TypeError(f"{old} is the old name of {new}; give {new} only.")
                warn(f"The keyword {old} is deprecated; use {new}.", FutureWarning)
                keywords[new] = keywords.pop(old)
            return function(*args, **keywords)

        return call

    return decorate
