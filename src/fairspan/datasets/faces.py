"""Labeled Faces in the Wild: one packed file of small grey images, built from its source.

The source is a folder of text files, one a face (img0.txt and so on: grey values in thirds of a
level, row by row) and one a label (sex.txt, white.txt, black.txt, asian.txt: one 0 or 1 a face).
"""

from __future__ import annotations

import os
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from fairspan.datasets.files import (
    address,
    check_digest,
    data_directory,
    download,
    explained,
    replaceable,
)
from fairspan.datasets.registry import Dataset, DatasetInfo, info
from fairspan.ground.atomic import replacing
from fairspan.ground.parameters import check_choice
from fairspan.ground.types import FloatArray

Arrays = dict[str, Any]
"""Name -> array."""

RACE = ("white", "black", "asian")
LABELS = ("sex", *RACE)


@dataclass(frozen=True)
class FaceSet:
    """The expected packed arrays: number of faces, shape and digests."""

    n_faces: int
    shape: tuple[int, int]
    digests: Mapping[str, str]

    def check(self, what: str, arrays: Arrays) -> None:
        """Check the arrays' bytes."""
        for name, expected in self.digests.items():
            check_digest(f"Array {name!r} of {what}", np.ascontiguousarray(arrays[name]), expected)


LFW = FaceSet(
    13232,
    (49, 36),
    {
        "images": "90609d11abd46a88c9c3b74905c9040f0883ae06b1ff60c4a500706c7c03c299",
        "sex": "3ff8a392c4cf5e09807eb187623c9b731906a83c573cc43b0f0feb944ba6e37b",
        "white": "3238ee90eb896efb0fc7295271cc325b734aaa3483964ef5f6bd4c5424aad8f2",
        "black": "3d270b0f68c6a68b632086efe7592cb52bc23c036a66a9ba1ca599590e9eb5c1",
        "asian": "e3dde387315c84df2fde2e7959772c87d903ea3708091c83bcc40d2b31292ecf",
    },
)


def build_lfw(
    source: str | os.PathLike[str], *, data_home: str | os.PathLike[str] | None = None
) -> Path:
    """Build the packed file of faces from its public source, which is already downloaded.

    Parameters
    ----------
    source : path
        The archive that ``fairspan.datasets.info("lfw").url`` names, or a folder that it was
        unpacked into.
    data_home : path, optional
        The data directory; see :func:`data_directory`.

    Returns
    -------
    pathlib.Path
        The packed file, checked.
    """
    target = data_directory(data_home) / info("lfw").file_name
    write_packed(target, pack(members(Path(source)), str(source), LFW))
    return target


def load_faces(
    entry: DatasetInfo, folder: Path, mirror: str | None, sensitive: Any, faces: FaceSet = LFW
) -> Dataset:
    """Read the packed file; fetch or build it first if it is missing."""
    columns = _columns(sensitive)
    target = folder / entry.file_name
    if not target.exists():
        _fetch(entry, target, mirror, faces)
    with replaceable(target), open(target, "rb") as file:
        arrays = read_packed(file, str(target), faces)
    labels = {name: arrays[name].astype(np.int64) for name in columns}
    height, width = faces.shape
    return Dataset(
        name=entry.name,
        X=arrays["images"].reshape(faces.n_faces, height * width).astype(np.float64),
        sensitive_features=labels if len(labels) > 1 else labels[columns[0]],
        feature_names=tuple(f"pixel_{i}_{j}" for i in range(height) for j in range(width)),
        sensitive_name=", ".join(columns),
        description=entry.description,
        image_shape=faces.shape,
    )


def pack(files: Iterable[tuple[str, bytes]], what: str, faces: FaceSet) -> Arrays:
    """Pack the text files of the source, in any order, into checked arrays."""
    images = np.zeros((faces.n_faces, *faces.shape), dtype=np.uint8)
    lacking = {f"img{i}.txt" for i in range(faces.n_faces)} | {f"{name}.txt" for name in LABELS}
    labels: Arrays = {}
    for name, data in files:
        if name not in lacking:
            continue
        lacking.remove(name)
        stem = name.removesuffix(".txt")
        if stem in LABELS:
            labels[stem] = _numbers(name, data, faces.n_faces, most=1).astype(np.int8)
        else:
            levels = _numbers(name, data, images[0].size, most=255)
            images[int(stem.removeprefix("img"))] = np.rint(levels).reshape(faces.shape)
    if lacking:
        raise ValueError(f"{what} lacks {len(lacking)} files of faces, such as {min(lacking)}.")
    arrays = {"images": images, **labels}
    faces.check(what, arrays)
    return arrays


def members(source: Path) -> Iterator[tuple[str, bytes]]:
    """Read the files of a folder, at any depth, or of an archive."""
    if source.is_dir():
        for folder in {path.parent for path in source.rglob("img0.txt")}:
            for path in folder.glob("*.txt"):
                yield path.name, path.read_bytes()
        return
    with open(source, "rb") as file:
        yield from archive_members(file, str(source))


def archive_members(file: IO[bytes], what: str) -> Iterator[tuple[str, bytes]]:
    """Read the text files in the folder data/images of a tar archive."""
    try:
        with tarfile.open(fileobj=file, mode="r:*") as archive:
            for member in archive:
                folder, _, name = member.name.rpartition("/")
                if member.isfile() and folder.endswith("data/images") and name.endswith(".txt"):
                    content = archive.extractfile(member)
                    assert content is not None
                    yield name, content.read()
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise ValueError(f"{what} cannot be read as a tar archive: {error}.") from error


def read_packed(file: IO[bytes], what: str, faces: FaceSet) -> Arrays:
    """Read the packed arrays and check them."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in faces.digests}
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{what} cannot be read as packed faces: {error}.") from error
    faces.check(what, arrays)
    return arrays


def write_packed(target: Path, arrays: Arrays) -> None:
    """Write the packed file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as place, open(place, "xb") as file:
        np.savez_compressed(file, **arrays)


def _fetch(entry: DatasetInfo, target: Path, mirror: str | None, faces: FaceSet) -> None:
    """Fetch the packed file from a mirror, or the public source and pack it."""
    url = address(entry, mirror)
    folder = target.parent
    remedy = (
        f"get the archive {url} and give it to fairspan.datasets.build_lfw"
        if mirror is None
        else f"get it from {url} and put it into {folder}"
    )
    with explained(entry, folder, remedy), tempfile.TemporaryFile() as stream:
        download(url, stream)
        stream.seek(0)
        if mirror is None:
            arrays = pack(archive_members(stream, url), url, faces)
        else:
            arrays = read_packed(stream, url, faces)
        write_packed(target, arrays)


def _columns(sensitive: Any) -> tuple[str, ...]:
    """Return the requested label columns; "race" means its three."""
    asked = ["sex"] if sensitive is None else sensitive
    asked = [asked] if isinstance(asked, str) else list(asked)
    columns: dict[str, None] = {}
    for name in asked:
        check_choice("sensitive", name, (*LABELS, "race"))
        columns |= dict.fromkeys(RACE if name == "race" else (name,))
    if not columns:
        raise ValueError(f"sensitive={sensitive!r} contains no label; leave it out for 'sex'.")
    return tuple(columns)


def _numbers(name: str, data: bytes, count: int, most: int) -> FloatArray:
    values = np.array(data.split(), dtype=np.float64)
    if values.size != count or not ((values >= 0) & (values <= most)).all():
        raise ValueError(f"{name} does not have {count} numbers between 0 and {most}.")
    return values
