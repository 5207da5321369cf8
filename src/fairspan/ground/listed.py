"""Names in messages: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

_SHOWN = 5


def listed(values: Iterable[Any], form: Callable[[Any], str] = repr) -> str:
    """Name a few values and count the rest: ``'a', 'b' and 12 more``."""
    names = list(map(form, values))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more or "none"
