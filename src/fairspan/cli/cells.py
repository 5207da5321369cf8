"""What was met in the cells of a table: text where numbers are needed, truth values, spaces."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairspan.cli.console import plural

Name = str | int
"""Columns of tables have names; those of arrays have numbers."""

_SHOWN, _CATEGORIES = 6, 20
"""Columns that are named; a column with more different texts is hardly one of categories."""
_COMMA = re.compile(r"[-+]?\d+,\d+")


@dataclass
class NotNumbers:
    """Cells that are no plain numbers, by column: how many, the first, and different ones."""

    counts: dict[Name, int] = field(default_factory=dict)
    examples: dict[Name, str] = field(default_factory=dict)
    texts: dict[Name, set[str]] = field(default_factory=dict)
    truths: dict[Name, int] = field(default_factory=dict)
    spaces: dict[Name, int] = field(default_factory=dict)

    def add(self, name: Name, cell: str, line: int | None = None, count: int = 1) -> None:
        """Count a cell."""
        where = "" if line is None else f" in line {line}"
        self.counts[name] = self.counts.get(name, 0) + count
        self.examples.setdefault(name, f"{cell[:30]!r}{where}")
        texts = self.texts.setdefault(name, set())
        if len(texts) <= _CATEGORIES:
            texts.add(cell[:30])

    def add_truths(self, name: Name, count: int) -> None:
        """Count cells that say true or false."""
        self.truths[name] = self.truths.get(name, 0) + count

    def add_spaces(self, name: Name, cells: Sequence[str]) -> None:
        """Count labels with spaces around them, which are left out."""
        count = sum(cell != cell.strip() for cell in cells)
        if count:
            self.spaces[name] = self.spaces.get(name, 0) + count

    def merge(self, other: NotNumbers) -> None:
        """Add what was met in further rows."""
        for mine, theirs in (
            (self.counts, other.counts),
            (self.truths, other.truths),
            (self.spaces, other.spaces),
        ):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count
        for name, texts in other.texts.items():
            self.examples.setdefault(name, other.examples[name])
            self.texts.setdefault(name, set()).update(texts)

    @property
    def notes(self) -> list[str]:
        """What was read in a way that should be known."""
        found = [f"column {name!r}: true and false are read as 1 and 0" for name in self.truths]
        return found + [
            f"column {name!r}: spaces around {plural(count, 'label')} left out"
            for name, count in self.spaces.items()
        ]

    def refusal(self, path: Path) -> str:
        """Say which columns should be numbers and are not, and the ways out."""
        names = list(self.counts)
        listed = _some([f"{name!r} ({self.examples[name]})" for name in names], "; ")
        commas = [name for name in names if all(map(_COMMA.fullmatch, self.texts[name]))]
        text = (
            f"{str(path)!r} has text where numbers are needed, in "
            f"{plural(len(names), 'column')}: {listed}."
        )
        if commas:
            text += (
                f" {_some([repr(name) for name in commas])} has numbers with a comma; write a "
                "decimal comma as a point, and leave out commas between thousands."
            )
        others = [name for name in names if name not in commas]
        if others:
            few = [name for name in others if len(self.texts[name]) <= _CATEGORIES]
            text += f" Leave out text with --drop {_typed(others)}"
            if few:
                text += f", turn it into columns of zeros and ones with --one-hot {_typed(few)}"
            text += ", or name the columns to use with --features."
        return text


def _typed(names: Sequence[Name]) -> str:
    """Names as they are typed in a shell."""
    return _some([shlex.quote(str(name)) for name in names], " ")


def _some(words: Sequence[Name], separator: str = ", ") -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return separator.join(map(str, words[:_SHOWN])) + more
