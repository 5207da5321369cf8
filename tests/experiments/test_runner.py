"""Tasks become rows once, in order, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairspan.experiments.runner import Task, pending, run_tasks
from fairspan.experiments.store import clean, write_atomically, write_rows
from tests.experiments import tasks as functions

ROOT = Path(__file__).parents[2]


def squares(n, log=None):
    return [Task(f"squares/{i}", str(i // 2), functions.square, (i, log)) for i in range(n)]


def test_rows_come_in_the_order_of_the_tasks(tmp_path):
    rows = run_tasks(squares(7), tmp_path, workers=1, label="squares")
    assert [row["number"] for row in rows] == list(range(7))
    assert rows[2]["square"] == 1.33333333333


def test_workers_give_the_same_rows_with_one_thread_each(tmp_path):
    threads = [Task(f"threads/{i}", f"t{i}", functions.blas_threads, ()) for i in range(2)]
    rows = run_tasks([*squares(7), *threads], tmp_path / "two", workers=2, label="squares")
    assert rows[:7] == run_tasks(squares(7), tmp_path / "one", workers=1, label="squares")
    assert {row["threads"] for row in rows[7:]} == {1}
    assert all(row["pid"] != os.getpid() for row in rows[7:])


def test_what_is_done_is_not_done_again(tmp_path):
    log = str(tmp_path / "log")
    first = run_tasks(squares(4, log), tmp_path, workers=1, label="squares")
    again = run_tasks(squares(6, log), tmp_path, workers=1, label="squares")
    assert again[:4] == first
    assert Path(log).read_text().split() == ["0", "1", "2", "3", "4", "5"]


def test_a_failing_task_is_reported_and_leaves_the_others_rows(tmp_path):
    bad = Task("squares/bad", "bad", functions.fail, (5,))
    for workers in (1, 2):
        with pytest.raises(RuntimeError, match="task 5 fails"):
            run_tasks([*squares(2), bad], tmp_path, workers=workers, label="squares")
    assert pending([*squares(2), bad], tmp_path) == [bad]


def test_rows_that_cannot_be_read_are_named(tmp_path):
    run_tasks(squares(2), tmp_path, workers=1, label="squares")
    broken = tmp_path / "rows" / "squares" / "1.jsonl"
    broken.write_text('{"number": 1,')
    with pytest.raises(ValueError, match=r"1\.jsonl is not a file of rows .* delete it"):
        run_tasks(squares(2), tmp_path, workers=1, label="squares")


def test_a_failed_write_leaves_no_file(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(tmp_path / "taken", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_only_old_unfinished_files_are_removed(tmp_path):
    old, young = tmp_path / ".old.partial-1", tmp_path / "rows" / ".young.partial-1"
    write_rows(tmp_path / "rows" / "kept.jsonl", [{"a": 1}])
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 3600,) * 2)
    clean(tmp_path)
    assert not old.exists()
    assert young.exists()
    assert (tmp_path / "rows" / "kept.jsonl").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_workers_die_with_their_parent(tmp_path):
    program = (
        "from pathlib import Path\n"
        "from fairspan.experiments.runner import Task, run_tasks\n"
        "from tests.experiments.tasks import linger\n"
        f"tasks = [Task(f'{{i}}', str(i), linger, ({str(tmp_path)!r}, i)) for i in range(2)]\n"
        f"run_tasks(tasks, Path({str(tmp_path)!r}), workers=2, label='linger')\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        files = [tmp_path / f"{i}.pid" for i in range(2)]
        assert _soon(lambda: all(file.exists() and file.read_text() for file in files), 300)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    workers = [int(file.read_text()) for file in files]
    assert _soon(lambda: not any(map(_lives, workers)), 20)


def _soon(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that nobody has asked about yet has still ended.
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
