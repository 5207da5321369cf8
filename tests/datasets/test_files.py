"""Files are found, or fetched from a real server, well or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from fairspan import datasets
from fairspan.datasets.files import local_bytes, user_cache
from fairspan.ground.atomic import replacing
from tests.datasets.server import Answer

pooch = pytest.importorskip("pooch")

TABLE = b"one, two,label,group\n" + b"".join(b"%d, %d,0,%d\n" % (i, i * i, i % 2) for i in range(9))
ENTRY = replace(
    datasets.info("e_coli"),
    file_name="table.csv",
    sha256=hashlib.sha256(TABLE).hexdigest(),
    n_rows=9,
    n_features=2,
)

FETCH = """
import dataclasses, sys
from pathlib import Path
from fairspan import datasets
from fairspan.datasets.files import local_bytes
folder, mirror, digest = sys.argv[1:]
entry = dataclasses.replace(datasets.info("e_coli"), file_name="table.csv", sha256=digest)
print(len(local_bytes(entry, Path(folder), mirror)))
"""


def fetcher(folder: Path, mirror: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", FETCH, str(folder), mirror, ENTRY.sha256]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def contents(folder: Path) -> list[str]:
    """All that lies in a folder, hidden files too."""
    return sorted(os.listdir(folder)) if folder.exists() else []


def closed_port() -> str:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{sock.getsockname()[1]}"


def test_an_absent_file_is_fetched_once_and_then_needs_no_network(server, tmp_path):
    server.put("table.csv", Answer(TABLE))
    folder = tmp_path / "not" / "there" / "yet"
    assert local_bytes(ENTRY, folder, server.url) == TABLE
    assert contents(folder) == ["table.csv"]
    assert local_bytes(ENTRY, folder, closed_port()) == TABLE
    assert server.requests == ["/table.csv"]


def test_without_a_mirror_the_public_copy_is_fetched(server, tmp_path):
    server.put("copy", Answer(TABLE))
    assert local_bytes(replace(ENTRY, url=f"{server.url}/copy"), tmp_path) == TABLE


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Answer(TABLE[:-1] + b"!"), "does not match the registry"),
        (Answer(TABLE[:50]), "does not match the registry"),
        (Answer(TABLE[:50], announced=len(TABLE)), "50 bytes read"),
        (Answer(b"sorry", status=500), "500 Server Error"),
        (Answer(b"gone", status=404), "404 Client Error"),
    ],
    ids=["other content", "cut short", "broken off", "server error", "not there"],
)
def test_a_failed_download_leaves_nothing_and_the_next_call_succeeds(server, tmp_path, bad, reason):
    server.put("table.csv", bad, Answer(TABLE))
    with pytest.raises(FileNotFoundError, match=reason) as caught:
        local_bytes(ENTRY, tmp_path, server.url)
    assert f"get it from {server.url}/table.csv and put it into {tmp_path}" in str(caught.value)
    assert contents(tmp_path) == []
    assert local_bytes(ENTRY, tmp_path, server.url) == TABLE
    assert contents(tmp_path) == ["table.csv"]


def test_a_killed_download_leaves_nothing_and_the_next_call_succeeds(server, tmp_path):
    never = threading.Event()
    server.put("table.csv", Answer(TABLE, at_half=never), Answer(TABLE))
    with fetcher(tmp_path, server.url) as process:
        assert server.halfway.acquire(timeout=60), "the download has begun"
        process.send_signal(signal.SIGKILL)
    never.set()
    assert contents(tmp_path) == []
    assert local_bytes(ENTRY, tmp_path, server.url) == TABLE


def test_two_processes_may_fetch_the_same_file_at_once(server, tmp_path):
    both = threading.Event()
    server.put("table.csv", Answer(TABLE, at_half=both))
    with fetcher(tmp_path, server.url) as first, fetcher(tmp_path, server.url) as second:
        for _ in range(2):
            assert server.halfway.acquire(timeout=60), "both downloads have begun"
        both.set()
        assert [process.communicate()[0] for process in (first, second)] == [f"{len(TABLE)}\n"] * 2
    assert [first.returncode, second.returncode] == [0, 0]
    assert contents(tmp_path) == ["table.csv"]
    assert (tmp_path / "table.csv").read_bytes() == TABLE


def test_offline_the_error_says_which_file_where_it_is_and_where_to_put_it(tmp_path):
    mirror = closed_port()
    with pytest.raises(FileNotFoundError) as caught:
        datasets.load("steel", data_home=tmp_path, mirror=f"{mirror}/")
    text = str(caught.value)
    assert f"'steel' needs Steel_Data.csv, which is not in {tmp_path}" in text
    assert f"get it from {mirror}/Steel_Data.csv and put it into {tmp_path}" in text
    assert "data_home=... or FAIRSPAN_DATA" in text


def test_a_folder_that_cannot_be_made_is_said_to_be_the_reason(server, tmp_path):
    server.put("table.csv", Answer(TABLE))
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(FileNotFoundError, match="Not a directory"):
        local_bytes(ENTRY, blocked / "data", server.url)


def test_a_present_file_that_differs_is_refused_and_left_alone(server, tmp_path):
    server.put("table.csv", Answer(TABLE))
    target = tmp_path / "table.csv"
    target.write_bytes(b"mine")
    expected = f"sha256 is {hashlib.sha256(b'mine').hexdigest()}, expected is {ENTRY.sha256}"
    with pytest.raises(ValueError, match=expected) as caught:
        local_bytes(ENTRY, tmp_path, server.url)
    assert f"Remove {target} and load again" in str(caught.value)
    assert target.read_bytes() == b"mine"
    assert server.requests == []


def test_reading_a_file_writes_nothing_to_its_folder(tmp_path):
    (tmp_path / "table.csv").write_bytes(TABLE)
    os.utime(tmp_path, ns=(0, 0))
    assert local_bytes(ENTRY, tmp_path) == TABLE
    assert tmp_path.stat().st_mtime_ns == 0


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_the_folder_as_it_was(tmp_path, failure):
    target = tmp_path / "table.csv"
    target.write_bytes(b"before")

    def write_half():
        with replacing(target) as place:
            place.write_bytes(TABLE[:50])
            raise failure

    with pytest.raises(failure):
        write_half()
    assert contents(tmp_path) == ["table.csv"]
    assert target.read_bytes() == b"before"


def test_without_pooch_files_are_read_and_the_extra_is_named_to_fetch(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r'pip install "fairspan\[data\]"') as caught:
        datasets.load("energy", data_home=tmp_path)
    assert f"get it from {datasets.info('energy').url}" in str(caught.value)
    (tmp_path / "table.csv").write_bytes(TABLE)
    assert local_bytes(ENTRY, tmp_path) == TABLE


def test_the_data_directory_is_the_argument_else_the_environment_else_a_cache(monkeypatch):
    monkeypatch.setenv("FAIRSPAN_DATA", "/from/environment")
    assert datasets.data_directory("~/mine") == Path.home() / "mine"
    assert datasets.data_directory() == Path("/from/environment")
    for value in ("", None):
        if value is None:
            monkeypatch.delenv("FAIRSPAN_DATA")
        else:
            monkeypatch.setenv("FAIRSPAN_DATA", value)
        assert datasets.data_directory() == pooch.os_cache("fairspan")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert datasets.data_directory() == pooch.os_cache("fairspan")


def test_caches_lie_where_each_system_keeps_them():
    home = Path.home()
    assert user_cache("linux", {"XDG_CACHE_HOME": "/cache"}) == Path("/cache/fairspan")
    assert user_cache("linux", {}) == home / ".cache" / "fairspan"
    assert user_cache("darwin", {}) == home / "Library" / "Caches" / "fairspan"
    local = user_cache("win32", {"LOCALAPPDATA": "/local"})
    assert local == Path("/local/fairspan/fairspan/Cache")
    assert user_cache("win32", {}) == home / "AppData/Local/fairspan/fairspan/Cache"
