"""Atomic files: written under a temporary name, flushed, then moved into place."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PARTIAL = ".partial-"
"""What names of files that are being written have in them."""
_ABANDONED = 3600.0
"""Seconds after which a file that is being written is taken for one whose writer was killed."""


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
        removed and the old one stays as it was; a file that is replaced passes on its mode.
    """
    target = Path(check_path(path))
    check_place(target)
    _clear(target)
    temporary = _beside(target)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if error.filename is not None and os.fspath(error.filename) != os.fspath(temporary):
            raise
        # A full disk names no file, and the temporary name says nothing to anyone.
        why = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, why, os.fspath(path)) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _clear(target: Path) -> None:
    """Remove what writers of this file left that were killed: nobody writes there any more."""
    start = f".{target.stem}{PARTIAL}"
    with os.scandir(target.parent) as there:
        left = [one for one in there if one.name.startswith(start)]
    for one in left:
        with suppress(OSError):
            if time.time() - one.stat().st_mtime > _ABANDONED:
                os.unlink(one)


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
