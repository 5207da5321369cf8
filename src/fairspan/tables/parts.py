"""From paths to files: folders, patterns, and what hive partitions say about their rows."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from fairspan.ground.parameters import is_listing, is_number
from fairspan.tables.csv import Dialect, open_csv
from fairspan.tables.findings import Findings, TableError
from fairspan.tables.pieces import TEXT, Coded, Piece, Table, Wanted, number_of, objects
from fairspan.tables.typed import open_arrow, open_npy


class Kind(NamedTuple):
    """A kind of files: how their names end, and what opens one."""

    endings: tuple[str, ...]
    open: Callable[[str, Dialect], Table]


KINDS = {
    "csv": Kind((".csv", ".csv.gz", ".tsv", ".tsv.gz"), open_csv),
    "npy": Kind((".npy",), open_npy),
    "parquet": Kind((".parquet", ".pq"), partial(open_arrow, is_parquet=True)),
    "arrow": Kind((".arrow", ".feather", ".ipc"), open_arrow),
}
_KNOWN = ", ".join(ending for kind in KINDS.values() for ending in kind.endings)
_NULL = "__HIVE_DEFAULT_PARTITION__"


def kind_of(path: str, *, is_named: bool = True) -> str | None:
    """Tell the kind of a file by its name; what is named may be text of other endings, too."""
    name = path.lower()
    text = "csv" if is_named and name.endswith((".txt", ".gz")) else None
    return next((kind for kind, known in KINDS.items() if name.endswith(known.endings)), text)


def known_kind(path: str) -> str:
    """Tell the kind of a file by its name, which must be known."""
    kind = kind_of(path)
    if kind is None:
        raise TableError(f"{path!r} is not a known kind of table; names end with {_KNOWN}.")
    return kind


@dataclass(frozen=True)
class FilePart:
    """A file, and the columns that the names of its folders give (``sex=f/part.parquet``).

    Attributes
    ----------
    path : str
        The file.
    keys : dict of str to str or None
        Columns with the same value in all rows.
    """

    path: str
    keys: dict[str, str | None] = field(default_factory=dict)

    def keyed(self, table: Table) -> Table:
        """Add the columns that the folders give to a table; it may have them, if they agree."""
        both = tuple(name for name in self.keys if name in table.kinds)

        def read(wanted: Wanted, met: Findings) -> Iterator[Piece]:
            # What the file has, too, is read as labels, to be compared.
            numbers, labels, kept = (
                tuple(name for name in names if name not in self.keys) for names in wanted[1:4]
            )
            compared = tuple(name for name in both if name in wanted.names)
            own = Wanted(wanted.rows, numbers, labels + compared, kept, wanted.has_counter)
            for piece in table.read(own, met):
                yield self._added(piece, wanted, met)

        return replace(table, kinds=table.kinds | dict.fromkeys(self.keys, TEXT), read=read)

    def _added(self, piece: Piece, wanted: Wanted, met: Findings) -> Piece:
        for name, value in self.keys.items():
            if name in piece.labels and not _agrees(value, piece.labels[name]):
                raise ValueError(
                    f"its column {name!r} does not match its folder {name}={value}; rename one of "
                    "them, or give the files themselves (a pattern such as '*/*') to use the "
                    "column alone."
                )
            coded = Coded(np.full(piece.size, 0 if value else -1), objects([value]))
            piece.labels[name] = piece.kept[name] = coded
            if name in wanted.numbers:
                number = number_of(value or "")
                if number is None:
                    met.add_text(name, str(value), " in the name of a folder")
                piece.numbers[name] = np.full(piece.size, np.nan if number is None else number)
        labels = {name: piece.labels[name] for name in wanted.labels}
        return piece._replace(labels=labels, kept={name: piece.kept[name] for name in wanted.kept})


def _agrees(text: str | None, column: Coded) -> bool:
    """Whether the name of a folder means the value of every row."""
    if not text or (column.codes < 0).any():
        return not text and bool((column.codes < 0).all())
    return all(
        text.lower() == str(value).lower() or (is_number(value) and number_of(text) == value)
        for value in column.used
    )


def find_parts(paths: Any) -> list[FilePart]:
    """List the files that paths mean, in order.

    Parameters
    ----------
    paths : str, path or sequence of them
        Files, folders or patterns such as ``data/*.csv``.

    Returns
    -------
    list of FilePart
        All of the same kind and with the same partition keys, each once.
    """
    given = list(paths) if is_listing(paths) else [paths]
    for path in given:
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"paths={paths!r} holds {path!r}; give paths of files or folders.")
    parts = [part for path in given for part in _parts(os.fspath(path))]
    if not parts:
        raise ValueError(f"paths={paths!r} holds no files; known are {_KNOWN}.")
    _check_once(parts)
    kinds = sorted({known_kind(part.path) for part in parts})
    if len(kinds) > 1:
        raise ValueError(
            f"paths holds files of several kinds: {kinds}. Compute the moments of each kind and "
            "add them."
        )
    for part in parts:
        if list(part.keys) != list(parts[0].keys):
            raise ValueError(
                f"{part.path!r} lies in folders that give the columns {list(part.keys)}, but "
                f"{parts[0].path!r} in such that give {list(parts[0].keys)}."
            )
    return parts


def _check_once(parts: list[FilePart]) -> None:
    seen: dict[str, str] = {}
    for part in parts:
        file = os.path.realpath(part.path)
        if file in seen:
            also = "" if seen[file] == part.path else f", also as {seen[file]!r}"
            raise ValueError(
                f"paths holds {part.path!r} twice{also}; its rows would count twice. Give each "
                "file once, or weights to count rows more often."
            )
        seen[file] = part.path


def _parts(path: str) -> Iterator[FilePart]:
    if os.path.isdir(path):
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
            keys = _keys(Path(folder).relative_to(path))
            for name in sorted(names):
                if kind_of(name, is_named=False) and not name.startswith((".", "_")):
                    yield FilePart(os.path.join(folder, name), keys)
    elif os.path.exists(path):
        yield FilePart(path)
    elif glob.has_magic(path) and (found := sorted(glob.glob(path))):
        for one in found:
            yield from _parts(one)
    else:
        raise FileNotFoundError(f"{path!r} does not exist.")


def _keys(folder: Path) -> dict[str, str | None]:
    keys: dict[str, str | None] = {}
    for name in folder.parts:
        key, equals, value = name.partition("=")
        if equals:
            keys[unquote(key)] = None if value == _NULL else unquote(value)
    return keys
