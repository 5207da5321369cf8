"""Faces: packed from the text files of their source, from a folder, an archive or a server."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace

import numpy as np
import pytest

from fairspan import datasets
from fairspan.datasets import faces as lfw
from tests.conftest import data_directory, needs_paper_data
from tests.datasets.server import Answer

N, SHAPE = 12, (4, 3)
ENTRY = datasets.info("lfw")


def small_source(seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, bytes]]:
    """Arrays as they must come out, and files in the format of the public source."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (N, *SHAPE)).astype(np.uint8)
    arrays = {"images": images, **{name: np.arange(N, dtype=np.int8) % 2 for name in lfw.LABELS}}
    arrays["black"] = (rng.random(N) < 0.3).astype(np.int8)
    files = {f"img{i}.txt": face_text(images[i], rng) for i in range(N)}
    for name in lfw.LABELS:
        files[f"{name}.txt"] = "".join(f"{label}\n" for label in arrays[name]).encode()
    return arrays, files


def face_text(image: np.ndarray, rng: np.random.Generator) -> bytes:
    """Levels up to a third away from the whole ones, with the source's tabs and digits."""
    thirds = np.clip(image + rng.integers(-1, 2, image.shape) / 3, 0, 255).astype(np.float32)
    return "".join("".join(f"{value}\t" for value in row) + "\n" for row in thirds).encode()


def tar_of(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, data in {"README.txt": b"other", "sex.txt": b"other", **files}.items():
            folder = "" if data == b"other" else "data/images/"
            member = tarfile.TarInfo(f"Fair-PCA-0e2b4aa/{folder}{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def face_set(arrays: dict[str, np.ndarray]) -> lfw.FaceSet:
    digests = {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in arrays.items()}
    return lfw.FaceSet(N, SHAPE, digests)


def assert_same(found: dict[str, np.ndarray], arrays: dict[str, np.ndarray]) -> None:
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("below", ["", "data/images", "Fair-PCA-0e2b4aa/data/images"])
def test_a_folder_of_text_files_packs_to_the_known_bytes(tmp_path, below):
    arrays, files = small_source()
    (tmp_path / below).mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (tmp_path / below / name).write_bytes(data)
    assert_same(lfw.pack(lfw.members(tmp_path), "folder", face_set(arrays)), arrays)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_an_archive_packs_to_the_known_bytes_whatever_the_order_of_its_files(tmp_path, mode):
    arrays, files = small_source()
    for order in (files, dict(reversed(files.items()))):
        (tmp_path / "archive").write_bytes(tar_of(order, mode))
        members = lfw.members(tmp_path / "archive")
        assert_same(lfw.pack(members, "archive", face_set(arrays)), arrays)


def test_absent_faces_are_built_from_the_archive_a_server_gives(server, tmp_path):
    pytest.importorskip("pooch")
    arrays, files = small_source()
    archive = tar_of(files)
    server.put("faces.tar.gz", Answer(archive[: len(archive) // 2]), Answer(archive))
    entry = replace(ENTRY, url=f"{server.url}/faces.tar.gz")
    with pytest.raises(FileNotFoundError, match="cannot be read as a tar archive") as caught:
        lfw.load_faces(entry, tmp_path, None, None, face_set(arrays))
    assert "give it to fairspan.datasets.build_lfw" in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):
        data = lfw.load_faces(entry, tmp_path, None, None, face_set(arrays))
        np.testing.assert_array_equal(data.X, arrays["images"].reshape(N, -1))
        np.testing.assert_array_equal(data.sensitive_features, arrays["sex"])
        assert data.image_shape == SHAPE
    assert server.requests == ["/faces.tar.gz"] * 2
    assert [path.name for path in tmp_path.iterdir()] == [ENTRY.file_name]


def test_a_mirror_gives_the_packed_file(server, tmp_path):
    pytest.importorskip("pooch")
    arrays, _ = small_source()
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    server.put(ENTRY.file_name, Answer(packed.getvalue()[:-40]), Answer(packed.getvalue()))
    with pytest.raises(FileNotFoundError, match="cannot be read as packed faces") as caught:
        lfw.load_faces(ENTRY, tmp_path, server.url, "race", face_set(arrays))
    assert f"get it from {server.url}/{ENTRY.file_name} and put it into" in str(caught.value)
    data = lfw.load_faces(ENTRY, tmp_path, server.url, "race", face_set(arrays))
    assert list(data.sensitive_features) == ["white", "black", "asian"]
    np.testing.assert_array_equal(data.sensitive_features["black"], arrays["black"])


def test_faces_that_are_not_the_known_ones_are_refused(tmp_path):
    arrays, _ = small_source()
    other, files = small_source(seed=1)
    with pytest.raises(ValueError, match="Array 'images' of source does not match the registry"):
        lfw.pack(files.items(), "source", face_set(arrays))
    target = tmp_path / ENTRY.file_name
    lfw.write_packed(target, other)
    with pytest.raises(ValueError, match=f"Remove {target} and load again"):
        lfw.load_faces(ENTRY, tmp_path, None, None, face_set(arrays))
    target.write_bytes(target.read_bytes()[:100])
    with pytest.raises(ValueError, match=f"{target} cannot be read as packed faces"):
        lfw.load_faces(ENTRY, tmp_path, None, None, face_set(arrays))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("img3.txt", None, "lacks 1 files of faces, such as img3.txt"),
        ("white.txt", None, "lacks 1 files of faces, such as white.txt"),
        ("img3.txt", b"1.0\t2.0\n", "img3.txt does not have 12 numbers between 0 and 255"),
        ("img3.txt", b"256\t" * 12, "img3.txt does not have 12 numbers between 0 and 255"),
        ("sex.txt", b"2\n" * 12, "sex.txt does not have 12 numbers between 0 and 1"),
    ],
)
def test_a_source_with_a_bad_file_is_refused_by_name(name, data, message):
    arrays, files = small_source()
    files[name] = data
    present = {name: data for name, data in files.items() if data is not None}
    with pytest.raises(ValueError, match=message):
        lfw.pack(present.items(), "source", face_set(arrays))


def test_sensitive_labels_are_checked_by_name():
    with pytest.raises(ValueError, match=r"sensitive='age' is not known; use one of 'sex'"):
        datasets.load("lfw", sensitive=["sex", "age"])
    with pytest.raises(ValueError, match="contains no label"):
        datasets.load("lfw", sensitive=[])
    with pytest.raises(ValueError, match="wine_quality has one sensitive attribute, isWhite"):
        datasets.load("wine_quality", sensitive="sex")


def test_build_lfw_says_what_its_source_lacks(tmp_path):
    _, files = small_source()
    (tmp_path / "some.tar.gz").write_bytes(tar_of({"notes.txt": files["sex.txt"]}))
    with pytest.raises(ValueError, match="lacks 13236 files of faces"):
        datasets.build_lfw(tmp_path / "some.tar.gz", data_home=tmp_path)
    (tmp_path / "some.zip").write_bytes(b"PK not a tar")
    with pytest.raises(ValueError, match=r"some.zip cannot be read as a tar archive"):
        datasets.build_lfw(tmp_path / "some.zip", data_home=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["some.tar.gz", "some.zip"]


@needs_paper_data
def test_build_lfw_gives_the_known_arrays_from_files_in_the_format_of_the_source(tmp_path):
    folder = data_directory()
    assert folder is not None
    with np.load(folder / ENTRY.file_name) as stored:
        arrays = {name: stored[name] for name in ("images", *lfw.LABELS)}
    words = np.array([str(level) for level in range(256)], dtype=object)
    files = {
        f"img{i}.txt": "\t".join(words[face.ravel()]) for i, face in enumerate(arrays["images"])
    }
    files |= {f"{name}.txt": "\n".join(words[arrays[name]]) for name in lfw.LABELS}
    (tmp_path / "faces.tar").write_bytes(
        tar_of({name: text.encode() for name, text in files.items()}, "w")
    )
    built = datasets.build_lfw(tmp_path / "faces.tar", data_home=tmp_path)
    assert built == tmp_path / ENTRY.file_name
    data = datasets.load("lfw", data_home=tmp_path, sensitive="asian")
    np.testing.assert_array_equal(data.X, arrays["images"].reshape(len(data.X), -1))
    np.testing.assert_array_equal(data.sensitive_features, arrays["asian"])
