"""Moments of files: from paths, folders, patterns and hive partitions to files of one kind.

Files are read in batches: memory does not depend on the number of rows.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import unquote

from fairspan.ground.parameters import check_choice, is_listing
from fairspan.moments.group_moments import GroupMoments
from fairspan.tables.columns import TableOptions
from fairspan.tables.dialect import Dialect
from fairspan.tables.parts import KNOWN, FilePart, Files, kind_of, known_kind

ENGINES = ("process", "dask", "spark")
_NULL = "__HIVE_DEFAULT_PARTITION__"


class FileOptions(TableOptions, total=False):
    """How files are read: the keywords of ``TableOptions``, and some for text and spreadsheets.

    Attributes
    ----------
    separator : str
        What separates the cells, one character or "tab"; by default the comma, semicolon, tab or
        vertical bar that the first two lines show.
    encoding : str
        By default UTF-8, or UTF-16 where a byte-order mark says so.
    decimal : {".", ","}
        The decimal mark; by default the point. Where it is the comma, points are not read.
    sheet : str
        The sheet of a workbook; by default the only one that holds anything.
    """

    separator: str | None
    encoding: str | None
    decimal: str | None
    sheet: str | None


def moments_from_files(
    paths: Any,
    sensitive: str | int | Sequence[str | int] | None = None,
    features: Sequence[str | int] | None = None,
    *,
    engine: str = "process",
    **options: Unpack[FileOptions],
) -> GroupMoments:
    """Compute the moments of tables in files, in one pass and in batches.

    Memory holds one batch and one matrix a group, however large the files are. The moments are
    those of all rows together, whatever the order of the files and the size of the batches.

    Parameters
    ----------
    paths : str, path or sequence of them
        Files, folders or patterns of one kind: Parquet (``.parquet``, ``.pq``), Arrow
        (``.arrow``, ``.feather``, ``.ipc``), csv (``.csv``, ``.tsv``, ``.gz`` after them), numpy
        (``.npy``) or spreadsheets (``.xlsx``, ``.xlsm``, ``.xlsb``, ``.xls``, ``.ods``). Folders
        are searched; their names may give columns (``sex=f/part.parquet``), which columns of the
        same name in the files must not contradict.
    sensitive : str or sequence of str, optional
        Columns of groups; several are intersected, and labels become tuples. None: one group.
    features : sequence of str, optional
        Columns of features, in this order. None takes all that are not used otherwise, but not
        those that pandas wrote as the index of a frame.
    engine : {"process", "dask", "spark"}, default="process"
        Who reads: this process, or tasks, one for each file, of the current Dask client or of
        Spark; tasks return moments only.
    **options
        See :class:`fairspan.tables.files.FileOptions`: ``drop``, ``weight``, ``one_hot``,
        ``missing``, ``bins``, ``batch_rows``, ``separator``, ``encoding``, ``decimal``,
        ``sheet``.

    Returns
    -------
    GroupMoments
        The moments; ``dropped_rows`` says how many rows ``missing="drop_rows"`` left out.

    Notes
    -----
    Csv and npy files need no further package; where pyarrow is installed, it reads csv files
    several times faster, by the same rules. Spreadsheets need the extra ``excel``. What was assumed
    about a file is logged.

    Columns of ``.npy`` tables are named by their position, -1 being the last; the name of a
    ``.npy`` file of labels or weights stands for a column beside a single table.

    Labels of csv files and of folders have the type that all of them share: whole numbers, numbers,
    truth values (true, false) or text, such as "007". Blanks and NA count as missing.
    """
    check_choice("engine", engine, ENGINES)
    dialect = Dialect(
        options.pop("separator", None),
        options.pop("encoding", None),
        options.pop("decimal", None),
        options.pop("sheet", None),
    )
    files = Files(find_parts(paths), dialect, engine)
    return files.moments(files.choose(sensitive, features, options)).moments


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
        raise ValueError(f"paths={paths!r} holds no files that end in {KNOWN}.")
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
                f"{part.path!r} has the columns {list(part.keys)} from its folders, but "
                f"{parts[0].path!r} has {list(parts[0].keys)}; use the same folders for all."
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
