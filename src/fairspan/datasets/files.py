"""Data files: looked up in a folder first, and fetched only if they are missing.

A download is checked, written to a temporary file and then moved into place: whatever interrupts
it leaves no bad file behind, and the next call starts again.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from fairspan.datasets.registry import DatasetInfo
from fairspan.ground.atomic import replacing

ENVIRONMENT = "FAIRSPAN_DATA"
"""The variable that names the data directory."""

_TIMEOUT = 30.0
_CHUNK = 1 << 20
"""Seconds without a byte after which a server counts as silent; bytes to copy at once."""


def data_directory(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the data files; it need not exist yet.

    Parameters
    ----------
    data_home : path, optional
        The folder itself. By default the one that the environment variable ``FAIRSPAN_DATA``
        names, else the user's cache (``~/.cache/fairspan`` on Linux).

    Returns
    -------
    pathlib.Path
        The folder.
    """
    if data_home is not None:
        return Path(data_home).expanduser()
    folder = os.environ.get(ENVIRONMENT)
    return Path(folder).expanduser() if folder else user_cache(sys.platform, os.environ)


def user_cache(platform: str, environment: Mapping[str, str]) -> Path:
    """Return the user's cache folder, as pooch would, without needing pooch."""
    if platform == "win32":
        local = environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / "fairspan" / "fairspan" / "Cache"
    if platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fairspan"
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairspan"


def local_bytes(entry: DatasetInfo, folder: Path, mirror: str | None = None) -> bytes:
    """Read a file of known digest from the folder; fetch it first if it is missing."""
    target = folder / entry.file_name
    if target.exists():
        data = target.read_bytes()
        with replaceable(target):
            check_digest(str(target), data, entry.sha256)
        return data
    url = address(entry, mirror)
    with explained(entry, folder, f"get it from {url} and put it into {folder}"):
        stream = io.BytesIO()
        download(url, stream)
        data = stream.getvalue()
        check_digest(url, data, entry.sha256)
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(target) as place:
            place.write_bytes(data)
    return data


def address(entry: DatasetInfo, mirror: str | None) -> str:
    """Return where to fetch from: the public copy, or a mirror."""
    return entry.url if mirror is None else f"{mirror.rstrip('/')}/{entry.file_name}"


def check_digest(what: str, data: Any, expected: str) -> None:
    """Check bytes or a contiguous array against the digest in the registry."""
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise ValueError(
            f"{what} does not match the registry: its sha256 is {found}, expected is {expected}."
        )


def download(url: str, stream: IO[bytes]) -> None:
    """Download from an address into a stream."""
    import pooch

    logging.getLogger("fairspan").info("Fetching %s", url)
    # Read as a whole: a streamed answer is left open when the server reports an error.
    fetch = pooch.HTTPDownloader(timeout=_TIMEOUT, stream=False, chunk_size=_CHUNK)
    fetch(url, stream, None)


@contextmanager
def replaceable(target: Path) -> Iterator[None]:
    """Add to an error about an existing file how to replace it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error} Remove {target} and load again to fetch it.") from error


@contextmanager
def explained(entry: DatasetInfo, folder: Path, remedy: str) -> Iterator[None]:
    """Explain which file cannot be fetched, why, and how to get it manually."""
    missing = f"The data set {entry.name!r} needs {entry.file_name}, which is not in {folder}"
    by_hand = (
        f"By hand: {remedy}; or name a folder that has it with data_home=... or {ENVIRONMENT}."
    )
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f'{missing}. Fetching it needs pooch: pip install "fairspan[data]". {by_hand}'
        ) from error
    except (OSError, ValueError) as error:
        # Errors of the connection are OSErrors as well.
        raise FileNotFoundError(
            f"{missing} and could not be fetched: {error}\n{by_hand}"
        ) from error
