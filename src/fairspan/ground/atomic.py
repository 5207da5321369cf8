"""Files appear whole or not at all: written beside their place, flushed, then moved there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PARTIAL = ".partial-"
"""What names of files that are being written have in them."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to, and move what was written to its place at the end.

    Parameters
    ----------
    path : str or path
        The file to make or to replace.

    Yields
    ------
    Path
        A new name in the same folder, with the same ending. If anything fails, the file under it is
        removed and the old one stays as it was.
    """
    target = Path(check_path(path))
    check_place(target)
    temporary = _beside(target)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_path(path: Any) -> str | os.PathLike[str]:
    """Refuse what is not the path of a file, numbers of open files included."""
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise TypeError(f"path={path!r} is not the path of a file; use a text or a pathlib.Path.")
    return path


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise OSError where no file can be made, by the name that was asked for.

    Parameters
    ----------
    path : str or path
        The file to make or to replace.
    """
    trial = _beside(Path(path))
    try:
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.stem}{PARTIAL}{secrets.token_hex(8)}{target.suffix}")
