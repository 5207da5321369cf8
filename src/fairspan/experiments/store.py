"""Rows on disk: one small file per task, written atomically, never with mixed settings."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from fairspan.ground.atomic import PARTIAL, replacing

Row = dict[str, Any]

_DIGITS = 12
"""Significant digits that are kept; beyond them rounding of linear algebra shows."""
_STALE = 60.0
"""Seconds after which an unfinished file belongs to no living run: writing takes milliseconds."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically.

    Parameters
    ----------
    path : Path
        The file; its folder is made if need be.
    content : bytes
        What it shall hold.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write the rows of a finished task.

    Parameters
    ----------
    path : Path
        The file.
    rows : list of dict
        Numbers, texts, lists of them and nothing else.
    """
    lines = [json.dumps({name: _short(value) for name, value in row.items()}) for row in rows]
    write_atomically(path, ("\n".join(lines) + "\n").encode())


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a finished task.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    list of dict
        The rows.
    """
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except ValueError as error:
        raise ValueError(
            f"{path} is not a file of rows ({error}); delete it, and the same command writes it "
            "again."
        ) from None


def clean(folder: Path) -> None:
    """Remove the unfinished files of killed runs.

    Parameters
    ----------
    folder : Path
        The output folder.
    """
    for partial in folder.rglob(f".*{PARTIAL}*"):
        try:
            if time.time() - partial.stat().st_mtime > _STALE:
                partial.unlink()
        except FileNotFoundError:
            # Another run has just finished or removed it.
            continue


def check_writable(folder: Path) -> None:
    """Create a folder and check that it can be written to.

    Parameters
    ----------
    folder : Path
        The output folder.
    """
    try:
        write_atomically(folder / ".writable", b"")
        (folder / ".writable").unlink(missing_ok=True)
    except OSError as error:
        raise ValueError(
            f"output={str(folder)!r} cannot be written to ({error.strerror}); name a folder with "
            "--output DIR."
        ) from None


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(one) for one in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
