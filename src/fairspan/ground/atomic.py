"""Atomic files: written under a temporary name, flushed, then moved into place."""

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
    """Yield a temporary path, and move the file written there into place.

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
    """Raise TypeError for anything that is not a path, file descriptors included."""
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise TypeError(f"path={path!r} is not a file path; use a str or a pathlib.Path.")
    return path


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise OSError, with the name that was given, if no file can be created there.

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
