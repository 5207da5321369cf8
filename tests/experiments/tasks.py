"""Tasks for tests of the runner; worker processes import them from here."""

from __future__ import annotations

import os
import time
from pathlib import Path

from threadpoolctl import threadpool_info


def square(number: int, log: str | None = None) -> list[dict[str, float]]:
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{number}\n")
    return [{"number": number, "square": float(number**2) / 3}]


def fail(number: int) -> list[dict[str, float]]:
    raise RuntimeError(f"task {number} fails")


def blas_threads() -> list[dict[str, object]]:
    import numpy as np

    np.linalg.eigh(np.eye(3))
    return [{"pid": os.getpid(), "threads": max(i["num_threads"] for i in threadpool_info())}]


def linger(folder: str, number: int) -> list[dict[str, float]]:
    Path(folder, f"{number}.pid").write_text(str(os.getpid()))
    time.sleep(120)
    return []
