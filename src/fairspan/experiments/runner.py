"""Running tasks in parallel; tasks whose rows are on disk are not repeated.

A run may be killed at any moment; the same command continues. Several runs may share a folder: they
write the same files, each at once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

from fairspan.cli.console import Progress
from fairspan.experiments.store import Row, clean, read_rows, write_rows


class Task(NamedTuple):
    """A file of rows and how to make it.

    Attributes
    ----------
    file : str
        The file, relative to the folder of rows.
    batch : str
        Neighbouring tasks of one batch run in one process, one after the other, and may share what
        they have computed.
    function : callable
        A function at the top of a module that gives the rows.
    arguments : tuple
        What it is called with.
    dataset : str or None
        The data set it needs.
    """

    file: str
    batch: str
    function: Callable[..., list[Row]]
    arguments: tuple[object, ...]
    dataset: str | None = None


def pending(tasks: Iterable[Task], output: Path) -> list[Task]:
    """Return the tasks that have no rows yet.

    Parameters
    ----------
    tasks : iterable of Task
        All tasks.
    output : Path
        The output folder.

    Returns
    -------
    list of Task
        Those to do.
    """
    return [task for task in tasks if not _place(task, output).exists()]


def run_tasks(tasks: Sequence[Task], output: Path, *, workers: int, label: str) -> list[Row]:
    """Run the tasks that are not done, and read the rows of all.

    Parameters
    ----------
    tasks : sequence of Task
        What to do.
    output : Path
        The output folder.
    workers : int
        Number of processes; with 1 the work is done in this one.
    label : str
        What the progress bar shows.

    Returns
    -------
    list of dict
        All rows, in the order of the tasks.
    """
    clean(output)
    missing = pending(tasks, output)
    batches = [list(batch) for _, batch in groupby(missing, key=lambda task: task.batch)]
    if missing:
        with Progress(len(tasks), label, done=len(tasks) - len(missing)) as progress:
            for n in _finished(batches, output, min(workers, len(batches))):
                progress.step(n)
    return [row for task in tasks for row in read_rows(_place(task, output))]


def _place(task: Task, output: Path) -> Path:
    return output / "rows" / f"{task.file}.jsonl"


def _finished(batches: list[list[Task]], output: Path, workers: int) -> Iterator[int]:
    """Run batches; after each, yield how many tasks it had."""
    if workers == 1:
        with threadpool_limits(1):
            for batch in batches:
                yield _do(batch, output)
        return
    # Forked processes would inherit locks and the pipes by which they notice their parent's end.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker) as pool:
        futures: list[Future[int]] = [pool.submit(_do, batch, output) for batch in batches]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _do(batch: list[Task], output: Path) -> int:
    for task in batch:
        write_rows(_place(task, output), task.function(*task.arguments))
    return len(batch)


def _start_worker() -> None:
    """Use one thread as long as the process lives, and end without words when it is interrupted.

    It also ends when its parent does, however that ends.
    """
    threadpool_limits(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
