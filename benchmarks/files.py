"""Files: 5,000,000 x 50 in 20 Parquet files, streamed, against pyarrow that merely reads them.

CPU time; and the memory that streaming takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Figure, judged, ratio
from fairspan.sources import moments_from_files

FILES, ROWS, FEATURES = 20, 250_000, 50
REPETITIONS = 3
GOAL, MEMORY_GOAL = 1.7, 400


def made_files(folder: Path, files: int = FILES, rows: int = ROWS) -> list[str]:
    """Write random tables with a group of each row, about 100 MB a file."""
    import pyarrow as pa
    from pyarrow import parquet

    paths = []
    for i in range(files):
        rng = np.random.default_rng(i)
        columns = {f"x{j}": rng.standard_normal(rows) + j for j in range(FEATURES)}
        groups = pa.array(np.array(["f", "m"])[rng.integers(0, 2, rows)])
        path = folder / f"part-{i:02d}.parquet"
        parquet.write_table(pa.table({**columns, "group": groups}), path)
        paths.append(str(path))
    return paths


def merely_read(paths: list[str], batch_rows: int = 2**24 // (8 * FEATURES)) -> int:
    """Let pyarrow decode all batches and do nothing with them."""
    from pyarrow import parquet

    return sum(
        len(batch)
        for path in paths
        for batch in parquet.ParquetFile(path, pre_buffer=False).iter_batches(batch_rows)
    )


def peak_megabytes(folder: str) -> dict[str, float]:
    """Peak memory of a fresh process that streams the folder, above that of its imports."""
    code = f"import benchmarks.files as files; files.print_peak({folder!r})"
    command = [sys.executable, "-c", code]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def print_peak(folder: str) -> None:
    import pyarrow.parquet  # noqa: F401

    before = _peak()
    moments = moments_from_files(folder, "group")
    after = _peak()
    rows = int(moments.counts.sum())
    print(json.dumps({"rows": rows, "interpreter": before, "ratio": after - before}))


def _peak() -> float:
    """Largest memory of this process in MB; getrusage would count that of its parent, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        paths = made_files(Path(folder))
        yield (
            f"moments / merely reading, {FILES * ROWS} x {FEATURES} in {FILES} Parquet files",
            GOAL,
            lambda: ratio(
                lambda: moments_from_files(paths, "group"),
                lambda: merely_read(paths),
                REPETITIONS,
            ),
        )
        yield "peak memory above the interpreter, MB", MEMORY_GOAL, lambda: peak_megabytes(folder)


def main() -> dict[str, Any]:
    return judged("files", figures())


if __name__ == "__main__":
    main()
