"""How files of text and spreadsheets are written, as far as it is given; and their first line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairspan.ground.listed import listed
from fairspan.ground.parameters import check_choice
from fairspan.tables.findings import TableError, check_once
from fairspan.tables.pieces import number_of

Tell = Callable[[int], object]


@dataclass(frozen=True)
class Dialect:
    """How files are written, as far as it is given; and a callback for the bytes read."""

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    tell: Tell = id

    def __post_init__(self) -> None:
        mark = self.mark
        if mark is not None and (not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n'):
            raise ValueError(f"separator={mark!r} must be one character, or the word 'tab'.")
        try:
            "".encode(self.encoding or "utf-8")
        except (LookupError, TypeError, ValueError):
            raise ValueError(f"encoding={self.encoding!r} is not a known encoding.") from None
        check_choice("decimal", self.point, (".", ","))

    @property
    def mark(self) -> str | None:
        """The separator; a shell finds it hard to give a tab."""
        return "\t" if self.separator in ("tab", "\\t") else self.separator

    @property
    def point(self) -> str:
        """The decimal mark."""
        return "." if self.decimal is None else self.decimal


def check_names(path: str, names: list[str]) -> bool:
    """Check the first line of a table; say whether it numbers the columns."""
    if "\0" in "".join(names):
        order = "be" if names[0].startswith("\0") else "le"
        raise TableError(
            f"{path!r} is not a text file, or needs for instance encoding='utf-16-{order}'."
        )
    "".join(names).encode()  # raises where the bytes are not of the encoding
    named = [name for name in names if name]
    if named and len(names) - len(named) > 1:
        raise TableError(
            f"the first line of {path!r} names {len(named)} of {len(names)} columns "
            f"({listed(named, most=3)}): name every column there, and remove lines above the "
            "column names."
        )
    check_once(path, names)
    is_counted = named == [str(i) for i in range(len(named))] != []
    if not is_counted and all(number_of(name) is not None for name in named):
        raise TableError(
            f"the first line of {path!r} holds numbers ({', '.join(named[:3])}, ...), not column "
            "names; add a line of names at its top."
        )
    return is_counted
