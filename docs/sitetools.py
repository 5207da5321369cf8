"""What the site's configuration needs to compute: the order of the examples, members of classes."""

from __future__ import annotations

import importlib
import inspect

_ORDER = [
    "credit.py",
    "intersections.py",
    "downstream.py",
    "streaming.py",
    "many_sites.py",
    "certify_your_own.py",
    "faces.py",
]


def story(filename: str) -> tuple[int, str]:
    """Give the place of an example; those not named come last, by name."""
    return (_ORDER.index(filename) if filename in _ORDER else len(_ORDER), filename)


def own_members(fullname: str, names: list[str]) -> list[str]:
    """Keep the public members of a class that this package defines, in the order of the source."""
    parts = fullname.split(".")
    depth = next(n for n in range(len(parts) - 1, 0, -1) if _is_module(".".join(parts[:n])))
    owner = importlib.import_module(".".join(parts[:depth]))
    for part in parts[depth:]:
        owner = getattr(owner, part)
    found = []
    for name in names:
        member = inspect.getattr_static(owner, name)
        member = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
        member = getattr(member, "func", member)
        ours = (getattr(member, "__module__", "") or "").startswith("fairspan")
        if ours and not name.startswith("_") and hasattr(member, "__code__"):
            found.append((member.__module__, member.__code__.co_firstlineno, name))
    return [name for *_, name in sorted(found)]


def _is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True
