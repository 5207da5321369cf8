"""From paths to files: folders, patterns, and what hive partitions say about their rows."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fairspan.ground.parameters import is_listing
from fairspan.tables.readers import SUFFIXES, kind_of
from fairspan.tables.values import decoded

_NULL = "__HIVE_DEFAULT_PARTITION__"


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

    def with_keys(self, table: Any, names: Any, types: Any) -> Any:
        """Add the columns that the folders give to a table; it may have them, if they agree.

        Parameters
        ----------
        table : pyarrow.Table
            Rows of the file.
        names : sequence of str
            Columns that are wanted.
        types : mapping of str to pyarrow.DataType
            Their types.

        Returns
        -------
        pyarrow.Table
            The rows with all columns.
        """
        import pyarrow as pa

        for name, value in self.keys.items():
            if name in names:
                if name in table.column_names:
                    _check_agreement(name, value, table.column(name))
                    table = table.drop_columns([name])
                column = pa.repeat(pa.scalar(value, pa.string()), table.num_rows)
                table = table.append_column(name, column.cast(types[name]))
        return table


def _check_agreement(name: str, value: str | None, column: Any) -> None:
    """Check that a column of the file holds what the name of its folder says."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = decoded(column)
    try:
        equal = pc.equal(column, pa.scalar(value, pa.string()).cast(column.type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # A folder's name that is no value of the column's type equals none of its values.
        equal = pa.array([False])
    agrees = column.is_null() if value is None else equal
    if not pc.all(agrees, skip_nulls=False).as_py():
        raise ValueError(
            f"its column {name!r} holds other values than its folder, {name}={value}, says; rename "
            f"one of them, or give the files themselves (a pattern such as '*/*') to go by the "
            "column alone."
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
        raise ValueError(f"paths={paths!r} holds no files; known are {', '.join(SUFFIXES)}.")
    _check_once(parts)
    kinds = sorted({str(kind_of(part.path)) for part in parts})
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
                if kind_of(name) and not name.startswith((".", "_")):
                    yield FilePart(os.path.join(folder, name), keys)
    elif os.path.exists(path):
        if kind_of(path) is None:
            raise ValueError(
                f"{path!r} is of no known kind; names of files end with {', '.join(SUFFIXES)}."
            )
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
