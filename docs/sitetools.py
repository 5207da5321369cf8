"""What the site's build needs: the order of examples, members of classes, links that resolve."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_ORDER = [
    "adult.py",
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


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what an element links to, and its own names."""
        for name, value in attributes:
            if name in ("href", "src"):
                self.links.add(value or "")
            elif name in ("id", "name"):
                self.anchors.add(value or "")


def check_links(app: Any, error: Exception | None) -> None:
    """Raise if a link inside the finished site leads nowhere."""
    if error is None and app.builder.format == "html":
        broken = broken_links(Path(app.outdir))
        if broken:
            raise RuntimeError("Links that lead nowhere:\n" + "\n".join(broken))


def broken_links(site: Path) -> list[str]:
    """Name links to files or anchors of the site that are not there; others are not followed."""
    page = cache(Page)
    found = []
    # The theme's own files under _static are templates, not pages.
    pages = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    for source in sorted(pages):
        for link in sorted(page(source).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = source.parent / unquote(parts.path) if parts.path else source
            there = target.exists()
            if there and parts.fragment and target.suffix == ".html":
                there = unquote(parts.fragment) in page(target.resolve()).anchors
            if not there:
                found.append(f"{source.relative_to(site)}: {link}")
    return found
