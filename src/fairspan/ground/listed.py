"""Names in messages: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def listed(
    values: Iterable[Any],
    form: Callable[[Any], str] = repr,
    *,
    most: int = 5,
    separator: str = ", ",
) -> str:
    """Name a few values and count the rest: ``'a', 'b' and 12 more``."""
    names = list(map(form, values))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more or "none"
