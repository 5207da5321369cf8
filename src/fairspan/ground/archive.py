"""One file for moments and models: an .npz of plain arrays and one JSON text with a content hash.

Reading runs no code and trusts nothing: sizes are compared with the file's before memory is taken,
arrays of Python objects are refused, and the hash covers every array and the text.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from fairspan.ground.atomic import check_path, replacing
from fairspan.ground.codec import Arrays, decode, encode

FORMATS = {"fairspan.moments.group_moments": "group moments", "fairspan.model": "a model"}
"""What a file may be, and how messages call it."""

_VERSION = 1
_HEADER = "header"
_LARGEST_HEADER = 64 * 2**20
_BEGINNINGS = {
    b"\x80": "it looks like a pickle, which can run code when read; fairspan reads only its own "
    "files of plain arrays",
    b"\x93NUMPY": "it is a single .npy array",
    b"PAR1": "it is a parquet table",
}


@dataclass(frozen=True)
class Archive:
    """What a file holds."""

    content: Any
    versions: dict[str, str]
    sha256: str


def write(
    path: str | os.PathLike[str], form: str, content: Any, classes: Mapping[str, type]
) -> None:
    """Write a value to a file, whole or not at all.

    Parameters
    ----------
    path : str or path
        The file, under exactly this name.
    form : str
        One of ``FORMATS``.
    content : object
        What :func:`fairspan.ground.codec.encode` can describe.
    classes : mapping of str to type
        Dataclasses that may occur in it.
    """
    arrays: Arrays = {}
    header = {
        "format": form,
        "version": _VERSION,
        "versions": _versions(),
        "content": encode(content, arrays, "content", classes),
    }
    header["sha256"] = _digest(header, arrays)
    entries: dict[str, Any] = {_HEADER: np.array(json.dumps(header, allow_nan=False)), **arrays}
    with replacing(path) as temporary, open(temporary, "xb") as file:
        # Nothing is pickled: encode lets in no arrays of objects. (To numpy before 2.2,
        # allow_pickle=False would be one more array.)
        np.savez(file, **entries)


def read(path: str | os.PathLike[str], form: str, classes: Mapping[str, type]) -> Archive:
    """Read a file written by :func:`write`, or say what is wrong with it.

    Parameters
    ----------
    path : str or path
        The file.
    form : str
        What it must be.
    classes : mapping of str to type
        Dataclasses that may occur in it.

    Returns
    -------
    Archive
        The content, the versions that wrote it and its hash.
    """
    with open(check_path(path), "rb") as file, refusing(path, form):
        header, arrays = _members(file)
        _check_header(header, form)
        sha256 = header.pop("sha256")
        if sha256 != _digest(header, arrays):
            raise ValueError("its content does not match its hash: it was changed or damaged")
        content = decode(header["content"], arrays, classes)
        return Archive(content, dict(header["versions"]), sha256)


def format_of(path: str | os.PathLike[str]) -> str | None:
    """Return which of ``FORMATS`` a file claims to be, or None.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    str or None
        The format. Nothing else of the file is checked.
    """
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            header = json.loads(str(_read_array(archive, f"{_HEADER}.npy", _LARGEST_HEADER)[()]))
            form = header.get("format")
    except OSError:
        raise
    except Exception:
        return None
    return form if form in FORMATS else None


@contextmanager
def refusing(path: str | os.PathLike[str], form: str) -> Iterator[None]:
    """Turn any error inside into one ValueError that names the file.

    Parameters
    ----------
    path : str or path
        The file.
    form : str
        What it should be.
    """
    try:
        yield
    # Damaged archives raise nearly anything; no detail of it helps a user.
    except Exception as error:
        reason = str(error) if type(error) is ValueError else _plain(error)
        raise ValueError(
            f"{os.fspath(path)!r} cannot be read as {FORMATS[form]}: {reason}."
        ) from error


def _plain(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"its entry {error} is missing"
    return f"it is damaged ({type(error).__name__}: {error})".replace("\n", " ")


def _members(file: Any) -> tuple[dict[str, Any], Arrays]:
    start = file.read(8)
    for beginning, reason in _BEGINNINGS.items():
        if start.startswith(beginning):
            raise ValueError(reason)
    if not start.startswith(b"PK"):
        raise ValueError("it is empty" if not start else "it is not an .npz file")
    size = os.fstat(file.fileno()).st_size
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        raise ValueError("it is truncated or damaged") from None
    with archive:
        names = [info.filename for info in archive.infolist()]
        if f"{_HEADER}.npy" not in names:
            raise ValueError("it is an .npz file that fairspan did not write")
        _check_sizes(archive, size)
        header = json.loads(str(_read_array(archive, f"{_HEADER}.npy", _LARGEST_HEADER)[()]))
        arrays = {
            name.removesuffix(".npy"): _read_array(archive, name, size)
            for name in names
            if name != f"{_HEADER}.npy"
        }
    return header, arrays


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Check that the sizes that the archive claims fit into the file."""
    infos = archive.infolist()
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise ValueError("it is compressed, and fairspan never compresses its files")
    promised = sum(info.file_size for info in infos)
    if promised > size:
        raise ValueError(f"it claims to hold {promised} bytes but has only {size}")
    if len({info.filename for info in infos}) < len(infos):
        raise ValueError("it has two entries with the same name")


def _read_array(archive: zipfile.ZipFile, name: str, most: int) -> npt.NDArray[Any]:
    """Read one array, and check its shape and type against its bytes."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > most:
        raise ValueError(f"its entry {name!r} is compressed or too large")
    data = archive.read(name)
    stream = BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"its entry {name!r} is not an array of format 1.0")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject or dtype.fields is not None:
        raise ValueError(f"its entry {name!r} holds {dtype}, not numbers or text")
    promised = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or stream.tell() + promised != len(data):
        raise ValueError(
            f"its entry {name!r} has the wrong size: its shape {shape} needs {promised} bytes"
        )
    flat = np.frombuffer(data, dtype=dtype, offset=stream.tell(), count=math.prod(shape))
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")


def _check_header(header: Any, form: str) -> None:
    if not isinstance(header, dict) or header.get("format") not in FORMATS:
        raise ValueError("it is an .npz file that fairspan did not write")
    if header["format"] != form:
        raise ValueError(f"it holds {FORMATS[header['format']]}")
    if header.get("version") != _VERSION:
        raise ValueError(
            f"it has format version {header.get('version')!r}, and this version of fairspan reads "
            f"{_VERSION}; use the version that wrote it ({header.get('versions')})"
        )
    if set(header) != {"format", "version", "versions", "content", "sha256"}:
        raise ValueError("its header has missing or unknown entries")


def _digest(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        fortran = array.flags.fnc
        digest.update(json.dumps([name, array.dtype.str, array.shape, fortran]).encode())
        digest.update((array.T if fortran else np.ascontiguousarray(array)).data)
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    import fairspan

    return {
        "fairspan": fairspan.__version__,
        "numpy": np.__version__,
        "scikit-learn": version("scikit-learn"),
        "python": platform.python_version(),
    }
