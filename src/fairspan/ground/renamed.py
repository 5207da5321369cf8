"""Keywords under their old names, with a warning that gives the new one."""

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
